package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/fs/worktree"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/record"
	"waggle/spawn"
	"waggle/spawn/terminal"
	"waggle/team"
)

// gone is a process that does not run: this one's number at another time.
func gone(t *testing.T) spawn.Identity {
	t.Helper()
	id := self(t)
	id.Start = "1"
	return id
}

func self(t *testing.T) spawn.Identity {
	t.Helper()
	return testenv.Value(spawn.Identify(os.Getpid()))(t)
}

// TestEndOf: the end of a member by its record: how and with which step it ended, and the exit code of
// that.
func TestEndOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		m    control.Member
		want process.MemberEnd
		code operator.Kind
	}{
		"it has not":               {control.Member{}, process.MemberEnd{}, 0},
		"it agreed":                {control.Member{Left: &record.Left{How: record.LeftHandshake}}, process.MemberEnd{How: "handshake", Step: "handshake", Answered: true}, 0},
		"it agreed after a no":     {control.Member{Rejected: "busy", Left: &record.Left{How: record.LeftHandshake}}, process.MemberEnd{How: "handshake", Step: "handshake", Answered: true}, 0},
		"it refused":               {control.Member{Rejected: "busy", Stopping: &record.Stopping{Why: "late"}, Left: &record.Left{How: record.LeftStopped, Detail: spawn.RungTerm}}, process.MemberEnd{How: "stopped", Step: spawn.RungTerm, Rejected: "busy", Answered: true}, operator.Refused},
		"it said nothing":          {control.Member{Stopping: &record.Stopping{Why: "late"}, Left: &record.Left{How: record.LeftStopped, Detail: spawn.RungKill}}, process.MemberEnd{How: "stopped", Step: spawn.RungKill}, operator.Timeout},
		"nothing was left of it":   {control.Member{Left: &record.Left{How: record.LeftStopped}}, process.MemberEnd{How: "stopped", Step: spawn.RungGone}, operator.Timeout},
		"it was not asked":         {control.Member{Stopping: &record.Stopping{Why: process.StopForced}, Left: &record.Left{How: record.LeftStopped, Detail: spawn.RungTerm}}, process.MemberEnd{How: "stopped", Step: spawn.RungTerm, Forced: true}, 0},
		"it died":                  {control.Member{Left: &record.Left{How: record.LeftDied, Detail: "signal killed"}}, process.MemberEnd{How: "died", Step: spawn.RungGone}, operator.Died},
		"another program goes on":  {control.Member{Left: &record.Left{How: record.LeftReleased}}, process.MemberEnd{How: "released", Step: spawn.RungGone}, operator.Timeout},
		"another program refused":  {control.Member{Rejected: "busy", Left: &record.Left{How: record.LeftReleased}}, process.MemberEnd{How: "released", Step: spawn.RungGone, Rejected: "busy", Answered: true}, operator.Refused},
		"another's was let go":     {control.Member{Stopping: &record.Stopping{Why: process.StopForced}, Left: &record.Left{How: record.LeftReleased}}, process.MemberEnd{How: "released", Step: spawn.RungGone, Forced: true}, 0},
		"it died while it refused": {control.Member{Rejected: "busy", Left: &record.Left{How: record.LeftDied}}, process.MemberEnd{How: "died", Step: spawn.RungGone, Rejected: "busy", Answered: true}, operator.Died},
	} {
		c.m.Name, c.want.Member = "ann", "ann"
		if got := process.EndOf(&c.m); got != c.want || got.Kind() != c.code {
			t.Errorf("%s: %+v is %s; want %+v, %s", name, got, got.Kind(), c.want, c.code)
		}
	}
}

// TestDownCode: the exit code of a team's end is that of its worst member that was asked. A refusal is
// worse than a timeout, and a death does not count.
func TestDownCode(t *testing.T) {
	t.Parallel()
	yes, no := process.MemberEnd{How: record.LeftHandshake}, process.MemberEnd{How: record.LeftStopped, Rejected: "busy"}
	silent, dead := process.MemberEnd{How: record.LeftStopped}, process.MemberEnd{How: record.LeftDied}
	for _, c := range []struct {
		members []process.MemberEnd
		want    operator.Kind
	}{
		{nil, 0}, {[]process.MemberEnd{yes, dead}, 0}, {[]process.MemberEnd{yes, silent}, operator.Timeout},
		{[]process.MemberEnd{silent, no}, operator.Refused}, {[]process.MemberEnd{no, silent}, operator.Refused},
	} {
		if got := (&process.DownResult{Members: c.members}).Kind(); got != c.want {
			t.Errorf("%+v: %d, want %d", c.members, got, c.want)
		}
	}
}

