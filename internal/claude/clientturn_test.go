//go:build unix

package claude_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/agent"
	"waggle/internal/claude"
	"waggle/internal/test/testenv"
)

// working says what the client has in the background.
func working(kinds ...string) string {
	var list []string
	for _, k := range kinds {
		list = append(list, `{"task_id":"a1","task_type":"`+k+`","description":"mark"}`)
	}
	return `< {"type":"system","subtype":"background_tasks_changed","tasks":[` + strings.Join(list, ",") + `]}` + "\n"
}

func says(words string) string {
	return `< {"type":"assistant","message":{"id":"` + words + `","content":[{"type":"text","text":"` + words + `"}],"usage":{"input_tokens":1,"output_tokens":1}}}` + "\n"
}

func ends(words string, usd string) string {
	return `< {"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"` + words + `","session_id":"s1","uuid":"` + words +
		`","total_cost_usd":` + usd + `,"usage":{"input_tokens":10,"output_tokens":5}}` + "\n"
}

const begins = `< {"type":"system","subtype":"init","session_id":"s1","model":"m","permissionMode":"default"}` + "\n"

func (g *gate) tools() (list []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.asked {
		list = append(list, c.Tool)
	}
	return list
}

// A turn lasts until the client's agents in the background have ended and the client has taken that up: what
// they ask is asked in it, and its usage is the sum. A program in the background keeps no turn open.
func TestAgentsInBackground(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{
		"goes on":         begins + says("all done") + ends("all done", "0.3"),
		"says no more":    "",
		"a server runs":   working("local_bash") + begins + says("all done") + ends("all done", "0.3"),
		"before the last": begins + working("local_agent") + says("all done") + ends("all", "0.2") + working() + begins + ends("all done", "0.3"),
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, "2.1.332")
			a, _ := newAgent(t, `{}`, initialized+user("Task 1: go\\n\\ndo it")+begins+working("local_agent")+says("started")+ends("started", "0.1")+
				asks("r1", "Bash", `{"command":"x"}`)+permit("r1", `{"command":"x"}`)+
				`< {"type":"user","parent_tool_use_id":"t0","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"use-r1","content":"ok"}]}}`+"\n"+
				working()+more)
			res, err := a.Turn(t.Context(), g, task())
			if err != nil || res.Failed {
				t.Fatal(res, err)
			}
			want := "all done"
			if more == "" {
				want = "started"
			}
			if res.Summary != want || !slices.Equal(g.tools(), []string{"Bash"}) || g.done["use-r1"].Tail != "ok" {
				t.Errorf("it ends with %q, asked %q, done %+v", res.Summary, g.tools(), g.done)
			}
			if turns := strings.Count(strings.Join(strings.Fields(more), ""), `"num_turns":2`)*2 + 2; len(g.used) != 1 || !strings.Contains(g.used[0], "Turns:"+string(rune('0'+turns))) {
				t.Errorf("used %v, want one with %d turns", g.used, turns)
			}
		})
	}
}

// wanted does a turn, lets the client go on, and waits until it wants a turn of its own.
func wanted(t *testing.T, a *claude.Agent, f *fake, g *gate, w agent.Work) {
	t.Helper()
	if _, err := a.Turn(t.Context(), g, w); err != nil {
		t.Fatal(err)
	}
	f.goOn <- struct{}{}
	select {
	case <-a.Starts():
	case <-time.After(time.Minute):
		t.Fatal("the client asks, and no turn is wanted")
	}
	if got := g.tools(); got != nil {
		t.Errorf("asked %q without a turn", got)
	}
}

