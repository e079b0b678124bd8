//go:build unix

package claudemembertest

import (
	"bytes"
	"encoding/json"
	"errors"
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
	t   *testing.T
	m   *claudetest.Model
	h   *claudetest.Home
	bin string
	up  *exec.Cmd
	env []string // of the team's starter, beside the home's
	out bytes.Buffer
}

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
	program, err := exec.LookPath("waggle")
	if err != nil {
		t.Fatal(err)
	}
	h.WriteFile(filepath.Join(h.Home, ".gitconfig"), "[user]\n\tname = t\n\temail = t@example.com\n", 0o600)
	return &world{t: t, m: m, h: h, bin: h.Install(program)}, h.Repo("shop")
}

// newWorld makes an account in which the user's own settings allow everything, and a team file.
func newWorld(t *testing.T, version string, next claudetest.Next, member string) *world {
	t.Helper()
	testenv.Long(t)
	m := claudetest.NewModel(t, next)
	h := claudetest.NewHome(t, version, m)
	program, err := exec.LookPath("waggle")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, m: m, h: h, bin: h.Install(program)}
	h.Settings(openHouse())
	if err := os.MkdirAll(filepath.Join(h.Work, ".claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.WriteJSON(filepath.Join(h.Work, ".claude", "settings.json"), openHouse())
	h.WriteFile(filepath.Join(h.Work, "team.yaml"), "team: crew\nsandbox: {mode: off}\nmembers:\n  - {name: bob, agent: claude"+member+"}\n", 0o600)
	t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Log(w.logs())
		}
	})
	return w
}

// start brings the team up, with a leader beside it.
func (w *world) start() {
	w.t.Helper()
	w.up = w.h.Command(w.bin, "up", "team.yaml", "--grace", "5s")
	w.up.Env = append(w.up.Env, w.env...)
	w.up.Stdout, w.up.Stderr = &w.out, &w.out
	if err := w.up.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(w.end)
	w.until("the member is ready", func() bool {
		return strings.Contains(w.run("log", "bob", "--team", "crew", "--kind", "ready", "--json").out, `"epoch"`)
	})
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
	case <-time.After(patience):
		_ = syscall.Kill(-up.Process.Pid, syscall.SIGKILL)
		<-done
		w.t.Error("the team did not end")
	}
}

func (w *world) logs() string {
	var s strings.Builder
	s.WriteString(w.out.String())
	_ = filepath.Walk(w.h.Home, func(path string, fi os.FileInfo, err error) error {
		if err == nil && !fi.IsDir() && strings.HasSuffix(path, ".log") {
			data, _ := os.ReadFile(path)
			s.WriteString("== " + path + "\n" + string(data) + "\n")
		}
		return nil
	})
	return s.String()
}

// said is the output of a command and its exit code.
type said struct {
	out, err string
	code     int
}

func (w *world) run(args ...string) said {
	w.t.Helper()
	cmd := w.h.Command(w.bin, args...)
	var out, serr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &serr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Errorf("waggle %q: %v", args, err)
	}
	return said{out.String(), serr.String(), cmd.ProcessState.ExitCode()}
}

// ok runs a command that must succeed.
func (w *world) ok(args ...string) string {
	w.t.Helper()
	s := w.run(args...)
	if s.code != 0 {
		w.t.Fatalf("waggle %q: exit %d: %s%s", args, s.code, s.out, s.err)
	}
	return s.out
}

// until waits for an event of another process that no message announces.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	claudetest.Until(w.t, func() string { return "not: " + what }, ok)
}

// pending is the request in the list whose text has these words.
func (w *world) pending(words string) (id string) {
	w.t.Helper()
	w.until("a request with "+words, func() bool {
		var doc struct {
			Pending []json.RawMessage `json:"pending"`
		}
		if err := json.Unmarshal([]byte(w.ok("pending", "--team", "crew", "--json")), &doc); err != nil {
			w.t.Fatal(err)
		}
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

// mark is a call that leaves a line in a file each time that it runs.
func mark(name string) claudetest.Turn { return claudetest.Bash("echo ran >>" + name) }

// ran checks how often a mark's call ran.
func (w *world) ran(name string, times int) {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.h.Work, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	if got := strings.Count(string(data), "ran\n"); got != times {
		w.t.Errorf("%s ran %d times, want %d", name, got, times)
	}
}

// result waits for the result of the n-th turn of the model, from 0.
func (w *world) result(turn int) claudetest.Block {
	w.t.Helper()
	return w.m.Await("the result of a turn", func(r claudetest.Request) bool {
		return r.Turns() == turn+1 && len(r.Results()) >= 1
	}).Results()[0]
}

// give gives bob a task.
func (w *world) give(subject, words string) {
	w.t.Helper()
	w.ok("task", "add", subject, "--team", "crew", "--owner", "bob", "--instructions", words)
}

// patience is the limit for one step.
const patience = claudetest.Patience
