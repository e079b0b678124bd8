//go:build linux

package sandbox_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"waggle/internal/sandbox"
	"waggle/internal/sandbox/proxy"
	"waggle/internal/sandbox/relay"
	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// TestMain makes the test binary the relay, the hostile program, and the tests.
func TestMain(m *testing.M) {
	testenv.OnDisk()
	testenv.Overlap(6) // cases wait more than they compute
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case relay.Subcommand:
			os.Exit(relay.Main(os.Args[2:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
		case hostileWord:
			os.Exit(hostile(os.Args[2:]))
		case ownerWord:
			os.Exit(own(os.Args[2:]))
		}
		if !strings.HasPrefix(os.Args[1], "-") {
			// A word that is misspelled must not run the tests, which start this program.
			fmt.Fprintf(os.Stderr, "the test binary knows no %q\n", os.Args[1])
			os.Exit(99)
		}
	}
	os.Exit(m.Run())
}

// world is a member with a home, a team, and a sandbox.
type world struct {
	t      testing.TB
	Base   string // everything is in it
	Home   string // with secrets
	Work   string // the member's checkout
	Task   string // output.log, task-status.json and artifacts/
	State  string // waggle's own
	proxy  *proxy.Proxy
	asks   *asks
	record *record
	sb     sandbox.Sandbox
	names  map[string][]netip.Addr
	web    string // the one server
}

// newWorld makes one, not below /tmp, which the sandbox replaces as a whole.
func newWorld(t testing.TB) *world {
	t.Helper()
	testenv.Require(t, "bwrap")
	base := placeFor(t)
	w := &world{t: t, Base: base, Home: base + "/home", Work: base + "/work", Task: base + "/team/tasks/ada", State: base + "/state"}
	for path, text := range map[string]string{
		"home/.ssh/id_ed25519":            "PRIVATE KEY\n",
		"home/.aws/credentials":           "aws_secret\n",
		"home/.netrc":                     "machine x password y\n",
		"home/.claude/settings.json":      "{}\n",
		"home/.config/gcloud/tokens.db":   "gcloud\n",
		"home/notes.txt":                  "notes\n",
		"work/main.go":                    "package main\n",
		"work/waggle.yaml":                "team: x\n",
		"team/tasks/ada/output.log":       "log\n",
		"team/tasks/ada/task-status.json": "{}\n",
		"team/teams/x/inboxes/bob.json":   "[]\n",
		"state/teams/x/journal.jsonl":     "record\n",
		"state/operator.key":              "key\n",
	} {
		path = filepath.Join(base, path)
		testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testenv.Must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	testenv.Must(t, os.MkdirAll(w.Task+"/artifacts", 0o755))
	testenv.Must(t, os.MkdirAll(w.State+"/run", 0o700))
	testenv.Must(t, os.MkdirAll(base+"/tmp", 0o755))
	self, err := os.Executable()
	testenv.Must(t, err)
	kit, err := sandbox.NewTestKit(w.State+"/run", self)
	testenv.Must(t, err)
	w.asks, w.record = newAsks(), &record{}
	w.proxy = proxy.New(proxy.Options{Decider: w.asks, Recorder: w.record, Now: time.Now})
	t.Cleanup(func() { w.proxy.Close() })
	w.sb = sandbox.Sandbox{Kit: kit, Level: sandbox.Enforced, Network: w.proxy.Serve, Name: "call", Groups: sandbox.FindGroups("/proc", time.Now()),
		Profile: sandbox.Profile{Writable: []string{w.Work, w.Task + "/artifacts"}, Tmp: base + "/tmp", Secrets: sandbox.Secrets(w.Home),
			Hidden: []string{w.State, base + "/team/teams"}, ReadOnly: []string{w.Work + "/waggle.yaml"}}}
	return w
}

// placeVar names a directory for the run as an ordinary user.
const placeVar = "WAGGLE_SANDBOX_TEST_DIR"

// placeFor is a directory below the user's own, or where root may write.
func placeFor(t testing.TB) string {
	t.Helper()
	parent := os.Getenv(placeVar)
	if parent == "" {
		parent = "/var/lib"
		if os.Geteuid() != 0 {
			parent = testenv.Home(t)
		}
	}
	base, err := os.MkdirTemp(parent, "wsb")
	testenv.Must(t, err)
	testenv.Must(t, os.Chmod(base, 0o755))
	t.Cleanup(func() {
		unmountBelow(base)
		os.RemoveAll(base)
	})
	return base
}

// unmountBelow undoes what attacks have mounted without a sandbox, before their directory
// is removed: a mount would keep it, and lead RemoveAll elsewhere.
func unmountBelow(base string) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], base+"/") {
			_ = unix.Unmount(f[4], unix.MNT_DETACH) // gone already, with the one around it
		}
	}
}

// ran is the result of a command.
type ran struct {
	Exit spawn.Exit
	Out  string
	Err  error
}

func (r ran) String() string { return fmt.Sprintf("exit %+v err %v output:\n%s", r.Exit, r.Err, r.Out) }

// inside runs a command in the sandbox.
func (w *world) inside(argv ...string) ran { return w.run(w.sb, nil, argv...) }

// outside runs it without.
func (w *world) outside(argv ...string) ran {
	sb := w.sb
	sb.Level = sandbox.Off
	return w.run(sb, nil, argv...)
}

const patience = 60 * time.Second

// begin starts a command in the sandbox, and returns its output so far and its error when it has ended.
func (w *world) begin(argv ...string) (out *testenv.Buffer, done chan error) {
	out, done = &testenv.Buffer{}, make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, err := w.sb.Run(ctx, spawn.Command{Argv: argv, Dir: w.Work, Env: append(testenv.Race(), "PATH=/usr/bin:/bin"), Output: out})
		done <- err
	}()
	return out, done
}

func (w *world) run(sb sandbox.Sandbox, env []string, argv ...string) ran {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out testenv.Buffer
	env = append(append(testenv.Race(), "PATH=/usr/local/bin:/usr/bin:/bin", "HOME="+w.Home, "LANG=C.UTF-8"), env...)
	exit, err := sb.Run(ctx, spawn.Command{Argv: argv, Dir: w.Work, Env: env, Output: &out})
	return ran{exit, out.String(), err}
}

// asks answers questions about hosts: a host without an answer is refused.
type asks struct {
	mu      sync.Mutex
	answers map[string]proxy.Decision
	asked   []proxy.Request
}

func newAsks() *asks { return &asks{answers: map[string]proxy.Decision{}} }

func (a *asks) Decide(_ context.Context, r proxy.Request) (proxy.Decision, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r)
	answer, ok := a.answers[r.Host+":"+r.Port]
	if !ok {
		answer = proxy.Decision{Reason: "the operator denied it"}
	}
	return answer, nil
}

// record keeps what the proxy recorded.
type record struct {
	mu   sync.Mutex
	list []proxy.Connection
}

func (r *record) Record(c proxy.Connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, c)
}

func (r *record) all() []proxy.Connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// ownerWord makes the test binary a program that owns a sandbox, and is killed.
const ownerWord = "owner"

func copyFile(to, from string, perm os.FileMode) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, perm)
}
