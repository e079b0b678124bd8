package view_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/jsonobj"
	"waggle/internal/view"
	"waggle/operator"
)

var update = flag.Bool("update", false, "write the golden documents")

// at is a fixed time, some seconds after the beginning of the tests' day.
func at(s int) time.Time {
	return time.Date(2026, 11, 20, 12, 0, s, 345_678_900, time.UTC)
}

var now = at(90)

// golden compares a document with its file.
func golden(t *testing.T, name string, doc any) {
	t.Helper()
	b, err := jsonobj.MarshalIndent(doc)
	if err != nil {
		t.Fatal(err)
	}
	same(t, name+".json", string(b)+"\n")
}

// page compares a page with its file. Roles and steps stand in brackets.
func page(t *testing.T, name string, p view.Page) {
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
				b.WriteString("| " + strings.Join(r, " | ") + "\n")
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
	same(t, name+".txt", b.String())
}

// roles are the marks of roles.
var roles = []string{"", "[strong]", "[faint]", "[warning]", "[good]", "[bad]"}

// spell names the step itself.
func spell(n operator.Next) string {
	if n.Step == "" {
		return ""
	}
	return "do " + string(n.Step) + " " + n.ID
}

func text(l view.Line) string {
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

func same(t *testing.T, file, got string) {
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

func TestTimes(t *testing.T) {
	for want, got := range map[string]string{
		"":                 view.Since(time.Time{}, now),
		"1m30s":            view.Since(at(0), now),
		"12:00":            view.Clock(at(0), now),
		"2026-11-19 12:00": view.Clock(at(0).AddDate(0, 0, -1), now),
		"13:00":            view.Clock(at(0), now.In(time.FixedZone("", 3600))),
		"1 member":         view.Count(1, "member"),
		"0 members":        view.Count(0, "member"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
