package operator_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/home"
	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/leader"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
	"waggle/transport"
	"waggle/worker"
)

func newTeam(t *testing.T) (operator.Operator, *operatortest.Rig) {
	t.Helper()
	op := operatortest.New(t)
	return op, operatortest.Team(t, op, "api", record.PolicySet{})
}

// breaks changes a line of a journal.
func breaks(t *testing.T, s *operator.State, name string) {
	t.Helper()
	path := filepath.Join(s.Dir.JournalOf(name), "00000001.jsonl")
	text := testenv.Value(os.ReadFile(path))(t)
	text[len(text)/2] ^= 1
	testenv.Must(t, os.WriteFile(path, text, 0o600))
}

// Each error is of the kind that is documented, also inside of another.
func TestKindOf(t *testing.T) {
	for code, errs := range map[operator.Kind][]error{
		0:                   {nil},
		operator.Failed:     {errors.New("x"), &journal.BrokenError{}},
		operator.Usage:      {&operator.Error{Kind: operator.Usage}, &team.LimitError{}, &protocol.NameError{}, &transport.SchemeError{}, &transport.NotSocketError{}},
		operator.Locked:     {&atomicfile.LockedError{}, leader.ErrLeading, worker.ErrRunning, &transport.RemoteError{Code: transport.CodeLocked}, &transport.RemoteError{Code: transport.CodeBusy}},
		operator.NotFound:   {&team.NotFoundError{}, &control.UnknownRequestError{}, &transport.NotFoundError{}},
		operator.Refused:    {&control.RefusedError{}, &mailbox.LimitError{}, &record.CeilingError{}, &transport.RefusedError{}, control.ErrDiverged, team.ErrTaken},
		operator.Died:       {&operator.Error{Kind: operator.Died, Err: team.ErrTaken}},
		operator.Question:   {&operator.Error{Kind: operator.Question}},
		operator.Timeout:    {&operator.Error{Kind: operator.Timeout}},
		operator.Incomplete: {&operator.Error{Kind: operator.Incomplete}},
	} {
		for _, err := range errs {
			if got := operator.KindOf(err); got != code {
				t.Errorf("%T: %d, want %d", err, got, code)
			}
			if err != nil && code != 0 {
				if got := operator.KindOf(fmt.Errorf("around: %w", err)); got != code {
					t.Errorf("around %T: %d, want %d", err, got, code)
				}
			}
		}
	}
	cause := errors.New("cause")
	e := &operator.Error{Err: cause}
	if e.Error() != "cause" || !errors.Is(e, cause) {
		t.Errorf("%v", e)
	}
	if e.Msg = "said"; e.Error() != "said" {
		t.Errorf("%v", e)
	}
}

// The team is the one that is named, or the only one.
func TestPick(t *testing.T) {
	op := operatortest.New(t)
	_, err := op.Pick("")
	operatortest.Is(t, "none", err, operator.NotFound, "there is no team here")
	rig := operatortest.Team(t, op, "api", record.PolicySet{})
	for _, name := range []string{"", "api"} {
		if got, err := op.Pick(name); got != "api" || err != nil {
			t.Errorf("%q: %s, %v", name, got, err)
		}
	}
	_, err = op.Pick("a b")
	operatortest.Is(t, "no name", err, operator.Usage, "")
	_, err = op.Pick("web")
	operatortest.Is(t, "another", err, operator.NotFound, "web")
	operatortest.Foreign(t, op, "web", nil, map[string]any{"name": "team-lead"})
	_, err = op.Pick("")
	operatortest.Is(t, "two", err, operator.Usage, "several teams")
	var e *operator.Error
	if !errors.As(err, &e) || !slices.Equal(e.Near, []string{"api", "web"}) {
		t.Errorf("%+v", e)
	}
	testenv.Must(t, os.RemoveAll(op.Root.TeamDir("api")))
	if got, err := op.Pick("api"); got != "api" || err != nil { // its members work on
		t.Errorf("%s, %v", got, err)
	}
	if !op.Homeless("api") || op.Homeless("web") {
		t.Error("whose directory is gone is homeless")
	}
	if cfg, err := op.Registry(t.Context(), "api"); err != nil || operator.UIDOf(cfg) != rig.State().Lead.UID {
		t.Errorf("%+v, %v", cfg, err)
	}
}