// A client that asks after the turn's end wants a turn of its own, and is answered in it. A turn with work that
// begins first answers too, and its words follow when the client is free.
func TestAsksBetweenTurns(t *testing.T) {
	t.Parallel()
	first := initialized + user("Task 1: go\\n\\ndo it") + begins + ends("started", "0.1") + "|\n" +
		begins + says("it has ended") + asks("r1", "Bash", `{"command":"x"}`)
	t.Run("its own", func(t *testing.T) {
		g := newGate(t, "2.1.332")
		a, f := newAgent(t, `{}`, first+permit("r1", `{"command":"x"}`)+ends("seen", "0.2"))
		wanted(t, a, f, g, task())
		if res, err := a.Turn(t.Context(), g, agent.Work{Cwd: "/tmp"}); err != nil || res.Summary != "seen" {
			t.Error(res, err)
		}
		if res, err := a.Turn(t.Context(), g, agent.Work{Cwd: "/tmp"}); err != nil || res.Summary != "" {
			t.Errorf("a turn that nobody wants: %+v %v", res, err)
		}
	})
	t.Run("with work", func(t *testing.T) {
		g := newGate(t, "2.1.332")
		a, f := newAgent(t, `{}`, first+permit("r1", `{"command":"x"}`)+ends("seen", "0.2")+user("Task 1: go\\n\\ndo it")+begins+ends("done", "0.3"))
		wanted(t, a, f, g, task())
		if res, err := a.Turn(t.Context(), g, task()); err != nil || res.Summary != "done" {
			t.Error(res, err)
		}
	})
	t.Run("taken back", func(t *testing.T) {
		g := newGate(t, "2.1.332")
		a, f := newAgent(t, `{}`, first+`< {"type":"control_cancel_request","request_id":"r1"}`+"\n"+
			`< {"type":"control_request","request_id":"x","request":{"subtype":"other"}}`+"\n"+
			`> {"type":"control_response","response":{"subtype":"error","request_id":"x","error":"this host does not know other"}}`+"\n|\n"+ends("seen", "0.2")+user("Task 1: go\\n\\ndo it")+begins+ends("done", "0.3"))
		wanted(t, a, f, g, task())
		f.goOn <- struct{}{} // it has read so far
		if res, err := a.Turn(t.Context(), g, task()); err != nil || res.Summary != "done" {
			t.Error(res, err)
		}
		if got := g.tools(); got != nil {
			t.Errorf("asked %q", got)
		}
	})
}

