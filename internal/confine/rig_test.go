//go:build linux

package confine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/confine"
	"waggle/internal/sandbox"
	"waggle/internal/sandbox/proxy"
	"waggle/internal/sandbox/relay"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator/decide"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/worker"
)

// TestMain makes the test binary the relay and the hostile program, too.
func TestMain(m *testing.M) {
	testenv.OnDisk()
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case relay.Subcommand:
			os.Exit(relay.Main(os.Args[2:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
		case hostileWord:
			os.Exit(hostile(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// require skips a test that needs a sandbox where there is none, or where the suite runs without.
func require(t *testing.T) {
	t.Helper()
	if os.Getenv(confine.Variable) == "off" {
		t.Skip(confine.Variable + "=off: the suite runs without sandboxes")
	}
	testenv.Require(t, "bwrap")
}

// rig is a team whose members are sandboxed, and one web server for every name.
type rig struct {
	*operatortest.Rig
	dir  string // of the wire tree and STATE
	hits *hits
	kit  func(dir string) (sandbox.Kit, error)
	// boxes are the sandboxes that were made, by their members.
	boxes sync.Map // of protocol.MemberName to *confine.Member
	// before is called with the tree of a member before it starts; nil: nothing is.
	before func(work string)
	// agent makes the agent of a member from one that runs what a test gives it; nil: it is that one.
	agent func(agent.Agent) agent.Agent
	// confining is called when a sandbox is to be made; nil: nothing is.
	confining func(c worker.Confining)
	itself    bool // its members run the commands of their tasks, as agent exec does
}

// hits counts the requests that the server has begun to answer, and holds answers.
type hits struct {
	mu    sync.Mutex
	n     int
	began chan struct{} // one for each request to /slow
	ended chan struct{} // one for each end of such a request
}

func (h *hits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.n++
	h.mu.Unlock()
	fmt.Fprintln(w, "served")
	if r.URL.Path != "/slow" {
		return
	}
	w.(http.Flusher).Flush()
	h.began <- struct{}{}
	<-r.Context().Done() // until the connection is cut
	h.ended <- struct{}{}
}

func (h *hits) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.n
}

// served checks how many requests the server has begun to answer.
func (r *rig) served(want int) {
	r.T.Helper()
	if n := r.hits.count(); n != want {
		r.T.Errorf("%d connections, want %d", n, want)
	}
}

// plainKit is a kit whose relay is this test binary, also where it is linked dynamically.
func plainKit(dir string) (sandbox.Kit, error) {
	self, err := os.Executable()
	if err != nil {
		return sandbox.Kit{}, err
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return sandbox.Kit{}, err
	}
	k := sandbox.Kit{Dir: dir, Bwrap: bwrap, Relay: self, Blank: filepath.Join(dir, "unreadable")}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return k, err
	}
	return k, os.WriteFile(k.Blank, nil, 0)
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigOf(t, record.PolicySet{})
}

// withCurl is a rig with a member that requires a sandbox, whose commands have curl.
func withCurl(t *testing.T) (*rig, *member) {
	t.Helper()
	testenv.Require(t, "curl")
	r := newRig(t)
	return r, r.member("ann", required)
}

// target is a host that the server serves.
var target = decide.NetTarget{Host: "api.example.com", Port: "80"}

// newRigOf is newRig with a policy.
func newRigOf(t *testing.T, set record.PolicySet) *rig {
	t.Helper()
	require(t)
	h := &hits{began: make(chan struct{}, 16), ended: make(chan struct{}, 16)}
	server := &http.Server{Handler: h}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }() // until Close
	t.Cleanup(func() { server.Close(); <-served })
	r := &rig{hits: h, kit: plainKit}
	op := operatortest.New(t)
	r.dir = filepath.Dir(op.Root.Path)
	parts := confine.WithParts(func(dir string) (sandbox.Kit, error) { return r.kit(dir) }, proxy.Options{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		},
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", l.Addr().String())
		}})
	op.Confine = func(ctx context.Context, c worker.Confining) (worker.Confinement, error) {
		if r.confining != nil {
			r.confining(c)
		}
		box, err := parts(ctx, c)
		r.boxes.Store(c.Name, box)
		return box, err
	}
	r.Rig = operatortest.Team(t, op, "box", set)
	return r
}

// member is one member of the rig: its turn runs the commands that it is given.
type member struct {
	r    *rig
	name protocol.MemberName
	work string
	do   chan play
	stop context.CancelFunc
	done chan error
}

type play func(ctx context.Context, h agent.Host)

// begin starts a member that is to be confined; nil waits until it is ready.
func (r *rig) begin(name protocol.MemberName, want record.Sandbox) (*member, error) {
	r.T.Helper()
	m := &member{r: r, name: name, work: r.T.TempDir(), do: make(chan play), done: make(chan error, 1)}
	if r.before != nil {
		r.before(m.work)
	}
	minted, err := teams.Of(r.Op).MintToken(r.T.Context(), r.Name, teamfile.FileMember{Name: name, Agent: "exec", Cwd: m.work, Sandbox: &want}, 0)
	testenv.Must(r.T, err)
	ctx, stop := context.WithCancel(context.WithoutCancel(r.T.Context()))
	m.stop = stop
	begun := make(chan struct{})
	turn := operatortest.Turn(func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
		for w.Task != nil {
			select {
			case p := <-m.do:
				p(ctx, h)
			case <-ctx.Done():
				return agent.Result{}, ctx.Err()
			}
		}
		return agent.Result{}, nil
	})
	o := worker.Options{Agent: turn, Begun: func(protocol.MemberName) { close(begun) }}
	switch {
	case r.itself:
		o.Agent = nil
	case r.agent != nil:
		o.Agent = r.agent(turn)
	}
	go func() {
		m.done <- teams.Of(r.Op).Work(ctx, minted.Token, o)
		close(m.done)
	}()
	r.T.Cleanup(func() { stop(); <-m.done })
	select {
	case <-begun:
	case err := <-m.done:
		return m, err
	}
	if !r.itself {
		r.Task(name, "work of "+string(name))
	}
	r.Until("it is ready", func(*control.Leader) bool { return m.fold().Ready != nil })
	return m, nil
}