// Act fails for a team of another program, for an ended one and for an unknown name, and says which. A damaged team
// has an error.
func TestOpenAct(t *testing.T) {
	op, rig := newTeam(t)
	operatortest.Foreign(t, op, "theirs", nil, map[string]any{"name": "team-lead"})
	for _, name := range []protocol.TeamName{"theirs", "nobody"} {
		if s, err := op.Open(t.Context(), name, operator.Act); !operator.Unled(err) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		if s, err := op.Open(t.Context(), name, operator.Command("x")); !operator.Unled(err) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	_, err := op.Open(t.Context(), "theirs", operator.Act)
	operatortest.Is(t, "theirs", err, operator.NotFound, "not led by waggle")
	if !errors.Is(err, operator.ErrForeign) || errors.Is(err, operator.ErrEnded) {
		t.Errorf("of another program: %#v", err)
	}
	_, err = op.Open(t.Context(), "nobody", operator.Act)
	operatortest.Is(t, "nobody", err, operator.NotFound, "nobody")
	if errors.Is(err, operator.ErrForeign) || errors.Is(err, operator.ErrEnded) {
		t.Errorf("of nobody: %#v", err)
	}
	s := rig.State()
	if s.Team != "api" || s.JournalName != journal.Leader || s.Lead.Instance == "" || s.Room() != nil {
		t.Errorf("%+v", s)
	}
	if again := op.OpenKnown(home.Known{Dir: s.Dir, Team: "api"}); again.Damaged != nil || again.Lead.UID != s.Lead.UID {
		t.Errorf("%+v", again)
	}
	if w := op.Writer(); !w.Operator || w.PID != os.Getpid() {
		t.Errorf("%+v", w)
	}
	breaks(t, s, "leader")
	_, err = op.Open(t.Context(), "api", operator.Act)
	operatortest.Is(t, "broken", err, operator.Failed, "")
	if !operator.Broken(err) || !operator.Passing(err) || operator.Unpassing(err) != nil {
		t.Errorf("%v", err)
	}
	if r, err := op.Open(t.Context(), "api", operator.Read); err != nil || r.Damaged == nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestPassing: a held lock, and a leader's journal that is gone and may be put back, do not end a
// leader.
func TestPassing(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("x"), false},
		{&atomicfile.LockedError{}, true},
		{fmt.Errorf("around: %w", &journal.DraftError{}), true},
		{&journal.BrokenError{Journal: journal.Leader}, true},
		{&journal.BrokenError{Journal: journal.Leader, Gone: true}, false},
		{&journal.BrokenError{Journal: "ann"}, false},
	} {
		if got := operator.Passing(c.err); got != c.want {
			t.Errorf("%v passes: %v", c.err, got)
		}
		if rest := operator.Unpassing(c.err); (rest == nil) != (c.want || c.err == nil) {
			t.Errorf("of %v is left %v", c.err, rest)
		}
	}
	var e *operator.Error
	if err := operator.Unreadable("open", "api", &journal.BrokenError{Why: "torn"}); !operator.Broken(err) || operator.KindOf(err) != operator.Failed ||
		!errors.As(err, &e) || e.Next != (operator.Next{Step: operator.NextAcknowledge, Team: "api"}) {
		t.Errorf("%v", err)
	}
}