// A turn that is cut short takes its client's agents with it: nothing goes on unseen. The next begins a client in
// the same session.
func TestCutWithAgents(t *testing.T) {
	t.Parallel()
	call := asks("r1", "Bash", `{"command":"x"}`)
	for name, play := range map[string]string{
		"they work": ends("started", "0.1") + call,
		"it works": call + `> {"type":"control_request","request_id":"waggle-3","request":{"subtype":"interrupt"}}` + "\n" +
			`< {"type":"control_response","response":{"subtype":"success","request_id":"waggle-3"}}` + "\n" +
			`< {"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"s1"}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			g := newGate(t, "2.1.332")
			g.tool = func(agent.Call) (agent.Decision, string) {
				cancel()
				return agent.Decision{}, ""
			}
			a, f := newAgent(t, `{}`, initialized+user("Task 1: go\\n\\ndo it")+begins+working("local_agent")+play,
				initialized+user(resumedWords+"Task 1: go\\n\\ndo it")+begins+ends("done", "0.2"))
			if _, err := a.Turn(ctx, g, task()); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			w := task()
			w.Conversation = "s1"
			if res, err := a.Turn(t.Context(), g, w); err != nil || res.Summary != "done" {
				t.Fatal(res, err)
			}
			if len(f.started) != 2 || !slices.Contains(f.started[1].Argv, "s1") {
				t.Errorf("%d clients were started", len(f.started))
			}
		})
	}
}

const resumedWords = "Your process ended and was started again. Go on where you stopped, and do not repeat what is done. What you are given now, or were given last:\\n\\n"

// Each agent that has ended is taken up in a turn of the client; the work is done after the last.
func TestTwoAgentsEnd(t *testing.T) {
	t.Parallel()
	g := newGate(t, "2.1.332")
	a, f := newAgent(t, `{}`, initialized+user("Task 1: go\\n\\ndo it")+begins+working("local_agent", "local_agent")+ends("started", "0.1")+
		working()+begins+says("first")+ends("first", "0.2")+"|\n"+begins+asks("r1", "Bash", `{"command":"x"}`)+permit("r1", `{"command":"x"}`)+ends("second", "0.3"))
	go func() {
		testenv.WaitFor(time.Minute, func() bool { g.mu.Lock(); defer g.mu.Unlock(); return strings.Contains(g.out.String(), "first") })
		f.goOn <- struct{}{}
	}()
	if res, err := a.Turn(t.Context(), g, task()); err != nil || res.Summary != "second" {
		t.Errorf("%+v %v", res, err)
	}
}

// What a client asks between turns is answered also where the last task had a directory of its own, and a client that
// has ended meanwhile is not replaced for it: the next work has its session.
func TestAsksBetweenTurnsElsewhere(t *testing.T) {
	t.Parallel()
	first := initialized + user("Task 1: go\\n\\ndo it") + begins + ends("started", "0.1") + "|\n" + begins + asks("r1", "Bash", `{"command":"x"}`)
	t.Run("its directory", func(t *testing.T) {
		g := newGate(t, "2.1.332")
		a, f := newAgent(t, `{}`, first+permit("r1", `{"command":"x"}`)+ends("seen", "0.2"))
		w := task()
		w.Task.Cwd = t.TempDir()
		wanted(t, a, f, g, w)
		if res, err := a.Turn(t.Context(), g, agent.Work{Cwd: "/tmp"}); err != nil || res.Summary != "seen" || len(f.started) != 1 {
			t.Errorf("%+v %v, %d clients", res, err, len(f.started))
		}
	})
	t.Run("it has ended", func(t *testing.T) {
		g := newGate(t, "2.1.332")
		a, f := newAgent(t, `{}`, first+"! exit 1\n", initialized+user(resumedWords+"Task 1: go\\n\\ndo it")+begins+ends("done", "0.2"))
		wanted(t, a, f, g, task())
		if _, err := a.Turn(t.Context(), g, agent.Work{Cwd: "/tmp"}); err != nil {
			t.Error(err)
		}
		w := task()
		w.Conversation = "s1"
		if res, err := a.Turn(t.Context(), g, w); err != nil || res.Summary != "done" {
			t.Error(res, err)
		}
		if len(f.started) != 2 || !slices.Contains(f.started[1].Argv, "s1") {
			t.Errorf("the session was not resumed (%d clients)", len(f.started))
		}
	})
}

// A plan of earlier work that is asked for when other work begins is no plan for that work.
func TestPlanOfEarlierWork(t *testing.T) {
	g := newGate(t, "2.1.332")
	planBegins := strings.Replace(begins, `"default"`, `"plan"`, 1)
	a, f := newAgent(t, `{"mode":"plan"}`, initialized+user("Task 1: go\\n\\ndo it")+planBegins+ends("started", "0.1")+"|\n"+
		planBegins+asks("r1", "ExitPlanMode", `{"plan":"old work"}`)+refusal("r1", "the turn in which you planned is over, and other work waits: plan again when you are asked to")+ends("old", "0.2")+
		user("Task 1: go\\n\\ndo it")+planBegins+ends("done without a plan", "0.3"))
	wanted(t, a, f, g, task())
	w := task()
	w.Task.PlanRequired = true
	if res, err := a.Turn(t.Context(), g, w); err != nil || !res.Failed || len(g.plans) != 0 {
		t.Errorf("%+v %v, plans %q", res, err, g.plans)
	}
}

// How else a turn ends: a failure takes the client's agents with it; an end of the process after all was said, late
// words and a cut leave nothing behind that waits for a turn.
func TestTurnEnds(t *testing.T) {
	t.Parallel()
	t.Run("failed", func(t *testing.T) {
		g := newGate(t, "2.1.332")
		a, f := newAgent(t, `{}`, initialized+user("Task 1: go\\n\\ndo it")+begins+working("local_agent")+`< {"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"s1"}`+"\n",
			initialized+user(resumedWords+"Task 1: go\\n\\ndo it")+begins+ends("done", "0.2"))
		if res, err := a.Turn(t.Context(), g, task()); err != nil || !res.Failed {
			t.Fatal(res, err)
		}
		w := task()
		w.Conversation = "s1"
		if res, err := a.Turn(t.Context(), g, w); err != nil || res.Summary != "done" || len(f.started) != 2 {
			t.Errorf("%+v %v, %d clients", res, err, len(f.started))
		}
	})
	for name, play := range map[string]string{
		"its process": working("local_agent") + ends("started", "0.1") + working() + "! exit 0\n",
		"late words":  working("local_agent") + ends("started", "0.1") + says("late") + working(),
		"a watcher":   `< {"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"a","task_type":"local_agent","ambient":true}]}` + "\n" + ends("started", "0.1"),
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, "2.1.332")
			a, _ := newAgent(t, `{}`, initialized+user("Task 1: go\\n\\ndo it")+begins+play)
			if res, err := a.Turn(t.Context(), g, task()); err != nil || res.Failed || res.Summary != "started" {
				t.Error(res, err)
			}
		})
	}
	t.Run("cut", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		g := newGate(t, "2.1.332")
		g.tool = func(agent.Call) (agent.Decision, string) { cancel(); return agent.Decision{}, "" }
		a, _ := newAgent(t, `{}`, initialized+user("Task 1: go\\n\\ndo it")+begins+asks("r1", "Bash", `{"command":"x"}`)+
			`> {"type":"control_request","request_id":"waggle-3","request":{"subtype":"interrupt"}}`+"\n"+
			`< {"type":"control_response","response":{"subtype":"success","request_id":"waggle-3"}}`+"\n"+
			`< {"type":"control_cancel_request","request_id":"r1"}`+"\n"+
			`< {"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"s1"}`+"\n")
		if _, err := a.Turn(ctx, g, task()); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		select {
		case <-a.Starts():
			t.Error("a turn is wanted for nothing")
		default:
		}
	})
}
