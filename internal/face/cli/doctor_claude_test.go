package cli_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"waggle/internal/claude/claudesettings"
	"waggle/internal/claude/session"
	"waggle/internal/face/cli"
	"waggle/internal/face/cli/app"
	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// The doctor names every running session without the hooks, and why: not installed,
// installed after it had started, switched off; and the one that has them.
func TestDoctorNamesSessionsWithoutHooks(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("when a process started is known on Linux only")
	}
	dir := t.TempDir()
	config, state, repo := filepath.Join(dir, "claude"), filepath.Join(dir, "state"), filepath.Join(dir, "repo")
	for _, d := range []string{state, filepath.Join(config, "sessions"), filepath.Join(repo, ".git"), filepath.Join(repo, ".claude"), filepath.Join(repo, "sub")} {
		testenv.Must(t, os.MkdirAll(d, 0o700))
	}
	writeFile(t, filepath.Join(repo, ".git", "HEAD"), "ref: refs/heads/main\n")
	id := identify(t, os.Getpid())
	writeFile(t, filepath.Join(config, "sessions", fmt.Sprintf("%d.json", id.PID)),
		fmt.Sprintf(`{"pid":%d,"procStart":%q,"sessionId":"s-1","name":"mine","cwd":%q}`, id.PID, id.Start, filepath.Join(repo, "sub")))
	writeFile(t, filepath.Join(config, "sessions", "1.json"), `{"pid":1,"procStart":"99999999999","sessionId":"s-dead","name":"dead"}`)
	user, local := filepath.Join(config, "settings.json"), filepath.Join(repo, ".claude", "settings.local.json")
	program := filepath.Join(dir, "waggle")
	writeFile(t, program, "")
	at := func(path string, when time.Time) {
		t.Helper()
		s := claudesettings.Store{Dir: filepath.Join(state, "hooks"), Now: func() time.Time { return when }}
		c, err := s.Install(path, program)
		if err == nil {
			err = s.Apply(t.Context(), c)
		}
		testenv.Must(t, err)
	}
	examined := func() string {
		t.Helper()
		var out bytes.Buffer
		a := &app.App{In: strings.NewReader(""), Out: &out, Err: &bytes.Buffer{}, Now: time.Now, Rand: rand.Reader,
			Environ: []string{"HOME=" + dir, "CLAUDE_CONFIG_DIR=" + config, "WAGGLE_ROOT=" + filepath.Join(dir, "root"), "WAGGLE_STATE=" + state}}
		cli.Run(t.Context(), a, []string{"doctor", "--json"})
		var doc struct {
			Findings []struct{ What, Status, Detail, Next string } `json:"findings"`
		}
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatalf("%v\n%s", err, out.Bytes())
		}
		var lines []string
		for _, f := range doc.Findings {
			if f.What == "Claude session" {
				lines = append(lines, f.Status+": "+f.Detail+" > "+f.Next)
			}
		}
		return strings.Join(lines, "\n")
	}
	name := fmt.Sprintf("mine (pid %d, %s)", id.PID, filepath.Join(repo, "sub"))
	check := func(when, want string) {
		t.Helper()
		if got := examined(); !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %s\nwant %s", when, got, want)
		}
	}
	check("not installed", "note: "+name+" runs without the hooks: they are not installed > waggle hooks install")
	hook := func(event, more string) {
		t.Helper()
		h := session.Hook{Store: session.At(state, time.Now), Client: session.Claude, Self: id, Nonce: func() (string, error) { return "n", nil },
			Live:     session.Liveness{Check: spawn.Identity.Check, Ancestors: func(int) ([]spawn.Identity, error) { return []spawn.Identity{id}, nil }},
			Sessions: func() []session.Registered { return []session.Registered{{Session: "s-1", Process: id}} }}
		in := `{"session_id":"s-1","cwd":"/w","hook_event_name":"` + event + `"` + more + `}`
		testenv.Must(t, h.Run(t.Context(), event, strings.NewReader(in), io.Discard))
	}
	hook("SessionStart", `,"source":"startup"`)
	check("uninstalled since", "note: "+name+" had the hooks when it started, and they were uninstalled since: until it ends it records its requests and takes answers from waggle > end it and start it again: claude --resume s-1")
	at(user, time.Now().Add(time.Hour))
	check("installed later", "note: "+name+" runs without the hooks: it was started 1h")
	at(local, time.Now().Add(-time.Hour))
	check("in the repository earlier", "ok: "+name+" has the hooks >")
	hook("UserPromptSubmit", `,"permission_mode":"auto"`)
	check("auto mode", "note: "+name+" has the hooks; it is in auto mode: ")
	hook("UserPromptSubmit", `,"permission_mode":"default"`)
	check("another mode", "ok: "+name+" has the hooks >")
	testenv.Must(t, os.Remove(program))
	check("an upgrade removed it", "note: "+name+" has hooks that do nothing: "+program+" in "+local)
	writeFile(t, filepath.Join(repo, ".claude", "settings.json"), `{"disableAllHooks": true}`)
	check("switched off", "note: "+name+" runs without the hooks: disableAllHooks in ")
}
