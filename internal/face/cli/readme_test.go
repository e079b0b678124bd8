package cli_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// notTyped are the lines of README's blocks that are no command of waggle: steps of the gate, and what a shell does.
var notTyped = []string{"go run ./cmd/waggle demo", "members:", "- {name:", "require waggle", "replace waggle"}

// typedAs has the script of a line that is more than its command.
var typedAs = map[string]string{
	"waggle show 7KQF": `until example.com waggle pending --json
cp stdout pending.json
setjson HANDLE pending.json pending.0.handle
exec waggle show $HANDLE
stdout 'example\.com'`,
	"waggle approve 7KQF": `exec waggle approve $HANDLE
stdout 'allow, delivered'`,
	"waggle down": `until 'failed: exit status' waggle task list
status 1 waggle down
stdout 'exit 1, taken down, 3 of 4 tasks completed; required tasks failed: "Fetch it" \(test\)'`,
}

// TestReadmeTyped types the commands of README one after the other, in a fresh home and a project with tests; in the
// full run also with the sandbox that the machine has. Blocks that need a client are marked, and left out.
func TestReadmeTyped(t *testing.T) {
	t.Parallel()
	testenv.Require(t, "git")
	var files []string
	for name, head := range map[string]string{"readme": "env WAGGLE_SANDBOX=off\n", "readme_sandbox": "[!full] skip 'a script of the full run'\n"} {
		script, n := head+readmeHead, 0
		for _, line := range readmeLines(t) {
			as, special := typedAs[line]
			switch {
			case name == "readme_sandbox" && line == "waggle down": // there the host may be reached
				as = "until over sh -c 'waggle task list | grep Fetch | grep -qE \"completed|failed\" && echo over'\nexec sh -c 'waggle down; [ $? -lt 2 ]'"
			case !special:
				as = "exec sh -c '" + strings.ReplaceAll(line, "'", "''") + "'"
			}
			script, n = script+as+"\n", n+1
		}
		if n < 12 {
			t.Errorf("%d commands of README are typed", n)
		}
		file := filepath.Join(t.TempDir(), name+".txtar")
		writeFile(t, file, script+readmeFiles)
		files = append(files, file)
	}
	runScripts(t, files...)
}

// readmeLines are the commands of README that need no client, without their comments.
func readmeLines(t *testing.T) (lines []string) {
	t.Helper()
	for _, b := range testenv.Blocks(t, "../../../README.md") {
		if b.Mark != "" && b.Mark != "needs Claude Code" && b.Mark != "screen" {
			t.Errorf("README has an unknown mark %q", b.Mark)
		}
		for _, line := range b.Lines {
			switch command := testenv.Command(line); {
			case b.Mark != "":
			case command == "waggle" || strings.HasPrefix(command, "waggle "):
				lines = append(lines, command)
			case !slices.ContainsFunc(notTyped, func(p string) bool { return strings.HasPrefix(command, p) }):
				t.Errorf("README has a line that nothing types: %s", line)
			}
		}
	}
	return lines
}

// The fetch that README lets a member ask for has no effect outside.
const readmeHead = `env https_proxy=http://127.0.0.1:9
env HTTPS_PROXY=http://127.0.0.1:9
cd project
exec git init -q
`

const readmeFiles = `
-- project/go.mod --
module project

go 1.24
-- project/a.go --
package project
-- project/a_test.go --
package project

import "testing"

func TestNothing(*testing.T) {}
`