// Pass takes in the mail of the lead's mailbox, unless a process leads.
func TestPass(t *testing.T) {
	op, rig := newTeam(t)
	s := rig.State()
	if led, err := op.Pass(t.Context(), s); led || err != nil {
		t.Errorf("%v, %v", led, err)
	}
	l := testenv.Value(leader.Open(t.Context(), op.Passing(s)))(t)
	if led, err := op.Pass(t.Context(), s); !led || err != nil {
		t.Errorf("%v, %v", led, err)
	}
	if _, led, err := op.Live(s); !led || err != nil {
		t.Errorf("%v, %v", led, err)
	}
	testenv.Must(t, l.Close())
	rig.Member("ann", operatortest.Idle)
	rig.Joined("bob", record.Cooperative)
	if names, led, err := op.Live(rig.State()); led || err != nil || !slices.Equal(names, []protocol.MemberName{"ann"}) {
		t.Errorf("%v, %v, %v", names, led, err)
	}
}

// Callers returns the member whose process is the nearest ancestor of the caller; members that share a
// process cannot be told apart. Guard refuses a call in the operator's name from inside a member and
// records it.
func TestGuard(t *testing.T) {
	op, rig := newTeam(t)
	id := func(pid int) spawn.Identity { return spawn.Identity{PID: pid, Start: "s"} }
	process := func(name protocol.MemberName, pid int) {
		i := rig.Joined(name, record.Cooperative)
		s := rig.State()
		testenv.Value(s.Journal.Append(t.Context(), journal.Writer{Instance: string(i), PID: pid}, func() ([]journal.Draft, error) {
			return []journal.Draft{{Kind: record.KindProcess, Must: true, Body: record.Process{Instance: i, Epoch: 1, ID: id(pid)}}}, nil
		}))(t)
	}
	process("ann", 101)
	process("bob", 102)
	process("eve", 102)
	for _, c := range []struct {
		above []spawn.Identity
		want  string
	}{
		{nil, ""},
		{[]spawn.Identity{id(7), id(1)}, ""},
		{[]spawn.Identity{id(7), id(101), id(102)}, "member ann"},
		{[]spawn.Identity{id(102)}, "of members bob, eve, who share a process"},
		{[]spawn.Identity{{PID: 101, Start: "later"}}, ""},
	} {
		op.Ancestors = func(int) ([]spawn.Identity, error) { return c.above, nil }
		s := rig.State()
		before := len(s.Lead.Unverified)
		ms, err := op.Callers(s)
		if err != nil || (len(ms) > 0) != (c.want != "") || len(ms) > 0 && operator.Names(ms) != c.want {
			t.Errorf("%v: %v, %v", c.above, ms, err)
		}
		err = op.Guard(t.Context(), s, "a decision")
		if c.want == "" {
			if err != nil || len(s.Lead.Unverified) != before {
				t.Errorf("%v: %v", c.above, err)
			}
			continue
		}
		operatortest.Is(t, c.want, err, operator.Refused, "a decision was called from inside "+c.want+": only the operator may do that")
		if n := len(s.Lead.Unverified) - before; n != 1 || s.Lead.Unverified[before].Box != "operator" {
			t.Errorf("%s: %d records", c.want, n)
		}
	}
	op.Ancestors = func(int) ([]spawn.Identity, error) { return nil, errors.New("no table") }
	operatortest.Is(t, "nobody can tell", op.Guard(t.Context(), rig.State(), "x"), operator.Failed, "cannot identify the calling process")
	if id(1).Is(id(2)) || !id(1).Is(spawn.Identity{PID: 1, Start: "s", Inside: true}) {
		t.Error("a process is its pid, start and boot")
	}
}

