//go:build linux

package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/sandbox"
	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// While a sandbox is built, another command of the member puts a link in the place of what is mounted
// or permitted there. The link is followed nowhere: not to a secret, and not to what is not the member's.
func TestSwapped(t *testing.T) {
	key := "cat $H/.ssh/id_ed25519 .codex/id_ed25519 infra/id_ed25519; echo " + pwned + " >$H/pwned"
	for _, tc := range []struct {
		name, swap, to string
		level          sandbox.Level
		adapt          func(*world)
	}{
		{"what is protected", ".codex", "../home/.ssh", sandbox.Enforced, func(w *world) { w.sb.Profile.ReadOnly = append(w.sb.Profile.ReadOnly, w.Work+"/.codex") }},
		{"the directory of a secret", "infra", "../home", sandbox.Enforced, func(w *world) { w.sb.Profile.Secrets = append(w.sb.Profile.Secrets, w.Work+"/infra/keys") }},
		{"the parent of that", "deep", "../home", sandbox.Enforced, func(w *world) { w.sb.Profile.ReadOnly = append(w.sb.Profile.ReadOnly, w.Work+"/deep/.ssh/f") }},
		{"a secret", "infra/keys", "../../home", sandbox.Enforced, func(w *world) { w.sb.Profile.Secrets = append(w.sb.Profile.Secrets, w.Work+"/infra/keys") }},
		{"what may be read", "infra", "../home/.ssh", sandbox.FilesOnly, func(w *world) { w.sb.Profile.Secrets = append(w.sb.Profile.Secrets, w.Work+"/main.go") }},
		{"what may be written", "infra", "../home", sandbox.FilesOnly, func(w *world) {
			w.sb.Profile.Writable, w.sb.Profile.Secrets = append(w.sb.Profile.Writable, w.Work+"/infra"), append(w.sb.Profile.Secrets, w.Work+"/main.go")
		}},
		{"a directory of its own in that of another", "infra", "../home", sandbox.Enforced, func(w *world) { w.sb.Profile.Writable = []string{w.Work + "/infra/keys"} }},
		{"the whole of such a directory", "infra", "../home/.ssh", sandbox.Enforced, func(w *world) { w.sb.Profile.Writable = []string{w.Work + "/infra"} }},
		{"such a directory", "infra", "../home", sandbox.FilesOnly, func(w *world) { w.sb.Profile.Writable = []string{w.Work + "/infra"} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, path := range []string{".codex", "infra/keys", "deep/.ssh/f"} {
				testenv.Must(t, os.MkdirAll(filepath.Join(w.Work, path), 0o755))
			}
			testenv.Must(t, os.WriteFile(filepath.Join(w.Work, "infra/keys/k"), []byte("PRIVATE KEY\n"), 0o644))
			sb := w.sb
			tc.adapt(w)
			sb.Profile, sb.Level, sb.Network = w.sb.Profile, tc.level, nil
			r, err := sb.Prepare(spawn.Command{Argv: []string{"sh", "-c", key + "; cat infra/keys/k"}, Dir: w.Work, Env: []string{"PATH=/usr/bin:/bin", "H=" + w.Home}})
			testenv.Must(t, err)
			testenv.Must(t, os.Rename(filepath.Join(w.Work, tc.swap), filepath.Join(w.Work, "aside")))
			testenv.Must(t, os.Symlink(tc.to, filepath.Join(w.Work, tc.swap)))
			cmd := exec.CommandContext(t.Context(), r.Argv[0], r.Argv[1:]...)
			cmd.Dir, cmd.Env = w.Work, r.Env
			out, runErr := cmd.CombinedOutput()
			_, err = r.Close()
			if strings.Contains(string(out), "PRIVATE KEY") {
				t.Errorf("it read a secret: %s", out)
			}
			if changed(fresh)(w) {
				t.Errorf("it wrote outside: %s", out)
			}
			if runErr == nil || err == nil || len(out) == 0 {
				t.Errorf("no clear refusal: %v, %v, %s", runErr, err, out)
			}
		})
	}
}