func (r *rig) member(name protocol.MemberName, want record.Sandbox) *member {
	r.T.Helper()
	m, err := r.begin(name, want)
	testenv.Must(r.T, err)
	return m
}

// fold is the member's journal.
func (m *member) fold() *control.Worker {
	m.r.T.Helper()
	s := m.r.State()
	lm, ok := s.Lead.Member(m.name)
	if !ok {
		m.r.T.Fatalf("no member %s", m.name)
	}
	w, err := s.Worker(lm.Instance)
	testenv.Must(m.r.T, err)
	return w
}

// ran is the result of a command.
type ran struct {
	exit spawn.Exit
	out  string
	err  error
}

// start runs a command in the member's turn.
func (m *member) start(script string) <-chan ran {
	done := make(chan ran, 1)
	m.do <- func(ctx context.Context, h agent.Host) {
		go func() { done <- command(ctx, h, m.work, script) }()
	}
	return done
}

func command(ctx context.Context, h agent.Host, dir, script string) ran {
	var out testenv.Buffer
	exit, err := h.Run(ctx, spawn.Command{Argv: []string{"sh", "-c", script}, Dir: dir, Env: h.Environ(), Output: &out})
	return ran{exit, out.String(), err}
}

const patience = 60 * time.Second

// wait is the end of a command, while leader passes are taken.
func (m *member) wait(done <-chan ran) ran {
	m.r.T.Helper()
	var got ran
	m.r.Until("the command of "+string(m.name)+" ends", func(*control.Leader) bool {
		select {
		case got = <-done:
			return true
		default:
			return false
		}
	})
	return got
}

func (m *member) run(script string) ran {
	m.r.T.Helper()
	return m.wait(m.start(script))
}

// net answers a question about a host, or makes a standing answer.
func (r *rig) net(a decide.NetAnswer) *decide.NetDecided {
	r.T.Helper()
	got, err := decide.Of(r.Op).DecideNet(r.T.Context(), r.Name, a)
	testenv.Must(r.T, err)
	return got
}

// connections are the connections in a member's journal.
func (m *member) connections() (all []record.Connection) {
	m.r.T.Helper()
	for _, line := range m.journal() {
		var r struct {
			Kind string           `json:"kind"`
			Body record.Connected `json:"body"`
		}
		if !strings.Contains(line, `"`+record.KindConnected+`"`) {
			continue
		}
		testenv.Must(m.r.T, json.Unmarshal([]byte(line), &r))
		if r.Kind == record.KindConnected {
			all = append(all, r.Body.Connections...)
		}
	}
	return all
}

// journal are the lines of a member's journal.
func (m *member) journal() (lines []string) {
	m.r.T.Helper()
	files, err := filepath.Glob(filepath.Join(m.r.State().Dir.JournalOf(string(m.fold().Instance)), "*"))
	testenv.Must(m.r.T, err)
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil {
			lines = slices.AppendSeq(lines, strings.Lines(string(data)))
		}
	}
	return lines
}