// Registry lists the members of config.json and those on record, whatever an edit of the file says.
func TestRegistry(t *testing.T) {
	op, rig := newTeam(t)
	rig.Joined("ann", record.Cooperative)
	cfg, err := op.Registry(t.Context(), "api")
	if err != nil || !slices.Equal(cfg.Present(), []protocol.MemberName{"team-lead", "ann"}) {
		t.Fatalf("%+v, %v", cfg, err)
	}
	if listed, err := op.Listing(t.Context(), "api"); err != nil || len(listed.Present()) != 1 {
		t.Errorf("%+v, %v", listed, err)
	}
	testenv.Must(t, os.WriteFile(op.Root.ConfigPath("api"), []byte("{"), 0o600))
	if cfg, err = op.Registry(t.Context(), "api"); err != nil || !slices.Contains(cfg.Present(), "ann") {
		t.Errorf("a file that cannot be read: %+v, %v", cfg, err)
	}
	_, err = op.Registry(t.Context(), "nobody")
	operatortest.Is(t, "nobody's", err, operator.NotFound, "nobody")
	if uid := operator.UIDOf(&team.Config{LeadSessionID: "a-b-c"}); uid != "abc" {
		t.Errorf("%s", uid)
	}
	if uid := operator.UIDOf(&team.Config{CreatedAt: time.Unix(0, 0).UTC()}); !strings.HasPrefix(string(uid), "created 1970") {
		t.Errorf("%s", uid)
	}
	if op.RunPath() != op.Home.Run() {
		t.Errorf("%s", op.RunPath())
	}
	if op.RunDir = "/run/x"; op.RunPath() != "/run/x" {
		t.Errorf("%s", op.RunPath())
	}
	if box, err := op.Box(cfg, "ann", nil); err != nil || box == nil {
		t.Errorf("%v, %v", box, err)
	}
}

// Only one process holds the Claim of a name. Strays removes the directory of a team that nobody goes
// on making, and no other directory.
func TestClaim(t *testing.T) {
	op, rig := newTeam(t)
	c, err := op.Claim("up", "web")
	testenv.Must(t, err)
	_, err = op.Claim("up", "web")
	operatortest.Is(t, "a second claim", err, operator.Locked, "makes a team web at this moment")
	s := &operator.State{Claim: c}
	s.Settled()
	s.Settled()
	(*operator.Claim)(nil).Free()
	c, err = op.Claim("up", "web")
	testenv.Must(t, err)
	c.Free()

	half, err := op.Home.Create(op.RootURL, "web", "0123456789abcdef0123456789abcdef")
	testenv.Must(t, err)
	testenv.Must(t, os.WriteFile(half.Making(), []byte(op.RootURL+"\n"), 0o600))
	if !op.Making(half) || op.Making(rig.State().Dir) {
		t.Error("only the half one is being made")
	}
	operatortest.Is(t, "what is being made", op.Begun(&team.Config{Name: "web", LeadSessionID: "0123456789abcdef0123456789abcdef"}), operator.NotFound, "is being made")
	if err := op.Begun(&team.Config{Name: "web", LeadSessionID: "other"}); err != nil {
		t.Error(err)
	}
	for _, name := range []protocol.TeamName{"web", "api"} {
		testenv.Must(t, op.Strays(name))
	}
	if _, err := os.Stat(half.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the half is there: %v", err)
	}
	if _, err := os.Stat(rig.State().Dir.Path); err != nil {
		t.Error(err)
	}
}

