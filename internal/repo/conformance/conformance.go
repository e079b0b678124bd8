// Package conformance says which test proves what the source documents of the protocol
// require, when waggle writes and when it reads. The list is requirements.txt;
// docs/conformance.md is generated from it.
//
//	reqs, err := conformance.Requirements()
//	missing, err := conformance.Missing(root, reqs) // tests that are not in the sources
//	failed, err := conformance.Failed(results, reqs) // tests that go test -json did not pass
package conformance

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed requirements.txt
var list string

// Requirement is one line of the list.
type Requirement struct {
	Document string // 000 to 004
	Text     string
	Writes   Proof
	Reads    Proof
	Outside  Proof // where what is on the other side is no package of ours; without a test the row is partial
}

// outside are the packages whose tests have the command line, another program or a real client on the
// other side.
var outside = []string{"internal/face/cli", "internal/test/claudemembertest", "internal/test/commandtest", "internal/test/crashtest", "internal/test/foreigntest", "internal/test/sessiontest", "internal/test/storetest"}

// Proof is a test, or why there is none to have.
type Proof struct {
	Package string // its directory below the module, "." for the root
	Test    string // TestName, or TestName/subtest
	None    string // the reason; "" where there is a test
}

func (p Proof) String() string {
	if p.None != "" {
		return "none: " + p.None
	}
	return strings.TrimPrefix(p.Package, ".") + "." + p.Test
}

// Requirements is the list.
func Requirements() ([]Requirement, error) { return Parse(list) }

var (
	document = regexp.MustCompile(`^00[0-4]$`)
	proof    = regexp.MustCompile(`^(\.|[a-z0-9/]+?\.)(Test[A-Za-z0-9]+(?:/[A-Za-z0-9_/-]+)?)$`)
)

// Parse reads a list. A line with an empty cell, or one that names no test, is an error
// with its number.
func Parse(text string) ([]Requirement, error) {
	var reqs []Requirement
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "|")
		for n := range cells {
			cells[n] = strings.TrimSpace(cells[n])
		}
		if n := len(cells); n != 4 && n != 5 || !document.MatchString(cells[0]) || cells[1] == "" {
			return nil, fmt.Errorf("requirements.txt:%d: want document | requirement | test | test | test from outside", i+1)
		}
		r := Requirement{Document: cells[0], Text: cells[1]}
		err := r.prove(cells[2:])
		if key := r.Document + r.Text; err == nil && seen[key] {
			err = fmt.Errorf("it is there twice")
		} else {
			seen[key] = true
		}
		if err == nil && r.Writes.None != "" && r.Reads.None != "" {
			err = fmt.Errorf("nothing proves it")
		}
		if err != nil {
			return nil, fmt.Errorf("requirements.txt:%d: %w", i+1, err)
		}
		reqs = append(reqs, r)
	}
	return reqs, nil
}

// prove takes the cells of the tests. Where the third is missing, one of the two is from outside.
func (r *Requirement) prove(cells []string) (err error) {
	if r.Writes, err = parseProof(cells[0], "none: "); err != nil {
		return err
	}
	if r.Reads, err = parseProof(cells[1], "none: "); err != nil {
		return err
	}
	if len(cells) > 2 {
		r.Outside, err = parseProof(cells[2], "partial: ")
		return err
	}
	for _, p := range []Proof{r.Reads, r.Writes} {
		if slices.Contains(outside, p.Package) {
			r.Outside = p
			return nil
		}
	}
	return errors.New("no test is from outside; name one, or partial: REASON")
}

func parseProof(cell, without string) (Proof, error) {
	if why, ok := strings.CutPrefix(cell, without); ok {
		return Proof{None: why}, nil
	}
	m := proof.FindStringSubmatch(cell)
	if m == nil {
		return Proof{}, fmt.Errorf("%q names no test", cell)
	}
	dir := strings.TrimSuffix(m[1], ".")
	if dir == "" {
		dir = "."
	}
	return Proof{Package: dir, Test: m[2]}, nil
}

// proofs lists the tests that requirements name, each once.
func proofs(reqs []Requirement) []Proof {
	var ps []Proof
	seen := map[Proof]bool{}
	for _, r := range reqs {
		for _, p := range []Proof{r.Writes, r.Reads, r.Outside} {
			if p.Test != "" && !seen[p] {
				seen[p] = true
				ps = append(ps, p)
			}
		}
	}
	return ps
}
