//go:build unix

package claudemembertest

import (
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/claudetest"
)

// A task lasts until the subagents in the background have ended and the model has taken that up; what they ask
// meanwhile is asked. The older client denies them itself what it would have to ask about.
func TestBackground(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		started := make(chan struct{})
		spawn := claudetest.Call("Agent", map[string]any{"description": "mark", "prompt": "SUBMARK", "subagent_type": "general-purpose", "run_in_background": true})
		w := newWorld(t, version, claudetest.ByMarker(map[string]claudetest.Next{
			"MAINMARK": claudetest.Script(spawn, claudetest.Say("started")),
			"SUBMARK": func(r claudetest.Request) claudetest.Turn {
				<-started
				return claudetest.Script(claudetest.Mark("late"), claudetest.Say("marked"))(r)
			},
		}), "}\n#{")
		w.works("make", "MAINMARK")
		w.OK("approve", w.pending("SUBMARK"), "--team", "crew")
		w.M.Await("the subagent runs", func(r claudetest.Request) bool {
			return len(r.Results()) == 1 && strings.Contains(r.First(), "MAINMARK")
		})
		close(started)
		if version == "2.1.150" {
			w.completed()
			w.Ran("late", 0)
			return
		}
		id := w.pending(">>late")
		if out := w.OK("task", "list", "--team", "crew"); strings.Contains(out, "completed") {
			t.Errorf("its subagent works, and the task is done: %s", out)
		}
		w.OK("approve", id, "--team", "crew")
		w.completed()
		w.Ran("late", 1)
	})
}

// What a program in the background brings is taken up when it ends, also after the turn, and asked about as in one.
func TestBackgroundProgram(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(claudetest.Call("Bash", map[string]any{"command": "until test -e go; do sleep 0.1; done; touch woken", "run_in_background": true, "description": "wait"}),
			claudetest.Say("I wait"), claudetest.Mark("late"), claudetest.Say("marked")), "}\n#{")
		w.works("wait", "wait for it")
		w.OK("approve", w.pending("until test"), "--team", "crew")
		w.completed()
		w.H.WriteFile(filepath.Join(w.H.Work, "go"), "", 0o644)
		w.OK("approve", w.pending(">>late"), "--team", "crew")
		w.M.Await("the last", func(r claudetest.Request) bool { return r.Turns() == 3 })
		w.Ran("late", 1)
	})
}
