package teams_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/control"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

func TestFacts(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.Team(t, op, "api", record.PolicySet{})
	facts := func(name protocol.TeamName) team.Facts {
		t.Helper()
		f, err := teams.Of(op).Facts(t.Context(), name)
		testenv.Must(t, err)
		return f
	}
	if f := facts("none"); f != (team.Facts{}) {
		t.Errorf("%+v", f)
	}
	if f := facts("api"); f != (team.Facts{Exists: true}) {
		t.Errorf("%+v", f)
	}
	tm.ByFile("bob")
	for _, n := range []board.NewTask{{Subject: "open", Owner: "bob"}, {Subject: "nobody's"}} {
		if _, err := board.Of(op).AddTask(t.Context(), "api", n); err != nil {
			t.Fatal(err)
		}
	}
	if f := facts("api"); f != (team.Facts{Exists: true, Members: 1, Open: 1}) {
		t.Errorf("%+v", f)
	}
	tm.Member("ann", operatortest.Idle)
	if f := facts("api"); f != (team.Facts{Exists: true, Members: 2, Open: 1, Running: 1}) {
		t.Errorf("%+v", f)
	}
	recordOf(t, tm, func(*control.Leader) []journal.Draft {
		return []journal.Draft{{Kind: record.KindEnded, Must: true, Body: record.Ended{How: "deleted"}}}
	})
	if f := facts("api"); !f.Deleting {
		t.Errorf("%+v", f)
	}
}

// After Delete the files of a team that waggle led are in the archive. Its tasks stay unless Tasks is
// set.
func TestDelete(t *testing.T) {
	t.Parallel()
	for _, tasks := range []bool{false, true} {
		op := operatortest.New(t)
		tm := operatortest.Team(t, op, "api", record.PolicySet{})
		tm.ByFile("bob")
		send(t, tm, "bob", "hi")
		if _, err := board.Of(op).AddTask(t.Context(), "api", board.NewTask{Subject: "one"}); err != nil {
			t.Fatal(err)
		}
		d, err := teams.Of(op).Delete(t.Context(), "api", teams.DeleteOptions{Tasks: tasks})
		if err != nil || d.State != "deleted" || d.Team != "api" || len(d.Ended) != 0 || (d.Tasks == "archived") != tasks {
			t.Fatalf("%+v, %v", d, err)
		}
		if exists(op.Root.TeamDir("api")) || exists(op.Root.TasksDir("api")) == tasks || !exists(filepath.Join(d.Archive, "team", "inboxes", "bob.json")) {
			t.Errorf("%+v: its files are elsewhere", d)
		}
		r, err := op.Open(t.Context(), protocol.TeamName("api"), operator.Read)
		if err != nil || r.Lead.Ended == nil {
			t.Errorf("%+v, %v", r, err)
		}
		_, err = teams.Of(op).Delete(t.Context(), "api", teams.DeleteOptions{})
		operatortest.Fails(t, err, operator.NotFound, "api")
	}
}

// A team whose members run is deleted only by force, which ends them first. A member cannot
// delete its team.
func TestDeleteOfATeamThatRuns(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.Team(t, op, "api", record.PolicySet{})
	tm.Member("ann", operatortest.Idle)
	_, err := teams.Of(op).Delete(t.Context(), "api", teams.DeleteOptions{})
	operatortest.Fails(t, err, operator.Refused, "team api has running members: ann (process")
	if e := (*operator.Error)(nil); !errors.As(err, &e) || e.Next.Step != operator.NextDownOrDeleteForce || e.Next.Team != "api" {
		t.Errorf("the error names %+v", e)
	}
	_, err = teams.Of(tm.FromInside()).Delete(t.Context(), "api", teams.DeleteOptions{Force: true})
	operatortest.Fails(t, err, operator.Refused, "delete was called from inside member ann")
	operatortest.Fails(t, teams.Of(op).Remove(t.Context(), "api", "ann"), operator.Refused, "ann runs as process")
	s := tm.State()
	release, held, err := s.Dir.TryLead()
	if err != nil || !held {
		t.Fatal(held, err)
	}
	var told []inspect.Running
	do := teams.DeleteOptions{Force: true, Report: func(r inspect.Running, ends bool) {
		if told = append(told, r); !ends {
			t.Errorf("%+v", r)
		}
	}}
	_, err = teams.Of(op).Delete(t.Context(), "api", do)
	operatortest.Fails(t, err, operator.Locked, "team api is live: a process leads it")
	testenv.Must(t, release())
	if len(told) != 0 || !exists(op.Root.TeamDir("api")) || s.Journal.Refresh(t.Context()) != nil || s.Lead.Ended != nil {
		t.Errorf("%+v: something was done", told)
	}
}

