//go:build linux

package sandbox_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"waggle/internal/sandbox"
	"waggle/internal/sandbox/proxy"
	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// attack is one case of the corpus. It counts if it succeeds without a sandbox, and it fails inside
// with words that name the refusal.
type attack struct {
	name string
	// script is run by sh. $P is the hostile program, $W the member's checkout, $T its
	// task directory, $H its home, $S waggle's state, and what arrange adds.
	script  string
	arrange func(*world) []string // what must be there; variables for the script
	// got says whether it succeeded, besides printing pwned. nil: printing is enough.
	got   func(*world) bool
	root  bool // only root can do it without a sandbox
	adapt func(*sandbox.Profile)
	// swap is what another command of the member does when the sandbox is looked at and not yet made.
	swap   func(*world)
	silent bool // a kill says nothing, and its status is the message
	never  bool // would bring the machine down: it is not tried without a sandbox, and not counted
}

// said matches the output of a refusal.
var said = regexp.MustCompile(`(?i)denied|not permitted|read-only|unreachable|refused|no such|does not let|not implemented|resolve|not allowed|` +
	`bad file descriptor|unavailable|cannot allocate|cannot|can't|no proxy|not known|403|invalid cross-device|unset|too large|not found|busy|killed|couldn't connect|no permissions|cannot fork|in the way`)

// runAttack runs a case in a world of its own.
func runAttack(t *testing.T, a attack, level sandbox.Level) (ran, bool) {
	if a.never && level == sandbox.Off {
		return ran{}, false
	}
	w := newWorld(t)
	w.servers()
	self, err := os.Executable()
	testenv.Must(t, err)
	env := []string{"W=" + w.Work, "T=" + w.Task, "H=" + w.Home, "S=" + w.State, "P=" + self + " " + hostileWord}
	if a.arrange != nil {
		env = append(env, a.arrange(w)...)
	}
	sb := w.sb
	sb.Level = level
	switch level {
	case sandbox.Off:
		env = append(env, "HTTP_PROXY=http://"+w.naiveProxy())
	case sandbox.Enforced:
		env = append(env, "P=/run/waggle/relay "+hostileWord)
	}
	if a.adapt != nil {
		a.adapt(&sb.Profile)
	}
	var got ran
	if a.swap == nil {
		got = w.run(sb, env, "sh", "-c", a.script)
	} else {
		got = w.swapped(sb, env, a)
	}
	success := strings.Contains(got.Out, pwned)
	if a.got != nil {
		success = a.got(w)
	}
	return got, success
}

// swapped runs a case whose directories are swapped before its sandbox is made.
func (w *world) swapped(sb sandbox.Sandbox, env []string, a attack) ran {
	w.t.Helper()
	r, err := sb.Prepare(spawn.Command{Argv: []string{"sh", "-c", a.script}, Dir: w.Work, Env: append([]string{"PATH=/usr/bin:/bin", "HOME=" + w.Home}, env...)})
	testenv.Must(w.t, err)
	a.swap(w)
	cmd := exec.CommandContext(w.t.Context(), r.Argv[0], r.Argv[1:]...)
	cmd.Dir, cmd.Env = w.Work, r.Env
	out, runErr := cmd.CombinedOutput()
	_, err = r.Close()
	return ran{Out: fmt.Sprint(string(out), runErr, " ", err), Err: err}
}

// TestCorpus runs every case. A case that does nothing without a sandbox is counted
// apart and shows nothing.
func TestCorpus(t *testing.T) {
	testenv.Long(t)
	testenv.Require(t, "bwrap")
	var counted, void atomic.Int64
	cases := attacks()
	switch {
	case testenv.Slow > 1:
		cases = testenv.Rows(t, cases, 30) // what is tried is in other processes
	case os.Getenv(placeVar) != "":
		cases = testenv.Rows(t, cases, 25) // root's run has tried more
	default:
		cases = testenv.Rows(t, cases, 90)
	}
	t.Run("cases", func(t *testing.T) {
		for _, a := range cases {
			if a.root && os.Geteuid() != 0 {
				continue
			}
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				if gaps := limitGaps(a); gaps != nil {
					void.Add(1)
					t.Skipf("does not count: this machine cannot hold %q, and says so", gaps)
				}
				if out, success := runAttack(t, a, sandbox.Off); !success && !a.never {
					void.Add(1)
					t.Skipf("does not count: it fails without a sandbox too: %v", out)
				}
				in, success := runAttack(t, a, sandbox.Enforced)
				switch {
				case success:
					t.Errorf("ESCAPE: %v", in)
				case !a.silent && !said.MatchString(in.Out):
					t.Errorf("no clear message: %v", in)
				}
				if !a.never {
					counted.Add(1)
				}
			})
		}
	})
	testenv.Measured(t, "sandbox corpus as uid %d: %d cases counted, %d do not count on this machine", os.Geteuid(), counted.Load(), void.Load())
	if tried := counted.Load() + void.Load(); counted.Load() < int64(len(cases)*2/5) && tried > int64(len(cases)/2) { // not with -run of a part
		t.Errorf("only %d cases count", counted.Load())
	}
}

