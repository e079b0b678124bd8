//go:build linux

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"waggle/internal/sandbox"
	"waggle/internal/sandbox/proxy"
	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// Each program finds the proxy by the variables that presets set.
func TestNetworkPresets(t *testing.T) {
	testenv.Long(t)
	for _, tc := range []struct{ program, script string }{
		{"curl", `curl -sS http://allowed.example.com/`},
		{"git", `git ls-remote http://allowed.example.com/x.git 2>&1 | grep -q 'not found\|not valid\|unable to access' && echo ` + pwned},
		{"node", `node -e 'if(!process.allowedNodeEnvironmentFlags.has("--use-env-proxy")){console.log("too old");process.exit()};fetch("http://allowed.example.com/").then(r=>r.text()).then(console.log)'`},
		{"npm", `npm view left-pad --registry http://allowed.example.com/ --fetch-retries 0 >/dev/null 2>&1; echo ` + pwned},
		{"cargo", `CARGO_HOME=$W/.cargo RUSTUP_HOME=/root/.rustup HOME=/root PATH=$PATH:/root/.cargo/bin CARGO_HTTP_CHECK_REVOKE=false timeout 20 cargo search x --index sparse+http://allowed.example.com/ >/dev/null 2>&1; echo ` + pwned},
		{"ssh", `eval "$GIT_SSH_COMMAND -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -p 80 x@allowed.example.com true" </dev/null 2>/dev/null; echo ` + pwned},
		{"python3", `python3 -c 'import urllib.request;print(urllib.request.urlopen("http://allowed.example.com/").read().decode())'`},
		{"java", `printf 'public class A{public static void main(String[] a)throws Exception{System.out.write(new java.net.URL("http://allowed.example.com/").openStream().readAllBytes());System.out.flush();}}' > A.java && java A.java`},
		{"sh", `$P connect allowed.example.com 80 </dev/null`},
	} {
		t.Run(tc.program, func(t *testing.T) {
			testenv.Require(t, tc.program)
			w := newWorld(t)
			w.servers()
			got := w.run(w.sb, []string{"P=/run/waggle/relay sandbox-relay"}, "sh", "-c", tc.script)
			if strings.Contains(got.Out, "too old") {
				t.Skip("this node knows no NODE_USE_ENV_PROXY")
			}
			if !strings.Contains(got.Out, pwned) {
				t.Errorf("%v", got)
			}
			reached := false
			for _, c := range w.record.all() {
				reached = reached || c.Event == proxy.Opened && c.Host == "allowed.example.com" && c.Grant == "g"
			}
			if !reached {
				t.Errorf("on record: %+v", w.record.all())
			}
		})
	}
}

// A host that is not granted is asked about, while the program waits; the refusal reaches
// the program's output.
func TestNetworkHeld(t *testing.T) {
	testenv.Require(t, "curl")
	for _, allow := range []bool{true, false} {
		w := newWorld(t)
		w.servers()
		w.asks.answers["other.example.org:80"] = proxy.Decision{Allow: allow, Grant: "once", Reason: "the operator said no"}
		got := w.inside("curl", "-sS", "http://other.example.org/")
		if allow && !strings.Contains(got.Out, pwned) || !allow && !strings.Contains(got.Out, "waggle: the sandbox does not let this through to other.example.org:80: the operator said no") {
			t.Errorf("%v: %v", allow, got)
		}
		if len(w.asks.asked) != 1 || w.asks.asked[0].Client != "call" {
			t.Errorf("asked %+v", w.asks.asked)
		}
	}
}

// A program that ignores the proxy fails at once, and Hint says what to do.
func TestNetworkHint(t *testing.T) {
	w := newWorld(t)
	w.servers()
	start := time.Now()
	got := w.inside("bash", "-c", "exec 3<>/dev/tcp/93.184.215.14/80")
	if hint := strings.Join(sandbox.Hints(sandbox.Enforced, got.Out, false), " "); got.Exit.Code == 0 || !strings.Contains(hint, "HTTPS_PROXY") {
		t.Errorf("%v: %q", got, hint)
	}
	testenv.Within(t, "the failure", time.Since(start), patience/2)
	if len(sandbox.Hints(sandbox.Enforced, "all is well", false)) > 0 {
		t.Error("a hint without a reason")
	}
}

