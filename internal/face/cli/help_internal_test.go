package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/test/testenv"
)

// The first screen names six groups and at most fifteen commands, and no command is in two groups.
func TestHelpGroups(t *testing.T) {
	first, seen := 0, map[string]bool{}
	for _, g := range helpGroups {
		first += len(g.first)
		for _, n := range append(slices.Clone(g.first), g.more...) {
			if seen[n] {
				t.Errorf("%s is in two groups", n)
			}
			seen[n] = true
		}
	}
	if first > 15 || len(helpGroups) != 6 {
		t.Errorf("%d commands in %d groups", first, len(helpGroups))
	}
}

// Words that only look like a question for help are none.
func TestRootHelp(t *testing.T) {
	root := Root(&app.App{})
	for _, c := range []struct {
		args       []string
		asked, all bool
	}{
		{[]string{"--help"}, true, false}, {[]string{"help"}, true, false}, {[]string{"help", "all"}, true, true},
		{[]string{"help", "pending"}, false, false}, {[]string{"pending", "--help"}, false, false},
		{[]string{"send", "ann", "--", "--help"}, false, false}, {[]string{"send", "help", "all"}, false, false}, {nil, false, false},
	} {
		if asked, all := rootHelp(root, c.args); asked != c.asked || all != c.all {
			t.Errorf("%v: %v, %v", c.args, asked, all)
		}
	}
}

// Shown are the commands that help shows: cmd and those below it.
func Shown(cmd *cobra.Command) (all []*cobra.Command) {
	if cmd.Hidden {
		return nil
	}
	for _, sub := range cmd.Commands() {
		all = append(all, Shown(sub)...)
	}
	return append([]*cobra.Command{cmd}, all...)
}

// TestHelpText: every visible command has a one-line summary without a full stop, and the lines
// of its long help fit a terminal of 90 columns.
func TestHelpText(t *testing.T) {
	for _, cmd := range Shown(Root(&app.App{})) {
		if s := cmd.Short; s == "" || strings.HasSuffix(s, ".") || strings.Contains(s, "\n") {
			t.Errorf("%s: want a summary of one line without a full stop, have %q", cmd.CommandPath(), s)
		}
		for line := range strings.Lines(cmd.Long) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > 90 {
				t.Errorf("%s: a help line of %d columns, at most 90: %s", cmd.CommandPath(), utf8.RuneCountInString(line), line)
			}
		}
	}
}

// The help of every command fits 80 columns without a terminal.
func TestHelpWidth(t *testing.T) {
	var out bytes.Buffer
	a := &app.App{Out: &out, Err: &out}
	for _, cmd := range Shown(Root(a))[1:] {
		out.Reset()
		if err := cmd.Help(); err != nil {
			t.Error(err)
		}
		if !strings.Contains(out.String(), "\nUsage\n") {
			t.Errorf("%s: the help is not that of commandHelp", cmd.CommandPath())
		}
		for l := range strings.Lines(out.String()) {
			if w := ansi.StringWidth(strings.TrimRight(l, "\n")); w > helpWidth {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), w, l)
			}
		}
	}
}

// TestCommandsHaveScripts: each command runs in a script of the usual tests.
func TestCommandsHaveScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	testenv.Must(t, err)
	var ran strings.Builder
	for _, file := range files {
		b, err := os.ReadFile(file)
		testenv.Must(t, err)
		if !bytes.HasPrefix(b, []byte("[!full]")) {
			ran.Write(bytes.ReplaceAll(b, []byte("\n"), []byte(" \n")))
		}
	}
	for _, cmd := range Shown(Root(&app.App{Out: io.Discard, Err: io.Discard}))[1:] {
		if cmd.CommandPath() == "waggle demo" { // TestDemo and the gate run it
			continue
		}
		if cmd.Runnable() && !strings.Contains(ran.String(), cmd.CommandPath()+" ") {
			t.Errorf("no script of the usual tests runs %s: commands.txtar has those whose own are of the full run", cmd.CommandPath())
		}
	}
}

// No width loses a word, and only a word that has no comma is wider.
func TestReflow(t *testing.T) {
	forAll := func(text string) {
		for _, width := range []int{20, 40, 60, 79, 200} {
			lines := reflow(text, width)
			if got, want := squeezed(strings.Join(lines, " ")), squeezed(text); got != want {
				t.Errorf("at %d: %q, want %q", width, got, want)
			}
			for _, l := range lines {
				if ansi.StringWidth(l) > width && strings.Contains(strings.TrimSpace(l), " ") {
					t.Errorf("at %d: %q", width, l)
				}
			}
		}
	}
	row := regexp.MustCompile(`(?m)^\S.*\S {2,}\S.*$`)
	for _, cmd := range app.Commands(Root(&app.App{})) {
		forAll(cmd.Long)
		if l := row.FindString(cmd.Long); l != "" && cmd.Name() != "zsh" { // cobra's text
			t.Errorf("%s: a row of a table is not indented, and is wrapped with the next one: %s", cmd.CommandPath(), l)
		}
	}
	if got := strings.Join(reflow("one two\nthree\n\n  left as it is\nfour", 80), "|"); got != "one two three||  left as it is|four" {
		t.Error(got)
	}
	if got := strings.Join(reflow("  a word of two   what it is\n                  in more words than fit", 34), "|"); got != "  a word of two   what it is in|                  more words than|                  fit" {
		t.Errorf("%q", got)
	}
}

func squeezed(s string) string { return strings.Join(strings.Fields(s), "") }

// TestFirstScreenWidth: the help of waggle itself fits the columns that it has, and 80 when it is not told.
func TestFirstScreenWidth(t *testing.T) {
	for columns, width := range map[string]int{"": 80, "60": 60, "100": 100, "3": 80, "x": 80} {
		for _, all := range []bool{false, true} {
			var out bytes.Buffer
			a := &app.App{Out: &out, Err: &out, Environ: []string{"COLUMNS=" + columns}}
			sayHelp(a, Root(a), all)
			for l := range strings.Lines(out.String()) {
				if w := ansi.StringWidth(strings.TrimRight(l, "\n")); w > width {
					t.Errorf("COLUMNS=%s: %d columns: %s", columns, w, l)
				}
			}
			if n := strings.Count(out.String(), " 7 incomplete"); all && n != 1 {
				t.Errorf("COLUMNS=%s: the exit code 7 is %d times in\n%s", columns, n, out.String())
			}
		}
	}
}
