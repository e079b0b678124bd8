//go:build linux

package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"waggle/internal/sandbox"
	"waggle/internal/sandbox/relay"
	"waggle/internal/test/testenv"
)

// failed lists the points that did not hold.
func failed(points []relay.Point) []string {
	var names []string
	for _, p := range points {
		if !p.OK {
			names = append(names, p.Name+": "+p.Detail)
		}
	}
	return names
}

// passed reports whether a self-test has points and every point passed.
func passed(points []relay.Point) bool { return len(points) > 0 && len(failed(points)) == 0 }

func TestSelfTest(t *testing.T) {
	for _, level := range []sandbox.Level{sandbox.Enforced, sandbox.FilesOnly} {
		w := newWorld(t)
		w.sb.Level = level
		points, err := w.sb.Test(t.Context(), w.Work)
		testenv.Must(t, err)
		if !passed(points) {
			t.Errorf("%s: %q", level, failed(points))
		}
		if len(w.asks.asked) > 0 {
			t.Errorf("somebody was asked: %v", w.asks.asked)
		}
		if left, _ := filepath.Glob(w.sb.Kit.Dir + "/selftest*"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// Members of one directory may test at the same time. A file of the user in it stays as it is.
func TestSelfTestBeside(t *testing.T) {
	w := newWorld(t)
	theirs := filepath.Join(w.Work, ".waggle-sandbox-test")
	testenv.Must(t, os.WriteFile(theirs, []byte("theirs"), 0o600))
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for range 3 {
				if points, err := w.sb.Test(t.Context(), w.Work); err != nil || !passed(points) {
					t.Errorf("%v %q", err, failed(points))
				}
			}
		})
	}
	wg.Wait()
	if data, err := os.ReadFile(theirs); string(data) != "theirs" {
		t.Errorf("%s, %v", data, err)
	}
	if left, err := filepath.Glob(theirs + "*"); err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
}

// The self-test detects a bubblewrap that leaves a restriction out.
func TestSelfTestFindsHoles(t *testing.T) {
	real := testenv.Require(t, "bwrap")
	for _, tc := range []struct{ name, without, point string }{
		{"the network of the machine", "--unshare-net", "no way to"},
		{"processes outside", "--unshare-pid", "cannot be seen"},
	} {
		w := newWorld(t)
		fake := filepath.Join(w.State, "bwrap")
		script := "#!/bin/bash\nargs=()\nfor a; do case $a in " + tc.without + ") ;; --proc) args+=(--ro-bind /proc) ;; *) args+=(\"$a\") ;; esac; done\nexec " + real + " \"${args[@]}\"\n"
		testenv.Must(t, testenv.Executable(fake, []byte(script)))
		w.sb.Kit.Bwrap = fake
		points, err := w.sb.Test(t.Context(), w.Work)
		if err != nil {
			continue // it did not even start: nothing ran
		}
		if passed(points) || !strings.Contains(strings.Join(failed(points), "\n"), tc.point) {
			t.Errorf("%s: only %q failed", tc.name, failed(points))
		}
	}
}

func TestDetect(t *testing.T) {
	w := newWorld(t)
	if s := w.sb.Kit.Detect(t.Context()); s.Level != sandbox.Enforced {
		t.Errorf("bubblewrap works here: %v", s)
	}
	kit := w.sb.Kit
	kit.Bwrap = ""
	if s := kit.Detect(t.Context()); s.Level == sandbox.Enforced || !strings.Contains(s.String(), "install the package bubblewrap") {
		t.Errorf("without bubblewrap: %v", s)
	}
	kit.Bwrap = "/bin/false"
	if s := kit.Detect(t.Context()); s.Level == sandbox.Enforced || !strings.Contains(s.Why, "does not work here") || s.Fix == "" {
		t.Errorf("a bubblewrap that fails: %v", s)
	}
}

// A bubblewrap that AppArmor keeps from its user namespace leaves the files to Landlock, and the
// reason has the message of bubblewrap and the command that permits more.
func TestDetectAppArmor(t *testing.T) {
	w := newWorld(t)
	kit := w.sb.Kit
	kit.Bwrap = filepath.Join(w.State, "bwrap")
	testenv.Must(t, testenv.Executable(kit.Bwrap, []byte("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")))
	ubuntu := func(name string) string {
		if name == "kernel/apparmor_restrict_unprivileged_userns" {
			return "1"
		}
		return ""
	}
	want := sandbox.FilesOnly
	if relay.LandlockABI() == 0 {
		want = sandbox.Off
	}
	s := kit.DetectWith(t.Context(), ubuntu, 1000)
	if s.Level != want {
		t.Errorf("level %s, want %s", s.Level, want)
	}
	for _, text := range []string{"AppArmor forbids user namespaces", "bwrap: setting up uid map: Permission denied", "to permit more: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"} {
		if !strings.Contains(s.String(), text) {
			t.Errorf("no %q in %s", text, s)
		}
	}
}

// TestDetectBadBubblewrap: one that does not end, is too old or writes rubbish leaves the files to Landlock, and the reason says it.
func TestDetectBadBubblewrap(t *testing.T) {
	w := newWorld(t)
	kit := w.sb.Kit
	for name, tc := range map[string]struct{ script, want string }{
		"hangs":   {"sleep 1000", "it does not end"}, // and what it has started keeps its output open
		"old":     {`case "$*" in *--perms*) echo "bwrap: Unknown option --perms" >&2; exit 1;; esac`, "to permit more: install bubblewrap 0.5 or newer"},
		"rubbish": {`head -c 3000000 /dev/zero | tr '\0' '\377' >&2; exit 3`, "does not work here"},
		"silent":  {"exit 3", "exit status 3"},
	} {
		kit.Bwrap = filepath.Join(w.State, "bwrap-"+name)
		testenv.Must(t, testenv.Executable(kit.Bwrap, []byte("#!/bin/sh\n"+tc.script+"\n")))
		ctx := t.Context()
		if name == "hangs" {
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			ctx = short
		}
		s := kit.Detect(ctx)
		if s.Level == sandbox.Enforced || !strings.Contains(s.String(), tc.want) || len(s.String()) > 800 || !utf8.ValidString(s.String()) {
			t.Errorf("%s: %v", name, s)
		}
	}
}

func TestAdvise(t *testing.T) {
	for name, tc := range map[string]struct {
		settings map[string]string
		uid      int
		fix      string
	}{
		"Ubuntu":         {map[string]string{"kernel/apparmor_restrict_unprivileged_userns": "1"}, 1000, "sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
		"Ubuntu as root": {map[string]string{"kernel/apparmor_restrict_unprivileged_userns": "1"}, 0, "container"},
		"old Debian":     {map[string]string{"kernel/unprivileged_userns_clone": "0"}, 1000, "sysctl kernel.unprivileged_userns_clone=1"},
		"none":           {map[string]string{"user/max_user_namespaces": "0"}, 0, "sysctl user.max_user_namespaces"},
		"a container":    {nil, 1000, "--security-opt"},
	} {
		why, fix := sandbox.Advise(func(s string) string { return tc.settings[s] }, tc.uid)
		if why == "" || !strings.Contains(fix, tc.fix) {
			t.Errorf("%s: %q, %q", name, why, fix)
		}
	}
}
