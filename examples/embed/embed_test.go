// Package embed_test builds the programs of this module, runs them, and looks at what they
// print and do. It needs Go and the modules that the library needs, and no network.
package embed_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/boxes"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/poll"
	"waggle/protocol"
	"waggle/team"
)

var programs = []string{"adapter", "agent", "backend", "monitor", "reader"}

// limit is for a whole program on a busy machine.
const limit = 2 * time.Minute

var bin string // where the programs are

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if bin, err = os.MkdirTemp("", "waggle-embed"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(bin)
	build := exec.Command("go", "build", "-o", bin+string(filepath.Separator))
	for _, p := range programs {
		build.Args = append(build.Args, "./"+p)
	}
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("%s: %w\n%s", build, err, out)
	}
	return m.Run(), nil
}

// place is a short directory: a socket's path has little room.
func place(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "we")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// out runs a program to its end.
func out(t *testing.T, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, program), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", program, err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.String()
}

func TestAgent(t *testing.T) {
	dir := place(t)
	build := filepath.Join(dir, "build")
	if err := os.Mkdir(build, 0o700); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(out(t, "agent", dir)), "\n")
	want := []string{"hello", "ann obeys and does not rm -rf build: no rule allows it and nobody attends this run", "Say hello: completed", "Tidy up: failed"}
	if !slices.Equal(got, want) {
		t.Errorf("it printed %q", got)
	}
	if _, err := os.Stat(build); err != nil {
		t.Errorf("it did what was denied: %v", err)
	}
}

// TestAdapter: the page "write an adapter" is true, and the table that its example prints has no
// line with a no.
func TestAdapter(t *testing.T) {
	table := out(t, "adapter")
	// An agent in this program has no hooks and no worker of its own: these lines say unsupported.
	if strings.Count(table, "\n") != 24 || strings.Count(table, " yes ") != 16 || strings.Count(table, " unsupported ") != 8 {
		t.Error(table)
	}
}

func TestBackend(t *testing.T) {
	if got := out(t, "backend", place(t)); got != "starts ann\nWhere am I? elsewhere\n" {
		t.Errorf("it printed %q", got)
	}
}

// program is an example program that runs until it is told to end.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
	all   []string
}

func start(t *testing.T, name string, args ...string) *program {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	p := &program{t: t, cmd: exec.CommandContext(ctx, filepath.Join(bin, name), args...), lines: make(chan string, 100)}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			p.lines <- s.Text()
		}
		_, _ = io.Copy(io.Discard, stdout)
	}()
	return p
}

// until waits for a line that has part in it, and returns it.
func (p *program) until(part string) string {
	p.t.Helper()
	for line := range p.lines {
		p.all = append(p.all, line)
		if strings.Contains(line, part) {
			return line
		}
	}
	p.t.Fatalf("it ended without %q: %q", part, p.all)
	return ""
}

// ends waits for the end of the program.
func (p *program) ends() {
	p.t.Helper()
	for line := range p.lines {
		p.all = append(p.all, line)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("%v; it printed %q", err, p.all)
	}
}

func newOperator(dir string) operator.Operator {
	op := operator.At(filepath.Join(dir, "root"), filepath.Join(dir, "state"), poll.Minter{Now: time.Now, Rand: rand.Reader})
	op.Environ = os.Environ()
	return op
}

func TestReader(t *testing.T) {
	root := team.Root{Path: place(t)}
	if _, err := team.Create(t.Context(), root, team.Config{Name: "api"}, team.Options{}); err != nil {
		t.Fatal(err)
	}
	box, err := boxes.Of(root, "api").Open("ann", mailbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	send := func(text string) {
		t.Helper()
		if err := box.Append(t.Context(), protocol.Envelope{From: "bob", Text: text, Timestamp: protocol.FormatTime(time.Now())}); err != nil {
			t.Fatal(err)
		}
	}
	send("good morning")
	p := start(t, "reader", root.Path, "api", "ann")
	p.until("bob: text: good morning")
	send("still there?")
	p.until("bob: text: still there?")
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.ends()
	if len(p.all) != 2 {
		t.Errorf("it printed %q", p.all)
	}
	if unread, err := box.Unread(t.Context()); err != nil || len(unread) != 2 {
		t.Errorf("%d unread, %v: it took what was not its own", len(unread), err)
	}
}

const monitored = `team: api
members: [{name: ann, agent: exec, backend: in-process}]
tasks: [{subject: "Deploy", owner: ann, instructions: "make deploy"}]
`

func TestMonitor(t *testing.T) {
	dir := place(t)
	op := newOperator(dir)
	f, err := teamfile.ParseFile(filepath.Join(dir, "waggle.yaml"), []byte(monitored))
	if err != nil {
		t.Fatal(err)
	}
	s, err := supervise.Of(op).Prepare(t.Context(), f, false, func(operator.Note) {})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := supervise.Of(op).Keep(ctx, s, f, supervise.LeadOptions{Note: func(operator.Note) {}})
		ended <- err
	}()
	p := start(t, "monitor", op.Root.Path, op.Home.Path, "api")
	line := p.until(` waits for an answer: Bash {"command":"make deploy"`)
	waiting, err := decide.Of(op).Pending(t.Context(), "api", false)
	if err != nil || len(waiting) != 1 || !strings.HasPrefix(line, waiting[0].Handle+" ") {
		t.Errorf("%q, of the questions %+v, %v", line, waiting, err)
	}
	cancel() // the leading process ends the team
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	p.until("the team has ended")
	p.ends()
	for _, want := range []string{"ann is awaiting_decision", "ann is terminated"} {
		if !slices.Contains(p.all, want) {
			t.Errorf("it did not say %q: %q", want, p.all)
		}
	}
}

// TestPrograms: each example program is one short file and imports no internal package.
func TestPrograms(t *testing.T) {
	for _, name := range programs {
		files, err := filepath.Glob(filepath.Join(name, "*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s is %q, %v", name, files, err)
		}
		data, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for line := range strings.Lines(string(data)) {
			if strings.TrimSpace(line) != "" {
				lines++
			}
		}
		most := 60
		if name == "adapter" { // the fifth: it asks in every way there is
			most = 150
		}
		if lines > most {
			t.Errorf("%s has %d lines, more than %d", name, lines, most)
		}
		if strings.Contains(string(data), "/internal/") {
			t.Errorf("%s uses a package that others cannot import", name)
		}
	}
}
