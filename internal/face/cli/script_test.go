package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"waggle/internal/cgroup"
	"waggle/internal/confine"
	"waggle/internal/face/ask"
	"waggle/internal/face/cli"
	"waggle/internal/sandbox/relay"
	"waggle/internal/test/testenv"
	"waggle/operator"
)

// programs are what the tests may run beside themselves. They are this test binary, started
// some thousand times: what its tests import and initialise costs each start.
var programs = map[string]func(){"waggle": func() {
	os.Exit(cli.MainOf(cli.Options{Stand: stand, Waits: waits()}))
}}

// ladderVar is the time that each process of a script gives a member to end by SIGTERM, and to be gone
// after SIGKILL. Only this test's program reads it: a member that a busy machine does not run for two
// seconds would be killed, and the script is about the order of the steps.
const ladderVar = "TEST_LADDER"

// deliverVar is how long each process of a script that answers a request waits until the answer is
// delivered. Only this test's program reads it.
const deliverVar = "TEST_DELIVER"

// standVar names a file with the time that a question stands before a key counts: a test changes it while
// the question stands. Without the file it is the usual time. Only this test's program reads it.
const standVar = "TEST_STAND"

// stand is ask.Options.Stand of this program.
func stand() time.Duration {
	if path := os.Getenv(standVar); path != "" {
		text, _ := os.ReadFile(path) // without it the time is the usual one
		if d, err := time.ParseDuration(string(text)); err == nil {
			return d
		}
	}
	return ask.Stand
}

// waits are what a test asks of this program by variables.
func waits() (w operator.Waits) {
	w.Deliver, _ = time.ParseDuration(os.Getenv(deliverVar)) // 0 where none is asked
	w.Term, _ = time.ParseDuration(os.Getenv(ladderVar))
	w.Kill = w.Term
	return w
}

// TestMain lets few tests run at once: they wait for programs, but what a person does in a terminal has
// time limits that more of them would break. -parallel says otherwise.
func TestMain(m *testing.M) {
	testenv.Overlap(4)
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "-test.") && static() {
		testenv.OnDisk() // every member of mode auto is in a sandbox
	}
	if len(os.Args) > 1 && os.Args[1] == relay.Subcommand { // as cmd/waggle does
		os.Exit(relay.Main(os.Args[2:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
	testscript.Main(m, programs)
}

// static reports that this program can be the relay of a sandbox: it needs no dynamic loader.
func static() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return true
	}
	for _, s := range info.Settings {
		if s.Key == "CGO_ENABLED" {
			return s.Value == "0"
		}
	}
	return true
}

// TestScripts runs the command line as a person would: each script has its own
// wire tree, its own state, and the real binary.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts:", err)
	}
	runScripts(t, files...)
}

// runScripts runs script files.
func runScripts(t *testing.T, files ...string) {
	t.Helper()
	usual, confined := split(t, files)
	runIn(t, usual)
	if len(confined) == 0 {
		return
	}
	scriptsLock.Lock()
	defer scriptsLock.Unlock()
	if err := os.Setenv(scriptsVar, testenv.Usual()); err != nil { // until Run has made its directory
		t.Fatal(err)
	}
	defer func() { _ = os.Unsetenv(scriptsVar) }() // it was not set
	runIn(t, confined)
}

// runIn runs script files in the directory that is set.
func runIn(t *testing.T, files []string) {
	t.Helper()
	if len(files) == 0 {
		return
	}
	install, err := filepath.Abs("../../../install.sh")
	testenv.Must(t, err)
	testscript.Run(t, testscript.Params{
		Files:               files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("WAGGLE_ROOT", filepath.Join(e.WorkDir, "root"))
			e.Setenv("WAGGLE_STATE", filepath.Join(e.WorkDir, "state"))
			e.Setenv("NO_COLOR", "1")
			e.Setenv(confine.Variable, os.Getenv(confine.Variable))
			e.Setenv("INSTALL", install)
			e.Setenv("CHECKS", filepath.Join(filepath.Dir(install), "examples", "checks", "waggle.yaml"))
			e.Setenv("GORACE", os.Getenv("GORACE")) // of the race detector, when it is built in
			e.Setenv("GOCACHE", goCache())
			e.Setenv("GOFLAGS", "-mod=mod")
			e.Setenv("GOPATH", filepath.Join(e.WorkDir, "gopath"))
			script, ok := e.T().(testing.TB)
			if !ok {
				return fmt.Errorf("%T is no testing.TB", e.T())
			}
			e.Defer(func() { endBelow(script, e.WorkDir) })
			testenv.Overdue(script, scriptLimit, e.WorkDir)
			return os.Mkdir(filepath.Join(e.WorkDir, "home"), 0o700)
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "full":
				return testenv.Full(), nil
			case "cgroup":
				return ownGroups(), nil
			case "landlock":
				return relay.LandlockABI() > 0, nil
			case "sandbox":
				if os.Getenv(confine.Variable) == "off" {
					return false, nil
				}
				return testenv.Usable("bwrap")
			}
			return false, fmt.Errorf("no condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"asked":     cmdAsked,
			"powercut":  cmdPowercut,
			"unchanged": cmdUnchanged,
			"json":      cmdJSON,
			"setjson":   cmdSetJSON,
			"static":    cmdStatic,
			"status":    cmdStatus,
			"until":     cmdUntil,
		},
	})
}

// scriptLimit is how long a script may take. A step that waits for something which never comes ends then.
const scriptLimit = 4 * time.Minute

// scriptsVar says where testscript makes the directories of scripts.
const scriptsVar = "GOTMPDIR"

// scriptsLock is held while scriptsVar is set.
var scriptsLock sync.Mutex

// onDisk matches a script whose members are in sandboxes, which have a /dev of their own.
var onDisk = regexp.MustCompile(`(?m)^static$`)

// split takes the scripts that need the disk apart.
func split(t *testing.T, files []string) (usual, confined []string) {
	t.Helper()
	for _, file := range files {
		text := readFile(t, file)
		if onDisk.Match(text) {
			confined = append(confined, file)
		} else {
			usual = append(usual, file)
		}
	}
	return usual, confined
}

// ownGroups reports that members get control groups of their own here.
func ownGroups() bool {
	dir, err := cgroup.Here("/proc")
	if err != nil {
		return false
	}
	path, err := os.MkdirTemp(dir, "waggle-test-")
	return err == nil && os.Remove(path) == nil
}

// goCache is the build cache of the user who runs the tests, which testenv keeps. With it scripts that
// run go do not build the standard library anew.
func goCache() string { return os.Getenv("GOCACHE") }

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
	var err error
	if !testenv.WaitFor(time.Minute, func() bool {
		err = ts.Exec(args[1], args[2:]...)
		return strings.Contains(ts.ReadFile("stdout"), args[0])
	}) {
		ts.Fatalf("never said %q: %v\nstdout: %s\nstderr: %s", args[0], err, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// cmdStatic puts the program as it is built for people before the test binary, which may be linked
// dynamically: a sandbox's relay must not be.
func cmdStatic(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: static")
	}
	dir := ts.MkAbs("static")
	ts.Check(testenv.Program(filepath.Join(dir, "waggle")))
	ts.Setenv("PATH", dir+string(os.PathListSeparator)+ts.Getenv("PATH"))
}
