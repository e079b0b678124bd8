package fresh_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/agent"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/fresh"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/record"
)

// TestParts: the parts are the numbered items of the newest revision, and only of an approved plan.
func TestParts(t *testing.T) {
	t.Parallel()
	op, rig := operatortest.API(t)
	o := fresh.Of(op)
	const plan = "# Parts\n\nTwo of them.\n\n1. the server\n   in server.go\n\n2) the page\n\n## Not parts\n\nnothing\n"
	rig.Member("ann", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
		_, err := h.Plan(ctx, plan)
		return agent.Result{}, err
	})
	rig.Task("ann", "split it")
	req := rig.Pending(1)[0]
	_, err := o.Parts(t.Context(), "api", "ann")
	operatortest.Is(t, "an open plan", err, operator.Refused, "revision 1 of the plan of ann is not approved")
	testenv.Value(decide.Of(op).Decide(t.Context(), "api", []decide.Answer{{ID: string(req.ID), Allow: true, Digest: string(req.Digest)}}))(t)
	got, err := o.Parts(t.Context(), "api", "ann")
	if want := []string{"the server\nin server.go", "the page"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	_, err = o.Parts(t.Context(), "api", "bob")
	operatortest.Is(t, "nobody", err, operator.NotFound, "")
}

// TestHere: Here returns the team whose accepted file is nearest above a directory. A file that only
// names a team, and a file beside, choose no team; a team without a leader is an error.
func TestHere(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	o := fresh.Of(op)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	at := func(rig *operatortest.Rig, path string) {
		testenv.Must(t, os.WriteFile(rig.State().Dir.TeamFile()+".from", []byte(filepath.Join(dir, path)+"\n"), 0o600))
	}
	for _, below := range []string{"deep/down", "deeper"} {
		testenv.Must(t, os.MkdirAll(filepath.Join(dir, below), 0o700))
	}
	if name, err := o.Here(t.Context(), dir); name != "" || err != nil {
		t.Errorf("no team: %s, %v", name, err)
	}
	outer := operatortest.Team(t, op, "outer", record.PolicySet{})
	operatortest.Team(t, op, "bare", record.PolicySet{})
	at(outer, "waggle.yaml")
	_, err = o.Here(t.Context(), filepath.Join(dir, "deep", "down"))
	operatortest.Is(t, "nobody leads", err, operator.Refused, "team outer of "+dir+" has no leader")
	inner := operatortest.Team(t, op, "inner", record.PolicySet{})
	at(inner, "deep/"+fresh.NoFile)
	_, err = o.Here(t.Context(), filepath.Join(dir, "deep"))
	operatortest.Is(t, "the nearest", err, operator.Refused, "team inner")
	_, err = o.Here(t.Context(), filepath.Join(dir, "deeper"))
	operatortest.Is(t, "beside", err, operator.Refused, "team outer")
	at(operatortest.Team(t, op, "second", record.PolicySet{}), "deep/waggle.yaml")
	_, err = o.Here(t.Context(), filepath.Join(dir, "deep", "down"))
	operatortest.Is(t, "two in one directory", err, operator.Usage, "several teams")
	if name, err := o.Here(t.Context(), filepath.Dir(dir)); name != "" || err != nil {
		t.Errorf("above: %s, %v", name, err)
	}
}

// TestNewInside: a member's process starts no further members, in no team.
func TestNewInside(t *testing.T) {
	t.Parallel()
	op, rig := operatortest.API(t)
	rig.Member("ann", operatortest.Idle)
	inside := rig.FromInside()
	_, err := fresh.Of(inside).New(t.Context(), []fresh.Want{{Task: "true", Agent: "exec", Here: true}}, fresh.Options{Dir: t.TempDir()})
	operatortest.Is(t, "inside", err, operator.Refused, "ann")
	if names, err := op.Root.Names(); len(names) != 1 || err != nil {
		t.Errorf("%v, %v", names, err)
	}
}

