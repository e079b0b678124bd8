//go:build unix

package terminal_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"waggle/spawn"
	"waggle/spawn/spawntest"
	"waggle/spawn/terminal"
)

// TestPaneVariables: a process in a pane has the variables of that pane, and none of the pane that its starter is in.
// Without a pane it has what its Spec says.
func TestPaneVariables(t *testing.T) {
	t.Parallel()
	above := []string{"ITERM_SESSION_ID=above", "STY=above", "TERM_PROGRAM=above", "TERM_SESSION_ID=above", "TMUX=/above,1,0", "TMUX_PANE=%77", "ZELLIJ=above"}
	seen := func(t *testing.T, b spawn.Backend) (*spawn.Process, []string) {
		spec := spawntest.Spec(t, spawntest.ModeReport)
		spec.Env = append(spec.Env, above...)
		p := spawntest.Start(t, b, spec)
		spawntest.Wait(t, p)
		log, err := os.ReadFile(spec.Log)
		must(t, err)
		var r spawntest.Report
		if err := json.Unmarshal(log[strings.IndexByte(string(log), '{'):], &r); err != nil {
			t.Fatalf("%v in %s", err, log)
		}
		env := slices.DeleteFunc(r.Env, func(v string) bool { return !spawn.InScope(v, spawn.ScopeTerminal) })
		slices.Sort(env)
		return p, env
	}
	for _, windows := range []bool{false, true} {
		t.Run("tmux", func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.env = append(s.env, "ITERM_SESSION_ID=of the server's terminal") // its panes have it
			p, env := seen(t, terminal.Tmux(s.options(terminal.TmuxOptions{Windows: windows})))
			if at := p.Place().Pane; !slices.Contains(env, "TMUX_PANE="+at.ID) || !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "TMUX="+s.socket+",") }) ||
				slices.ContainsFunc(env, func(v string) bool {
					return !strings.HasPrefix(v, "TMUX") && !strings.HasPrefix(v, "TERM_PROGRAM") || strings.Contains(v, "above")
				}) {
				t.Errorf("in pane %s: %q", at.ID, env)
			}
		})
	}
	t.Run("iterm2", func(t *testing.T) {
		t.Parallel()
		p, env := seen(t, terminal.ITerm2(newITerm(t).options()))
		if want := "ITERM_SESSION_ID=w0t0p1:" + p.Place().Pane.ID; !slices.Contains(env, want) || slices.ContainsFunc(env, func(v string) bool { return strings.Contains(v, "above") }) {
			t.Errorf("%q, want %s", env, want)
		}
	})
	t.Run("process", func(t *testing.T) {
		t.Parallel()
		if _, env := seen(t, terminal.Process(options(t))); !slices.Equal(env, above) {
			t.Errorf("%q", env)
		}
	})
}
