package inspect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/record"
)

// Audit joins each request with its decision and its outcome, and each part of a query narrows the
// list.
func TestAudit(t *testing.T) {
	t.Parallel()
	o, _, req := worked(t)
	_, all, err := o.Audit(t.Context(), "api", operator.AuditQuery{})
	if err != nil || len(all) != 4 {
		t.Fatalf("%+v, %v", all, err)
	}
	got := map[string]bool{}
	for i, e := range all {
		if i > 0 && e.Asked.Before(all[i-1].Asked) {
			t.Errorf("%s stands behind a later one", e.ID)
		}
		got[strings.Join([]string{e.Member, string(e.Input), e.Decision, e.By, e.Rule, e.Said, e.Outcome}, "|")] = true
	}
	for _, want := range []string{
		`ann|{"command":"ls -l"}|allow|rules|allow Bash(ls:*)|Allow rules cover all of it.|done`,
		`bob|{"command":"rm x"}|deny|rules|deny Bash(rm:*)|A deny rule matches.|`,
		`bob|{"command":"make check"}|||||`,
		`eve|{"command":"make deploy"}|deny|operator||not today|`,
	} {
		if !got[want] {
			t.Errorf("%q is not among %v", want, got)
		}
	}
	for what, c := range map[string]struct {
		q operator.AuditQuery
		n int
	}{
		"a member":   {operator.AuditQuery{Member: "bob"}, 2},
		"a decision": {operator.AuditQuery{Decision: "deny"}, 2},
		"who":        {operator.AuditQuery{By: "operator"}, 1},
		"a rule":     {operator.AuditQuery{Rule: "ls"}, 1},
		"a tool":     {operator.AuditQuery{Tool: "Edit"}, 0},
		"since":      {operator.AuditQuery{Since: all[3].Asked}, 1},
		"until":      {operator.AuditQuery{Until: all[3].Asked}, 3},
	} {
		if _, es, err := o.Audit(t.Context(), "api", c.q); err != nil || len(es) != c.n {
			t.Errorf("%s: %d, %v", what, len(es), err)
		}
	}
	_, _, err = o.Audit(t.Context(), "nobody", operator.AuditQuery{})
	operatortest.Is(t, "no team", err, operator.NotFound, "nobody")

	d, err := o.AuditShow(t.Context(), "api", string(req.ID))
	if err != nil || d.Event.ID != string(req.ID) {
		t.Fatalf("%+v, %v", d, err)
	}
	var kinds []string
	for _, r := range d.Records {
		kinds = append(kinds, r.Owner+" "+r.Kind)
	}
	if !slices.Equal(kinds, []string{"bob asked", "leader seen"}) {
		t.Errorf("%v", kinds)
	}
	for _, e := range all {
		if e.Member != "eve" {
			continue
		}
		d, err := o.AuditShow(t.Context(), "api", e.ID)
		if err != nil || !slices.ContainsFunc(d.Records, func(r inspect.AuditRecord) bool { return r.Kind == record.KindDecided && r.Writer.Operator }) ||
			!slices.ContainsFunc(d.Records, func(r inspect.AuditRecord) bool { return r.Kind == record.KindSent }) {
			t.Errorf("%+v, %v", d, err)
		}
	}
	_, err = o.AuditShow(t.Context(), "api", "perm-")
	operatortest.Is(t, "the beginning of several", err, operator.Usage, "begins several calls")
	_, err = o.AuditShow(t.Context(), "api", "ooo")
	operatortest.Is(t, "nobody's", err, operator.NotFound, "ooo")
}

