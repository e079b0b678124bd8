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

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
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
	if first > firstScreen || len(helpGroups) != 6 {
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

// The help of every command fits 80 columns without a terminal.
func TestHelpWidth(t *testing.T) {
	var out bytes.Buffer
	a := &app.App{Out: &out, Err: &out}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
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
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	for _, cmd := range Root(a).Commands() {
		walk(cmd)
	}
}

// TestCommandsHaveScripts: each command runs in a script of the usual tests.
func TestCommandsHaveScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var ran strings.Builder
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(b, []byte("[!full]")) {
			ran.Write(bytes.ReplaceAll(b, []byte("\n"), []byte(" \n")))
		}
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		if cmd.CommandPath() == "waggle demo" { // TestDemo and the gate run it
			return
		}
		if cmd.Runnable() && !strings.Contains(ran.String(), cmd.CommandPath()+" ") {
			t.Errorf("no script of the usual tests runs %s: commands.txtar has those whose own are of the full run", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	for _, cmd := range Root(&app.App{Out: io.Discard, Err: io.Discard}).Commands() {
		walk(cmd)
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
	var walk func(*cobra.Command)
	row := regexp.MustCompile(`(?m)^\S.*\S {2,}\S.*$`)
	walk = func(cmd *cobra.Command) {
		forAll(cmd.Long)
		if l := row.FindString(cmd.Long); l != "" && cmd.Name() != "zsh" { // cobra's text
			t.Errorf("%s: a row of a table is not indented, and is wrapped with the next one: %s", cmd.CommandPath(), l)
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(Root(&app.App{}))
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