// The proxy's end closes the way out: open connections are cut, and no new one goes out.
func TestNetworkProxyDies(t *testing.T) {
	testenv.Require(t, "curl")
	w := newWorld(t)
	w.servers()
	script := `curl -sS --max-time 5 http://allowed.example.com/ && echo first; while [ ! -e gone ]; do sleep 0.02; done; curl -sS --max-time 5 http://allowed.example.com/ || echo closed; bash -c 'exec 3<>/dev/tcp/93.184.215.14/80' || echo still closed`
	out, done := w.begin("sh", "-c", script)
	testenv.Eventually(t, "the first request is through", func() bool { return strings.Contains(out.String(), "first") })
	testenv.Must(t, w.proxy.Close())
	testenv.Must(t, os.WriteFile(w.Work+"/gone", nil, 0o644))
	err := <-done
	if got := out.String(); !strings.Contains(got, "\nclosed") || !strings.Contains(got, "still closed") || strings.Count(got, pwned) != 1 || !errors.Is(err, sandbox.ErrProxy) {
		t.Errorf("%v: %s", err, got)
	}
}

// The proxy's failure is the call's error.
func TestNetworkProxyFails(t *testing.T) {
	w := newWorld(t)
	w.sb.Network = func(l net.Listener, _ string) error { l.Close(); return errors.New("no memory") }
	got := w.inside("true")
	if !errors.Is(got.Err, sandbox.ErrProxy) || got.Exit.Code != 0 {
		t.Errorf("%v", got)
	}
}

// A revocation cuts the open connections of a command, in time.
func TestNetworkRevoke(t *testing.T) {
	testenv.Require(t, "bash")
	w := newWorld(t)
	w.servers()
	w.web = w.listen("tcp", "127.0.0.1:0", nil)
	held := make(chan struct{})
	w.proxy.Close()
	w.proxy = proxy.New(proxy.Options{Recorder: w.record, Now: time.Now,
		Resolve: func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{public}, nil },
		Dial: func(context.Context, netip.AddrPort) (net.Conn, error) {
			near, far := net.Pipe()
			go func() { <-held; far.Close() }()
			return near, nil
		}})
	w.t.Cleanup(func() { close(held); w.proxy.Close() })
	w.proxy.Grant([]proxy.Grant{{ID: "g", Host: "allowed.example.com"}})
	w.sb.Network = w.proxy.Serve
	script := `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT allowed.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n' >&3; read -r line <&3; echo "open $line"; cat <&3 >/dev/null; echo cut`
	out, done := w.begin("bash", "-c", script)
	testenv.Eventually(t, "the tunnel is open", func() bool { return strings.Contains(out.String(), "200") })
	w.proxy.Grant(nil)
	testenv.Must(t, <-done)
	if !strings.Contains(out.String(), "\ncut") {
		t.Error(out.String())
	}
}

// If the process that started a sandbox dies, everything in the sandbox ends.
func TestNetworkOwnerKilled(t *testing.T) {
	w := newWorld(t)
	self, err := os.Executable()
	testenv.Must(t, err)
	owner := exec.Command(self, ownerWord, w.State+"/run", w.Work)
	owner.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	testenv.Must(t, owner.Start())
	t.Cleanup(func() { _ = owner.Process.Kill(); _ = owner.Wait() })
	lock := filepath.Join(w.Work, "lock")
	locked := func() bool {
		f, err := os.OpenFile(lock, os.O_RDWR, 0)
		if err != nil {
			return false
		}
		defer f.Close()
		return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
	}
	testenv.Eventually(t, "a child of the call holds the lock", locked)
	testenv.Must(t, owner.Process.Kill())
	_ = owner.Wait() // killed
	testenv.Eventually(t, "the child has ended", func() bool { return !locked() })
}

// own is the program that TestNetworkOwnerKilled kills.
func own(args []string) int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	kit, err := sandbox.NewTestKit(args[0], self)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	p := proxy.New(proxy.Options{})
	sb := sandbox.Sandbox{Kit: kit, Level: sandbox.Enforced, Network: p.Serve, Profile: sandbox.Profile{Writable: []string{args[1]}}}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err = sb.Run(ctx, spawn.Command{Argv: []string{"sh", "-c", "setsid sh -c 'exec 9>lock; flock 9; exec sleep 60' & wait; sleep 60"}, Dir: args[1],
		Env: append(testenv.Race(), "PATH=/usr/bin:/bin"), Output: os.Stdout})
	fmt.Println(err)
	return 1
}
