package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"waggle/internal/cgroup"
	"waggle/internal/cli"
	"waggle/internal/testenv"
)

// programs are what the tests may run beside themselves. They are this test binary, started
// some thousand times: what its tests import and initialise costs each start.
var programs = map[string]func(){"waggle": func() { os.Exit(cli.Main()) }}

// TestMain lets more tests run at once than there are processors: most of their time
// they wait for programs. With the race detector they compute, too. -parallel says
// otherwise.
func TestMain(m *testing.M) {
	if testenv.Slow == 1 {
		testenv.Overlap(3 * runtime.GOMAXPROCS(0))
	}
	testscript.Main(m, programs)
}

// TestScripts runs the command line as a person would: each script has its own
// wire tree, its own state, and the real binary.
func TestScripts(t *testing.T) {
	install, err := filepath.Abs("../../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir, files := "testdata/script", []string(nil)
	if testing.Short() {
		dir, files = "", shortScripts(t)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		Files:               files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("WAGGLE_ROOT", filepath.Join(e.WorkDir, "root"))
			e.Setenv("WAGGLE_STATE", filepath.Join(e.WorkDir, "state"))
			e.Setenv("NO_COLOR", "1")
			e.Setenv("INSTALL", install)
			e.Setenv("GORACE", os.Getenv("GORACE")) // of the race detector, when it is built in
			e.Setenv("GOCACHE", goCache())
			e.Setenv("GOFLAGS", "-mod=mod")
			e.Setenv("GOPATH", filepath.Join(e.WorkDir, "gopath"))
			e.Defer(func() { testenv.DropGroups(filepath.Join(e.WorkDir, "state")) })
			e.Values[machineKey{}] = &of{}
			return os.Mkdir(filepath.Join(e.WorkDir, "home"), 0o700)
		},
		Condition: func(cond string) (bool, error) {
			if cond == "cgroup" {
				return ownGroups(), nil
			}
			return false, fmt.Errorf("no condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"powercut":  cmdPowercut,
			"unchanged": cmdUnchanged,
			"json":      cmdJSON,
			"measure":   cmdMeasure,
			"rung":      cmdRung,
			"setjson":   cmdSetJSON,
			"status":    cmdStatus,
			"until":     cmdUntil,
		},
	})
}

// shortScripts lists the scripts that start no team and no program that goes on.
func shortScripts(t *testing.T) (files []string) {
	t.Helper()
	all, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !goesOn.Match(text) {
			files = append(files, file)
		}
	}
	return files
}

// goesOn matches a script that runs something for longer than a command lasts.
var goesOn = regexp.MustCompile(`(?m)waggle (up|run|resume|demo|spawn|lead|bench|watch|serve)\b|&$|&\w+&$|^until |go build|go run`)

// ownGroups reports that members get control groups of their own here.
func ownGroups() bool {
	dir, err := cgroup.Here("/proc")
	if err != nil {
		return false
	}
	path, err := os.MkdirTemp(dir, "waggle-test-")
	return err == nil && os.Remove(path) == nil
}

// goCache keeps the build cache of whoever runs the tests, so that scripts that
// run go do not build the standard library anew.
func goCache() string {
	if c := os.Getenv("GOCACHE"); c != "" {
		return c
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "go-build")
}

// cmdJSON is: json FILE PATH WANT. PATH is dotted; len is a list's length.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: json file path want")
	}
	got := lookup(ts, args[0], args[1])
	if (got == args[2]) == neg {
		ts.Fatalf("%s %s is %q", args[0], args[1], got)
	}
}

// cmdSetJSON is: setjson VAR FILE PATH.
func cmdSetJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: setjson var file path")
	}
	ts.Setenv(args[0], lookup(ts, args[1], args[2]))
}

func lookup(ts *testscript.TestScript, file, path string) string {
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile(file)), &v); err != nil {
		ts.Fatalf("%s: %v\n%s", file, err, ts.ReadFile(file))
	}
	for _, p := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			have, ok := x[p]
			if !ok {
				ts.Fatalf("%s: no %q of %s", file, p, path)
			}
			v = have
		case []any:
			if p == "len" {
				v = float64(len(x))
				continue
			}
			i, err := strconv.Atoi(p)
			if err != nil || i >= len(x) {
				ts.Fatalf("%s: no element %q of %s in %v", file, p, path, x)
			}
			v = x[i]
		default:
			ts.Fatalf("%s: %s goes too deep", file, path)
		}
	}
	if s, ok := v.(string); ok {
		return strings.ReplaceAll(s, "\n", `\n`)
	}
	b, err := json.Marshal(v)
	ts.Check(err)
	return string(b)
}

// cmdStatus is: status CODE PROGRAM ARG…; the program must exit with exactly
// that code.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status code program args")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		if _, serr := fmt.Sscanf(err.Error(), "exit status %d", &got); serr != nil {
			ts.Fatalf("%v", err)
		}
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit code %d, want %s\nstdout: %s\nstderr: %s", got, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// cmdUntil is: until TEXT PROGRAM ARG…; it runs the program until its output
// holds the text.
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until text program args")
	}
	deadline := time.Now().Add(20 * time.Second)
	for pause := 10 * time.Millisecond; ; pause = min(pause*3/2, 150*time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		if strings.Contains(ts.ReadFile("stdout"), args[0]) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("never said %q: %v\nstdout: %s\nstderr: %s", args[0], err, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
		}
		time.Sleep(pause) // real clock: another process announces nothing, and looks in a row would take its processor
	}
}
