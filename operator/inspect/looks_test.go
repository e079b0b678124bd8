package inspect_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/leader"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/inspect"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/record"
	"waggle/task"
)

// While a run goes on, a Watcher finds the files that several members edit, and once more at the end.
func TestLookout(t *testing.T) {
	t.Parallel()
	o, rig := newTeam(t)
	in := testenv.Value(json.Marshal(map[string]string{"file_path": filepath.Join(t.TempDir(), "shared.txt"), "content": "x"}))(t)
	look := func(k *inspect.Watcher, l *leader.Leader) { k.Check(t.Context(), l) }
	lead := func() *leader.Leader {
		l := testenv.Value(leader.Open(t.Context(), o.Passing(rig.State())))(t)
		t.Cleanup(func() { _ = l.Close() })
		testenv.Must(t, l.Pass(t.Context()))
		return l
	}
	k := inspect.NewWatcher(o, time.Hour)
	l := lead()
	if look(&k, l); k.Found != nil {
		t.Error("it looks although nobody has edited anything")
	}
	testenv.Must(t, l.Close())
	rig.Asks("ann", operatortest.Ask{Tool: "Write", Input: string(in)})
	rig.Asks("bob", operatortest.Ask{Tool: "Write", Input: string(in)})
	allow(t, rig, rig.Pending(2))
	rig.Until("both have written", func(l *control.Leader) bool {
		return !slices.ContainsFunc(l.Members, func(m *control.Member) bool { return m.LastIdle == nil })
	})
	l = lead()
	look(&k, l)
	if k.Found == nil {
		t.Fatal("it does not look")
	}
	var notes []operator.Note
	k.Take(<-k.Found, func(n operator.Note) { notes = append(notes, n) })
	if len(notes) != 1 || notes[0].Member != "ann, bob" || filepath.Base(notes[0].Text) != "shared.txt" || k.Found != nil {
		t.Errorf("%+v", notes)
	}
	if look(&k, l); k.Found != nil {
		t.Error("it looks again before it is time to")
	}
	other := inspect.NewWatcher(o, time.Hour)
	look(&other, l)
	other.Last(t.Context(), l, func(n operator.Note) { notes = append(notes, n) })
	if len(notes) != 2 || len(other.All) != 1 || other.Found != nil {
		t.Errorf("at the end: %+v", notes)
	}
	look(&k, l)
	k.Close()
	if k.Found != nil {
		t.Error("a look is under way after the end")
	}
}

// Status shows a member that only files speak for by its requests in files.
func TestStatusByFile(t *testing.T) {
	t.Parallel()
	o, rig := newTeam(t)
	i := rig.Joined("ide", record.FileTrust)
	ask := record.Ask{Tool: "Bash", Input: `{"command":"make"}`, Cwd: "/"}
	key := record.Key{Instance: i, Kind: protocol.KindPermissionRequest, ID: "perm-1"}
	rig.Write(journal.Draft{Kind: record.KindSeen, Must: true, Body: record.Seen{Entry: "1", Instance: i, Kind: key.Kind, ID: key.ID,
		Digest: record.DigestOf(rig.State().Lead.UID, key, ask), Ask: &ask, Channel: "file"}})
	st, err := o.Status(t.Context(), "api")
	if m := member(st, "ide"); err != nil || m.State != inspect.StateHuman || !strings.Contains(m.Why, "asks by file: make") || m.Log != "" || st.Pending != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	y, err := o.Why(t.Context(), "api", "ide")
	if err != nil || !evident(y, "leader's journal", "is open: Bash make") || !evident(y, "its journal", "it has none: waggle does not run it") {
		t.Errorf("%+v, %v", y, err)
	}
}

