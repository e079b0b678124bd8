//go:build unix

package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"waggle/internal/test/testenv"
)

// readmeSteps are the commands of README with what the screen shows of each, and what is done between them.
var readmeSteps = []typed{
	{line: "waggle init", shows: []string{`waggle\.yaml`}},
	{line: "waggle run waggle.yaml", shows: []string{`exit 0`}},
	{line: "waggle run waggle.yaml --headless --report out/", shows: []string{`exit 0`}},
	{line: "waggle up waggle.yaml -d", shows: []string{`(?m)^test +`}},
	{line: "waggle status", shows: []string{`(?m)^test +`}},
	{line: "waggle resume", shows: []string{`nothing`}},
	{line: `waggle task add "Fetch it" -i "curl -sS https://example.com" --owner test`},
	{line: `waggle send test "rebase on main first"`},
	{line: "waggle inbox"},
	{line: "waggle log test"},
	{line: "waggle", until: `1 need you`, shows: []string{`example\.com`}},
	{keys: []string{"q"}, until: `(?m)^>\s*\z`},
	{line: "waggle pending", finds: map[string]string{"7KQF": `(?m)^(\w+) +test .*example\.com`}},
	{line: "waggle show 7KQF", shows: []string{`example\.com`}},
	{line: "waggle approve 7KQF", shows: []string{`allow, delivered`}},
	{line: "waggle policy add 'Bash(npm test)' --for test --until 14d"},
	{line: "waggle task list", until: `failed`},
	{line: "waggle down", code: 1, shows: []string{`Fetch it`}},
}

// TestReadmeInTmux types README inside tmux, with the caches of the go command empty: the demo is built and played, waggle
// is installed, and does what README does with it.
func TestReadmeInTmux(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	testenv.Require(t, "git")
	checkout, err := filepath.Abs("../../..")
	testenv.Must(t, err)
	lines := readmeLines(t)
	for _, step := range readmeSteps {
		if len(lines) > 0 && step.line == lines[0] {
			lines = lines[1:]
		}
	}
	if len(lines) > 0 {
		t.Fatalf("nobody types %q", lines[0])
	}
	u := newTmux(t, "")
	owns(t, u.dir)
	for _, f := range txtar.Parse([]byte(readmeFiles)).Files {
		path := filepath.Join(u.dir, f.Name)
		testenv.Must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, f.Data, 0o600)))
	}
	found := map[string]string{}
	u.plays(0, typed{line: "export GOCACHE=$PWD/cache GOMODCACHE=$PWD/modules GOBIN=$PWD/bin GOFLAGS=\"$(go env GOFLAGS) -modcacherw\""}, found)
	u.plays(1, typed{line: "export WAGGLE_SANDBOX=off PATH=$PWD/bin:$PATH; project=$PWD/project; cd " + checkout}, found)
	u.types("clear; go run ./cmd/waggle demo; echo $? is the end of the demo")
	u.built("the demo", "allow it?")
	u.answers("a", "A host asks too")
	u.built("the demo", "0 is the end of the demo")
	u.presses("C-u") // an answer that came twice
	u.types("clear; CGO_ENABLED=0 go install ./cmd/waggle; echo $? is the end of the install")
	u.built("the install", "0 is the end of the install")
	u.types("clear; (cd $project && go vet ./... && go test ./...); echo $? is the end of the build") // which a step has no time for
	u.built("the build", "0 is the end of the build")
	u.plays(2, typed{line: "export https_proxy=http://127.0.0.1:9; cd $project; git init -q; command -v waggle", shows: []string{regexp.QuoteMeta(u.dir)}}, found)
	for i, step := range readmeSteps {
		u.plays(3+i, step, found)
	}
}

// built waits until the screen has a text that comes after a build with empty caches, or what was typed, of that name, has
// ended. The end of what was typed before may still be on the screen.
func (u *inTmux) built(what, text string) {
	u.t.Helper()
	ended := regexp.MustCompile(`(?m)^\d+ is the end of ` + what)
	testenv.WaitFor(20*time.Minute, func() bool { s := u.screen(); return strings.Contains(s, text) || ended.MatchString(s) })
	if s := u.screen(); !strings.Contains(s, text) {
		u.t.Fatalf("never %s:\n%s", text, s)
	}
}
