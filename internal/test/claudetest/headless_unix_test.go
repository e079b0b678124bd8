//go:build unix

package claudetest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
)

// headless is a client with -p that speaks JSON lines.
type headless struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer // read it when done is closed

	mu      sync.Mutex
	lines   []line
	arrived chan struct{} // closed and replaced at every line
	done    chan struct{} // closed when the client has ended
}

// line is one line of the client's output: whole, and the fields that tell lines apart.
type line struct {
	Raw       json.RawMessage `json:"-"`
	Type      string          `json:"type"`
	Subtype   string          `json:"subtype"`
	SessionID string          `json:"session_id"`
	RequestID string          `json:"request_id"`
	Request   json.RawMessage `json:"request"`
	Result    string          `json:"result"`
}

// startHeadless starts a client that reads and writes JSON lines and asks its host for
// permissions.
func startHeadless(t *testing.T, h *claudetest.Home, args ...string) *headless {
	t.Helper()
	cmd := h.Command(h.Claude, append([]string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--permission-prompt-tool", "stdio",
	}, args...)...)
	s := &headless{t: t, cmd: cmd, arrived: make(chan struct{}), done: make(chan struct{})}
	cmd.Stderr = &s.stderr
	var err error
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	testenv.Must(t, err)
	testenv.Must(t, cmd.Start())
	t.Cleanup(s.Kill)
	go s.read(stdout)
	return s
}

func (s *headless) read(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			s.t.Errorf("the client wrote %q: %v", lines.Bytes(), err)
		}
		l.Raw = bytes.Clone(lines.Bytes())
		s.mu.Lock()
		s.lines = append(s.lines, l)
		close(s.arrived)
		s.arrived = make(chan struct{})
		s.mu.Unlock()
	}
	if err := lines.Err(); err != nil {
		s.t.Errorf("the client's output: %v", err)
	}
	_ = s.cmd.Wait()
	close(s.done)
}

// send writes a line.
func (s *headless) send(line any) {
	s.t.Helper()
	data, err := json.Marshal(line)
	testenv.Must(s.t, err)
	if _, err := s.stdin.Write(append(data, '\n')); err != nil {
		s.t.Fatalf("the client does not read: %v", err)
	}
}

// User sends a prompt.
func (s *headless) User(text string) {
	s.t.Helper()
	s.send(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": text}})
}

// Respond answers a control request.
func (s *headless) Respond(requestID string, response any) {
	s.t.Helper()
	s.send(map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "success", "request_id": requestID, "response": response,
	}})
}

// Await returns the first line, past or to come, for which match holds.
func (s *headless) Await(what string, match func(line) bool) line {
	s.t.Helper()
	deadline := time.NewTimer(claudetest.Patience)
	defer deadline.Stop()
	for seen := 0; ; {
		s.mu.Lock()
		all, arrived := s.lines, s.arrived
		s.mu.Unlock()
		for ; seen < len(all); seen++ {
			if match(all[seen]) {
				return all[seen]
			}
		}
		select {
		case <-arrived:
		case <-s.done:
			s.t.Fatalf("the client ended (%v) without %s: %s", s.cmd.ProcessState, what, &s.stderr)
		case <-deadline.C:
			s.t.Fatalf("no line in %v: %s; %d others", claudetest.Patience, what, len(all))
		}
	}
}

// Close closes the client's standard input and returns its exit status.
func (s *headless) Close() int {
	s.t.Helper()
	_ = s.stdin.Close()
	return s.wait()
}

// wait waits until the client has ended and returns its exit status, -1 after a signal.
func (s *headless) wait() int {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(claudetest.Patience):
		s.t.Fatal("the client does not end")
	}
	return s.cmd.ProcessState.ExitCode()
}

// Kill kills the client and its process group and waits for it.
func (s *headless) Kill() {
	select {
	case <-s.done:
		return // its number may be another's by now
	default:
	}
	if err := syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		s.t.Errorf("the headless client: %v", err)
	}
	select {
	case <-s.done:
	case <-time.After(claudetest.Patience):
		s.t.Error("a process outside of the headless client's group holds its output")
	}
}
