package commands

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waggle/record"
	"waggle/spawn"
)

// runs is an agent.Exec that is a func.
type runs func(ctx context.Context, c spawn.Command) (spawn.Exit, error)

func (r runs) Run(ctx context.Context, c spawn.Command) (spawn.Exit, error) { return r(ctx, c) }

func auto(l record.SandboxLimits) *record.Sandbox {
	return &record.Sandbox{Mode: record.SandboxAuto, Limits: &l}
}

// TestOutputLimit: output beyond the limit goes to a file of its own, and the result says how much.
func TestOutputLimit(t *testing.T) {
	dir := t.TempDir()
	exec := Within(runs(func(_ context.Context, c spawn.Command) (spawn.Exit, error) {
		for range 100 {
			if _, err := io.WriteString(c.Output, strings.Repeat("x", 99)+"\n"); err != nil {
				t.Error(err)
			}
		}
		_, err := io.WriteString(c.Output, "the end\n")
		return spawn.Exit{Code: 3}, err
	}), auto(record.SandboxLimits{Output: 250}), dir)
	for range 2 {
		var out bytes.Buffer
		exit, err := exec.Run(t.Context(), spawn.Command{Output: &out})
		if err != nil || exit.Code != 3 {
			t.Fatal(exit, err)
		}
		text := out.String()
		if !strings.HasPrefix(text, strings.Repeat(strings.Repeat("x", 99)+"\n", 2)+strings.Repeat("x", 50)+"\n[waggle: 9758 bytes more, beyond the limit for output (`sandbox: {limits: {output: …}}` in the team file): 9758 of them are in output-") || !strings.HasSuffix(text, "the end\n") || len(text) > 4<<10 {
			t.Errorf("%q", text)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "output-*.log"))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	if b, err := os.ReadFile(files[0]); err != nil || len(b) != 9758 || !strings.HasSuffix(string(b), "\nthe end\n") {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// TestOutputLimitWithoutFile: where the rest of the output cannot be kept it is counted, and the
// command goes on.
func TestOutputLimitWithoutFile(t *testing.T) {
	exec := Within(runs(func(_ context.Context, c spawn.Command) (spawn.Exit, error) {
		_, err := io.WriteString(c.Output, "0123456789")
		return spawn.Exit{}, err
	}), auto(record.SandboxLimits{Output: 4}), filepath.Join(t.TempDir(), "none"))
	var out bytes.Buffer
	if _, err := exec.Run(t.Context(), spawn.Command{Output: &out}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.HasPrefix(text, "0123\n[waggle: 6 bytes more, beyond the limit for output (`sandbox: {limits: {output: …}}` in the team file): nothing of it is kept (") || !strings.HasSuffix(text, "456789") {
		t.Errorf("%q", text)
	}
}

// TestTimeLimit: a command that runs longer than its limit is ended, and the result names the limit.
func TestTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exec := Within(runs(func(ctx context.Context, _ spawn.Command) (spawn.Exit, error) {
			<-ctx.Done()
			return spawn.Exit{Code: -1}, ctx.Err()
		}), auto(record.SandboxLimits{Time: 90_000}), t.TempDir())
		began := time.Now()
		_, err := exec.Run(t.Context(), spawn.Command{})
		if err == nil || err.Error() != "ended by the limit of 1m30s for one command: `sandbox: {limits: {time: …}}` in the team file changes it" || time.Since(began) != 90*time.Second { // the bubble's clock
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// TestConnectionsAreBounded: one record lists few connections, counts many to one host together, and
// never loses count.
func TestConnectionsAreBounded(t *testing.T) {
	var c Connections
	for i := range 1000 {
		c.Add(record.Connection{Host: "a.example.com", Port: "443", Event: "closed", Count: 1, Sent: 1, Received: int64(i)})
	}
	for i := range 200 {
		c.Add(record.Connection{Host: "h" + strings.Repeat("x", i), Event: "refused", Count: 1})
	}
	got := c.Take()
	n := got.More
	for _, conn := range got.Connections {
		n += conn.Count
	}
	if len(got.Connections) > mostConnections || n != 1200 || got.Connections[0].Received == 0 {
		t.Errorf("%d connections in %d lines, %d more", n, len(got.Connections), got.More)
	}
	c.Back(got)
	c.Add(record.Connection{Host: "late", Count: 1})
	if again := c.Take(); again.More != got.More+1 {
		t.Errorf("%d more, then %d", got.More, again.More)
	}
}