// Delete removes another program's team, or puts it away with Keep.
func TestDeleteForeign(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		do    teams.DeleteOptions
		tasks string
	}{
		{teams.DeleteOptions{}, "kept"},
		{teams.DeleteOptions{Tasks: true}, "removed"},
		{teams.DeleteOptions{Keep: true, Tasks: true}, "archived"},
	} {
		op := operatortest.New(t)
		tm := operatortest.ForeignTeam(t, op, foreign)
		write(t, tm.Mailbox("theirs"), "[]")
		write(t, filepath.Join(op.Root.TasksDir(foreign), "1.json"), `{"id":"1","subject":"s","description":"","status":"pending","blocks":[],"blockedBy":[]}`)
		d, err := teams.Of(op).Delete(t.Context(), foreign, c.do)
		if err != nil || d.Tasks != c.tasks || (d.Archive != "") != c.do.Keep || exists(op.Root.TeamDir(foreign)) || exists(op.Root.TasksDir(foreign)) == c.do.Tasks {
			t.Errorf("%+v: %+v, %v", c.do, d, err)
		}
		if c.do.Keep && !exists(filepath.Join(d.Archive, "team", "inboxes", "theirs.json")) {
			t.Errorf("%s has nothing of it", d.Archive)
		}
	}
}

// Files of an unknown owner can only be put away.
func TestDeleteOfBrokenFiles(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	write(t, op.Root.ConfigPath("api"), "{")
	_, err := teams.Of(op).Delete(t.Context(), "api", teams.DeleteOptions{Force: true})
	operatortest.Fails(t, err, operator.Refused, "config.json")
	d, err := teams.Of(op).Delete(t.Context(), "api", teams.DeleteOptions{Keep: true})
	if err != nil || exists(op.Root.TeamDir("api")) || !exists(filepath.Join(d.Archive, "team", "config.json")) {
		t.Errorf("%+v, %v", d, err)
	}
}

// A team whose journal is broken is damaged: only force deletes it, and everything of it is
// kept.
func TestDeleteDamaged(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.Team(t, op, "api", record.PolicySet{})
	join(t, tm, teamfile.FileMember{Name: "ann"})
	segments, err := filepath.Glob(filepath.Join(tm.State().Dir.LeaderJournal(), "*.jsonl"))
	if err != nil || len(segments) == 0 {
		t.Fatal(segments, err)
	}
	data, err := os.ReadFile(segments[0])
	testenv.Must(t, err)
	write(t, segments[0], strings.Replace(string(data), `"name":"ann"`, `"name":"eve"`, 1))
	if _, err := teams.Of(op).Delete(t.Context(), "api", teams.DeleteOptions{}); operator.KindOf(err) != operator.Failed {
		t.Errorf("%v", err)
	}
	d, err := teams.Of(op).Delete(t.Context(), "api", teams.DeleteOptions{Force: true})
	if err != nil || d.Archive == "" || !exists(d.Archive) || d.Tasks != "archived" || len(d.Ended) != 0 || exists(op.Root.TeamDir("api")) {
		t.Errorf("%+v, %v", d, err)
	}
}

