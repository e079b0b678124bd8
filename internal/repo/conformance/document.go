package conformance

import (
	"fmt"
	"strings"
)

var titles = map[string]string{"000": "The catalogue of message types", "001": "The mailbox protocol", "002": "The file formats",
	"003": "Sockets, addresses, ways to start a member", "004": "The message system"}

const head = `# Conformance

What the five source documents of the protocol require, in a few words, and the test that
proves it: that waggle writes it so, that it reads it so, and, from outside, that it is so where the command line, a
program that is not waggle or a real client is on the other side. A row without such a test is *partial*, with the
reason. The page is generated from
` + "`internal/repo/conformance/requirements.txt`" + ` by ` + "`go generate ./...`" + `. An empty cell is an
error there, and so is a test that does not exist. The last column is what continuous
integration insists on: its step ` + "`conformance`" + ` reads what ` + "`go test -json`" + ` said in the step
before and fails when a test of this page failed, was skipped, or did not run.
`

// Document is docs/conformance.md.
func Document(reqs []Requirement) string {
	var b strings.Builder
	b.WriteString(head)
	last := ""
	for _, r := range reqs {
		if r.Document != last {
			last = r.Document
			fmt.Fprintf(&b, "\n## %s: %s\n\n| requirement | we write | we read | from outside | result |\n|---|---|---|---|---|\n", r.Document, titles[r.Document])
		}
		result := "pass"
		if r.Outside.None != "" {
			result = "partial"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.Text, cell(r.Writes), cell(r.Reads), cell(r.Outside), result)
	}
	return b.String()
}

func cell(p Proof) string {
	if p.None != "" {
		return p.None
	}
	return "`" + strings.TrimPrefix(p.String(), ".") + "`"
}
