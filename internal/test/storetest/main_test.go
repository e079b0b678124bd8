//go:build unix

package storetest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/protocol"
)

// child describes the work of a process of the test binary, and its files.
type child struct {
	Role   string
	Dir    string // of the store
	Sender string
	Count  int
	Lock   bool // for the careless writers: whether they take the lock
	Wait   bool // for claimers: until the other one is ready
	Layout mailbox.Layout
}

const childEnv = "WAGGLE_STORETEST_CHILD"

// roles are the children. Each prints one line for every operation that succeeded.
var roles = map[string]func(child) error{
	"send":     child.send,
	"truncate": child.truncate,
	"hold":     child.hold,
	"flock":    child.flock,
	"append":   child.append,
	"keep":     child.mark,
	"prune":    child.mark,
	"config":   child.config,
	"task":     child.task,
	"claim":    child.claim,
	"take":     child.take,
}

// TestMain makes the test binary one of several processes.
func TestMain(m *testing.M) {
	args := os.Getenv(childEnv)
	if args == "" {
		testenv.Overlap(3)
		os.Exit(m.Run())
	}
	var c child
	err := json.Unmarshal([]byte(args), &c)
	if err == nil {
		err = roles[c.Role](c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, c.Role, c.Sender, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// process is a child, or another program, at work.
type process struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (c child) start(t testing.TB) *process {
	t.Helper()
	args, err := json.Marshal(c)
	testenv.Must(t, err)
	exe, err := os.Executable()
	testenv.Must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+string(args))
	return start(t, cmd)
}

// node starts a script of testdata.
func node(t testing.TB, script string, args ...string) *process {
	t.Helper()
	modules := testenv.NodeModules(t)
	cmd := exec.Command("node", append([]string{filepath.Join("testdata", script)}, args...)...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	return start(t, cmd)
}

// start starts a command, which ends with the test, whatever the test's result.
func start(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	in, err := cmd.StdinPipe()
	testenv.Must(t, err)
	out, err := cmd.StdoutPipe()
	testenv.Must(t, err)
	cmd.Stderr = os.Stderr
	testenv.Must(t, cmd.Start())
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return &process{cmd, in, bufio.NewReader(out)}
}

// line is the next line of its output, "" at the end.
func (p *process) line() string {
	s, _ := p.out.ReadString('\n')
	return strings.TrimSpace(s)
}

// rest is what it prints until it ends, line by line.
func (p *process) rest() []string {
	data, _ := io.ReadAll(p.out)
	return strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' })
}

// untilKilled kills a child some moment after it was ready, and returns its output since then.
func untilKilled(t *testing.T, c child, r *rand.Rand) []string {
	t.Helper()
	p := c.start(t)
	if line := p.line(); line != "ready" {
		t.Fatalf("%s: it never came to work: %q, %v", c.Role, line, p.Wait())
	}
	timer := time.AfterFunc(time.Duration(r.Int64N(int64(30*time.Millisecond))), func() { _ = p.Process.Kill() })
	defer timer.Stop()
	said := p.rest()
	_ = p.Wait()
	return said
}

func random(t *testing.T) *rand.Rand { return rand.New(rand.NewPCG(testenv.Seed(t), 0)) }

// deadline is for processes on a machine with other things to do.
const deadline = 60 * time.Second

func open(dir string, o mailbox.Options) (*mailbox.Box, error) { return openIn(mailbox.Array, dir, o) }

func openIn(l mailbox.Layout, dir string, o mailbox.Options) (*mailbox.Box, error) {
	if o.Deadline == 0 {
		o.Deadline = deadline
	}
	return mailbox.Dir{Path: dir, Layout: l}.Open("tester", o)
}

func mail(sender string, n int) protocol.Envelope {
	return protocol.Envelope{From: sender, Text: fmt.Sprintf("%s/%d", sender, n), Timestamp: protocol.FormatTime(time.Now())}
}

// envelopes reads a mailbox file as any program may, and fails unless every line of it is whole.
func envelopes(t testing.TB, l mailbox.Layout, dir string) (list []protocol.Envelope) {
	t.Helper()
	path := filepath.Join(dir, "tester"+l.Extension())
	var raws []json.RawMessage
	if l == mailbox.Array {
		raws = validArray(t, path)
	} else {
		data, err := os.ReadFile(path)
		testenv.Must(t, err)
		for line := range bytes.Lines(data) {
			if !json.Valid(line) || line[len(line)-1] != '\n' {
				t.Fatalf("%s has a line that is not whole: %.500s", path, line)
			}
			raws = append(raws, line)
		}
	}
	for i, raw := range raws {
		e, err := protocol.ParseEnvelope(raw)
		if err != nil {
			t.Fatalf("%s: entry %d: %v", path, i, err)
		}
		list = append(list, e)
	}
	return list
}

// validArray fails unless a mailbox is one whole JSON array.
func validArray(t testing.TB, path string) []json.RawMessage {
	t.Helper()
	data, err := os.ReadFile(path)
	testenv.Must(t, err)
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatalf("%s is not a JSON array: %v\n%.500s", path, err, data)
	}
	return list
}