// A Log returns each record of all journals once, in order of time, and reports a break once.
func TestLog(t *testing.T) {
	op, rig := newTeam(t)
	rig.Asks("ann", operatortest.Bash("make"))
	rig.Pending(1)
	l, err := op.OpenLog(t.Context(), "api")
	if err != nil || l.Record().Team != "api" {
		t.Fatal(err)
	}
	recs, err := l.Next(t.Context())
	owners := map[string]int{}
	for i, r := range recs {
		owners[r.Name]++
		if i > 0 && r.Time.Before(recs[i-1].Time) {
			t.Errorf("%d of %s is before the last", r.Seq, r.Name)
		}
	}
	if err != nil || owners["leader"] == 0 || owners["ann"] == 0 || len(owners) != 2 {
		t.Fatalf("%v, %v", owners, err)
	}
	dirs := l.Dirs()
	if len(dirs) != 3 || !slices.IsSorted(dirs) || !slices.Contains(dirs, rig.State().Dir.LeaderJournal()) {
		t.Errorf("%v", dirs)
	}
	all, err := rig.State().Records()
	if err != nil || len(all) != len(recs) {
		t.Errorf("%d records and %d, %v", len(all), len(recs), err)
	}
	s := rig.Write(journal.Draft{Kind: record.KindDetached, Must: true, Body: record.Detached{}})
	if recs, err = l.Next(t.Context()); err != nil || len(recs) == 0 || recs[len(recs)-1].Kind != record.KindDetached {
		t.Errorf("%+v, %v", recs, err)
	}
	if s.Owner(journal.Leader) != "leader" || s.Owner(operator.OwnJournal) != "operator" || s.Owner(journal.Name(rig.Instance("ann"))) != "ann" || s.Owner("0123456789") != "instance 01234567" {
		t.Error("a journal's owner has another name")
	}
	_, err = op.OpenLog(t.Context(), "nobody")
	operatortest.Is(t, "nobody's", err, operator.NotFound, "nobody")

	breaks(t, rig.State(), string(rig.Instance("ann")))
	if all, err := rig.State().Records(); err == nil || !strings.Contains(err.Error(), "ann: ") || !slices.ContainsFunc(all, func(r operator.LogRecord) bool { return r.Name == "leader" }) {
		t.Errorf("with a broken journal of ann: %d records, %v", len(all), err)
	}

	other, quiet := newTeam(t)
	breaks(t, quiet.State(), "leader")
	if l, err = other.OpenLog(t.Context(), "api"); err != nil {
		t.Fatal(err)
	}
	if _, err = l.Next(t.Context()); !operator.Broken(err) {
		t.Errorf("a break: %v", err)
	}
	if _, err = l.Next(t.Context()); err != nil {
		t.Errorf("a break again: %v", err)
	}
}

