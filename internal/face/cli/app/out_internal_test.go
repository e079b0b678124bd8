package app

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"waggle/internal/face/view/page"
	_ "waggle/internal/fs/atomicfile/ordertest" // every test checks the order of its locks
	"waggle/operator"
)

// A line is broken between words, the lines after the first are indented, and a word that is too long stays whole.
func TestFold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line  string
		total int
		want  string
	}{
		{"a line that fits", 20, "a line that fits"},
		{"a line without a terminal", 0, "a line without a terminal"},
		{"ann works on branch waggle/api/ann in /home/ann/worktrees/api/ann", 40,
			"ann works on branch waggle/api/ann in\n    /home/ann/worktrees/api/ann"},
		{"in /home/ann/.local/share/waggle/worktrees/api-48b0bb34/ann now", 30,
			"in /home/ann/.local/share/waggle/worktrees/api-48b0bb34/ann\n    now"},
		{"  next: waggle resume --team api", 20, "  next: waggle\n      resume --team\n      api"},
		{Bold("note:") + " two  spaces stay two", 20, Bold("note:") + " two  spaces\n    stay two"},
		{"  | a text of an agent that is long", 24, "  | a text of an agent t\n  + hat is long"},
	} {
		if got := fold(c.line, c.total); got != c.want {
			t.Errorf("%q in %d columns:\n%s\nwant\n%s", c.line, c.total, got, c.want)
		}
	}
}

// A row may have fewer cells than another, the first too.
func TestRaggedTable(t *testing.T) {
	t.Parallel()
	got := tableLines(make([]string, 1), [][]string{{"a"}, {"long", "b", "c"}, {"d", "e"}}, 0, nil)[1:]
	if d := cmp.Diff([]string{"a", "long  b  c", "d     e"}, got); d != "" {
		t.Error(d)
	}
}

// A table that is too wide leaves its spare columns out, and says once what all rows have.
func TestNarrowed(t *testing.T) {
	t.Parallel()
	table := func(levels ...string) *page.Table {
		p := &page.Table{Head: []string{"MEMBER", "LEVEL", "PID", "WHY"}, Spare: []string{"PID"}, Once: []string{"LEVEL"}}
		for i, l := range levels {
			p.Rows = append(p.Rows, []string{string(rune('a' + i)), l, "12345", "asks: rm -rf build7 (high)"})
		}
		return p
	}
	for _, c := range []struct {
		name   string
		total  int
		levels []string
		head   string
		once   []string
	}{
		{"no terminal", 0, []string{"cooperative", "cooperative"}, "MEMBER LEVEL PID WHY", nil},
		{"it fits", 80, []string{"cooperative", "cooperative"}, "MEMBER LEVEL PID WHY", nil},
		{"without the process", 50, []string{"cooperative", "cooperative"}, "MEMBER LEVEL WHY", nil},
		{"one level", 40, []string{"cooperative", "cooperative"}, "MEMBER WHY", []string{"all: level cooperative"}},
		{"two levels", 40, []string{"cooperative", "enforced"}, "MEMBER LEVEL WHY", nil},
	} {
		got, once := narrowed(table(c.levels...), c.total)
		if head := strings.Join(got.Head, " "); head != c.head || !cmp.Equal(once, c.once) || len(got.Rows[1]) != len(got.Head) {
			t.Errorf("%s: %s, %v, rows %v", c.name, head, once, got.Rows)
		}
		if c.once != nil && ansi.StringWidth(tableLines(got.Head, got.Rows, 0, nil)[1]) > c.total {
			t.Errorf("%s: wider than %d: %v", c.name, c.total, got.Rows)
		}
	}
}

// Near names are printed unless the message has them, whole.
func TestSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		message, words string
		want           bool
	}{
		{"unknown flag: --plann", "--plan", false},
		{"no member \"bobb\" (near: bob)", "bob", true},
		{"no member bobb", "bob", false},
		{"several: api, web", "api, web", true},
		{"none", "api", false},
	} {
		if got := says(c.message, c.words); got != c.want {
			t.Errorf("%q has %q: %v", c.message, c.words, got)
		}
	}
}

// TestBareLines: a row's next step stands behind it whole, and on a line of its own where the row would have no room.
func TestBareLines(t *testing.T) {
	table := func() *page.Table {
		return &page.Table{Bare: true, Do: []operator.Next{{}, {Step: operator.NextWhy, Member: "ann"}, {Step: operator.NextDiff, Member: "cid"}},
			Rows: [][]string{{"bob", "runs a command that is rather long, and says so"}, {"ann", "failed"}, {"cid", "ready"}}}
	}
	for _, c := range []struct {
		total int
		want  []string
	}{
		{0, []string{"bob  runs a command that is rather long, and says so", "ann  failed" + strings.Repeat(" ", 41) + "  waggle why ann", "cid  ready" + strings.Repeat(" ", 42) + "  waggle diff cid"}},
		{66, []string{"bob  runs a command that is rather long, and s…", "ann  failed" + strings.Repeat(" ", 36) + "  waggle why ann", "cid  ready" + strings.Repeat(" ", 37) + "  waggle diff cid"}},
		{40, []string{"bob  runs a command that is rather lo…", "ann  failed", "  waggle why ann", "cid  ready", "  waggle diff cid"}},
	} {
		var got []string
		for _, l := range bareLines(table(), c.total) {
			got = append(got, ansi.Strip(l))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%d columns: %s", c.total, diff)
		}
	}
}
