package process_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/home"
	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// damaged is a team whose leader's journal breaks behind its members' records.
func damaged(t *testing.T) (*operatortest.Rig, *operator.State, map[string]spawn.Identity) {
	t.Helper()
	r, s := rig(t)
	ids := map[string]spawn.Identity{}
	_, ids["ann"] = r.Sleeper(s, "ann")
	lines := testenv.Value(os.ReadFile(filepath.Join(s.Dir.LeaderJournal(), "00000001.jsonl")))(t)
	r.Enlist(s, "lost")
	m, id := r.Sleeper(s, "bob") // behind the break
	ids["bob"] = id
	// The home.Started of bob's worker names the process.
	testenv.Must(t, s.Dir.NoteStarted(home.Started{Team: "api", Root: r.Op.RootURL, Instance: m.Instance, Name: "bob", ID: id}))
	operatortest.Spoil(t, s.Dir.LeaderJournal(), strings.Count(string(lines), "\n")+1)
	return r, s, ids
}

// TestOpenDamaged: OpenDamaged of a team whose journal cannot be read names the team's processes, also those
// behind the break; nothing is appended to the journal.
func TestOpenDamaged(t *testing.T) {
	t.Parallel()
	r, s, ids := damaged(t)
	o := process.Of(r.Op)
	w, err := o.OpenDamaged(t.Context(), "api")
	if err != nil || w == nil {
		t.Fatal(w, err)
	}
	if !operator.Broken(w.Damaged) {
		t.Errorf("why: %v", w.Damaged)
	}
	for name, id := range ids {
		m, ok := w.Lead.Member(protocol.MemberName(name))
		if !ok || m.Process == nil || m.Process.ID != id {
			t.Errorf("%s: %+v", name, m)
		}
	}
	before, err := os.ReadFile(filepath.Join(s.Dir.LeaderJournal(), "00000001.jsonl"))
	testenv.Must(t, err)
	operatortest.Append(t, r.Op, w, journal.Draft{Kind: record.KindEnded, Must: true, Body: record.Ended{How: "x"}})
	if after, err := os.ReadFile(filepath.Join(s.Dir.LeaderJournal(), "00000001.jsonl")); err != nil || string(after) != string(before) {
		t.Errorf("the journal was written: %v", err)
	}
	if w, err := o.OpenDamaged(t.Context(), "web"); w != nil || err != nil {
		t.Errorf("no team: %v, %v", w, err)
	}
	whole, _ := rig(t)
	if w, err := process.Of(whole.Op).OpenDamaged(t.Context(), "api"); w != nil || err != nil {
		t.Errorf("a whole one: %v, %v", w, err)
	}
}