// Delete finishes the end of a team that another process could not finish.
func TestDeleteFinishes(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.Team(t, op, "api", record.PolicySet{})
	recordOf(t, tm, func(*control.Leader) []journal.Draft {
		return []journal.Draft{{Kind: record.KindEnded, Must: true, Body: record.Ended{How: "deleted"}}}
	})
	d, err := teams.Of(op).Delete(t.Context(), "api", teams.DeleteOptions{Tasks: true})
	if err != nil || d.Tasks != "archived" || exists(op.Root.TeamDir("api")) || !exists(filepath.Join(d.Archive, "team", "config.json")) {
		t.Errorf("%+v, %v", d, err)
	}
}

// Remove records the end of a membership by the member's trust. A member of another program that was
// not registered here stays.
func TestRemove(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.Team(t, op, "api", record.PolicySet{})
	o, ctx := teams.Of(op), t.Context()
	tm.ByFile("bob")
	join(t, tm, teamfile.FileMember{Name: "ann"})
	for name, how := range map[protocol.MemberName]string{"bob": record.LeftReleased, "ann": record.LeftStopped} {
		i := tm.Instance(name)
		testenv.Must(t, o.Remove(ctx, "api", strings.ToUpper(string(name))))
		if m, ok := tm.State().Lead.ByInstance(i); !ok || m.Left == nil || m.Left.How != how || m.Left.Detail != "removed" {
			t.Errorf("%s: %+v", name, m)
		}
		operatortest.Fails(t, o.Remove(ctx, "api", string(name)), operator.NotFound, string(name))
	}
	if got := present(t, tm); !slices.Equal(got, []protocol.MemberName{protocol.Lead}) {
		t.Errorf("%v", got)
	}
	operatortest.Fails(t, o.Remove(ctx, "gone", "ann"), operator.NotFound, "gone")
	other := operatortest.ForeignTeam(t, op, foreign, "theirs")
	other.ByFile("ours")
	operatortest.Fails(t, o.Remove(ctx, foreign, "theirs"), operator.Refused, "theirs was not registered here")
	testenv.Must(t, o.Remove(ctx, foreign, "ours"))
	if got := present(t, other); !slices.Equal(got, []protocol.MemberName{protocol.Lead, "theirs"}) {
		t.Errorf("%v", got)
	}
}

// Restore takes no authority from a backup: the team has a journal of its own, and the old one is kept
// to be read. Old control messages are not judged again.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	o, ctx := teams.Of(op), t.Context()
	tm := operatortest.Team(t, op, "api", ofMode("acceptEdits"))
	tm.ByFile("bob")
	send(t, tm, "bob", "hi")
	var tar bytes.Buffer
	report, err := o.Backup(ctx, "api", &tar)
	if err != nil || report.Files == 0 || len(report.Skipped) != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	backup := tar.Bytes()
	_, err = o.Backup(ctx, "gone", &tar)
	operatortest.Fails(t, err, operator.NotFound, "gone")
	restore := func(do teams.RestoreOptions) (*teams.Restored, error) {
		return o.Restore(ctx, bytes.NewReader(backup), do)
	}
	_, err = restore(teams.RestoreOptions{})
	operatortest.Fails(t, err, operator.Refused, "there is a team api")
	_, err = restore(teams.RestoreOptions{As: "a b"})
	operatortest.Fails(t, err, operator.Usage, "a b")
	old := tm.State().Dir
	rs, err := restore(teams.RestoreOptions{As: "copy"})
	if err != nil || rs.Team != "copy" || rs.From != "api" || !rs.Verified || rs.Authority != teams.AuthorityNew || rs.Replaced != "" || rs.Files == 0 {
		t.Fatalf("%+v, %v", rs, err)
	}
	copied := &operatortest.Rig{T: t, Op: op, Name: "copy"}
	s := copied.State()
	if s.Dir.UID == old.UID || s.Lead.Policy.Policy.Mode != "default" || len(s.Lead.Members) != 0 || !strings.HasPrefix(rs.History, s.Dir.Archive()) || !exists(filepath.Join(rs.History, "journal", "leader")) {
		t.Errorf("%+v: %+v", rs, s.Lead)
	}
	in, err := mail.Of(op).Inbox(ctx, "copy", "bob", false)
	if err != nil || len(in.Entries) != 1 || in.Entries[0].Text != "hi" {
		t.Errorf("%+v, %v", in, err)
	}
	forced, err := restore(teams.RestoreOptions{Force: true})
	if err != nil || forced.Replaced == "" || !exists(filepath.Join(forced.Replaced, "team", "config.json")) || forced.Authority != teams.AuthorityNew {
		t.Errorf("%+v, %v", forced, err)
	}
	_, err = o.Restore(ctx, strings.NewReader("no tar"), teams.RestoreOptions{})
	if operatortest.Fails(t, err, operator.Refused, ""); exists(op.Root.TeamDir("no tar")) {
		t.Error("something of it was kept")
	}
	held, err := op.Claim("test", "third")
	testenv.Must(t, err)
	defer held.Free()
	_, err = restore(teams.RestoreOptions{As: "third"})
	operatortest.Fails(t, err, operator.Locked, "team third")
}

