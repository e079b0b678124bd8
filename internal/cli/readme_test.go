package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/testenv"
)

// notTyped are the lines of README's blocks that are no command of waggle: steps of the gate, and what a shell does.
var notTyped = []string{"go run ./cmd/waggle demo", "go test ./...", "members:", "- {name:", "require waggle", "replace waggle"}

// typedAs has the script of a line that is more than its command.
var typedAs = map[string]string{
	"waggle show 7KQF": `until ' open ' waggle pending -l
exec waggle pending --json
cp stdout pending.json
setjson HANDLE pending.json pending.0.handle
exec waggle show $HANDLE
stdout 'git push'`,
	"waggle approve 7KQF": `exec waggle approve $HANDLE
stdout 'allow, delivered'`,
	"waggle down": `until 'failed: exit status' waggle task list
status 1 waggle down
stdout 'exit 1, taken down, 3 of 4 tasks completed; required tasks failed: "Push it" \(test\)'`,
}

// TestReadmeTyped types the commands of README one after the other, in a fresh home and a project with tests. Blocks
// that need a client are marked, and left out.
func TestReadmeTyped(t *testing.T) {
	t.Parallel()
	testenv.Require(t, "git")
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	script := readmeHead
	client, picture, n := false, false, 0
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		text, block := strings.CutPrefix(line, "    ")
		switch command, _, _ := strings.Cut(text, "  #"); {
		case line == "<!-- needs Claude Code -->":
			client = true
		case line == "<!-- screen -->", line == "<!-- /screen -->":
			picture = !picture
		case !block && strings.TrimSpace(line) != "":
			client = false
		case !block || client || picture:
		case typedAs[strings.TrimSpace(command)] != "":
			script, n = script+typedAs[strings.TrimSpace(command)]+"\n", n+1
		case text == "waggle" || strings.HasPrefix(text, "waggle "):
			script, n = script+"exec "+strings.ReplaceAll(strings.TrimSpace(command), `"`, "'")+"\n", n+1
		case !leftOut(text):
			t.Errorf("README has a line that nothing types: %s", text)
		}
	}
	if n < 12 {
		t.Errorf("%d commands of README are typed", n)
	}
	file := filepath.Join(t.TempDir(), "readme.txtar")
	if err := os.WriteFile(file, []byte(script+readmeFiles), 0o600); err != nil {
		t.Fatal(err)
	}
	runScripts(t, file)
}

// leftOut reports a line of notTyped.
func leftOut(text string) bool {
	for _, p := range notTyped {
		if strings.HasPrefix(strings.TrimSpace(text), p) {
			return true
		}
	}
	return false
}

const readmeHead = `# In a sandbox the push would fail without a question.
env WAGGLE_SANDBOX=off
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
