package claude_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"waggle/agent"
	"waggle/internal/claude"
	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// fake is a client that plays transcripts: the n-th process plays the n-th transcript. The client
// writes a line "< …", must be given "> …" next, waits at "|" until the test sends goOn, and exits at "! exit N".
// After the last line it reads to the end of its input.
type fake struct {
	t       *testing.T
	mu      sync.Mutex
	plays   []string
	started []spawn.Command
	onStart func(env []string)
	goOn    chan struct{}
}

func (f *fake) Run(ctx context.Context, c spawn.Command) (spawn.Exit, error) {
	f.mu.Lock()
	n := len(f.started)
	f.started = append(f.started, c)
	f.mu.Unlock()
	if f.onStart != nil {
		f.onStart(c.Env)
	}
	if n >= len(f.plays) {
		f.t.Errorf("process %d of the client was not expected: %q", n, c.Argv)
		return spawn.Exit{Code: 1}, nil
	}
	given := make(chan string)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		defer close(given)
		for r := bufio.NewScanner(c.Stdin); r.Scan(); {
			select {
			case given <- r.Text():
			case <-ended:
				return
			}
		}
	}()
	for _, line := range strings.Split(f.plays[n], "\n") {
		what, rest, _ := strings.Cut(line, " ")
		switch what {
		case "<":
			if _, err := io.WriteString(c.Output, rest+"\n"); err != nil {
				return spawn.Exit{Code: -1}, err
			}
		case ">":
			select {
			case got, ok := <-given:
				if !ok {
					f.t.Errorf("the client's input ended; it waits for\n  %s", rest)
					return spawn.Exit{}, nil
				}
				if got != rest {
					f.t.Errorf("the client got\n  %s\nwant\n  %s", got, rest)
				}
			case <-ctx.Done():
				f.t.Errorf("the client was ended; it waits for\n  %s", rest)
				return spawn.Exit{Code: -1, Signal: "terminated"}, ctx.Err()
			}
		case "|":
			select {
			case <-f.goOn:
			case <-ctx.Done():
				return spawn.Exit{Code: -1, Signal: "terminated"}, ctx.Err()
			}
		case "!":
			code, err := strconv.Atoi(strings.TrimPrefix(rest, "exit "))
			testenv.Must(f.t, err)
			return spawn.Exit{Code: code}, nil
		}
	}
	for {
		select {
		case got, ok := <-given:
			if !ok {
				return spawn.Exit{}, nil
			}
			f.t.Errorf("the client got more than it waits for: %s", got)
		case <-ctx.Done():
			return spawn.Exit{Code: -1, Signal: "terminated"}, ctx.Err()
		}
	}
}

// gate is a host whose answers a test gives.
type gate struct {
	t   *testing.T
	env []string

	mu     sync.Mutex
	asked  []agent.Call
	done   map[string]agent.Ran
	plans  []string
	said   []string
	out    strings.Builder
	tool   func(agent.Call) (agent.Decision, string)
	answer func(agent.Question) agent.Answers
	plan   func(string) agent.Decision
	refuse func(agent.Call) string

	talk               string
	talks, used, steps []string
}

func allow(agent.Call) (agent.Decision, string) {
	return agent.Decision{Allowed: true, By: "operator"}, ""
}

func (g *gate) Tool(context.Context, agent.Call, func(context.Context, json.RawMessage) agent.Ran) (agent.Outcome, error) {
	panic("the client runs its tools itself")
}

func (g *gate) Ask(ctx context.Context, c agent.Call) (agent.Claim, error) {
	g.mu.Lock()
	g.asked = append(g.asked, c)
	tool := g.tool
	g.mu.Unlock()
	a, input := tool(c)
	if err := ctx.Err(); err != nil {
		return agent.Claim{}, err
	}
	if !a.Allowed {
		return agent.Claim{Decision: a}, nil
	}
	if input == "" {
		input = string(c.Input)
	}
	return agent.Granted(a, "perm-1", json.RawMessage(input), func(_ context.Context, r agent.Ran) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		if _, twice := g.done[c.UseID]; twice {
			g.t.Errorf("%s ends twice", c.UseID)
		}
		g.done[c.UseID] = r
		return nil
	}), nil
}

