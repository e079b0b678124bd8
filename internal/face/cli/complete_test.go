package cli_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"waggle/internal/face/cli"
	"waggle/internal/face/cli/app"
)

// namesFirst finds a use line whose first argument names something that is there.
var namesFirst = regexp.MustCompile(`^\S+ \[?(NAME|MEMBER|TEAM|ID|PLAN|TARGET)\b`)

// TestCompletion: a command that takes the name of something that is there completes it. Those that make what they name do
// not, nor those behind whose name is a command.
func TestCompletion(t *testing.T) {
	t.Parallel()
	without := strings.Split("begin, doctor agent, guest, msg show, msg withdraw, sandbox explain, sandbox run, spawn, team add, team create, team token, undo", ", ")
	a := &app.App{}
	for _, cmd := range app.Commands(cli.Root(a)) {
		path := strings.TrimPrefix(cmd.CommandPath(), "waggle ")
		a.Complete(cmd, path)
		if namesFirst.MatchString(cmd.Use) && (cmd.ValidArgsFunction == nil) != slices.Contains(without, path) {
			t.Errorf("%s completes its argument: %t", path, cmd.ValidArgsFunction != nil)
		}
	}
}
