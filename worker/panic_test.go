package worker_test

import (
	"testing"
	"testing/synctest"

	"waggle/agent"
	"waggle/internal/caught"
	"waggle/task"
)

// TestPanics: a panic in the loop or in a turn, outside of the agent, ends the worker with an error
// and not the program that runs it. The turn has failed; the next process continues.
func TestPanics(t *testing.T) {
	for name, at := range map[string]string{"loop": task.MemberIdle, "turn": task.MemberRunning} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, c *crew) {
				c.leads()
				c.desk.trip = at
				c.works("ann")
				if name == "turn" {
					c.order("ann", "1", ends(agent.Result{Summary: "done"}))
				}
				p := caught.Of(<-c.ended["ann"])
				if p == nil || p.Value != "tripped over "+at || len(p.Stack) == 0 {
					t.Fatalf("it ended with %v", p)
				}
				synctest.Wait()
				if words, _ := c.desk.told("ann"); len(words) == 0 || words[len(words)-1] != task.MemberError+" (worker ann: it panicked: tripped over "+at+")" {
					t.Errorf("its status: %q", words)
				}
				if name == "loop" {
					return
				}
				c.works("ann")
				c.order("ann", "2", nil)
				c.until("done", c.finished("ann", "2"))
				if over, completed := c.over("ann", "1"); !over || completed {
					t.Errorf("the turn that fell: over %v, completed %v", over, completed)
				}
			}, "ann")
		})
	}
}