// TestDamagedWithoutFirstRecord: a journal whose first line cannot be read belongs to the team that the
// registry names.
func TestDamagedWithoutFirstRecord(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	m, id := r.Sleeper(s, "ann")
	testenv.Must(t, s.Dir.NoteStarted(home.Started{Team: "api", Root: r.Op.RootURL, Instance: m.Instance, Name: "ann", ID: id}))
	operatortest.Spoil(t, s.Dir.LeaderJournal(), 1)
	w, err := process.Of(r.Op).OpenDamaged(t.Context(), "api")
	if err != nil || w == nil || w.Dir.Path != s.Dir.Path {
		t.Fatal(w, err)
	}
	d, err := process.Of(r.Op).Down(t.Context(), "api", process.StopOptions{Force: true})
	if err != nil || id.Alive() || len(d.Members) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestDownOfDamaged: only force ends a team whose journal cannot be read; the journal is set
// aside, whole, and the name is free.
func TestDownOfDamaged(t *testing.T) {
	t.Parallel()
	r, s, ids := damaged(t)
	o := process.Of(r.Op)
	if _, err := o.Down(t.Context(), "api", process.StopOptions{Grace: brief}); !operator.Broken(err) || operator.KindOf(err) != operator.Failed {
		t.Errorf("without force: %v", err)
	}
	for name, id := range ids {
		if !id.Alive() {
			t.Errorf("without force %s was ended", name)
		}
	}
	led := operatortest.Process(t)
	testenv.Must(t, s.Dir.NoteStarted(home.Started{Team: "api", Root: r.Op.RootURL, Name: "team-lead", ID: led}))
	said := &operatortest.Heard{}
	d, err := o.Down(t.Context(), "api", process.StopOptions{Force: true, Note: said.Note})
	testenv.Must(t, err)
	for name, id := range ids {
		if id.Alive() {
			t.Errorf("%s runs", name)
		}
	}
	if led.Alive() {
		t.Error("the process that led runs")
	}
	for _, m := range d.Members {
		if m.How != record.LeftStopped || !m.Forced {
			t.Errorf("%+v", m)
		}
	}
	if said.Of("trouble", "its journal could not be read and is in "+filepath.Join(s.Dir.Path, "journal-aside")) != 1 || there(s.Dir.LeaderJournal()) || there(r.Op.Root.TeamDir("api")) {
		t.Errorf("told %+v", said.All())
	}
	if !there(filepath.Join(d.Archive, "team", "config.json")) && !there(d.Archive) {
		t.Errorf("no archive %s", d.Archive)
	}
	_, err = o.Down(t.Context(), "api", process.StopOptions{Force: true})
	operatortest.Is(t, "again", err, operator.NotFound, "")
}

// TestDamagedByWordsOfProcesses: OpenDamaged uses each home.Started that a process has written beside the
// journal, also of a newer start and of a member without a record; that of a dead process does not
// count.
func TestDamagedByWordsOfProcesses(t *testing.T) {
	t.Parallel()
	r, s, ids := damaged(t)
	before, err := process.Of(r.Op).OpenDamaged(t.Context(), "api")
	testenv.Must(t, err)
	ann, _ := before.Lead.Member("ann")
	newer, eve, dead := operatortest.Process(t), operatortest.Process(t), gone(t)
	for _, p := range []home.Started{{Instance: ann.Instance, Name: "ann", ID: newer}, {Instance: "e1", Name: "eve", ID: eve}, {Instance: "f1", Name: "fay", ID: dead}} {
		p.Team, p.Root = "api", r.Op.RootURL
		testenv.Must(t, s.Dir.NoteStarted(p))
	}
	w, err := process.Of(r.Op).OpenDamaged(t.Context(), "api")
	testenv.Must(t, err)
	for name, id := range map[protocol.MemberName]spawn.Identity{"ann": newer, "bob": ids["bob"], "eve": eve} {
		if m, ok := w.Lead.Member(name); !ok || m.Process == nil || m.Process.ID != id {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if fay, ok := w.Lead.Member("fay"); !ok || fay.Process != nil {
		t.Errorf("a process that is dead: %+v", fay)
	}
	bob, _ := w.Lead.Member("bob")
	rung, err := process.Of(r.Op).EndDamagedMember(t.Context(), w, bob)
	if err != nil || rung != spawn.RungTerm || ids["bob"].Alive() || !eve.Alive() {
		t.Errorf("bob: %s, %v", rung, err)
	}
	testenv.Must(t, process.Of(r.Op).EndDamagedMembers(t.Context(), w))
	if newer.Alive() || eve.Alive() || len(w.Lead.Live()) != 0 {
		t.Errorf("they run: %v, %v", newer.Alive(), eve.Alive())
	}
	d, err := process.Of(r.Op).EndDamaged(t.Context(), w, process.StopOptions{})
	if err != nil || d.State != "ended" || len(d.Members) != len(w.Lead.Members) || !strings.HasPrefix(d.Archive, s.Dir.Archive()) {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestUnrecorded: processes are ended also when nothing can be recorded, and a note says so.
func TestUnrecorded(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	ann, one := r.Sleeper(s, "ann")
	_, two := r.Sleeper(s, "bob")
	eve := r.Enlist(s, "eve")
	inside := self(t)
	inside.Inside = true
	r.Runs(s, eve, inside)
	full, said := fmt.Errorf("journal: %w", syscall.ENOSPC), &operatortest.Heard{}
	so := process.StopOptions{Note: said.Note}
	end, err := process.StopUnrecorded(process.Of(r.Op), t.Context(), s, ann, so, full)
	if err != nil || end.How != record.LeftStopped || end.Step != spawn.RungTerm || !end.Forced || one.Alive() || !two.Alive() {
		t.Errorf("%+v, %v", end, err)
	}
	if said.Of("trouble", "its end is not on record, so that it may be started again: "+syscall.ENOSPC.Error()) != 1 || ann.Left != nil {
		t.Errorf("told %+v", said.All())
	}
	_, err = process.StopUnrecorded(process.Of(r.Op), t.Context(), s, eve, so, full)
	operatortest.Is(t, "inside", err, operator.Failed, "")
	led := operatortest.Process(t)
	operatortest.Append(t, r.Op, s, journal.Draft{Kind: record.KindLeading, Must: true, Body: record.LeadingProcess{ID: led}})
	d, err := process.DownUnrecorded(process.Of(r.Op), t.Context(), s, so, full)
	if err != nil || d.State != "ended" || len(d.Members) != 3 || two.Alive() || led.Alive() || d.Archive != "" {
		t.Errorf("%+v, %v", d, err)
	}
	if said.Of("trouble", "its processes have ended, and that is not on record") != 1 || r.State().Lead.Ended != nil {
		t.Errorf("told %+v", said.All())
	}
}

// TestUnwritable: where this user may not write STATE, the processes of a team, and of a member, are ended all the same.
func TestUnwritable(t *testing.T) { // not parallel: the files of the whole program fail
	for _, led := range []bool{false, true} {
		for _, force := range []bool{false, true} {
			t.Run(fmt.Sprintf("led %t, force %t", led, force), func(t *testing.T) {
				r, s := rig(t)
				_, one := r.Sleeper(s, "ann")
				_, two := r.Sleeper(s, "bob")
				leading := operatortest.Process(t)
				if led {
					operatortest.Append(t, r.Op, s, journal.Draft{Kind: record.KindLeading, Must: true, Body: record.LeadingProcess{ID: leading}})
					release, held, err := s.Dir.TryLead()
					if err != nil || !held {
						t.Fatal(held, err)
					}
					defer release() //nolint:errcheck // the test's end
				}
				defer atomicfile.FailOps(func(op atomicfile.Op, path string) error {
					if op != atomicfile.OpOpen && strings.HasPrefix(path, s.Dir.Path) {
						return fs.ErrPermission
					}
					return nil
				})()
				said := &operatortest.Heard{}
				so := process.StopOptions{Note: said.Note, Grace: time.Millisecond, Force: force}
				if _, err := process.Of(r.Op).Stop(t.Context(), "api", "ann", so); err != nil || one.Alive() || said.Of("trouble", "its end is not on record") != 1 {
					t.Errorf("%v; ann runs: %t; told %+v", err, one.Alive(), said.All())
				}
				d, err := process.Of(r.Op).Down(t.Context(), "api", so)
				if err != nil || d.State != "ended" || two.Alive() || led && leading.Alive() || said.Of("trouble", "that is not on record") == 0 {
					t.Errorf("%+v, %v; bob runs: %t; told %+v", d, err, two.Alive(), said.All())
				}
			})
		}
	}
}

// TestStopOfDamaged: Stop ends one member of a team whose journal cannot be read, and no record has its
// end.
func TestStopOfDamaged(t *testing.T) {
	t.Parallel()
	r, _, ids := damaged(t)
	said := &operatortest.Heard{}
	end, err := process.Of(r.Op).Stop(t.Context(), "api", "bob", process.StopOptions{Note: said.Note})
	if err != nil || *end != (process.MemberEnd{Member: "bob", How: record.LeftStopped, Step: spawn.RungTerm, Forced: true}) {
		t.Errorf("%+v, %v", end, err)
	}
	if ids["bob"].Alive() || !ids["ann"].Alive() || said.Of("trouble", "its end is not on record") != 1 {
		t.Errorf("told %+v", said.All())
	}
	end, err = process.Of(r.Op).Stop(t.Context(), "api", "bob", process.StopOptions{})
	operatortest.Is(t, "one without a process", err, 0, "")
	if end == nil || end.How != record.LeftDied || end.Step != spawn.RungGone {
		t.Errorf("%+v", end)
	}
	_, err = process.Of(r.Op).Stop(t.Context(), "api", "eve", process.StopOptions{})
	operatortest.Is(t, "nobody", err, operator.NotFound, "")
}

// TestGCOfDamaged: GC leaves everything of a team whose journal cannot be read, and reports the team's
// processes.
func TestGCOfDamaged(t *testing.T) {
	t.Parallel()
	r, _, ids := damaged(t)
	c, err := process.Of(r.Op).GC(t.Context(), "api", true)
	if err != nil || c.Living != 2 || len(c.Found) != 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	kept := ""
	for _, k := range c.Kept {
		kept += k.Kind + ": " + k.Why.Text + "\n"
	}
	for _, want := range []string{"team: its journal cannot be read, so nothing of it is touched", "process: ann, pid ", "process: bob, pid "} {
		if !strings.Contains(kept, want) {
			t.Errorf("without %q: %s", want, kept)
		}
	}
	if !ids["ann"].Alive() || !ids["bob"].Alive() {
		t.Error("a process was ended")
	}
}

// TestDamagedWork: the work of a team that was ended by force because its journal is broken is reported at its end, kept by
// gc with what to do, and removed once nothing of it would be lost.
func TestDamagedWork(t *testing.T) {
	t.Parallel()
	repo := repository(t)
	r, s := rig(t)
	r.Op.Worktrees = t.TempDir()
	ann := r.Enlist(s, "ann", inTree(repo))
	idle := r.Enlist(s, "bob", inTree(repo)).Worktree.Path
	work := filepath.Join(ann.Worktree.Path, "work")
	testenv.Must(t, os.WriteFile(work, []byte("mine"), 0o600))
	operatortest.Spoil(t, s.Dir.LeaderJournal(), 3)
	o := process.Of(r.Op)
	said := &operatortest.Heard{}
	d, err := o.Down(t.Context(), "api", process.StopOptions{Force: true, Note: said.Note})
	if err != nil || len(d.Worktrees) != 1 || d.Worktrees[0].Branch != ann.Worktree.Branch || said.Of(operator.NoteKept, "1 uncommitted file") != 1 {
		t.Fatalf("%+v, %v, said %+v", d, err, said.All())
	}
	if there(idle) {
		t.Error("a worktree without changes stays")
	}
	for range 2 {
		c, err := o.GC(t.Context(), "", true)
		if err != nil || len(c.Found) != 0 || len(c.Kept) != 1 {
			t.Fatalf("%+v, %v", c, err)
		}
		if k := c.Kept[0]; k.Path != ann.Worktree.Path || k.Member != "ann" || k.Why.Do.Step != operator.NextMergeByHand || k.Why.Do.Text != ann.Worktree.Branch || k.ID != filepath.Base(s.Dir.Path) {
			t.Errorf("%+v", k)
		}
	}
	testenv.Must(t, os.Remove(work))
	if c, err := o.GC(t.Context(), "api", true); err != nil || len(c.Found) != 1 || !c.Found[0].Done || there(ann.Worktree.Path) {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := o.GC(t.Context(), "api", false); err != nil || len(c.Found)+len(c.Kept) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}
