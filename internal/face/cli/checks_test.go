package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view/reportview"
	"waggle/internal/test/testenv"
)

// TestChecks runs examples/checks on a scratch module: as it is, and with each
// kind of fault planted.
func TestChecks(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	example := readFile(t, "../../../examples/checks/waggle.yaml")
	good := map[string]string{
		"go.mod":    "module scratch\n\ngo 1.24\n",
		"a.go":      "package scratch\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n",
		"a_test.go": "package scratch\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal(\"sum\")\n\t}\n}\n",
	}
	type fault struct {
		name   string
		path   string
		text   string
		edit   func(string) string
		exit   int
		worker string
	}
	for _, c := range testenv.Rows(t, []fault{
		{name: "clean", exit: 0},
		{name: "unformatted", path: "b.go", text: "package scratch\n\nfunc  bad() {}\n", exit: app.ExitFailed, worker: "formatter"},
		{name: "vet", path: "b.go", text: "package scratch\n\nimport \"fmt\"\n\nfunc bad() { fmt.Printf(\"%d\\n\", \"x\") }\n", exit: app.ExitFailed, worker: "vetter"},
		{name: "test", path: "b_test.go", text: "package scratch\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Fatal(\"planted\") }\n", exit: app.ExitFailed, worker: "tester"},
		{name: "not allowed", edit: func(s string) string {
			return strings.Replace(s, `instructions: "go vet ./..."`, `instructions: "touch planted-by-vetter"`, 1)
		}, exit: app.ExitQuestion, worker: "vetter"},
	}, 2) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := map[string]string{"examples/checks/waggle.yaml": string(example)}
			for n, s := range good {
				files[n] = s
			}
			if c.edit != nil {
				files["examples/checks/waggle.yaml"] = c.edit(string(example))
			}
			if c.path != "" {
				files[c.path] = c.text
			}
			for n, s := range files {
				p := filepath.Join(dir, n)
				writeFile(t, p, s)
			}
			exit, rep := runFile(t, dir, "examples/checks/waggle.yaml")
			if exit != c.exit || rep.Exit != c.exit {
				t.Fatalf("exit %d, report says %d (%s), want %d", exit, rep.Exit, rep.Reason, c.exit)
			}
			if c.worker == "" {
				return
			}
			if !strings.Contains(rep.Reason, c.worker) {
				t.Errorf("the reason %q does not name %s", rep.Reason, c.worker)
			}
			var failed []string
			for _, k := range rep.Tasks {
				if k.Status != "completed" {
					failed = append(failed, k.Owner)
				}
			}
			// A test binary that does not vet does not run either.
			if !slices.Contains(failed, c.worker) || (c.name != "vet" && len(failed) != 1) {
				t.Errorf("tasks of %v are open, want %s", failed, c.worker)
			}
			if exists(dir, "planted-by-vetter") {
				t.Error("what policy does not allow was executed")
			}
		})
	}
}

// runFile runs a team file headless and returns the exit code and the report.
func runFile(t *testing.T, dir, file string) (int, reportview.Document) {
	t.Helper()
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), binary(t), "run", file, "--headless", "--report", out,
		"--root", filepath.Join(out, "root"), "--state", filepath.Join(out, "state"))
	cmd.Dir = dir
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	b, rerr := os.ReadFile(filepath.Join(out, "report.json"))
	if rerr != nil {
		t.Fatalf("%v\n%s", rerr, log.String())
	}
	var rep reportview.Document
	testenv.Must(t, json.Unmarshal(b, &rep))
	return cmd.ProcessState.ExitCode(), rep
}
