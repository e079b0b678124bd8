//go:build unix

package worker_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

const linkWriter = `{"steps": [
 {"tool":{"name":"Write","input":{"file_path":"rc","content":"theirs"},"expect":"deny"}},
 {"tool":{"name":"Write","input":{"file_path":"scripts/pre-commit","content":"theirs"},"expect":"deny"}},
 {"tool":{"name":"Write","input":{"file_path":"lib/a.go","content":"ours"}}},
 {"tool":{"name":"Write","input":{"file_path":"docs/note","content":"ours"}}}]}`

// TestLinkOfARepository: under acceptEdits a Write through a link of the repository asks, with the
// link's target in the record; an allowed write goes to that target or fails.
func TestLinkOfARepository(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		swap bool
	}{{"allowed", false}, {"a link that moves before it is allowed", true}} {
		t.Run(c.name, func(t *testing.T) {
			home, err := filepath.EvalSymlinks(t.TempDir())
			testenv.Must(t, err)
			f := newFilesOf(t, record.Joined{Agent: "script", Spec: json.RawMessage(linkWriter)}, func(f *files) {
				f.command(func(l *control.Leader, m record.Mint) ([]journal.Draft, error) {
					p := l.Policy
					p.Policy.Mode = policy.ModeAcceptEdits
					return l.SetPolicy(p, journal.Writer{Operator: true}, m)
				})
			})
			for _, err := range []error{
				os.MkdirAll(f.work+"/.git/hooks", 0o700), os.Mkdir(f.work+"/src", 0o700), os.Mkdir(home+"/notes", 0o700), os.Mkdir(home+"/other", 0o700),
				os.WriteFile(home+"/.bashrc", []byte("mine"), 0o600), os.Symlink(home+"/.bashrc", f.work+"/rc"), os.Symlink(".git/hooks", f.work+"/scripts"),
				os.Symlink("src", f.work+"/lib"), os.Symlink(home+"/notes", f.work+"/docs"),
			} {
				testenv.Must(t, err)
			}
			g := &gated{files: f}
			g.here()
			g.assign("do it")
			asked := func(n int, leads string) (r *control.Request) {
				t.Helper()
				g.passing(fmt.Sprintf("call %d is asked", n), func(l *control.Leader, m *control.Member) bool {
					if over(l, m) {
						t.Fatalf("the turn is over: %+v", m.Turns["1"])
					}
					if len(l.Requests) < n || l.Requests[n-1].Kind != protocol.KindPermissionRequest {
						return false
					}
					r = l.Requests[n-1]
					return true
				})
				if !r.Ask.Held || !slices.ContainsFunc(r.Ask.Paths, func(p record.RealPath) bool { return p.Real == leads }) {
					t.Errorf("call %d: held %v, paths %+v; want %s", n, r.Ask.Held, r.Ask.Paths, leads)
				}
				return r
			}
			work, err := filepath.EvalSymlinks(f.work)
			testenv.Must(t, err)
			g.answer(asked(1, home+"/.bashrc"), false, "no")
			g.answer(asked(2, work+"/.git/hooks/pre-commit"), false, "no")
			r := asked(3, home+"/notes/note")
			if c.swap {
				testenv.Must(t, os.Remove(f.work+"/docs"))
				testenv.Must(t, os.Symlink(home+"/other", f.work+"/docs"))
			}
			g.answer(r, true, "")
			g.passing("the turn ends", over)
			g.l.View(func(l *control.Leader) {
				m, _ := l.Member("ann")
				if s := m.Turns["1"]; s.Failed != c.swap || c.swap && !strings.Contains(s.Note, "ask again") {
					t.Errorf("the turn ended as %+v", s)
				}
			})
			want := map[string]string{home + "/.bashrc": "mine", f.work + "/src/a.go": "ours", f.work + "/.git/hooks/pre-commit": "", home + "/notes/note": "ours", home + "/other/note": ""}
			if c.swap {
				want[home+"/notes/note"] = ""
			}
			for file, content := range want {
				if b, err := os.ReadFile(file); string(b) != content || (err == nil) != (content != "") {
					t.Errorf("%s: %q, %v; want %q", file, b, err, content)
				}
			}
		})
	}
}