func (g *gate) Question(_ context.Context, q agent.Question) (agent.Answers, error) {
	return g.answer(q), nil
}

func (g *gate) Plan(_ context.Context, plan string) (agent.Decision, error) {
	g.mu.Lock()
	g.plans = append(g.plans, plan)
	g.mu.Unlock()
	return g.plan(plan), nil
}

func (g *gate) Network(context.Context, string, string) (agent.Decision, error) {
	return agent.Decision{}, nil
}

func (g *gate) Say(_ context.Context, to, text, summary string) error {
	if to != "team-lead" {
		return fmt.Errorf("no member %s", to)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.said = append(g.said, to+": "+text+" ("+summary+")")
	return nil
}

func (g *gate) Progress(context.Context, string, string) error { return nil }

func (g *gate) Run(context.Context, spawn.Command) (spawn.Exit, error) {
	panic("the client stays from turn to turn")
}

func (g *gate) Refuses(_ context.Context, c agent.Call) string {
	if g.refuse == nil {
		return ""
	}
	return g.refuse(c)
}

func (g *gate) Output() io.Writer { return writer(g.write) }
func (g *gate) Environ() []string { return g.env }
func (g *gate) Conversation(_ context.Context, c agent.Conversation) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.talk, g.talks = c.ID, append(g.talks, fmt.Sprintf("%+v", c))
	return nil
}

func (g *gate) Used(_ context.Context, u agent.Usage) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used = append(g.used, fmt.Sprintf("%+v", u))
	return nil
}

func (g *gate) Steps(_ context.Context, steps []agent.DeclaredStep) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.steps = append(g.steps, fmt.Sprintf("%+v", steps))
	return nil
}

func (g *gate) Caller() []string { return []string{agent.EnvSpawn + "=secret"} }

func (g *gate) write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.out.Write(p)
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// newGate is a host in whose PATH there is a claude of this version.
func newGate(t *testing.T, version string) *gate {
	t.Helper()
	bin := t.TempDir()
	script := "#!/bin/sh\necho '" + version + " (Claude Code)'\n"
	testenv.Must(t, testenv.Executable(filepath.Join(bin, "claude"), []byte(script)))
	return &gate{t: t, env: []string{"PATH=" + bin + ":/bin:/usr/bin", "HOME=/home/u"}, done: map[string]agent.Ran{}, tool: allow,
		plan:   func(string) agent.Decision { return agent.Decision{Allowed: true} },
		answer: func(agent.Question) agent.Answers { return agent.Answers{} }}
}

// newAgent is an agent whose client plays transcripts.
func newAgent(t *testing.T, spec string, plays ...string) (*claude.Agent, *fake) {
	t.Helper()
	f := &fake{t: t, plays: plays, goOn: make(chan struct{})}
	return settled(t, spec, agent.Place{Exec: f}, "/bin/waggle", claude.Waits{Ready: 5 * time.Second, Answer: 5 * time.Second, End: 200 * time.Millisecond}), f
}

// settled is an agent in a place, with this hook program, until the test ends.
func settled(t *testing.T, spec string, place agent.Place, hook string, wait claude.Waits) *claude.Agent {
	t.Helper()
	made, err := claude.New([]byte(spec))
	testenv.Must(t, err)
	a := made.(*claude.Agent)
	a.Settle(place)
	a.Set(claude.Tune{Hook: hook, Wait: wait})
	t.Cleanup(func() {
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return a
}

// task is a turn's work.
func task() agent.Work {
	return agent.Work{Task: &agent.Task{ID: "1", Subject: "go", Instructions: "do it", Cwd: "/tmp"}}
}
