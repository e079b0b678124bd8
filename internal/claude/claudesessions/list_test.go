package claudesessions_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/claude/claudesessions"
	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// session writes a session file of a living process and returns its identity.
func session(t *testing.T, dir string, pid int, format string) string {
	t.Helper()
	id, err := spawn.Identify(pid)
	testenv.Must(t, err)
	r := strings.NewReplacer("PID", fmt.Sprint(pid), "START", id.Start)
	path := filepath.Join(dir, fmt.Sprintf("%d.json", pid))
	testenv.Must(t, os.WriteFile(path, []byte(r.Replace(format)), 0o600))
	return id.Start
}

const whole = `{"pid":PID,"sessionId":"s1","cwd":"/w","startedAt":1763800000123,"procStart":"START","version":"2.1.329",
"kind":"interactive","status":"busy","name":"n","tmux":{"pane":"%3"},"peerProtocol":1,"peerFeatures":["x"],
"messagingSocketPath":"/tmp/s.sock","Cwd":"/other","SESSIONID":"no"}`

func TestListReadsAWholeEntry(t *testing.T) {
	dir := t.TempDir()
	pid := os.Getpid()
	start := session(t, dir, pid, whole)
	key := filepath.Join(dir, fmt.Sprintf("%d.abcdef.key", pid))
	older := filepath.Join(dir, fmt.Sprintf("%d.012345.key", pid))
	for i, p := range []string{older, key} {
		testenv.Must(t, os.WriteFile(p, []byte(`{}`), 0o600))
		at := time.Unix(1763800000+int64(i), 0)
		testenv.Must(t, os.Chtimes(p, at, at))
	}
	got, problems := claudesessions.List(dir)
	want := []claudesessions.Entry{{PID: pid, ProcStart: start, SessionID: "s1", Cwd: "/w", Version: "2.1.329",
		Kind: "interactive", Status: "busy", Name: "n", MessagingSocketPath: "/tmp/s.sock",
		StartedAt: time.UnixMilli(1763800000123), KeyPath: key}}
	if d := cmp.Diff(want, got); d != "" || len(problems) > 0 {
		t.Errorf("problems %v\n%s", problems, d)
	}
}

// A session whose process has ended, or whose pid another process has now, is not listed, and its
// file is no problem.
func TestListDropsDeadProcesses(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	testenv.Must(t, cmd.Run())
	dead := cmd.Process.Pid
	for pid, text := range map[int]string{
		dead: fmt.Sprintf(`{"pid":%d,"sessionId":"s","procStart":"1"}`, dead),
	} {
		testenv.Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", pid)), []byte(text), 0o600))
	}
	if runtime.GOOS == "linux" {
		session(t, dir, os.Getpid(), `{"pid":PID,"sessionId":"s","procStart":"1START"}`)
	}
	if got, problems := claudesessions.List(dir); len(got)+len(problems) > 0 {
		t.Errorf("got %v, problems %v", got, problems)
	}
}

// procStart is taken as a string and as a number.
func TestListTakesANumberForAStart(t *testing.T) {
	dir := t.TempDir()
	session(t, dir, os.Getpid(), `{"pid":PID,"sessionId":"s","procStart":START}`)
	got, problems := claudesessions.List(dir)
	if len(got) != 1 || len(problems) > 0 {
		t.Fatalf("got %v, problems %v", got, problems)
	}
	if at := got[0].Started(); runtime.GOOS == "linux" && (at.After(time.Now().Add(3*time.Second)) || at.Before(time.Now().Add(-time.Hour))) {
		t.Errorf("this test began at %v", at)
	}
}

func TestListReportsWhatItCannotRead(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":         `{"pid":`,
		"another pid":     `{"pid":1,"sessionId":"s"}`,
		"a folded name":   `{"PID":PID,"sessionId":"s"}`,
		"no session":      `{"pid":PID}`,
		"too large":       `{"pid":PID,"sessionId":"` + strings.Repeat("x", 64<<10) + `"}`,
		"not an object":   `[PID]`,
		"session no text": `{"pid":PID,"sessionId":7}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each looks again, after a while
			dir := t.TempDir()
			session(t, dir, os.Getpid(), text)
			if got, problems := claudesessions.List(dir); len(got) != 0 || len(problems) != 1 {
				t.Errorf("got %v, problems %v", got, problems)
			}
		})
	}
}

func TestListIgnoresOtherFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"x.json", "0.json", "-1.json", "007.json", "12.json.tmp", "12.txt"} {
		testenv.Must(t, os.WriteFile(filepath.Join(dir, name), []byte("no"), 0o600))
	}
	if got, problems := claudesessions.List(dir); len(got)+len(problems) > 0 {
		t.Errorf("got %v, problems %v", got, problems)
	}
	if got, problems := claudesessions.List(filepath.Join(dir, "none")); len(got)+len(problems) > 0 {
		t.Errorf("without a directory: got %v, problems %v", got, problems)
	}
}

// The client writes an entry in place. A reader at that moment gets the entry all the same.
func TestReadWhileItIsWritten(t *testing.T) {
	dir, pid := t.TempDir(), os.Getpid()
	session(t, dir, pid, whole)
	path := claudesessions.File(dir, pid)
	text, err := os.ReadFile(path)
	testenv.Must(t, err)
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond): // a client does so at most a few times a second
			}
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
			if err != nil {
				t.Error(err)
				return
			}
			for _, part := range [][]byte{text[:20], text[20:]} {
				if _, err := f.Write(part); err != nil {
					t.Error(err)
				}
			}
			f.Close()
		}
	})
	for range 2000 {
		if e, err := claudesessions.Read(dir, pid); err != nil || e.Name != "n" {
			t.Errorf("%+v, %v", e, err)
			break
		}
	}
	for range 200 {
		if got, problems := claudesessions.List(dir); len(got) != 1 || len(problems) > 0 {
			t.Errorf("got %v, problems %v", got, problems)
			break
		}
	}
	close(stop)
	writing.Wait()
}

// TestReadOfOldNoEntry: a file that is no entry, and is old, is reported without a second read.
func TestReadOfOldNoEntry(t *testing.T) {
	dir, pid := t.TempDir(), os.Getpid()
	session(t, dir, pid, `{"pid":`)
	then := time.Now().Add(-time.Minute)
	testenv.Must(t, os.Chtimes(claudesessions.File(dir, pid), then, then))
	begin := time.Now()
	for range 100 {
		if _, err := claudesessions.Read(dir, pid); err == nil {
			t.Error("half an entry was read")
		}
	}
	testenv.Within(t, "100 reads of a file that nobody writes", time.Since(begin), 5*time.Second)
}
