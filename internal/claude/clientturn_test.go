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

// A client that asks after the turn's end wants a turn of its own, and is answered in it. A turn with work that
// begins first answers too, and its words follow when the client is free.
func TestAsksBetweenTurns(t *testing.T) {
	first := initialized + user("Task 1: go\\n\\ndo it") + begins + ends("started", "0.1") + "|\n" +
		begins + says("it has ended") + asks("r1", "Bash", `{"command":"x"}`)
	wanted := func(t *testing.T, a *claude.Agent, f *fake, g *gate) {
		t.Helper()
		if _, err := a.Turn(t.Context(), g, task()); err != nil {
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
	t.Run("its own", func(t *testing.T) {
		g := newGate(t, "2.1.332")
		a, f := newAgent(t, `{}`, first+permit("r1", `{"command":"x"}`)+ends("seen", "0.2"))
		wanted(t, a, f, g)
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
		wanted(t, a, f, g)
		if res, err := a.Turn(t.Context(), g, task()); err != nil || res.Summary != "done" {
			t.Error(res, err)
		}
	})
	t.Run("taken back", func(t *testing.T) {
		g := newGate(t, "2.1.332")
		a, f := newAgent(t, `{}`, first+`< {"type":"control_cancel_request","request_id":"r1"}`+"\n"+ends("seen", "0.2")+user("Task 1: go\\n\\ndo it")+begins+ends("done", "0.3"))
		wanted(t, a, f, g)
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
			g.tool = func(agent.Call) (agent.Answer, string) {
				cancel()
				return agent.Answer{}, ""
			}
			again := "Your process ended and was started again. Go on where you stopped, and do not repeat what is done. What you are given now, or were given last:\\n\\n"
			a, f := newAgent(t, `{}`, initialized+user("Task 1: go\\n\\ndo it")+begins+working("local_agent")+play,
				initialized+user(again+"Task 1: go\\n\\ndo it")+begins+ends("done", "0.2"))
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
