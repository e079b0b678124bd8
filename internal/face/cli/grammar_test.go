package cli_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waggle/internal/face/cli"
	"waggle/internal/face/cli/app"
)

// Flags that name a member and are no argument, with the reason.
var memberFlags = map[string]string{
	"task add --owner": "it is a property of the task, which the argument names",
	"new --name":       "it names what is made, and is derived from the task without it",
}

// Shorthands that mean another thing elsewhere, with the reason.
var otherShorthands = map[string]string{
	"doctor agent -f": "it follows nothing; -f is the file, as of other programs that read one",
}

// Flags of one command that differ by one letter, with the reason.
var nearFlags = map[string]string{
	"diff --stat --state": "it is --stat of git diff; --state is the flag of every command",
}

// Words for the end of what an answer, a rule, a token or a message is valid for.
var endWords = []string{"expires", "expire", "expiry", "ttl", "life", "lifetime", "deadline", "end", "valid", "till"}

// Words of flags that name one member.
var memberWords = []string{"member", "of", "who", "name", "agent-name", "owner", "parts", "planner"}

// The command tree has one grammar: commands §2.
func TestGrammar(t *testing.T) {
	var out bytes.Buffer
	root := cli.Root(&app.App{Out: &out, Err: &out})
	shorthand := map[string]string{}
	for _, cmd := range cli.Shown(root) {
		path := strings.TrimPrefix(cmd.CommandPath(), "waggle ")
		if cmd != root && cmd.Runnable() && !strings.Contains(cmd.Example, cmd.CommandPath()) {
			t.Errorf("%s has no example", path)
		}
		if cmd.Name() == "list" && !cmd.HasAlias("ls") {
			t.Errorf("%s has no alias ls", path)
		}
		if slices.Contains([]string{"remove", "revoke", "withdraw"}, cmd.Name()) && !cmd.HasAlias("rm") {
			t.Errorf("%s has no alias rm", path)
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if cmd != root && root.PersistentFlags().Lookup(f.Name) != nil {
				t.Errorf("%s: its --%s hides the flag of every command", path, f.Name)
			}
		})
		flags := shownFlags(cmd)
		for i, f := range flags {
			for _, g := range flags[:i] {
				if oneLetter(f.Name, g.Name) && nearFlags[path+" --"+g.Name+" --"+f.Name] == "" && nearFlags[path+" --"+f.Name+" --"+g.Name] == "" {
					t.Errorf("%s: --%s and --%s differ by one letter", path, f.Name, g.Name)
				}
			}
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			where := path + " --" + f.Name
			switch {
			case f.Hidden:
				return
			case slices.Contains(endWords, f.Name):
				t.Errorf("%s: an end is --until", where)
			case f.Name == "dry-run":
				t.Errorf("%s: a preview is --plan", where)
			case f.Name == "plan" && !strings.Contains(f.Usage, "show") && !strings.Contains(f.Usage, "list") && !strings.Contains(f.Usage, "print"):
				t.Errorf("%s is no preview: %s", where, f.Usage)
			case slices.Contains(memberWords, f.Name) && f.Value.Type() == "string" && strings.Contains(f.Usage, "member") && memberFlags[where] == "":
				t.Errorf("%s: a member is an argument", where)
			}
			if s := f.Shorthand; s != "" && otherShorthands[path+" -"+s] == "" {
				if had := shorthand[s]; had != "" && had != f.Name {
					t.Errorf("%s: -%s is --%s elsewhere", where, s, had)
				}
				shorthand[s] = f.Name
			}
		})
	}
	for _, where := range []string{"gc", "down", "up", "run", "team migrate", "team delete", "merge", "resume", "init", "new", "team restore"} {
		if cmd, _, err := root.Find(strings.Fields(where)); err != nil || cmd.Flags().Lookup("plan") == nil {
			t.Errorf("%s has no --plan (%v)", where, err)
		}
	}
}

// Other words for a command, with the reason: what people of other tools type.
var aliases = map[string]string{"ls": "list", "rm": "remove, revoke, withdraw", "remove": "rm"}

// TestOneSpelling: no command and no flag has a second spelling that help does not show.
func TestOneSpelling(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	root := cli.Root(&app.App{Out: &out, Err: &out})
	for _, cmd := range app.Commands(root) {
		for _, a := range cmd.Aliases {
			if aliases[a] == "" || !strings.Contains(aliases[a], cmd.Name()) {
				t.Errorf("%s is also called %s", cmd.CommandPath(), a)
			}
		}
		switch {
		case cmd.Deprecated != "":
			t.Errorf("%s is deprecated", cmd.CommandPath())
		case cmd.Hidden && cmd.Parent() == root && !slices.Contains([]string{"begin", "help", "hold", "hook", "lead", "worker"}, cmd.Name()): // waggle itself and hooks start them
			t.Errorf("%s is hidden", cmd.CommandPath())
		}
		norm := cmd.Flags().GetNormalizeFunc()
		for word := range strings.FieldsSeq("member of mode scope expires description dry-run plan as group read-only") {
			if got := norm(cmd.Flags(), word); string(got) != word {
				t.Errorf("%s takes --%s for --%s", cmd.CommandPath(), word, got)
			}
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Deprecated != "" || f.Hidden {
				t.Errorf("%s --%s is hidden", cmd.CommandPath(), f.Name)
			}
		})
	}
	for line, says := range map[string]string{
		"log --member ann": "NAME is an argument: waggle log", "gc --dry-run": "near: --plan", "spawn ann --mode plan": "near: --permission-mode", "policy add Bash --expires 8h": "near: --until",
		"task add x --description y": "near: --instructions", "approve --group g-1": "GROUP is an argument", "task release --of ann": "NAME is an argument", "task add x --plan": "near: --require-plan",
		"approve ABCD --scope team": "near: --for", "audit query --member ann": "NAME is an argument",
	} {
		var out bytes.Buffer
		if code := cli.Run(t.Context(), &app.App{Out: &out, Err: &out}, strings.Fields(line)); code != app.ExitUsage || !strings.Contains(out.String(), says) {
			t.Errorf("%s: exit %d, %s", line, code, out.String())
		}
	}
}

// shownFlags are the flags of a command that its help shows.
func shownFlags(cmd *cobra.Command) (fs []*pflag.Flag) {
	cmd.InitDefaultHelpFlag()
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			fs = append(fs, f)
		}
	}
	cmd.NonInheritedFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return fs
}

// oneLetter reports two words that differ by one letter: another, one more, or one less.
func oneLetter(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch len(b) - len(a) {
	case 0:
		return i < len(a) && a[i+1:] == b[i+1:]
	case 1:
		return a[i:] == b[i+1:]
	}
	return false
}