// Status reports a task that waits for another member's, a turn that runs and a command that runs.
func TestStatusOfWork(t *testing.T) {
	t.Parallel()
	o, rig := newTeam(t)
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	rig.Member("ann", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
		select {
		case <-hold:
		case <-ctx.Done():
		}
		return agent.Result{}, ctx.Err()
	})
	first := rig.Task("ann", "the first")
	rig.Member("bob", operatortest.Idle)
	second, err := board.Of(rig.Op).AddTask(t.Context(), "api", board.NewTask{Subject: "the second", Owner: "bob", After: []task.ID{task.ID(first)}})
	testenv.Must(t, err)
	var st *inspect.Status
	rig.Until("ann works and bob waits", func(*control.Leader) bool {
		st, err = o.Status(t.Context(), "api")
		return err == nil && member(st, "ann").State == inspect.StateWorking && member(st, "bob").State == inspect.StatePeer
	})
	if m := member(st, "ann"); m.Task != first || !strings.Contains(m.Why, "has a turn") {
		t.Errorf("%+v", m)
	}
	if m := member(st, "bob"); !strings.Contains(m.Why, "its task "+string(second.Task.ID)+" waits for task "+first+" of ann, which is ") {
		t.Errorf("%+v", m)
	}
	y, err := o.Why(t.Context(), "api", "ann")
	if err != nil || !evident(y, "its journal", "a turn runs, with task "+first) {
		t.Errorf("%+v, %v", y, err)
	}
}

// Status names a task of an idle member that is done by its word alone.
func TestStatusOfWordAlone(t *testing.T) {
	t.Parallel()
	o, rig := newTeam(t)
	rig.Member("ann", operatortest.Idle, func(m *teamfile.FileMember) { m.Agent = "home-made" })
	rig.Member("bob", operatortest.Idle)
	said := rig.Task("ann", "said")
	rig.Task("bob", "ran")
	rig.Until("both are idle", func(*control.Leader) bool {
		st, err := o.Status(t.Context(), "api")
		return err == nil && member(st, "ann").Why == "says task "+said+" is done" && member(st, "bob").Why == "waits for work"
	})
}

// Status says for an hour that the machine was asleep.
func TestStatusOfSleep(t *testing.T) {
	t.Parallel()
	o, rig := newTeam(t)
	rig.Write(journal.Draft{Kind: record.KindSlept, Body: record.Slept{ForMS: (3 * time.Hour).Milliseconds()}})
	st, err := o.Status(t.Context(), "api")
	if err != nil || st.Leader.Slept != 3*time.Hour || st.Leader.SleptAt.IsZero() {
		t.Errorf("%+v, %v", st.Leader, err)
	}
	later := o
	later.Minter.Now = func() time.Time { return time.Now().Add(61 * time.Minute) }
	if st, err = later.Status(t.Context(), "api"); err != nil || st.Leader.Slept != 0 {
		t.Errorf("an hour later: %+v, %v", st.Leader, err)
	}
}

// If a member is being ended, Status gives that as the reason for its state.
func TestStatusOfEnding(t *testing.T) {
	t.Parallel()
	for says, draft := range map[string]func(i record.Instance) journal.Draft{
		"it is being ended: too slow": func(i record.Instance) journal.Draft {
			return journal.Draft{Kind: record.KindStopping, Must: true, Body: record.Stopping{Instance: i, Why: "too slow"}}
		},
	} {
		o, rig := newTeam(t)
		rig.Member("ann", operatortest.Idle)
		rig.Write(draft(rig.Instance("ann")))
		st, err := o.Status(t.Context(), "api")
		if m := member(st, "ann"); err != nil || !strings.HasPrefix(m.Why, says+"; ") || m.Evidence.Stopping != says {
			t.Errorf("%+v, %v", m, err)
		}
	}
}

// Status counts an order that a member does not take; the member is not stalled before it was watched
// for long enough.
func TestStatusOfOrders(t *testing.T) {
	t.Parallel()
	o, rig := newTeam(t)
	i := rig.Joined("ann", record.Cooperative) // no process of ann ever starts
	s := rig.State()
	m, _ := s.Lead.ByInstance(i)
	mint, err := o.Minter.Mint()
	testenv.Must(t, err)
	testenv.Value(s.Journal.Append(t.Context(), o.Writer(), func() ([]journal.Draft, error) {
		return s.Lead.SetMode(m, "plan", "operator", o.Writer(), mint)
	}))(t)
	st, err := o.Status(t.Context(), "api")
	if got := member(st, "ann"); err != nil || got.State != inspect.StateUnknown || !strings.Contains(got.Why, "nobody leads who would start one") {
		t.Errorf("%+v, %v", got, err)
	}
	y, err := o.Why(t.Context(), "api", "ann")
	if err != nil || !evident(y, "leader's journal", "mode_set_request for it") {
		t.Errorf("%+v, %v", y, err)
	}
}
