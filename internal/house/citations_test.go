package house_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// cited are the documents that code cites by a word and a section's number.
var cited = map[string]string{
	"protocol": "docs/protocol.md",
	"trust":    "docs/trust.md",
	"commands": "docs/commands.md",
	"client":   "docs/client.md",
}

var (
	// citation is "trust §3", and further sections of the same document behind it.
	citation = regexp.MustCompile(`\b(protocol|trust|commands|client|docs/protocol\.md) (§[0-9]+(?:\.[0-9]+)?(?:(?: #[0-9]+| row [0-9]+)?(?:,| and| or| to|;) §[0-9]+(?:\.[0-9]+)?)*)`)
	numberOf = regexp.MustCompile(`§([0-9]+(?:\.[0-9]+)?)?`)
	numbered = regexp.MustCompile(`(?m)^#{2,3} ([0-9]+(?:\.[0-9]+)?)\.? `)
	// outside are documents that are not in the repository. TRUST is a column of status.
	outside = regexp.MustCompile(`\b(WIRE|TRUST|DESIGN|USERS|PERF|CLAUDE-CODE|PEERS|DEPENDENCIES)\b`)
	column  = regexp.MustCompile(`"TRUST"|STATE +SINCE +TRUST`)
	// titled is a citation of a section by its title: FORMAT, "The tree".
	titled = regexp.MustCompile(`\b(README|ARCHITECTURE|FORMAT|SECURITY|HACKING|CHANGELOG)(?:\.md)?, "([^"]+)"`)
	// marks are in every text that cites: a section, a title in quotes, one that is outside.
	marks = []string{"§", `.md, "`, `README, "`, `ARCHITECTURE, "`, `FORMAT, "`, `SECURITY, "`, `HACKING, "`, `CHANGELOG, "`,
		"WIRE", "TRUST", "DESIGN", "USERS", "PERF", "CLAUDE-CODE", "PEERS", "DEPENDENCIES"}
	// wrapped joins a citation that goes on in the next line of a comment.
	wrapped = regexp.MustCompile(`\n[ \t]*(?:// ?)?`)
)

// TestCitations: every citation in code and documents names a section of a document in the
// repository.
func TestCitations(t *testing.T) {
	sections := map[string][]string{}
	for name, path := range cited {
		for _, m := range numbered.FindAllStringSubmatch(textOf(t, path), -1) {
			sections[name] = append(sections[name], m[1])
		}
		if len(sections[name]) == 0 {
			t.Errorf("%s has no numbered section", path)
		}
	}
	sections["docs/protocol.md"] = sections["protocol"]
	count := 0
	for _, path := range sources(t, ".go", ".md", ".txtar", ".json", ".yml", ".sh") {
		if path == "internal/house/citations_test.go" || path == "schema/schema.go" { // the second writes "§" and a kind's own section
			continue
		}
		text := textOf(t, path)
		if !slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(text, mark) }) {
			continue
		}
		text = wrapped.ReplaceAllString(text, " ")
		if m := outside.FindString(column.ReplaceAllString(text, "")); m != "" {
			t.Errorf("%s cites %s, which is not in the repository", path, m)
		}
		for _, m := range titled.FindAllStringSubmatch(text, -1) {
			if !slices.ContainsFunc(headings(t, m[1]+".md"), func(h string) bool { return strings.EqualFold(h, m[2]) }) {
				t.Errorf("%s cites %s, %q, which is no section there", path, m[1], m[2])
			}
		}
		if !strings.Contains(text, "§") {
			continue
		}
		own := "" // in a cited document a section without a word is its own
		for name, p := range cited {
			if p == path {
				own = name
			}
		}
		rest := citation.ReplaceAllStringFunc(text, func(s string) string {
			m := citation.FindStringSubmatch(s)
			count++
			resolve(t, path, m[1], m[2], sections[m[1]])
			return ""
		})
		switch {
		case own != "":
			resolve(t, path, own, rest, sections[own])
		case strings.Contains(rest, "§"):
			at := strings.Index(rest, "§")
			t.Errorf("%s: a section without its document: …%s…", path, rest[max(0, at-40):min(len(rest), at+20)])
		}
	}
	if count < 200 {
		t.Errorf("only %d citations were found", count)
	}
}