// TestWhole: New refuses a task that no member can do, before it opens a team.
func TestWhole(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	op.Environ = []string{"PATH=" + t.TempDir()}
	for what, c := range map[string]struct {
		wants []fresh.Want
		kind  operator.Kind
		says  string
	}{
		"no task":       {nil, operator.Usage, "there is no task"},
		"an empty task": {[]fresh.Want{{Task: " \n"}}, operator.Usage, "the task is empty"},
		"no agent":      {[]fresh.Want{{Task: "fix it"}}, operator.Usage, "no coding agent is installed"},
		"many":          {[]fresh.Want{{Task: "x", Agent: "exec", Attempts: 10}}, operator.Usage, "want 1 to 9"},
		"split by exec": {[]fresh.Want{{Task: "x", Agent: "exec", Split: true}}, operator.Usage, "not by a command"},
		"both":          {[]fresh.Want{{Task: "x", Agent: "claude", Split: true, Attempts: 2}}, operator.Usage, "not with several attempts"},
	} {
		st, err := fresh.Of(op).New(t.Context(), c.wants, fresh.Options{Dir: t.TempDir()})
		if st != nil {
			t.Errorf("%s: %+v", what, st)
		}
		operatortest.Is(t, what, err, c.kind, c.says)
	}
	if names, err := op.Root.Names(); len(names) > 0 || err != nil {
		t.Errorf("%v, %v", names, err)
	}
}

// TestNewEndsWhatItOpened: a team whose leader does not come up is ended again.
func TestNewEndsWhatItOpened(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	opt := fresh.Options{Dir: t.TempDir(), Team: "api", Env: op.Environ, Lead: func(protocol.TeamName) []string { return []string{"/bin/sh", "-c", "echo no room; exit 1"} }}
	st, err := fresh.Of(op).New(t.Context(), []fresh.Want{{Task: "true", Agent: "exec", Here: true}}, opt)
	if err == nil || !strings.Contains(err.Error(), "no room") || st != nil {
		t.Errorf("%+v, %v", st, err)
	}
	if s, err := op.Open(t.Context(), "api", operator.Act); !operator.Unled(err) {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestAcceptShown: AcceptShown accepts the file and copies that were shown, and nothing that differs
// from them.
func TestAcceptShown(t *testing.T) {
	t.Parallel()
	found := func(path, setup string, included ...string) fresh.Found {
		f := testenv.Value(teamfile.ParseFile(path, []byte("team: api\nworktree: {setup: ["+setup+"]}\nmembers: []\n")))(t)
		return fresh.Found{File: f, Included: included}
	}
	shown := found("/src/waggle.yaml", "make", ".env")
	for what, now := range map[string]fresh.Found{"the text": found("/src/waggle.yaml", "make it", ".env"), "the file": found("/waggle.yaml", "make", ".env"),
		"what is copied": found("/src/waggle.yaml", "make", ".env", ".secret"), "nothing": shown} {
		err := fresh.AcceptShown(&shown)(t.Context(), now)
		if what == "nothing" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		operatortest.Is(t, what, err, operator.Question, "waggle.yaml is not accepted")
		var e *fresh.UnacceptedError
		if !errors.As(err, &e) || e.Found.File != now.File {
			t.Errorf("%s: %+v is not accepted", what, e)
		}
	}
	operatortest.Is(t, "not shown", fresh.AcceptShown(nil)(t.Context(), shown), operator.Question, "is not accepted")
}

// TestWhichAgent: claude is the agent of a task without one when it is the only coding agent in PATH; else the error
// names those that are.
func TestWhichAgent(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		installed []string
		says      string
	}{
		"claude alone":  {[]string{"claude"}, `agent "claude" is not one of`}, // this program has none
		"another alone": {[]string{"codex"}, "the only coding agent that is installed is codex"},
		"several":       {[]string{"claude", "gemini", "opencode"}, "3 coding agents are installed (claude, gemini, opencode)"},
		"none":          {nil, "no coding agent is installed"},
	} {
		op := operatortest.New(t)
		bin := t.TempDir()
		op.Environ = []string{"PATH=" + bin}
		for _, name := range c.installed {
			testenv.Must(t, testenv.Executable(filepath.Join(bin, name), []byte("#!/bin/sh\n")))
		}
		_, err := fresh.Of(op).Plan(t.Context(), []fresh.Want{{Task: "fix it", Here: true}}, fresh.Options{Dir: t.TempDir()})
		operatortest.Is(t, what, err, operator.Usage, c.says)
		var which *fresh.AgentError
		if named := errors.As(err, &which); named != (what != "claude alone") || named && !slices.Equal(which.Installed, c.installed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
