package process_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/leader"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// brief is a grace that is too short for any process.
const brief = time.Millisecond

// TestStop: the end of one member for each thing that it does, and the record of that end.
func TestStop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		member func(r *operatortest.Rig, s *operator.State) spawn.Identity
		so     process.StopOptions
		want   process.MemberEnd
		code   operator.Kind
	}{
		"by force": {func(r *operatortest.Rig, s *operator.State) spawn.Identity { _, id := r.Sleeper(s, "ann"); return id },
			process.StopOptions{Force: true}, process.MemberEnd{How: record.LeftStopped, Step: spawn.RungTerm, Forced: true}, 0},
		"when it does not answer": {func(r *operatortest.Rig, s *operator.State) spawn.Identity { _, id := r.Sleeper(s, "ann"); return id },
			process.StopOptions{Grace: brief}, process.MemberEnd{How: record.LeftStopped, Step: spawn.RungTerm}, operator.Timeout},
		"when it has no process": {func(r *operatortest.Rig, s *operator.State) spawn.Identity {
			r.Enlist(s, "ann")
			return spawn.Identity{}
		}, process.StopOptions{Force: true}, process.MemberEnd{How: record.LeftStopped, Step: spawn.RungGone, Forced: true}, 0},
		"when it is dead": {func(r *operatortest.Rig, s *operator.State) spawn.Identity {
			id := gone(t)
			r.Runs(s, r.Enlist(s, "ann"), id)
			return id
		}, process.StopOptions{Grace: time.Minute}, process.MemberEnd{How: record.LeftDied, Step: spawn.RungGone}, operator.Died},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, s := rig(t)
			id := c.member(r, s)
			said := &operatortest.Heard{}
			c.so.Note = said.Note
			end, err := process.Of(r.Op).Stop(t.Context(), "api", "ann", c.so)
			testenv.Must(t, err)
			if c.want.Member = "ann"; *end != c.want || end.Kind() != c.code {
				t.Errorf("%+v is %s; want %+v, %s", *end, end.Kind(), c.want, c.code)
			}
			if id.PID != 0 && id.Alive() {
				t.Error("its process runs")
			}
			if m, _ := r.State().Lead.Member("ann"); m.Left == nil || m.Left.How != c.want.How || (m.Shutdown != nil) == c.so.Force {
				t.Errorf("on record: %+v, asked: %+v", m.Left, m.Shutdown)
			}
			if id.PID != 0 && said.Of("left", c.want.How) != 1 {
				t.Errorf("told %+v", said.All())
			}
			_, err = process.Of(r.Op).Stop(t.Context(), "api", "ann", c.so)
			operatortest.Is(t, "again", err, operator.NotFound, "")
		})
	}
}

