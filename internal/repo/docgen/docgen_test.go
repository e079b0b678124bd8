package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"waggle/internal/face/cli"
	"waggle/internal/face/cli/app"
	"waggle/internal/test/testenv"
	"waggle/machine"
)

func TestSections(t *testing.T) {
	for name, fn := range sections {
		first, err := fn(cli.Root(&app.App{}))
		if err != nil || first == "" {
			t.Errorf("%s: %q, %v", name, first, err)
		}
		second, err := fn(cli.Root(&app.App{}))
		if err != nil || first != second {
			t.Errorf("%s: written twice it differs: %s", name, cmp.Diff(first, second))
		}
	}
}

func TestTable(t *testing.T) {
	got := table([][]string{{"a", "b"}, {"x|y", ""}})
	if want := "| a | b |\n|---|---|\n| x\\|y |  |\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDiagram(t *testing.T) {
	got := diagram([]machine.Transition{
		{From: "", On: "joined", To: "new"},
		{From: "new", On: "work", To: "busy"},
		{From: "new", On: "again", To: "busy"},
		{From: "new", On: "work", To: "busy"}, // another row of the same move
		{From: "busy", On: "asked", To: "busy"},
		{From: "busy", On: "gone", To: "ended"},
		{From: "new", On: "gone", To: "ended"},
		{From: "ended", On: "late", To: "ended"},
	})
	want := "```mermaid\nstateDiagram-v2\n" +
		"    [*] --> new: joined\n" +
		"    new --> busy: work, again\n" +
		"    busy --> ended: gone\n" +
		"    new --> ended: gone\n" +
		"    ended --> [*]\n```\n\n" +
		"| in | these leave it there |\n|---|---|\n| `busy` | asked |\n| `ended` | late |\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDiagramNamesEveryMove(t *testing.T) {
	for name, moves := range map[string][]machine.Transition{"worker": machine.WorkerTable, "leader": machine.LeaderTable, "request": machine.RequestTable} {
		text := diagram(moves)
		for _, m := range moves {
			if !strings.Contains(text, string(m.On)) || !strings.Contains(text, vertex(m.From)) || !strings.Contains(text, vertex(m.To)) {
				t.Errorf("%s: %v is not shown", name, m)
			}
		}
	}
}

func TestExitCodes(t *testing.T) {
	got, err := exitCodes(cli.Root(&app.App{}))
	testenv.Must(t, err)
	for _, row := range []string{"| 0 | done |", "| 2 | wrong usage |", "| 9 | not found", "| 10 | a budget"} {
		if !strings.Contains(got, row) {
			t.Errorf("no %q in\n%s", row, got)
		}
	}
	if n := strings.Count(got, "\n"); n != 13 {
		t.Errorf("%d lines:\n%s", n, got)
	}
	for name, long := range map[string]string{
		"no list": "words",
		"empty":   "Exit codes:\n\n",
		"a gap":   "Exit codes:\n  0 done   2 wrong usage\n",
	} {
		if got, err := exitCodes(&cobra.Command{Long: long}); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestManual(t *testing.T) {
	root := &cobra.Command{Use: "w", Short: "The - program", Long: "Two\nlines.\n\nThen:\n  kept  as it stands\n.and a dot"}
	root.PersistentFlags().Bool("loud", false, "say more")
	sub := &cobra.Command{Use: `sub FILE`, Short: "Do it", Example: `  w sub 'a\b'`, Run: func(*cobra.Command, []string) {}}
	sub.Flags().StringP("out", "o", "x", "write to `DIR`")
	sub.Flags().Bool("secret", false, "nobody sees this")
	testenv.Must(t, sub.Flags().MarkHidden("secret"))
	hidden := &cobra.Command{Use: "inner", Hidden: true, Run: sub.Run}
	root.AddCommand(sub, hidden)

	want := map[string]string{
		"w.1": `.TH "W" 1 "" "w" "w manual"
.SH NAME
w \- The \- program
.SH SYNOPSIS
\fBw\fR [flags]
.SH DESCRIPTION
Two
lines.
.PP
Then:
.nf
  kept  as it stands
.fi
\&.and a dot
.SH COMMANDS
.TP
\fBw sub\fR
Do it
.SH OPTIONS
.TP
\fB\-h\fR, \fB\-\-help\fR
help for w
.TP
\fB\-\-loud\fR
say more
.SH SEE ALSO
\fBw\-sub\fR(1)
`,
		"w-sub.1": `.TH "W-SUB" 1 "" "w" "w manual"
.SH NAME
w\-sub \- Do it
.SH SYNOPSIS
\fBw sub\fR FILE [flags]
.SH DESCRIPTION
Do it.
.SH OPTIONS
.TP
\fB\-h\fR, \fB\-\-help\fR
help for sub
.TP
\fB\-o\fR, \fB\-\-out\fR \fIDIR\fR
write to DIR (default x)
.SH GLOBAL OPTIONS
.TP
\fB\-\-loud\fR
say more
.SH EXAMPLES
.nf
  w sub 'a\eb'
.fi
.SH SEE ALSO
\fBw\fR(1)
`,
	}
	if d := cmp.Diff(want, manual(root)); d != "" {
		t.Error(d)
	}
}
