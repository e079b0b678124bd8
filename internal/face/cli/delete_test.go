//go:build unix

package cli_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/operator/process"
	"waggle/operator/teams"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
)

const twoIdle = `team: api
sandbox: {mode: off}
members:
  - {name: ann, agent: exec}
  - {name: bob, agent: exec}
tasks:
  - {subject: wait, owner: ann, instructions: "true"}
`

// TestDeleteLive: Delete refuses a team that runs. With Force it reports the processes
// before it ends them, and ends exactly those. The task list is kept.
func TestDeleteLive(t *testing.T) {
	r := newRig(t, twoIdle)
	ctx := t.Context()
	if _, err := teams.Of(r.op).Delete(ctx, "api", teams.DeleteOptions{}); operator.KindOf(err) != operator.Locked {
		t.Errorf("while it is led: %v", err)
	}
	r.unled()
	_, err := teams.Of(r.op).Delete(ctx, "api", teams.DeleteOptions{})
	var life *team.StateError
	if operator.KindOf(err) != operator.Refused || !errors.As(err, &life) || life.From != team.Live {
		t.Errorf("while it runs: %v", err)
	}
	var told []int
	d, err := teams.Of(r.op).Delete(ctx, "api", teams.DeleteOptions{Force: true, Report: func(p inspect.Running, ends bool) {
		if _, gone := spawn.Identify(p.PID); gone != nil || !ends {
			t.Errorf("%+v was told too late: %v %v", p, gone, ends)
		}
		told = append(told, p.PID)
	}})
	testenv.Must(t, err)
	want := []int{r.pids["ann"], r.pids["bob"]}
	slices.Sort(want)
	slices.Sort(told)
	if !slices.Equal(told, want) || len(d.Ended) != 2 || d.Tasks != "kept" {
		t.Errorf("told of %v, want %v; %+v", told, want, d)
	}
	for name, pid := range r.pids {
		if alive(pid) {
			t.Errorf("%s still runs", name)
		}
	}
	for path, there := range map[string]bool{
		r.op.Root.TeamDir("api"): false, r.op.Root.TasksDir("api"): true, filepath.Join(d.Archive, "team", "config.json"): true,
	} {
		if _, err := os.Lstat(path); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
	if f, err := teams.Of(r.op).Facts(ctx, "api"); err != nil || f.State() != team.Absent {
		t.Errorf("%+v %v", f, err)
	}
}

func alive(pid int) bool {
	id, err := spawn.Identify(pid)
	return err == nil && id.Alive()
}

// TestDeleteWasStopped: the process that ended a team was killed before it moved the
// team's files away. Delete and Create finish that; Register refuses the team.
func TestDeleteWasStopped(t *testing.T) {
	for _, how := range []string{"delete", "create", "join"} {
		op := newOperator(t)
		ctx := t.Context()
		s, err := teams.Of(op).Create(ctx, "api", "", record.PolicySet{})
		testenv.Must(t, err)
		l, err := process.Of(op).Lead(ctx, s)
		testenv.Must(t, err)
		testenv.Must(t, errors.Join(l.End(ctx, "down"), l.Close()))
		if f, err := teams.Of(op).Facts(ctx, "api"); err != nil || f.State() != team.Deleting {
			t.Errorf("%+v %v", f, err)
		}
		switch how {
		case "delete":
			_, err = teams.Of(op).Delete(ctx, "api", teams.DeleteOptions{})
		case "create":
			_, err = teams.Of(op).Create(ctx, "api", "", record.PolicySet{})
		case "join":
			_, _, err = mail.Of(op).Register(ctx, "api", team.Member{Name: "w"}, false)
			var life *team.StateError
			if !errors.As(err, &life) || life.From != team.Deleting {
				t.Errorf("joined what is being deleted: %v", err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", how, err)
		}
		left, err := filepath.Glob(filepath.Join(s.Dir.Archive(), "*", "team", "config.json"))
		if err != nil || len(left) != 1 {
			t.Errorf("%s: the archive has %q %v", how, left, err)
		}
	}
}

// TestDeleteForeign: Delete refuses the team of another program whose lead runs. With
// Force it removes the team's files and leaves the lead's process alone.
func TestDeleteForeign(t *testing.T) {
	op := newOperator(t)
	ctx := context.Background()
	self, err := spawn.Identify(os.Getpid())
	if err != nil {
		t.Skip(err)
	}
	dir := op.Root.TeamDir("session-0123abcd")
	config := func(start string) {
		t.Helper()
		text := `{"name":"session-0123abcd","createdAt":1,"leadAgentId":"team-lead@session-0123abcd","leadProcess":{"pid":` +
			strconv.Itoa(self.PID) + `,"procStart":"` + start + `"},"members":[]}`
		testenv.Must(t, errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600)))
	}
	config(self.Start)
	if _, err := teams.Of(op).Delete(ctx, "session-0123abcd", teams.DeleteOptions{}); operator.KindOf(err) != operator.Refused {
		t.Errorf("%v", err)
	}
	rows, _, err := inspect.Of(op).Teams(ctx)
	if err != nil || len(rows) != 1 || rows[0].Live != 1 || rows[0].Dialect != "session" {
		t.Errorf("%+v %v", rows, err)
	}
	left := 0
	d, err := teams.Of(op).Delete(ctx, "session-0123abcd", teams.DeleteOptions{Force: true, Report: func(_ inspect.Running, ends bool) {
		if !ends {
			left++
		}
	}})
	if err != nil || left != 1 || len(d.Ended) != 0 {
		t.Errorf("%+v %d %v", d, left, err)
	}
	config("1") // the pid was given away
	if _, err := teams.Of(op).Delete(ctx, "session-0123abcd", teams.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}
