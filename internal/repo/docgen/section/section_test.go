package section_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/repo/docgen/section"
	"waggle/internal/test/testenv"
)

const page = `# Page

<!-- generated: a -->
old a
<!-- /generated -->
words
` + "```" + `
<!-- generated: shown, not meant -->
` + "```" + `
<!-- generated: b -->
<!-- /generated -->
the end, without a line end`

func TestFill(t *testing.T) {
	var seen []string
	fill := func(name, old string) (string, error) {
		seen = append(seen, name+"="+old)
		return "new " + name + "\n\n", nil
	}
	got, err := section.Fill(page, fill)
	testenv.Must(t, err)
	want := strings.NewReplacer("old a\n", "new a\n", "<!-- generated: b -->\n", "<!-- generated: b -->\nnew b\n").Replace(page)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if s := strings.Join(seen, "|"); s != "a=old a\n|b=" {
		t.Errorf("asked for %q", s)
	}
	if again, err := section.Fill(got, fill); err != nil || again != got {
		t.Errorf("filling again changed it: %v\n%s", err, again)
	}
}

func TestWrap(t *testing.T) {
	got, err := section.Fill(section.Wrap("x", "one\n"), func(name, old string) (string, error) { return name + ":" + old, nil })
	if want := section.Wrap("x", "x:one"); err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestFillRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ page, why string }{
		"no end":       {"words\n<!-- generated: a -->\nbody\n", `line 2: section "a" has no`},
		"no beginning": {"body\n<!-- /generated -->\n", "line 2"},
		"nested":       {"<!-- generated: a -->\n<!-- generated: b -->\n<!-- /generated -->\n", `"b" begins inside "a"`},
		"unknown":      {"<!-- generated: nobody -->\n<!-- /generated -->\n", "who is that"},
	} {
		got, err := section.Fill(tc.page, func(name, _ string) (string, error) {
			if name == "nobody" {
				return "", errors.New("who is that")
			}
			return "", nil
		})
		if err == nil || !strings.Contains(err.Error(), tc.why) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

// TestKeep: a page that is not there begins with its head; a section is written in its place, a new one at the end.
func TestKeep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out", "page.md")
	for _, step := range []struct{ name, body string }{{"soak ./a", "one"}, {"soak ./b", "two"}, {"soak ./a", "three"}} {
		testenv.Must(t, section.Keep(path, "# Page\n", step.name, step.body))
	}
	got := testenv.Value(os.ReadFile(path))(t)
	want := `# Page

<!-- generated: soak ./a -->
three
<!-- /generated -->

<!-- generated: soak ./b -->
two
<!-- /generated -->
`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
}
