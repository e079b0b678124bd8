//go:build linux

package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/sandbox"
	"waggle/internal/test/testenv"
)

// The relay is a copy: the program may be deleted, as go run does.
func TestKit(t *testing.T) {
	testenv.Require(t, "bwrap")
	w := newWorld(t)
	self, err := os.Executable()
	testenv.Must(t, err)
	program := filepath.Join(w.Base, "program")
	testenv.Must(t, copyFile(program, self, 0o755))
	kit, err := sandbox.NewKit(w.State+"/kit", program)
	if err != nil && strings.Contains(err.Error(), "linked dynamically") {
		t.Skip("this test binary is linked dynamically")
	}
	testenv.Must(t, err)
	testenv.Must(t, os.Remove(program))
	w.sb.Kit = kit
	if got := w.inside("echo", "hi"); got.Out != "hi\n" || got.Err != nil {
		t.Errorf("%v", got)
	}
	if info, err := os.Stat(kit.Relay); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("the relay is %v %v", info, err)
	}
}

// A program that needs a loader is refused, and so is a file that is no program.
func TestKitRefuses(t *testing.T) {
	shell, err := filepath.EvalSymlinks("/bin/sh")
	testenv.Must(t, err)
	for program, want := range map[string]string{shell: "CGO_ENABLED=0", "/etc/passwd": "no program", "/is/not/there": "no such file"} {
		if _, err := sandbox.NewKit(t.TempDir(), program); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", program, err)
		}
	}
}