// resolve finds each section of text in those that the document has.
func resolve(t *testing.T, path, document, text string, have []string) {
	t.Helper()
	for _, n := range numberOf.FindAllStringSubmatch(text, -1) {
		if n[1] != "" && !slices.Contains(have, n[1]) {
			t.Errorf("%s cites %s §%s, and there is no such section", path, document, n[1])
		}
	}
}

var (
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fenced = regexp.MustCompile("(?ms)^```.*?^```")
	spans  = regexp.MustCompile("`[^`\n]*`")
)

// TestLinks: every link of a Markdown page to a file or a heading leads somewhere.
func TestLinks(t *testing.T) {
	count := 0
	for _, path := range sources(t, ".md") {
		text := spans.ReplaceAllString(fenced.ReplaceAllString(textOf(t, path), ""), "``")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			count++
			file, anchor, _ := strings.Cut(m[1], "#")
			to := path
			if file != "" {
				to = filepath.Join(filepath.Dir(path), filepath.FromSlash(file))
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: the link %s leads nowhere", path, m[1])
				continue
			}
			if anchor != "" && !slices.ContainsFunc(headings(t, to), func(h string) bool { return slug(h) == anchor }) {
				t.Errorf("%s: the link %s names no heading of %s", path, m[1], to)
			}
		}
	}
	if count < 50 {
		t.Errorf("only %d links were found", count)
	}
}

// headings are the headings of a Markdown page.
func headings(t *testing.T, path string) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(fenced.ReplaceAllString(textOf(t, path), "")) {
		if strings.HasPrefix(line, "#") {
			all = append(all, strings.TrimSpace(strings.TrimLeft(line, "#")))
		}
	}
	return all
}

// slug is the anchor that a heading has where Markdown is shown.
func slug(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

func textOf(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	testenv.Must(t, err)
	return string(b)
}

// sources are the files of the repository with one of these endings, except frozen and
// captured data.
func sources(t *testing.T, endings ...string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch {
			case path == ".git", path == "dist", d.Name() == "node_modules", d.Name() == "frozen":
				return filepath.SkipDir
			}
			return nil
		}
		if slices.Contains(endings, filepath.Ext(path)) && d.Type().IsRegular() {
			all = append(all, filepath.ToSlash(path))
		}
		return nil
	})
	testenv.Must(t, err)
	return all
}

// TestLengthOfPages: the pages that one reads first are short.
func TestLengthOfPages(t *testing.T) {
	for _, path := range []string{"README.md", "ARCHITECTURE.md"} {
		if n := strings.Count(textOf(t, path), "\n"); n > 200 {
			t.Errorf("%s has %d lines; at most 200: a task belongs in docs/guide, a table in docs", path, n)
		}
	}
}

// TestGuides: README links to every guide.
func TestGuides(t *testing.T) {
	guides, err := filepath.Glob("docs/guide/*.md")
	if err != nil || len(guides) == 0 {
		t.Fatal(guides, err)
	}
	for _, path := range guides {
		if !strings.Contains(textOf(t, "README.md"), "]("+filepath.ToSlash(path)) {
			t.Errorf("README has no link to %s", path)
		}
	}
}

// figure is a measured quantity; "§1" and names with digits are none.
var figure = regexp.MustCompile(`(?i)\b[0-9][0-9.,]*\s?(?:ns|µs|ms|s|%|kib|mib|gib|kb|mb|gb|lines|messages|members|decisions|kills|seconds?|minutes?|hours?)\b`)

// TestFigures: README and ARCHITECTURE state no figure by themselves: it is generated
// from the code, or docs/measured.md has it.
func TestFigures(t *testing.T) {
	for _, path := range []string{"README.md", "ARCHITECTURE.md"} {
		for line := range strings.Lines(textOf(t, path)) {
			if strings.HasPrefix(line, "    ") || strings.Contains(line, "docs/measured.md") {
				continue
			}
			if m := figure.FindString(line); m != "" {
				t.Errorf("%s: %q in %q: link docs/measured.md, or let docgen write it", path, m, strings.TrimSpace(line))
			}
		}
	}
}