// TestEndByHandshake: a member in this process that agrees ends by itself; it cannot be
// stopped from elsewhere.
func TestEndByHandshake(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	m := r.Enlist(s, "ann", func(m *teamfile.FileMember) { m.Backend = operator.BackendInProcess })
	o := process.Of(r.Op)
	l, err := o.Lead(t.Context(), s)
	testenv.Must(t, err)
	p, err := o.StartWorker(t.Context(), l, s, m.Instance, "ann", m.Cwd, filepath.Join(t.TempDir(), "log"))
	if err != nil || !p.Identity().Inside {
		t.Fatal(p, err)
	}
	testenv.Eventually(t, "ann is on record", func() bool {
		testenv.Must(t, s.Journal.Refresh(t.Context()))
		return m.Process != nil
	})
	_, err = o.Terminal(t.Context(), "api", "ann")
	operatortest.Is(t, "its terminal", err, operator.NotFound, "")
	if err == nil || !strings.Contains(err.Error(), "lives in the leader's process") {
		t.Error(err)
	}
	told := 0
	testenv.Must(t, o.EndTeam(t.Context(), l, s, process.TeamEnd{Reason: "enough", Grace: time.Minute}, func() { told++ }))
	<-p.Done()
	if end := process.EndOf(m); end.How != record.LeftHandshake || end.Kind() != 0 || told != 1 {
		t.Errorf("%+v, told %d times", end, told)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestStopIsRefused: Stop refuses an unknown team or member, this process, and a caller inside of a
// member.
func TestStopIsRefused(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	o := process.Of(r.Op)
	_, err := o.Stop(t.Context(), "web", "ann", process.StopOptions{})
	operatortest.Is(t, "no team", err, operator.NotFound, "")
	_, err = o.Stop(t.Context(), "api", "ann", process.StopOptions{Force: true})
	operatortest.Is(t, "no member", err, operator.NotFound, "")
	m := r.Enlist(s, "ann")
	r.Runs(s, m, self(t)) // this process is the member
	_, err = o.Stop(t.Context(), "api", "ann", process.StopOptions{Force: true})
	operatortest.Is(t, "this process", err, operator.Refused, "")
	inner := r.Op
	inner.Ancestors = func(int) ([]spawn.Identity, error) { return []spawn.Identity{self(t)}, nil }
	for what, call := range map[string]func(process.Operator) error{
		"stop": func(o process.Operator) error {
			_, err := o.Stop(t.Context(), "api", "ann", process.StopOptions{Force: true})
			return err
		},
		"down": func(o process.Operator) error {
			_, err := o.Down(t.Context(), "api", process.StopOptions{Force: true})
			return err
		},
		"gc": func(o process.Operator) error { _, err := o.GC(t.Context(), "", true); return err },
	} {
		err := call(process.Of(inner))
		operatortest.Is(t, what+" from inside of a member", err, operator.Refused, "")
		if err == nil || !strings.Contains(err.Error(), "called from inside member ann") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := len(r.State().Lead.Unverified); n == 0 {
		t.Error("it is not on record")
	}
}

// TestDown: Down ends every member, archives the team's files, and frees its name.
func TestDown(t *testing.T) {
	t.Parallel()
	for _, force := range []bool{false, true} {
		t.Run(map[bool]string{true: "by force", false: "by the ladder"}[force], func(t *testing.T) {
			t.Parallel()
			r, s := rig(t)
			_, one := r.Sleeper(s, "ann")
			_, two := r.Sleeper(s, "bob")
			r.Enlist(s, "eve")
			said := &operatortest.Heard{}
			d, err := process.Of(r.Op).Down(t.Context(), "api", process.StopOptions{Force: force, Grace: brief, Note: said.Note})
			testenv.Must(t, err)
			var names []string
			for _, m := range d.Members {
				if names = append(names, m.Member); m.Forced != force || m.How != record.LeftStopped {
					t.Errorf("%+v", m)
				}
			}
			if slices.Sort(names); !slices.Equal(names, []string{"ann", "bob", "eve"}) || d.State != "ended" || d.Kind() != map[bool]operator.Kind{true: 0, false: operator.Timeout}[force] {
				t.Errorf("%+v is %s", d, d.Kind())
			}
			if one.Alive() || two.Alive() {
				t.Error("a process runs")
			}
			if there(r.Op.Root.TeamDir("api")) || !there(d.Archive) {
				t.Error("it was not archived")
			}
			if said.Of("left", "") != 3 {
				t.Errorf("told %+v", said.All())
			}
			_, err = process.Of(r.Op).Down(t.Context(), "api", process.StopOptions{})
			operatortest.Is(t, "again", err, operator.NotFound, "")
			if _, err := process.Of(r.Op).Finish(t.Context(), "api"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDownLed: Down tells the process that leads to end the team, and does not wait for one that is
// stopped.
func TestDownLed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		force bool
		react func(t *testing.T, id spawn.Identity, release func() error)
		left  bool // the leading process runs on
	}{
		"it ends": {false, func(t *testing.T, id spawn.Identity, release func() error) {
			if _, err := spawn.Stop(context.Background(), id, spawn.Grace{}); err != nil {
				t.Error(err)
			}
			if err := release(); err != nil {
				t.Error(err)
			}
		}, false},
		"it is stopped, and its lease is held": {true, func(t *testing.T, id spawn.Identity, _ func() error) { freeze(t, id) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, s := rig(t)
			_, ann := r.Sleeper(s, "ann")
			led := operatortest.Process(t)
			operatortest.Append(t, r.Op, s, journal.Draft{Kind: record.KindLeading, Must: true, Body: record.LeadingProcess{ID: led}})
			release, held, err := s.Dir.TryLead()
			if err != nil || !held {
				t.Fatal(held, err)
			}
			defer func() { _ = release() }()
			told := make(chan struct{})
			go func() {
				defer close(told)
				testenv.Eventually(t, "it is told to end", func() bool { return r.State().Lead.Closing != nil })
				c.react(t, led, release)
			}()
			d, err := process.Of(r.Op).Down(t.Context(), "api", process.StopOptions{Force: c.force, Grace: brief})
			<-told
			if err != nil || d.State != "ended" || ann.Alive() || led.Alive() {
				t.Errorf("%+v, %v; ann runs: %v, the leader: %v", d, err, ann.Alive(), led.Alive())
			}
		})
	}
}

// TestEndAll: a team is led for as long as its end takes.
func TestEndAll(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	_, id := r.Sleeper(s, "ann")
	o := process.Of(r.Op)
	l := testenv.Value(o.Lead(t.Context(), s))(t)
	if led, err := o.IsLed(s); err != nil || !led {
		t.Errorf("it is led: %v, %v", led, err)
	}
	if err := o.EndTeam(t.Context(), l, s, process.TeamEnd{Reason: "enough", Grace: brief}, func() {}); err != nil || id.Alive() {
		t.Errorf("its members: %v", err)
	}
	testenv.Must(t, l.Close())
	if led, err := o.IsLed(s); err != nil || led {
		t.Errorf("it is not led: %v, %v", led, err)
	}
	if err := o.EndAll(t.Context(), s, brief, true, nil); err != nil {
		t.Error(err)
	}
	if m, _ := s.Lead.Member("ann"); m.Left == nil || m.Left.How != record.LeftStopped {
		t.Errorf("%+v", m.Left)
	}
}

// TestEndTeam: a forced end asks no member. If the journal breaks meanwhile, the processes are ended
// by their records, and that is an error.
func TestEndTeam(t *testing.T) {
	t.Parallel()
	for _, broken := range []bool{false, true} {
		t.Run(map[bool]string{true: "broken", false: "whole"}[broken], func(t *testing.T) {
			t.Parallel()
			r, s := rig(t)
			m, id := r.Sleeper(s, "ann")
			o := process.Of(r.Op)
			l, err := o.Lead(t.Context(), s)
			testenv.Must(t, err)
			defer func() { _ = l.Close() }()
			if broken {
				operatortest.Spoil(t, s.Dir.LeaderJournal(), 2)
			}
			told := false
			err = o.EndTeam(t.Context(), l, s, process.TeamEnd{Force: true}, func() { told = true })
			if id.Alive() {
				t.Error("its process runs")
			}
			if !broken && (err != nil || !told || m.Left == nil || m.Stopping == nil || m.Stopping.Why != process.StopForced) {
				t.Errorf("%v, told %v, %+v", err, told, m)
			}
			if broken && (!operator.Broken(err) || told) {
				t.Errorf("%v, told %v", err, told)
			}
		})
	}
}

// TestLeaderOptions: a process that leads a job does not restart members that died; one that keeps
// a team up supervises them.
func TestLeaderOptions(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	o := process.Of(r.Op)
	for _, job := range []bool{false, true} {
		var lo leader.Options = o.LeaderOptions(s, job)
		if lo.Dismiss != job || lo.Supervise == job || lo.Writer.Instance != string(s.Lead.Instance) || lo.Writer.PID != os.Getpid() || lo.Team != "api" {
			t.Errorf("job %v: %+v", job, lo)
		}
		m := r.Enlist(s, map[bool]protocol.MemberName{true: "ann", false: "bob"}[job])
		if rung, err := lo.Rest(t.Context(), m); err != nil || rung != spawn.RungGone {
			t.Errorf("nothing is left: %s, %v", rung, err)
		}
		if err := lo.Input(t.Context(), self(t)); err == nil || err.Error() != "it has no terminal" {
			t.Errorf("its input: %v", err)
		}
	}
}
