package cli_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waggle/internal/face/cli"
	"waggle/internal/face/cli/app"
)

// TestSkill: every command that the skill names exists with its flags, and none of them decides
// something, changes what is allowed, or takes over work.
func TestSkill(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if code := cli.Run(t.Context(), &app.App{Out: &out, Err: &out}, []string{"skill"}); code != 0 || !strings.HasPrefix(out.String(), "---\nname: waggle\n") {
		t.Fatalf("exit code %d: %.80s", code, out.String())
	}
	named := regexp.MustCompile(`waggle ([a-z]+(?: list)?)([^#)\n]*)`).FindAllStringSubmatch(out.String(), -1)
	reads := strings.Fields("new status why peek diff task send inbox pending show log recap")
	root := cli.Root(&app.App{Out: &out, Err: &out})
	found := map[string]bool{}
	for _, m := range named {
		if m[1] == "runs" || m[1] == "team" { // in a sentence
			continue
		}
		words := strings.Fields(m[1])
		cmd, rest, err := root.Find(words)
		if err != nil || cmd == root || len(rest) > 0 || cmd.Hidden {
			t.Errorf("%q: there is no such command", m[0])
			continue
		}
		if !slices.Contains(reads, words[0]) || words[0] == "task" && len(words) == 1 {
			t.Errorf("%q: not a command to start, ask, read or compare", m[0])
		}
		for _, flag := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(m[2], -1) {
			if cmd.Flags().Lookup(flag[1]) == nil && cmd.InheritedFlags().Lookup(flag[1]) == nil {
				t.Errorf("%q: %s has no flag --%s", m[0], cmd.CommandPath(), flag[1])
			}
		}
		found[words[0]] = true
	}
	for _, c := range reads {
		if !found[c] {
			t.Errorf("the skill does not name waggle %s", c)
		}
	}
	for _, word := range []string{"approve", "deny", "waggle answer", "waggle policy", "waggle mode", "waggle net", "waggle merge", "waggle budget", "--force", "--yes", "hooks install"} {
		if strings.Contains(out.String(), word) {
			t.Errorf("the skill names %q", word)
		}
	}
}
