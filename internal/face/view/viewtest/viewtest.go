// Package viewtest compares documents and pages with their files below testdata. With the flag
// -update it writes them.
package viewtest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator"
)

var update = flag.Bool("update", false, "write the golden documents")

// At is a fixed time, some seconds after the beginning of the tests' day.
func At(s int) time.Time {
	return time.Date(2026, 11, 20, 12, 0, s, 345_678_900, time.UTC)
}

// Now is the time at which tests look.
var Now = At(90)

// Golden compares a document, whose steps have their names and whose ages are of Now, with its file.
func Golden(t testing.TB, name string, doc any) {
	t.Helper()
	b, err := page.Document(page.Told{Doc: doc, Spell: Spell, Now: Now})
	if err != nil {
		t.Fatal(err)
	}
	Same(t, name+".json", string(b)+"\n")
}

// Page compares a page with its file. Roles and steps stand in brackets.
func Page(t testing.TB, name string, p page.Page) {
	t.Helper()
	var b strings.Builder
	for _, block := range p {
		if t := block.Table; t != nil {
			b.WriteString("| " + strings.Join(t.Head, " | ") + "\n")
			for i, r := range t.Rows {
				if t.Roles != nil {
					for j, role := range t.Roles[i] {
						r[j] = roles[role] + r[j]
					}
				}
				b.WriteString("| " + strings.Join(r, " | "))
				if t.Do != nil && t.Do[i].Step != "" {
					b.WriteString("  " + text(page.Line{page.WholeStep(t.Do[i])}))
				}
				b.WriteString("\n")
				if t.Below != nil {
					for _, l := range t.Below[i] {
						b.WriteString("    " + text(l) + "\n")
					}
				}
			}
			if t.Names != nil {
				b.WriteString("names " + strings.Join(t.Names, ", ") + "\n")
			}
			continue
		}
		b.WriteString(text(block.Line) + "\n")
	}
	Same(t, name+".txt", b.String())
}

// roles are the marks of roles.
var roles = []string{"", "[strong]", "[faint]", "[warning]", "[good]", "[bad]"}

// Spell names the step itself.
func Spell(n operator.Next) string {
	if n.Step == "" {
		return ""
	}
	return "do " + string(n.Step) + " " + n.ID
}

func text(l page.Line) string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(roles[s.Role] + s.Text)
		if s.Next.Step != "" {
			b.WriteString("<" + string(s.Next.Step) + " " + string(s.Next.Team) + string(s.Next.Member) + s.Next.ID + ">")
		}
		if s.Color != "" {
			b.WriteString("{" + s.Color + "}")
		}
		if s.Scoped {
			b.WriteString("+")
		}
	}
	return b.String()
}

// Same compares a text with its file.
func Same(t testing.TB, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is\n%s\nwant\n%s", path, got, want)
	}
}

// Lines compares lines with their file.
func Lines(t testing.TB, name string, ls []page.Line) {
	t.Helper()
	var p page.Page
	for _, l := range ls {
		p = append(p, page.Block{Line: l})
	}
	Page(t, name, p)
}