// TestObstructed: an error of a file or a lock keeps an end from being recorded; an error in the
// rights or arguments of the caller does not count.
func TestObstructed(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want bool
	}{
		"nothing":          {t.Context(), nil, false},
		"a file":           {t.Context(), os.ErrPermission, true},
		"a lock":           {t.Context(), &operator.Error{Kind: operator.Locked}, true},
		"an interrupt":     {over, os.ErrPermission, false},
		"no such team":     {t.Context(), &team.NotFoundError{}, false},
		"not the operator": {t.Context(), &operator.Error{Kind: operator.Refused}, false},
		"a wrong word":     {t.Context(), &operator.Error{Kind: operator.Usage}, false},
		"not our process":  {t.Context(), fmt.Errorf("stop: %w", spawn.ErrNotOurs), false},
	} {
		if got := process.Obstructed(c.ctx, c.err); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestWords: the names of backends, colours and programs.
func TestWords(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"tmux": "tmux", "tmux-window": "tmux", "process": "process", "in-process": "in-process", "own": "own"} {
		if got := process.BackendType(word); got != want {
			t.Errorf("backend %s: %s", word, got)
		}
	}
	for color, want := range map[string]string{"purple": "magenta", "orange": "colour208", "pink": "colour213", "red": "red", "": "", "#[fg=red]": ""} {
		if got := process.TmuxColor(color); got != want {
			t.Errorf("colour %s: %s", color, got)
		}
	}
	for _, c := range []struct{ word, agent, want string }{
		{"auto", "script", "in-process"}, {"auto", "llm", "in-process"}, {"auto", "exec", "auto"}, {"process", "script", "process"}, {"", "script", ""},
	} {
		if got := process.Alone(teamfile.FileMember{Backend: c.word, Agent: c.agent}); got != c.want {
			t.Errorf("%s of a %s that nobody attends: %q", c.word, c.agent, got)
		}
	}
	if process.Unread(&control.Member{}) || !process.AllRead(&control.Member{}) {
		t.Error("who has read what a member said last")
	}
	for want, argv := range map[string][]string{"unknown program": nil, "make all": {"make", "all"}, `a\x1bb`: {"a\x1bb"}, strings.Repeat("x", 200) + "…": {strings.Repeat("x", 300)}} {
		if got := process.Program(argv); got != want {
			t.Errorf("%q: %q", argv, got)
		}
	}
}

// TestTexts: the texts for processes that are left, garbage, mail and worktrees.
func TestTexts(t *testing.T) {
	t.Parallel()
	tools := []process.LeftTool{{PID: 1, Argv: "a"}, {PID: 2, Argv: "b"}, {PID: 3, Argv: "c"}, {PID: 4, Argv: "d"}, {PID: 5, Argv: "e"}}
	for n, want := range map[int]string{1: "still runs: pid 1 (a)", 3: "pid 2 (b), pid 3 (c)", 5: "pid 3 (c), and 2 more"} {
		if got := process.ToolsText(tools[:n]); !strings.HasSuffix(got, want) {
			t.Errorf("%d tools: %s", n, got)
		}
	}
	c := &process.Collected{}
	if c.Undone() != 0 {
		t.Errorf("%d", c.Undone())
	}
	c.Found = []*process.Garbage{{Done: true}, {}, {}}
	if c.Undone() != 2 {
		t.Errorf("%d are left", c.Undone())
	}
	if n := (process.Operator{}).MailNote("api", "/a/b"); n.What != "archived" || !strings.Contains(n.Text, "held mail and no team: it is in /a/b now") {
		t.Errorf("%+v", n)
	}
	if process.ViewWorktree(nil) != nil {
		t.Error("a member without a worktree has one")
	}
	if v := process.ViewWorktree(&record.Worktree{Path: "/w", Branch: "b", Base: "c", Repo: "/r"}); *v != (process.WorktreeView{Path: "/w", Branch: "b", Base: "c"}) {
		t.Errorf("%+v", v)
	}
}

// TestErrors: errors of processes and worktrees carry their code, cause and the member's name.
func TestErrors(t *testing.T) {
	t.Parallel()
	m := &control.Member{Joined: record.Joined{Name: "ann"}}
	if err := process.NotOurs(m, os.ErrPermission); err != os.ErrPermission {
		t.Errorf("another error: %v", err)
	}
	if err := process.NotOurs(m, fmt.Errorf("x: %w", spawn.ErrNotOurs)); operator.KindOf(err) != operator.Refused || !strings.Contains(err.Error(), "ann is not ended") {
		t.Error(err)
	}
	for _, cause := range []error{worktree.ErrNoGit, worktree.ErrNotRepository, worktree.ErrBare, worktree.ErrNoCommit, worktree.ErrNoSpace, worktree.ErrInside, &worktree.ExistsError{}, &worktree.MismatchError{}} {
		err := process.TreeError("ann", cause)
		if operator.KindOf(err) != operator.Failed || !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), "no worktree for ann: ") {
			t.Errorf("%v: %v", cause, err)
		}
	}
}

