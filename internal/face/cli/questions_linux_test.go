package cli_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"waggle/internal/confine"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/view/reportview"
	"waggle/internal/test/testenv"
	"waggle/operator/supervise"
	"waggle/record"
)

// build is a project, and the commands that build and test it.
type build struct {
	name     string
	needs    []string // programs; without one of them the project is skipped
	caches   string   // that its commands may change
	sockets  bool     // its tests use Unix sockets of their own
	make     func(t *testing.T, dir string)
	commands []string
	fails    bool // its test finds a fault that the project has for this purpose
	soak     bool // for minutes
}

// builds are the projects: the examples of this repository, a module that other people wrote, and one
// for each tool of testdata/builds.
func builds(t *testing.T) []build {
	t.Helper()
	list := []build{
		{name: "examples/checks", needs: []string{"go", "gofmt"}, caches: "go", make: scratchModule, commands: []string{"gofmt -d .", "go vet ./...", "go test ./..."}},
		{name: "examples/claude", make: copyOf("../../../examples/claude"), commands: []string{"sh test.sh"}, fails: true},
		{name: "examples/embed", needs: []string{"go", "git"}, caches: "go", sockets: true, make: checkout, soak: true,
			commands: []string{"go -C examples/embed build ./...", "go -C examples/embed vet ./...", "go -C examples/embed test -run 'TestReader|TestMonitor' ./..."}},
		{name: "go-cmp", needs: []string{"go"}, caches: "go", make: module("github.com/google/go-cmp"),
			commands: []string{"go build ./...", "go vet -composites=false -structtag=false ./...", "go test ./... 2>&1 | tee test.log", "go test -run TestDiff -count=1 -coverprofile=cover.out ./cmp && go tool cover -func=cover.out | tail -n 1"}},
	}
	for name, needs := range map[string]string{"npm": "node npm", "pytest": "python3 pytest", "cargo": "cargo cc"} {
		a, err := txtar.ParseFile(filepath.Join("testdata/builds", name+".txtar"))
		testenv.Must(t, err)
		b := build{name: name, needs: strings.Fields(needs), caches: name, make: func(t *testing.T, dir string) { unpack(t, a, dir) }}
		if name == "pytest" {
			b.caches = "pip"
		}
		for _, f := range a.Files {
			if f.Name == "commands" {
				b.commands = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
			}
		}
		list = append(list, b)
	}
	return list
}

func unpack(t *testing.T, a *txtar.Archive, dir string) {
	t.Helper()
	for _, f := range a.Files {
		if f.Name != "commands" {
			writeFile(t, filepath.Join(dir, f.Name), string(f.Data))
		}
	}
}

func scratchModule(t *testing.T, dir string) {
	writeFile(t, dir+"/go.mod", "module scratch\n\ngo 1.24\n")
	writeFile(t, dir+"/a.go", "package scratch\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n")
	writeFile(t, dir+"/a_test.go", "package scratch\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal(\"sum\")\n\t}\n}\n")
}

// copyOf copies the files of a directory, which may be read-only, as files of the member's own.
func copyOf(from string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			rel, err := filepath.Rel(from, path)
			if err != nil {
				return err
			}
			data, err := os.ReadFile(path)
			if err == nil {
				writeFile(t, filepath.Join(dir, rel), string(data))
			}
			return err
		})
		testenv.Must(t, err)
	}
}

// module copies a module that this one requires.
func module(path string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path).Output()
		testenv.Must(t, err)
		copyOf(strings.TrimSpace(string(out)))(t, dir)
	}
}

// checkout is this repository, as git has it.
func checkout(t *testing.T, dir string) {
	t.Helper()
	script := exec.Command("sh", "-c", `git -C ../../.. ls-files -z -- ':!docs' | tar -C ../../.. --null -T - -cf - | tar -C "$1" -xf -`, "sh", dir)
	if out, err := script.CombinedOutput(); err != nil {
		t.Skipf("needs the files of the repository: %v %s", err, out)
	}
}