// Read opens the record of an ended team by the team's name or by its id; of two teams with one name
// it returns the living one first.
func TestOpenRead(t *testing.T) {
	op := operatortest.New(t)
	_, err := op.Open(t.Context(), "", operator.Read)
	operatortest.Is(t, "none", err, operator.NotFound, "no record of any team")
	first := operatortest.Team(t, op, "api", record.PolicySet{})
	old := first.Write(journal.Draft{Kind: record.KindEnded, Must: true, Body: record.Ended{How: "down"}})
	testenv.Must(t, os.RemoveAll(op.Root.TeamDir("api")))
	testenv.Must(t, os.RemoveAll(op.Root.TasksDir("api")))
	if _, err := op.Open(t.Context(), "api", operator.Act); !errors.Is(err, operator.ErrEnded) || errors.Is(err, operator.ErrForeign) {
		t.Errorf("ended: %#v", err)
	}
	id := filepath.Base(old.Dir.Path)
	for _, of := range []string{"", "api", "API", id, strings.TrimPrefix(id, "api-")} {
		if k, err := op.Open(t.Context(), protocol.TeamName(of), operator.Read); err != nil || k.ID() != id {
			t.Errorf("%q: %+v, %v", of, k, err)
		}
	}
	second := operatortest.Team(t, op, "api", record.PolicySet{})
	if k, err := op.Open(t.Context(), "api", operator.Read); err != nil || k.Dir.Path != second.State().Dir.Path {
		t.Errorf("%+v, %v", k, err)
	}
	if r, err := op.Open(t.Context(), protocol.TeamName(id), operator.Read); err != nil || r.Lead.Ended == nil || r.Foreign {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = op.Open(t.Context(), "web", operator.Read)
	operatortest.Is(t, "another", err, operator.NotFound, "web")
	var missing *team.NotFoundError
	if !errors.As(err, &missing) || len(missing.Near) != 2 {
		t.Errorf("%+v", missing)
	}
}

// Read finds the operator's own journal of another program's team by the team's name or the record's
// id.
func TestOpenForeign(t *testing.T) {
	op := operatortest.New(t)
	_, err := op.Open(t.Context(), "", operator.Read)
	operatortest.Is(t, "none", err, operator.NotFound, "no record of any team")
	var id string
	for _, name := range []protocol.TeamName{"theirs", "web"} {
		operatortest.Foreign(t, op, name, map[string]any{"leadSessionId": string(name)}, map[string]any{"name": "team-lead"}, map[string]any{"name": "bob"})
		operatortest.Send(t, op, name, "bob", "hello")
		if name != "theirs" {
			continue
		}
		for _, of := range []string{"", "theirs"} {
			s, err := op.Open(t.Context(), protocol.TeamName(of), operator.Read)
			if err != nil || !s.Foreign || s.Team != "theirs" {
				t.Fatalf("%q: %+v, %v", of, s, err)
			}
			id = s.ID()
		}
	}
	if s, err := op.Open(t.Context(), protocol.TeamName(id), operator.Read); err != nil || !s.Foreign || s.Team != "theirs" {
		t.Errorf("%+v, %v", s, err)
	}
	_, err = op.Open(t.Context(), "", operator.Read)
	operatortest.Is(t, "two", err, operator.Usage, "several teams")
	r, err := op.Open(t.Context(), "theirs", operator.Read)
	if err != nil || !r.Foreign || r.JournalName != operator.OwnJournal || r.Damaged != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	recs, err := r.Records()
	if err != nil || !slices.ContainsFunc(recs, func(l operator.LogRecord) bool { return l.Kind == record.KindSaid && l.Name == "operator" }) {
		t.Errorf("%+v, %v", recs, err)
	}
}

// The agent behind the lead answers to its own name, too.
func TestCalled(t *testing.T) {
	op, rig := newTeam(t)
	to := protocol.Address{Scheme: protocol.SchemeMember, Member: "boss"}
	if operator.AgentLeads(nil) || operator.AgentLeads(rig.State()) || operator.LeadOf(rig.State(), to) != to || operator.LeadOf(nil, to) != to {
		t.Error("nobody is behind the lead")
	}
	id := testenv.Value(op.Minter.UID())(t)
	s := rig.Write(journal.Draft{Kind: record.KindJoined, Must: true, Body: record.Joined{Instance: record.Instance(id), Name: protocol.Lead, Lead: "boss", Agent: "exec", Cwd: "/", Backend: operator.BackendInProcess, Trust: record.Cooperative}})
	m, ok := s.Lead.LeadAgent()
	if !ok || !operator.AgentLeads(s) || !operator.Called(m, "BOSS") || !operator.Called(m, "team-lead") || operator.Called(m, "ann") {
		t.Errorf("%+v", m)
	}
	if got := operator.LeadOf(s, to); got.Member != protocol.Lead {
		t.Errorf("%+v", got)
	}
}

// EditCache keeps the answer of git about a worktree for less than five seconds of a clock that goes
// forward.
func TestEditCache(t *testing.T) {
	var c operator.EditCache
	tree, now := record.Worktree{Path: "/w"}, time.Unix(1000, 0)
	if _, ok := c.Get(tree, now); ok {
		t.Error("nothing was put")
	}
	c.Put(tree, []string{"a"}, now)
	for after, want := range map[time.Duration]bool{0: true, 4 * time.Second: true, 5 * time.Second: false, -time.Second: false} {
		if files, ok := c.Get(tree, now.Add(after)); ok != want || ok && !slices.Equal(files, []string{"a"}) {
			t.Errorf("after %s: %v, %v", after, files, ok)
		}
	}
	if _, ok := c.Get(record.Worktree{Path: "/v"}, now); ok {
		t.Error("another worktree")
	}
	var none *operator.EditCache
	none.Put(tree, []string{"a"}, now)
	if _, ok := none.Get(tree, now); ok {
		t.Error("no cache remembers")
	}
}

// A record of a terminal that cannot be read is set aside, as it is.
func TestTerminals(t *testing.T) {
	op, rig := newTeam(t)
	s := rig.State()
	testenv.Must(t, os.MkdirAll(s.Dir.Processes(), 0o700))
	testenv.Must(t, os.WriteFile(filepath.Join(s.Dir.Processes(), "0123456789abcdef.hold.json"), []byte("{"), 0o600))
	if list, err := op.Terminals(s); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	entries, err := os.ReadDir(s.Dir.Quarantine())
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// Small words: a suffix, why a worktree is kept, which backends there are.
func TestWords(t *testing.T) {
	if operator.Suffix("") != "" || operator.Suffix("x") != ": x" {
		t.Errorf("%q", operator.Suffix("x"))
	}
	if got := (operator.KeptWorktree{Path: "/w", Why: "2 uncommitted files"}).String(); got != "2 uncommitted files: /w" {
		t.Errorf("%q", got)
	}
	if got := strings.Join(operator.Backends(), " "); got != "auto process tmux tmux-window iterm2 in-process" {
		t.Errorf("%s", got)
	}
	self, err := spawn.Identify(os.Getpid())
	if err != nil || operator.Gone(self) || !operator.Gone(spawn.Identity{PID: self.PID, Start: "1", Boot: self.Boot}) {
		t.Errorf("%+v, %v", self, err)
	}
	q := operator.AuditQuery{Rule: "ls", Since: time.Unix(5, 0), Until: time.Unix(7, 0)}
	for at, want := range map[int64]bool{4: false, 5: true, 6: true, 7: false} {
		if got := q.Wants(operator.AuditEvent{Rule: "allow Bash(ls:*)", Asked: time.Unix(at, 0)}); got != want {
			t.Errorf("at %d: %v", at, got)
		}
	}
}

// Visible shows text as it is, and writes out the characters that cannot be seen.
func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                           "plain",
		"a\nb\tc\rd":                      `a\nb\tc\rd`,
		"\x1b[31mred":                     `\x1b[31mred`,
		"\xff":                            `\x{ff}`,
		"a\u202eb":                        `a\u{202e}b`,
		"a\u00a0b":                        `a\xa0b`,
		"é":                               "é",
		"\u0301":                          `\u{0301}`,
		"\u2800":                          `\u{2800}`,
		"\u05d0 12":                       "\u05d0 " + `\x312`, // the digits stand behind the letters of what is written out
		"\u05d0 \u05d1":                   "\u05d0" + `\x20` + "\u05d1",
		"\u05d0 a":                        "\u05d0 a",
		"a\u0301\u0301\u0301\u0301\u0301": "a\u0301\u0301\u0301\u0301" + `\u{0301}`,
		"\u1161":                          `\u{1161}`,
		"\u1100\u1161":                    "\u1100\u1161",
		"日本":                              "日本",
	} {
		if got := operator.Visible(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
	if got := operator.VisibleLines("a\nb\x00"); got != "a\n"+`b\x00` {
		t.Errorf("%q", got)
	}
	for in, want := range map[string]string{
		"\x1b[1;31mred\x1b[0m": "\x1b[1;31mred\x1b[0m", "\x1b[2Jx": `\x1b[2Jx`, "\x1b]0;t\x07": `\x1b]0;t\x07`, "a\r\nb\rc\td": "a\r\nb" + `\r` + "c\td", "\xfe": `\x{fe}`, "\x1b[3": `\x1b[3`,
	} {
		if got := operator.VisibleStyled(in); got != want {
			t.Errorf("styled %q is shown as %q, want %q", in, got, want)
		}
	}
	if operator.Hidden('a') || !operator.Hidden(0x7f) || !operator.Hidden('\u200b') || operator.Hidden('é') {
		t.Error("what is hidden")
	}
}
