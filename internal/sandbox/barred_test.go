//go:build linux

package sandbox_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/sandbox"
	"waggle/internal/test/testenv"
)

// A socket, a secret and a hidden directory in the private directory of another user keep no sandbox
// from being built, and stay out of reach.
func TestBarred(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has sandboxes beside the files of other users")
	}
	const nobody = 65534
	w := newWorld(t)
	for _, mode := range []os.FileMode{0o700, 0o750} {
		dir := filepath.Join(w.Base, "other", mode.String())
		testenv.Must(t, os.MkdirAll(dir, 0o755))
		l, err := net.Listen("unix", dir+"/s")
		testenv.Must(t, err)
		t.Cleanup(func() { l.Close() })
		testenv.Must(t, os.Mkdir(dir+"/hidden", 0o755))
		testenv.Must(t, os.WriteFile(dir+"/secret", []byte("PRIVATE"), 0o644))
		testenv.Must(t, os.Chmod(dir, mode))
		testenv.Must(t, os.Chown(dir, nobody, nobody))
		sb := w.sb
		sb.Profile.Secrets = append(sb.Profile.Secrets, dir+"/secret")
		sb.Profile.Hidden = append(sb.Profile.Hidden, dir+"/hidden")
		if got := w.run(sb, nil, "echo", "works"); got.Out != "works\n" || got.Err != nil {
			t.Errorf("%s: %s", mode, got)
		}
		if got := w.run(sb, nil, "sh", "-c", "cat "+dir+"/secret; ls "+dir); got.Exit.Code == 0 || strings.Contains(got.Out, "PRIVATE") || !strings.Contains(got.Out, "Permission denied") {
			t.Errorf("%s: %s", mode, got)
		}
		// A directory that everybody may pass is not barred: what is in it stays masked.
		testenv.Must(t, os.Chmod(dir, 0o755))
		if got := w.run(sb, nil, "cat", dir+"/secret"); got.Exit.Code == 0 || strings.Contains(got.Out, "PRIVATE") {
			t.Errorf("%s: %s", mode, got)
		}
		for path, want := range map[string]bool{dir + "/s": false, "/etc/shadow": false} {
			if sandbox.Barred(path) != want {
				t.Errorf("%s: barred %v", path, !want)
			}
		}
	}
}