// TestQuestionsSaved runs the build and the tests of real projects, each command a call of a confined
// member: with sandboxed: allow no command is a question, and without it every command is one.
func TestQuestionsSaved(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	if os.Getenv(confine.Variable) == "off" {
		t.Skip(confine.Variable + "=off: the suite runs without sandboxes")
	}
	testenv.Require(t, "bwrap")
	program := filepath.Join(t.TempDir(), "waggle")
	testenv.Must(t, testenv.Program(program))
	for _, b := range testenv.Rows(t, builds(t), 2) {
		t.Run(b.name, func(t *testing.T) {
			for _, tool := range b.needs {
				testenv.Require(t, tool)
			}
			if b.soak && !testenv.Soak() {
				t.Skip("it runs for minutes: with WAGGLE_TEST=soak")
			}
			with, questions := b.run(t, program, true)
			if len(questions) > 0 || with.Sandbox != record.HeldEnforced || len(with.Requests) != len(b.commands) {
				t.Errorf("%d questions of %d calls, sandbox %q: %+v", len(questions), len(with.Requests), with.Sandbox, questions)
			}
			for _, k := range with.Tasks {
				if k.Status != "completed" != b.fails {
					t.Errorf("%s is %s: %s", k.Subject, k.Status, k.OutputTail)
				}
			}
			_, without := b.run(t, program, false)
			if len(without) == 0 || len(without) > len(b.commands) { // what only reads asks nowhere
				t.Errorf("without the flag %d questions of %d commands: %+v", len(without), len(b.commands), without)
			}
			testenv.Measured(t, "questions of %s, %d commands of build and test: %d with sandboxed: allow, %d without", b.name, len(b.commands), len(questions), len(without))
		})
	}
}

// run runs the commands, one task each, and returns the report and its requests that no rule decided.
func (b build) run(t *testing.T, program string, flag bool) (rep reportview.Document, questions []supervise.RequestReport) {
	t.Helper()
	base := testenv.DiskDir(t) // its member is in a sandbox
	dir := filepath.Join(base, "project")
	testenv.Must(t, os.Mkdir(dir, 0o755))
	b.make(t, dir)
	cmd := exec.CommandContext(t.Context(), program, "run", filepath.Join(base, "team.yaml"), "--headless", "--report", filepath.Join(base, "report"),
		"--root", filepath.Join(base, "root"), "--state", filepath.Join(base, "state"))
	writeFile(t, filepath.Join(base, "team.yaml"), b.teamFile(dir, flag))
	writeFile(t, filepath.Join(base, "home", "there"), "")
	cmd.Dir = base
	cmd.Env = append(os.Environ(), b.environ(t, base)...)
	owns(t, base)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); flag && code != 0 && !b.fails || !flag && code != app.ExitQuestion {
		t.Errorf("exit %d, %v: %s", code, err, out)
	}
	data, err := os.ReadFile(filepath.Join(base, "report", "report.json"))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	testenv.Must(t, json.Unmarshal(data, &rep))
	for _, r := range rep.Requests {
		if r.By != "rules" { // a rule, the mode or the sandbox
			questions = append(questions, r)
		}
	}
	return rep, questions
}

func (b build) teamFile(dir string, flag bool) string {
	var s strings.Builder
	caches, sockets := b.caches, ""
	if b.sockets {
		sockets = ", unix_sockets: own-tree"
	}
	fmt.Fprintf(&s, "team: builds\nsandbox: {mode: required, caches: [%s]%s}\n", caches, sockets)
	if flag {
		s.WriteString("policy: {sandboxed: allow}\n")
	}
	fmt.Fprintf(&s, "members: [{name: ann, agent: exec, backend: process, cwd: %q}]\ntasks:\n", dir)
	for i, c := range b.commands {
		fmt.Fprintf(&s, "  - {subject: command %d, owner: ann, instructions: %q}\n", i+1, c)
	}
	return s.String()
}

// environ is a home of its own, in which toolchains and the cache of go are the user's.
func (b build) environ(t *testing.T, base string) []string {
	t.Helper()
	env := []string{"HOME=" + filepath.Join(base, "home"), "GOCACHE=" + goCache(), "GOPROXY=off", "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod"}
	if os.Getenv("RUSTUP_HOME") == "" {
		env = append(env, "RUSTUP_HOME="+filepath.Join(testenv.Home(t), ".rustup"))
	}
	return append(env, "CARGO_HOME="+filepath.Join(base, "home", ".cargo"))
}
