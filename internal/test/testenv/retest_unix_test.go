//go:build unix

package testenv_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
)

// TestRetest: .ci/retest runs a failed test again by itself and takes one pass; it fails for a test that
// fails again, and does not run again what panicked, did not build, or failed outside its tests.
func TestRetest(t *testing.T) {
	testenv.Long(t)
	testenv.Require(t, "jq")
	script, err := filepath.Abs("../../../.ci/retest")
	testenv.Must(t, err)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":             "module example.com/m\n\ngo 1.26\n",
		"flaky/x_test.go":    "package flaky\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestFlaky(t *testing.T) {\n\tif os.Mkdir(\"seen\", 0o700) == nil {\n\t\tt.Run(\"sub\", func(t *testing.T) { t.Error(\"the first time\") })\n\t}\n}\n\nfunc TestBeside(t *testing.T) { t.Log(\"panic: only said\") }\n",
		"always/x_test.go":   "package always\n\nimport \"testing\"\n\nfunc TestAlways(t *testing.T) { t.Error(\"each time\") }\n",
		"panics/x_test.go":   "package panics\n\nimport \"testing\"\n\nfunc TestPanics(t *testing.T) { panic(\"it\") }\n",
		"broken/x_test.go":   "package broken\n\nimport \"testing\"\n\nfunc TestBroken(t *testing.T) { missing() }\n",
		"outside/x_test.go":  "package outside\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) {\n\tm.Run()\n\tos.Exit(3)\n}\n\nfunc TestPasses(t *testing.T) {}\n",
		"passes/x_test.go":   "package passes\n\nimport \"testing\"\n\nfunc TestPasses(t *testing.T) {}\n",
		"six/x_test.go":      "package six\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Error() }\nfunc TestX2(t *testing.T) { t.Error() }\nfunc TestX3(t *testing.T) { t.Error() }\nfunc TestX4(t *testing.T) { t.Error() }\nfunc TestX5(t *testing.T) { t.Error() }\nfunc TestX6(t *testing.T) { t.Error() }\n",
		"too_slow/x_test.go": "package too_slow\n\nimport \"testing\"\n\nfunc TestSlow(t *testing.T) { select {} }\n\nfunc init() { go func() { select {} }() }\n",
	} {
		path := filepath.Join(dir, name)
		testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testenv.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for _, tc := range []struct {
		packages      string
		code          int
		flaky, failed []string // the lines of the two files, or how they begin
	}{
		{"./passes", 0, nil, nil},
		{"./passes ./flaky", 0, []string{"flaky: TestFlaky (example.com/m/flaky)"}, nil},
		{"./always", 1, nil, []string{"failed: TestAlways (example.com/m/always)"}},
		{"./flaky ./always", 1, []string{"flaky: TestFlaky (example.com/m/flaky)"}, []string{"failed: TestAlways (example.com/m/always)"}},
		{"./panics", 1, nil, []string{"failed, not run again: hard example.com/m/panics TestPanics: panic: it", "failed, not run again: example.com/m/panics TestPanics"}},
		{"./broken", 1, nil, []string{"failed, not run again: hard example.com/m/broken"}},
		{"./outside", 1, nil, []string{"failed, not run again: hard example.com/m/outside: failed outside its tests"}},
		{"./six", 1, nil, []string{"failed, not run again: example.com/m/six TestX"}},
		{"-timeout=1s ./too_slow", 1, nil, []string{"failed, not run again: hard example.com/m/too_slow"}},
	} {
		_ = os.RemoveAll(filepath.Join(dir, "flaky", "seen"))
		lists := map[string]string{"FLAKY": filepath.Join(dir, "flaky.txt"), "FAILED": filepath.Join(dir, "failed.txt")}
		cmd := exec.Command(script, append([]string{filepath.Join(dir, "said.json")}, strings.Fields(tc.packages)...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=", "GOWORK=off")
		for name, path := range lists {
			_ = os.Remove(path)
			cmd.Env = append(cmd.Env, name+"="+path)
		}
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != tc.code {
			t.Errorf("%s: exit %d, not %d\n%s", tc.packages, code, tc.code, out)
		}
		for name, want := range map[string][]string{"FLAKY": tc.flaky, "FAILED": tc.failed} {
			text, _ := os.ReadFile(lists[name])
			var got []string
			for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
				switch {
				case line == "":
				case i < len(want):
					got = append(got, line[:min(len(line), len(want[i]))])
				case name == "FLAKY":
					got = append(got, line)
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: %s (-want +got):\n%s\n%s", tc.packages, name, d, text)
			}
		}
	}
}