// limitGaps are the limits of a case that cannot be held on this machine.
func limitGaps(a attack) []string {
	sb := sandbox.Sandbox{Groups: sandbox.FindGroups("/proc", time.Now())}
	if a.adapt != nil {
		a.adapt(&sb.Profile)
	}
	return sb.LimitGaps(os.Geteuid())
}

// TestAsOrdinaryUser runs the package's tests again without root's rights.
func TestAsOrdinaryUser(t *testing.T) {
	testenv.Long(t)
	if os.Geteuid() != 0 {
		t.Skip("this is one already")
	}
	testenv.Require(t, "bwrap")
	const nobody = 65534
	base := placeFor(t)
	self, err := os.Executable()
	testenv.Must(t, err)
	program := filepath.Join(base, "tests")
	testenv.Must(t, copyFile(program, self, 0o755))
	home := filepath.Join(base, "own")
	testenv.Must(t, os.Mkdir(home, 0o700))
	testenv.Must(t, os.Chown(home, nobody, nobody))
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^(TestCorpus|TestRun.*|TestSelfTest|TestFilesOnly.*|TestNetwork.*)$", "-test.v")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, placeVar+"="+home, "USER=nobody")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, testenv.MeasuredPrefix) {
			fmt.Print(line)
		}
	}
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

// public is an address of the public network that the test's proxy knows.
var public = netip.MustParseAddr("93.184.215.14")

// servers starts the servers that the attacks try to reach, and sets the proxy's view of the network.
func (w *world) servers() {
	w.t.Helper()
	w.names = map[string][]netip.Addr{
		"allowed.example.com": {public},
		"other.example.org":   {public},
		"rebind.example.com":  {netip.MustParseAddr("127.0.0.1")},
		"six.example.com":     {netip.MustParseAddr("::1")},
		"mapped.example.com":  {netip.MustParseAddr("::ffff:127.0.0.1")},
		"nat64.example.com":   {netip.MustParseAddr("64:ff9b::7f00:1")},
		"meta.example.com":    {netip.MustParseAddr("169.254.169.254")},
		"lan.example.com":     {netip.MustParseAddr("192.168.1.1")},
		"zero.example.com":    {netip.MustParseAddr("0.0.0.0")},
		"own.example.com":     {netip.MustParseAddr("198.51.100.7")},
	}
	w.web = w.listen("tcp", "127.0.0.1:0", nil)
	w.proxy.Close()
	w.proxy = proxy.New(proxy.Options{Decider: w.asks, Recorder: w.record, Now: time.Now,
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			if as, ok := w.names[host]; ok {
				return as, nil
			}
			return nil, fmt.Errorf("no such host %s", host)
		},
		Dial: func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", w.web) // every address is this server: what is refused is refused before
		}})
	w.proxy.Grant([]proxy.Grant{{ID: "g", Host: "*.example.com", Port: "80"}})
	p := w.proxy
	w.t.Cleanup(func() { p.Close() })
	w.sb.Network = w.proxy.Serve
}

// naiveProxy is a proxy that passes every connection to the one server.
func (w *world) naiveProxy() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(w.t, err)
	open := proxy.New(proxy.Options{Decider: yes{}, Now: time.Now,
		Resolve: func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{public}, nil },
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", w.web)
		}})
	served := make(chan struct{})
	go func() { defer close(served); _ = open.Serve(l, "naive") }()
	w.t.Cleanup(func() { l.Close(); open.Close(); <-served })
	return l.Addr().String()
}

type yes struct{}

func (yes) Decide(context.Context, proxy.Request) (proxy.Decision, error) {
	return proxy.Decision{Allow: true, Grant: "all"}, nil
}

// listen answers every connection with the greeting: as HTTP if it is asked so.
func (w *world) listen(network, addr string, got func()) string {
	w.t.Helper()
	l, err := net.Listen(network, addr)
	testenv.Must(w.t, err)
	w.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go greet(c)
		}
	}()
	return l.Addr().String()
}

// greet waits a moment for a request, then says the greeting.
func greet(c net.Conn) {
	defer c.Close()
	buf := make([]byte, 4096)
	_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	n, _ := c.Read(buf)
	text := string(buf[:n])
	switch {
	case strings.Contains(text, "/redirect"):
		fmt.Fprint(c, "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	case strings.Contains(text, "HTTP/1."):
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n", len(pwned)+1, pwned)
	default:
		fmt.Fprintln(c, pwned)
	}
}

// victim is a process outside of the sandbox, with a secret in its environment.
func (w *world) victim() *exec.Cmd {
	w.t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.Env = []string{"SECRET_OF_ANOTHER=" + pwned}
	cmd.Dir = w.Home
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	testenv.Must(w.t, cmd.Start())
	w.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// anchor is memory of this process that attacks read.
var anchor = []byte(pwned)

func anchorAddr() string { return fmt.Sprintf("%#x", uintptr(unsafe.Pointer(&anchor[0]))) }

// httpServer answers every request with pwned.
func httpServer(t testing.TB) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, pwned) }))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}
