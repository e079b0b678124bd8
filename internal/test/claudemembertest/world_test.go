//go:build unix

package claudemembertest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"waggle/internal/face/cli"
	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
)

func TestMain(m *testing.M) {
	testenv.OnDisk()
	// A client mostly waits: run more tests at once than there are processors.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"waggle": func() { os.Exit(cli.Main()) }, "notes": func() { os.Exit(serveNotes()) }})
}

// world is an account with a team that has one Claude member, bob.
type world struct {
	*claudetest.Account
	up  *exec.Cmd
	env []string // of the team's starter, beside the home's
	out bytes.Buffer
}

// maker is newWorld or newPane.
type maker = func(t *testing.T, version string, next claudetest.Next, member string) *world

// openHouse is settings of the user and of the project: everything is allowed, and hooks are off.
func openHouse() map[string]any {
	return map[string]any{"permissions": map[string]any{"allow": []string{"Bash", "Bash(*)", "Write", "Edit", "Read", "WebFetch", "AskUserQuestion", "ExitPlanMode"},
		"defaultMode": "acceptEdits"}, "disableAllHooks": true}
}

// newShop makes an account of its own for the newest client, with waggle and a project.
func newShop(t *testing.T, m *claudetest.Model) (w *world, shop string) {
	t.Helper()
	versions := claudetest.Versions()
	h := claudetest.NewOwnHome(t, versions[len(versions)-1], m)
	h.WriteFile(filepath.Join(h.Home, ".gitconfig"), "[user]\n\tname = t\n\temail = t@example.com\n", 0o600)
	return &world{Account: claudetest.NewAccount(t, h)}, h.Repo("shop")
}

// newWorld makes an account in which the user's own settings allow everything, and a team file.
func newWorld(t *testing.T, version string, next claudetest.Next, member string) *world {
	t.Helper()
	testenv.Long(t)
	h := claudetest.NewHome(t, version, claudetest.NewModel(t, next))
	w := &world{Account: claudetest.NewAccount(t, h)}
	testenv.Must(t, os.MkdirAll(filepath.Join(h.Work, ".claude"), 0o755))
	w.settings(openHouse())
	h.WriteFile(filepath.Join(h.Work, "team.yaml"), "team: crew\nsandbox: {mode: off}\nmembers:\n  - {name: bob, agent: claude"+member+"}\n", 0o600)
	t.Cleanup(func() {
		if w.T.Failed() {
			w.T.Log(w.logs())
		}
	})
	return w
}

// settings writes the user's settings and the project's.
func (w *world) settings(both map[string]any) {
	w.T.Helper()
	w.H.Settings(both)
	w.H.WriteJSON(filepath.Join(w.H.Work, ".claude", "settings.json"), both)
}

// start brings the team up, with a leader beside it.
func (w *world) start() {
	w.T.Helper()
	w.raise()
	w.ready("bob")
}

// raise begins to bring the team up, with a leader beside it.
func (w *world) raise() {
	w.T.Helper()
	w.up = w.H.Command(w.Bin, "up", "team.yaml", "--grace", "5s")
	w.up.Env = append(w.up.Env, w.env...)
	w.up.Stdout, w.up.Stderr = &w.out, &w.out
	testenv.Must(w.T, w.up.Start())
	w.T.Cleanup(w.end)
}

// ready waits until a member is ready.
func (w *world) ready(member string) {
	w.T.Helper()
	w.until(member+" is ready", func() bool {
		return strings.Contains(w.Run("log", member, "--team", "crew", "--kind", "ready", "--json").Out, `"epoch"`)
	})
}

// works starts the team and gives bob a task. At the end of the test it ends the team, of which no process may be left.
func (w *world) works(subject, words string) {
	w.T.Helper()
	w.start()
	w.T.Cleanup(w.gone)
	w.give(subject, words)
}

// gone checks that the end of the team leaves no process.
func (w *world) gone() {
	w.T.Helper()
	w.end()
	w.noProcess()
}

func (w *world) noProcess() {
	w.T.Helper()
	w.until("no process is left", func() bool { return len(w.H.Processes()) == 0 })
}

// end takes the leader away by Ctrl-C, which ends the team.
func (w *world) end() {
	if w.up == nil {
		return
	}
	up := w.up
	w.up = nil
	_ = up.Process.Signal(os.Interrupt)
	done := make(chan error, 1)
	go func() { done <- up.Wait() }()
	select {
	case <-done:
	case <-time.After(claudetest.Patience):
		_ = syscall.Kill(-up.Process.Pid, syscall.SIGKILL)
		<-done
		w.T.Error("the team did not end")
	}
}

func (w *world) logs() string {
	var s strings.Builder
	s.WriteString(w.out.String())
	_ = filepath.Walk(w.H.Home, func(path string, fi os.FileInfo, err error) error {
		if err == nil && !fi.IsDir() && strings.HasSuffix(path, ".log") {
			data, _ := os.ReadFile(path)
			s.WriteString("== " + path + "\n" + string(data) + "\n")
		}
		return nil
	})
	return s.String()
}

// until waits for an event of another process that no message announces.
func (w *world) until(what string, ok func() bool) {
	w.T.Helper()
	claudetest.Until(w.T, func() string { return "not: " + what }, ok)
}

// pending is the request in the list whose text has these words.
func (w *world) pending(words string) (id string) {
	w.T.Helper()
	w.until("a request with "+words, func() bool {
		var doc struct {
			Pending []json.RawMessage `json:"pending"`
		}
		testenv.Must(w.T, json.Unmarshal([]byte(w.OK("pending", "--team", "crew", "--json")), &doc))
		for _, r := range doc.Pending {
			var head struct {
				ID string `json:"handle"`
			}
			if json.Unmarshal(r, &head) == nil && strings.Contains(strings.NewReplacer(`\u003e`, ">", `\u0026`, "&").Replace(string(r)), words) {
				id = head.ID
				return true
			}
		}
		return false
	})
	return id
}

// give gives bob a task.
func (w *world) give(subject, words string) {
	w.T.Helper()
	w.OK("task", "add", subject, "--team", "crew", "--owner", "bob", "--instructions", words)
}
