package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"waggle/agent"
	"waggle/record"
)

// links leads paths where a test says.
type links struct {
	mu sync.Mutex
	to map[string]string
}

func (l *links) Real(path string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if to, ok := l.to[path]; ok {
		return to, nil
	}
	return "", errors.New("nobody knows")
}

func (l *links) set(path, to string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to[path] = to
}

// TestPathThatMoved: the question and its digest hold the resolved target of a path, and the target
// is resolved again when the allow is claimed.
func TestPathThatMoved(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		at := &links{to: map[string]string{"/work/a/../b": "/work/b"}}
		c.links = at
		var outs []agent.Outcome
		wrote := 0
		c.starts("ann")
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			for range 2 {
				out, err := h.Tool(ctx, agent.Call{Tool: "Write", Input: json.RawMessage(`{"file_path":"a/../b","path":"nowhere","content":"x"}`), Cwd: "/work"},
					func(context.Context, json.RawMessage) agent.Ran { wrote++; return agent.Ran{} })
				if err != nil {
					return agent.Result{}, err
				}
				keep(c, &outs, out)
			}
			return agent.Result{}, nil
		})
		c.until("it is asked", c.pending(1))
		asked := c.leaderFold().Pending()[0]
		if !slices.Contains(asked.Ask.Paths, record.RealPath{Spelled: "/work/a/../b", Real: "/work/b"}) || !slices.Contains(asked.Ask.Paths, record.RealPath{Spelled: "/work/nowhere"}) {
			t.Errorf("recorded: %+v", asked.Ask.Paths)
		}
		at.set("/work/a/../b", "/etc/passwd")
		c.answer(true, "")
		c.until("it is asked again", func() bool { return c.pending(1)() && c.leaderFold().Pending()[0].Digest != asked.Digest })
		if o := outs[0]; o.Allowed || o.Ran != nil || o.By != "system" || !strings.Contains(o.Reason, `/work/a/../b leads to "/etc/passwd" now, and led to "/work/b"`) || wrote != 0 {
			t.Errorf("told %+v, wrote %d times", o.Decision, wrote)
		}
		c.answer(true, "")
		c.until("over", c.finished("ann", "1"))
		if !outs[1].Allowed || wrote != 1 {
			t.Errorf("told %+v, wrote %d times", outs[1].Decision, wrote)
		}
	}, "ann")
}