// If the files of the same team are gone, Restore keeps the journal that is here.
func TestRestoreKeepsTheAuthorityThatIsHere(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	o, ctx := teams.Of(op), t.Context()
	tm := operatortest.Team(t, op, "api", ofMode("acceptEdits"))
	var tar bytes.Buffer
	if _, err := o.Backup(ctx, "api", &tar); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{op.Root.TeamDir("api"), op.Root.TasksDir("api")} {
		testenv.Must(t, os.RemoveAll(dir))
	}
	rs, err := o.Restore(ctx, &tar, teams.RestoreOptions{})
	if err != nil || rs.Authority != teams.AuthorityKept || rs.History != "" {
		t.Fatalf("%+v, %v", rs, err)
	}
	if s := tm.State(); s.Lead.Policy.Policy.Mode != "acceptEdits" || s.Lead.Ended != nil {
		t.Errorf("%+v", s.Lead.Policy)
	}
}

// If a backup is of another team of the same name, with another identity, the journal that is here
// ends, and does not go on with files that are not its own.
func TestRestoreBesideAnotherTeamOfTheName(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	o, ctx := teams.Of(op), t.Context()
	operatortest.Team(t, op, "api", record.PolicySet{})
	var tar bytes.Buffer
	if _, err := o.Backup(ctx, "api", &tar); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Delete(ctx, "api", teams.DeleteOptions{Tasks: true}); err != nil {
		t.Fatal(err)
	}
	other := operatortest.Team(t, op, "api", ofMode("acceptEdits")).State()
	for _, dir := range []string{op.Root.TeamDir("api"), op.Root.TasksDir("api")} {
		testenv.Must(t, os.RemoveAll(dir))
	}
	rs, err := o.Restore(ctx, &tar, teams.RestoreOptions{})
	if err != nil || rs.Authority != teams.AuthorityNew || rs.History == "" {
		t.Fatalf("%+v, %v", rs, err)
	}
	if err := other.Journal.Refresh(ctx); err != nil || other.Lead.Ended == nil || other.Lead.Ended.How != record.LeftReplaced {
		t.Errorf("%+v, %v", other.Lead.Ended, err)
	}
	if s, err := op.Open(ctx, "api", operator.Act); err != nil || s.Dir.UID == other.Dir.UID || s.Lead.Policy.Policy.Mode != "default" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestRestoreOfAnotherProgramsTeam(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	o, ctx := teams.Of(op), t.Context()
	operatortest.ForeignTeam(t, op, foreign, "theirs")
	var tar bytes.Buffer
	if _, err := o.Backup(ctx, foreign, &tar); err != nil {
		t.Fatal(err)
	}
	rs, err := o.Restore(ctx, &tar, teams.RestoreOptions{As: "copy"})
	if err != nil || rs.Authority != teams.AuthorityNone {
		t.Fatalf("%+v, %v", rs, err)
	}
	copied := &operatortest.Rig{T: t, Op: op, Name: "copy"}
	if s, err := op.Open(ctx, copied.Name, operator.Act); !operator.Unled(err) || !slices.Contains(present(t, copied), "theirs") {
		t.Errorf("%+v, %v", s, err)
	}
}