// Export passes on every record of every journal in order of time, with secrets masked if a Redactor
// is given, and ends with the first error of its callback.
func TestExport(t *testing.T) {
	t.Parallel()
	o, rig, _ := worked(t)
	plain, masked := map[string]int{}, 0
	var last time.Time
	err := o.Export(t.Context(), "api", nil, func(r inspect.AuditRecord) error {
		if r.Time.Before(last) {
			t.Errorf("%s %d is before %s", r.Owner, r.Seq, last)
		}
		last = r.Time
		plain[r.Owner]++
		return nil
	})
	if err != nil || plain["leader"] == 0 || plain["kim"] == 0 || plain["zoe"] != 0 {
		t.Errorf("%v, %v", plain, err)
	}
	s := rig.State()
	recs, err := s.Records()
	sum := 0
	for _, n := range plain {
		sum += n
	}
	if err != nil || len(recs) != sum {
		t.Errorf("%d of %d, %v", sum, len(recs), err)
	}
	r := inspect.NewRedactor([]string{"API_KEY=make deploy"})
	err = o.Export(t.Context(), "api", r, func(r inspect.AuditRecord) error {
		if bytes.Contains(r.Body, []byte("make deploy")) {
			t.Errorf("%s", r.Body)
		}
		if bytes.Contains(r.Body, []byte(inspect.Redacted)) {
			masked++
		}
		return nil
	})
	if err != nil || masked == 0 {
		t.Errorf("%d, %v", masked, err)
	}
	full := errors.New("full")
	if err := o.Export(t.Context(), "api", nil, func(inspect.AuditRecord) error { return full }); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

// journalFile is the first file of a journal.
func journalFile(t *testing.T, rig *operatortest.Rig, name string) string {
	t.Helper()
	return filepath.Join(rig.State().Dir.JournalOf(name), "00000001.jsonl")
}

// Verify reads every line: a whole record passes, and each change of it is found and
// placed.
func TestVerify(t *testing.T) {
	t.Parallel()
	o, _, _ := worked(t)
	v, err := o.Verify(t.Context(), "api")
	if err != nil || !v.OK || len(v.Problems) != 0 || v.Recomputed != 2 || v.NotRecomputed != 0 || len(v.Journals) < 5 {
		t.Fatalf("%+v, %v", v, err)
	}
	for _, j := range v.Journals {
		if !j.OK || j.Head == "" || j.Records == 0 && j.Owner != "zoe" {
			t.Errorf("%+v", j)
		}
	}
	for what, c := range map[string]struct {
		edit func(text string) string
		who  string
		says string
	}{
		"a line of the leader's is changed": {func(s string) string { return strings.Replace(s, "a team of a test", "a team of a tost", 1) }, "leader", ""},
		"another line":                      {func(s string) string { return strings.Replace(s, `"name":"ann"`, `"name":"amy"`, 1) }, "leader", ""},
		"a member's end is cut off": {func(s string) string {
			lines := strings.SplitAfter(s, "\n")
			return strings.Join(lines[:len(lines)-4], "")
		}, "bob", "the end is missing"},
	} {
		t.Run(what, func(t *testing.T) {
			o, rig := newTeam(t)
			rig.Asks("bob", operatortest.Bash("make"))
			rig.Pending(1)
			name := "leader"
			if c.who == "bob" {
				name = string(rig.Instance("bob"))
			} else if strings.Contains(what, "another") {
				rig.Joined("ann", record.Cooperative)
			} else {
				rig.Write(journal.Draft{Kind: record.KindUnverified, Must: true, Body: record.Unverified{Entry: "1", Why: "a team of a test"}})
			}
			path := journalFile(t, rig, name)
			text, err := os.ReadFile(path)
			testenv.Must(t, err)
			bad := c.edit(string(text))
			if bad == string(text) {
				t.Fatal("nothing was changed")
			}
			testenv.Must(t, os.WriteFile(path, []byte(bad), 0o600))
			v, err := o.Verify(t.Context(), "api")
			if err != nil || v.OK || len(v.Problems) == 0 {
				t.Fatalf("%+v, %v", v, err)
			}
			p := v.Problems[0]
			if p.Owner != c.who || !strings.Contains(p.Why, c.says) || p.Seq == 0 || !strings.Contains(p.String(), "seq ") || c.who == "leader" && (p.File != path || p.Line == 0 || !strings.HasPrefix(p.String(), path+":")) {
				t.Errorf("%+v", v.Problems)
			}
			if c.who != "leader" {
				return
			}
			// Status tells what stands before the break.
			st, err := o.Status(t.Context(), "api")
			if err != nil || st.Broken == nil {
				t.Errorf("%+v, %v", st, err)
			}
		})
	}
	_, err = o.Verify(t.Context(), "nobody")
	operatortest.Is(t, "no team", err, operator.NotFound, "nobody")
	if got := (inspect.BadRecord{Owner: "ann", Seq: 3, Why: "gone"}).String(); got != "journal of ann: seq 3: gone" {
		t.Errorf("%s", got)
	}
}

// A divergence is a problem until somebody has acknowledged it.
func TestVerifyDivergence(t *testing.T) {
	t.Parallel()
	o, rig := newTeam(t)
	i := rig.Joined("ann", record.Cooperative)
	s := rig.Write(journal.Draft{Kind: record.KindDiverged, Must: true, Body: record.Diverged{Instance: i, Leader: 9, Why: "ann took an answer"}})
	v, err := o.Verify(t.Context(), "api")
	if err != nil || v.OK || len(v.Problems) != 1 || !strings.Contains(v.Problems[0].Why, "nobody has acknowledged it: ann took an answer") || v.Problems[0].Seq != uint64(s.Lead.Divergence.Seq) {
		t.Fatalf("%+v, %v", v, err)
	}
	rig.Write(journal.Draft{Kind: record.KindAcknowledged, Must: true, Body: record.Acknowledged{Ref: uint64(s.Lead.Divergence.Seq)}})
	if v, err = o.Verify(t.Context(), "api"); err != nil || !v.OK {
		t.Errorf("%+v, %v", v, err)
	}
}

// Why, Peek and Recap still work for a team that has ended, from its record and the archive.
func TestPastTeam(t *testing.T) {
	t.Parallel()
	o, rig := newTeam(t)
	i := rig.Joined("ann", record.Cooperative)
	s := rig.Write(journal.Draft{Kind: record.KindLeft, Must: true, Body: record.Left{Instance: i, How: record.LeftStopped}},
		journal.Draft{Kind: record.KindEnded, Must: true, Body: record.Ended{How: "down"}})
	kept := filepath.Join(s.Dir.Archive(), time.Now().UTC().Format(mail.StampForm), "tasks", "ann")
	testenv.Must(t, os.MkdirAll(kept, 0o700))
	testenv.Must(t, os.WriteFile(filepath.Join(kept, "output.log"), []byte("last words\n"), 0o600))
	for _, dir := range []string{o.Root.TeamDir("api"), o.Root.TasksDir("api")} {
		testenv.Must(t, os.RemoveAll(dir))
	}
	p, err := o.Peek(t.Context(), "api", "ann", 5)
	if err != nil || p.Where != inspect.WhereArchive || !slices.Equal(p.Lines, []string{"last words"}) || p.State != "left" {
		t.Errorf("%+v, %v", p, err)
	}
	y, err := o.Why(t.Context(), "api", "ann")
	if err != nil || y.State != "left" || slices.ContainsFunc(y.Evidence, func(e inspect.Fact) bool { return e.Source == "mailbox" }) {
		t.Errorf("%+v, %v", y, err)
	}
	d, err := o.Recap(t.Context(), "api", time.Time{})
	if err != nil || d.State != "ended" || d.SinceWhy != "the team began" || len(d.Members) != 2 || d.Members[1].What != "left" {
		t.Errorf("%+v, %v", d, err)
	}
}

// Recap reports the messages that were sent from here to another program's team, also after that team
// is gone.
func TestRecapForeign(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	o := inspect.Of(op)
	operatortest.Foreign(t, op, "theirs", nil, map[string]any{"name": "team-lead"}, map[string]any{"name": "bob"})
	testenv.Value(mail.Of(op).Send(t.Context(), "theirs", mail.Message{To: protocol.Address{Scheme: protocol.SchemeMember, Member: "bob"}, Text: "hello bob"}))(t)
	for _, state := range []string{"other", "ended"} {
		d, err := o.Recap(t.Context(), "theirs", time.Time{})
		if err != nil || d.State != state || len(d.Sent) != 1 || d.Sent[0].To != "bob" || d.Sent[0].Text != "hello bob" {
			t.Errorf("%s: %+v, %v", state, d, err)
		}
		if !o.WorkedIn(t.Context(), "theirs") {
			t.Error("words were sent there")
		}
		testenv.Must(t, os.RemoveAll(o.Root.TeamDir("theirs")))
	}
	if ks, err := o.PastNames(); err != nil || len(ks) != 1 || ks[0].Name != "theirs" {
		t.Errorf("%+v, %v", ks, err)
	}
}

// A file that two living members wrote is an overlap, and is noted once.
func TestOverlaps(t *testing.T) {
	t.Parallel()
	o, rig := newTeam(t)
	file := filepath.Join(rig.T.TempDir(), "shared.txt")
	in := testenv.Value(json.Marshal(map[string]string{"file_path": file, "content": "x"}))(t)
	rig.Asks("ann", operatortest.Ask{Tool: "Write", Input: string(in)})
	rig.Asks("bob", operatortest.Ask{Tool: "Write", Input: string(in)})
	reqs := rig.Pending(2)
	overlaps := func() []inspect.Overlap { return testenv.Value(o.Status(t.Context(), "api"))(t).Overlaps }
	if got := overlaps(); len(got) != 0 {
		t.Errorf("before anything was written: %+v", got)
	}
	allow(t, rig, reqs)
	rig.Until("both have written", func(l *control.Leader) bool {
		n := 0
		for _, m := range l.Members {
			if m.LastIdle != nil {
				n++
			}
		}
		return n == 2
	})
	found := overlaps()
	if len(found) != 1 || filepath.Base(found[0].File) != "shared.txt" || found[0].Repo != "" || !slices.Equal(found[0].Members, []string{"ann", "bob"}) {
		t.Fatalf("%+v", found)
	}
	k := inspect.NewWatcher(o, time.Second)
	var notes []operator.Note
	for range 2 {
		k.Take(found, func(n operator.Note) { notes = append(notes, n) })
	}
	if len(notes) != 1 || notes[0].What != operator.NoteOverlap || notes[0].Member != "ann, bob" || notes[0].Text != found[0].File || len(k.All) != 1 {
		t.Errorf("%+v", notes)
	}
	var many []inspect.Overlap
	for i := range 12 {
		many = append(many, inspect.Overlap{File: string(rune('a' + i)), Members: []string{"ann", "bob"}})
	}
	notes = nil
	k.Take(many, func(n operator.Note) { notes = append(notes, n) })
	if len(notes) != 11 || !strings.HasPrefix(notes[10].Text, "2 more files") {
		t.Errorf("%+v", notes)
	}
	k.Close()
}

// allow answers requests in the operator's name.
func allow(t *testing.T, rig *operatortest.Rig, reqs []*control.Request) {
	t.Helper()
	var as []decide.Answer
	for _, r := range reqs {
		as = append(as, decide.Answer{ID: string(r.ID), Allow: true, Via: "approve"})
	}
	ds, err := decide.Of(rig.Op).Decide(t.Context(), rig.Name, as)
	if err != nil || len(ds) != len(reqs) {
		t.Fatalf("%+v, %v", ds, err)
	}
}

// TestOneBrokenJournal: a member's journal that is broken hides nothing of the others. It is named, to whom it concerns.
func TestOneBrokenJournal(t *testing.T) {
	t.Parallel()
	o, rig, _ := worked(t)
	path := journalFile(t, rig, string(rig.Instance("bob")))
	text, err := os.ReadFile(path)
	testenv.Must(t, err)
	first := bytes.IndexByte(text, '\n') + 1
	text[first+9] ^= 1
	testenv.Must(t, os.WriteFile(path, text, 0o600))
	owners := func(err error) (names string) {
		for _, e := range operator.JournalErrors(err) {
			file, line, _, why := e.Place()
			if e.Team != "api" || file != path || line != 2 || why == "" {
				t.Errorf("%+v: %s:%d: %s", e, file, line, why)
			}
			names += e.Owner
		}
		return names
	}
	_, es, err := o.Audit(t.Context(), "api", operator.AuditQuery{})
	if got := owners(err); got != "bob" || len(es) < 2 {
		t.Errorf("%d calls, %v", len(es), err)
	}
	if _, es, err := o.Audit(t.Context(), "api", operator.AuditQuery{Member: "ann"}); err != nil || len(es) != 1 {
		t.Errorf("%d calls, %v", len(es), err)
	} else if d, err := o.AuditShow(t.Context(), "api", es[0].ID); err != nil || len(d.Records) == 0 {
		t.Errorf("%+v, %v", d, err)
	}
	l, err := o.OpenLog(t.Context(), "api")
	testenv.Must(t, err)
	recs, err := l.Next(t.Context())
	n := map[string]int{}
	for _, r := range recs {
		n[r.Name]++
	}
	if owners(err) != "bob" || n["bob"] != 1 || n["ann"] < 2 || n["leader"] < 2 {
		t.Errorf("%v, %v", n, err)
	}
	if operator.About(err, "ann") != nil || operator.About(err, "BOB") == nil {
		t.Error("it is about another member")
	}
	if recs, err := l.Next(t.Context()); len(recs) > 0 || err != nil {
		t.Errorf("again: %d, %v", len(recs), err)
	}
}
