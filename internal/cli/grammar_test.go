package cli_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waggle/internal/cli"
	"waggle/internal/cli/app"
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
	forEach(root, func(cmd *cobra.Command) {
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
	})
	for _, where := range []string{"gc", "down", "up", "run", "team migrate", "team delete", "merge", "resume", "init", "new", "team restore"} {
		cmd, _, err := root.Find(strings.Fields(where))
		if err != nil || cmd.Flags().Lookup("plan") == nil || cmd.Flags().Lookup("dry-run") != cmd.Flags().Lookup("plan") {
			t.Errorf("%s has no --plan, or --dry-run is not the same (%v)", where, err)
		}
	}
	for _, old := range []string{"log --member", "audit query --member", "audit acknowledge --member", "audit show --of", "task release --of", "team restore --as", "team token --plan", "task add --plan", "team add --plan",
		"new --mode", "spawn --mode", "guest --mode", "team create --mode"} {
		path, name, _ := strings.Cut(old, " --")
		cmd, _, err := root.Find(strings.Fields(path))
		if err != nil || cmd.Flags().Lookup(name) == nil {
			t.Errorf("%s is no longer taken", old)
			continue
		}
		if f := cmd.Flags().Lookup(name); f.Name == name && !f.Hidden {
			t.Errorf("%s is shown", old)
		}
	}
}

// forEach calls do with every command that help shows.
func forEach(cmd *cobra.Command, do func(*cobra.Command)) {
	if cmd.Hidden {
		return
	}
	do(cmd)
	for _, sub := range cmd.Commands() {
		forEach(sub, do)
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
