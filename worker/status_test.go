package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/policy"
	"waggle/protocol"
	"waggle/task"
	"waggle/worker"
)

// told lists the statuses that a member wrote, one word each, without beats.
func (d *desk) told(name protocol.MemberName) (words []string, last task.State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.states[name] {
		w := s.Status
		if s.ErrorMessage != "" {
			w += " (" + s.ErrorMessage + ")"
		}
		if len(words) == 0 || words[len(words)-1] != w {
			words = append(words, w)
		}
		last = s
	}
	return words, last
}

// TestStatus: task-status.json follows a member's state, through a restart, and is updated during a
// long turn.
func TestStatus(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		synctest.Wait()
		if words, s := c.desk.told("ann"); fmt.Sprint(words) != "[idle]" || s.AgentID != "ann@sim" || s.StartedAt == "" {
			t.Errorf("at first %v, %+v", words, s)
		}
		c.order("ann", "1", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			time.Sleep(90 * time.Second) // the bubble's clock
			return agent.Result{Summary: "done"}, nil
		})
		c.until("done", c.finished("ann", "1"))
		c.order("ann", "2", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			time.Sleep(30 * time.Second) // the bubble's clock
			return agent.Result{Failed: true, Reason: "it broke"}, nil
		})
		c.until("failed", c.finished("ann", "2"))
		synctest.Wait()
		words, s := c.desk.told("ann")
		if fmt.Sprint(words) != "[idle running idle running idle (it broke)]" {
			t.Errorf("%q", words)
		}
		if m := s.Metrics; m.TasksCompleted != 1 || m.AvgResponseTime < 60 || m.AvgResponseTime > 62 {
			t.Errorf("%+v", m)
		}
		c.desk.mu.Lock()
		if n := len(c.desk.states["ann"]); n < 12 {
			t.Errorf("%d statuses: a turn of 90 s does not show that it is alive", n)
		}
		c.desk.mu.Unlock()
		c.quits("ann")
		words, _ = c.desk.told("ann")
		if last := words[len(words)-1]; !strings.HasPrefix(last, task.MemberError) {
			t.Errorf("told to end: %q", last)
		}
		c.works("ann")
		synctest.Wait()
		if _, s := c.desk.told("ann"); s.Status != task.MemberIdle || s.Metrics.TasksCompleted != 1 {
			t.Errorf("after a restart %+v", s)
		}
		testenv.Must(t, c.l.Shutdown(c.ctx, "ann", "", policy.RoleOperator))
		if err := <-c.ended["ann"]; err != nil && !errors.Is(err, worker.ErrLeft) {
			t.Error(err)
		}
		if _, s := c.desk.told("ann"); s.Status != task.MemberComplete || s.CompletedAt == "" {
			t.Errorf("after the handshake %+v", s)
		}
	}, "ann")
}

// TestArtifactsAreNamed: task_completed names the files that the turn has made or
// changed, and no others.
func TestArtifactsAreNamed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		c.desk.make("artifacts/old.txt", 1)
		c.desk.make("artifacts/kept.txt", 1)
		c.order("ann", "1", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			c.desk.make("artifacts/old.txt", 2)
			c.desk.make("artifacts/new.txt", 1)
			return agent.Result{Summary: "done"}, nil
		})
		c.until("done", c.finished("ann", "1"))
		var made []string
		c.look("ann", func(_ *control.Leader, w *control.Worker) {
			for _, s := range w.Outbox {
				env, err := s.Mail.Open()
				if err != nil {
					t.Error(err)
				}
				if p, ok := protocol.Decode(env).Payload.(protocol.TaskCompleted); ok && p.Result != nil {
					made = p.Result.Artifacts
				}
			}
		})
		slices.Sort(made)
		if fmt.Sprint(made) != "[artifacts/new.txt artifacts/old.txt]" {
			t.Errorf("%q", made)
		}
	}, "ann")
}