// TestCrashed: Crashed reports whether a process of a member was lost, by the journal and by the
// processes that run.
func TestCrashed(t *testing.T) {
	t.Parallel()
	dead, alive := &record.Process{ID: gone(t)}, &record.Process{ID: self(t)}
	for name, c := range map[string]struct {
		m     control.Member
		ended bool
		want  bool
	}{
		"it runs":                  {control.Member{Process: alive}, false, false},
		"nobody has recorded it":   {control.Member{Process: dead}, false, true},
		"its team has ended":       {control.Member{Process: dead}, true, false},
		"an earlier start":         {control.Member{Process: alive, Deaths: []time.Time{{}}}, false, true},
		"it left so":               {control.Member{Process: dead, Left: &record.Left{How: record.LeftDied}}, true, true},
		"it left by handshake":     {control.Member{Process: dead, Left: &record.Left{How: record.LeftHandshake}}, false, false},
		"it said yes":              {control.Member{Process: dead, Approved: true}, false, false},
		"it was being ended by us": {control.Member{Process: dead, Stopping: &record.Stopping{}}, false, false},
	} {
		s := &operator.State{Lead: control.NewLeader(nil)}
		if c.ended {
			s.Lead.Ended = &record.Ended{}
		}
		if got := process.Crashed(s, &c.m); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestPaneNotes: the notes for the events of a multiplexer. Without panes Watch does nothing.
func TestPaneNotes(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	p := process.Of(r.Op).Panes(s)
	if err := p.Watch(t.Context()); err != nil {
		t.Errorf("without panes: %v", err)
	}
	p.Wg.Wait()
	r.Enlist(s, "ann")
	left := r.Enlist(s, "bob")
	left.Stopping = &record.Stopping{}
	for name, want := range map[string]string{"ann": "trouble", "bob": "", "nobody": ""} {
		p.Names(map[string]string{"%1": name})
		if n := p.Note(terminal.Event{What: terminal.ServerGone}); n.What != want || want != "" && !strings.Contains(n.Text, "has ended") {
			t.Errorf("the server is gone with the pane of %s: %+v", name, n)
		}
	}
	for _, e := range []terminal.Event{{What: terminal.PaneClosed, Pane: "%7"}, {What: terminal.PaneOpened, Pane: "%7"}} {
		if n := p.Note(e); n != (operator.Note{}) {
			t.Errorf("somebody else's pane: %+v", n)
		}
	}
}

// TestShowPane: how a pane is shown, from inside of its server and from elsewhere.
func TestShowPane(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, p := range []string{"tmux", "it2"} {
		testenv.Must(t, testenv.Executable(dir+"/"+p, []byte("#!/bin/sh\n")))
	}
	env := []string{"PATH=" + dir}
	for name, c := range map[string]struct {
		env  []string
		pane spawn.Pane
		want string
		look bool
	}{
		"elsewhere, to look":  {env, spawn.Pane{Mux: spawn.MuxTmux, Socket: "/s", ID: "%1"}, "; attach-session -r -t %1", true},
		"elsewhere":           {env, spawn.Pane{Mux: spawn.MuxTmux, Socket: "/s", ID: "%1"}, "/tmux -S /s select-window -t %1 ; select-pane -t %1 ; attach-session -t %1", false},
		"in its server":       {append(env, "TMUX=/s,1,0", "TMUX_PANE=%0"), spawn.Pane{Mux: spawn.MuxTmux, Socket: "/s", ID: "%1"}, "; switch-client -t %1", false},
		"in another server":   {append(env, "TMUX=/t,1,0", "TMUX_PANE=%0"), spawn.Pane{Mux: spawn.MuxTmux, Socket: "/s", ID: "%1"}, "; attach-session -t %1", false},
		"a split":             {env, spawn.Pane{Mux: spawn.MuxITerm2, ID: "x"}, "/it2 session focus x", false},
		"without the program": {[]string{"PATH=/nowhere"}, spawn.Pane{Mux: spawn.MuxTmux, ID: "%1"}, "", false},
		"without it2":         {[]string{"PATH=/nowhere"}, spawn.Pane{Mux: spawn.MuxITerm2, ID: "x"}, "", false},
	} {
		argv, err := process.Of(operator.Operator{Environ: c.env}).ShowPane(c.pane, c.look)
		if c.want == "" {
			operatortest.Is(t, name, err, operator.Failed, "")
			continue
		}
		if err != nil || !strings.HasSuffix(strings.Join(argv, " "), c.want) {
			t.Errorf("%s: %q, %v", name, argv, err)
		}
	}
	_, err := process.Of(operator.Operator{Environ: append(env, "TMUX=/s,1,0", "TMUX_PANE=%0")}).ShowPane(spawn.Pane{Mux: spawn.MuxTmux, Socket: "/s", ID: "%1"}, true)
	operatortest.Is(t, "to look, in its server", err, operator.Refused, "")
}
