package live_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/face/tui"
	"waggle/internal/face/tui/live"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/record"
)

// TestWhy: the tab Why has what waggle why says of a request, and of its member with the evidence.
func TestWhy(t *testing.T) {
	op := operatortest.New(t)
	r := operatortest.Team(t, op, "api", record.PolicySet{})
	r.Asks("ann", operatortest.Bash("make"))
	q := r.Pending(1)[0]
	src := live.Of(op, "")
	read := func(p tui.Page) string {
		t.Helper()
		paper, err := src.Page(t.Context(), p)
		testenv.Must(t, err)
		return strings.Join(paper.Lines, "\n")
	}
	member := read(tui.Page{Tab: tui.TabWhy, Team: "api", Member: "ann", Lines: 1000})
	if !strings.Contains(member, "ann  needs you") || !strings.Contains(member, "SOURCE") || strings.Contains(member, "\nnow\n") {
		t.Error(member)
	}
	asked := read(tui.Page{Tab: tui.TabWhy, Team: "api", Member: "ann", Ask: string(q.ID), Lines: 1000})
	for _, text := range []string{q.Handle, "it waits for an answer", "\nnow\n", "ann  needs you", "SOURCE"} {
		if !strings.Contains(asked, text) {
			t.Errorf("%q is missing: %s", text, asked)
		}
	}
	if _, err := src.Page(t.Context(), tui.Page{Tab: tui.TabWhy, Team: "api", Member: "nobody"}); err == nil {
		t.Error("of nobody")
	}
}

// TestDue: what the person has to look at, and no row shows, is said with the command that shows it.
func TestDue(t *testing.T) {
	op := operatortest.New(t)
	r := operatortest.Team(t, op, "api", record.PolicySet{})
	r.Write(journal.Draft{Kind: record.KindUnverified, Must: true, Body: record.Unverified{Entry: "1", Box: "team-lead", From: "eve", Why: "no record"}})
	src := live.Of(op, "")
	src.Step = func(n operator.Next) string { return string(n.Step) + " of " + string(n.Team) }
	c, err := src.Crew(t.Context())
	if want := "team api: 1 message claimed an authority that it does not have  " + string(operator.NextLogUnverified) + " of api"; err != nil || !slices.Contains(c.Problems, want) {
		t.Errorf("%q: %v", c.Problems, err)
	}
}

// TestDone: a team that has ended, and a member that has left one that goes on.
func TestDone(t *testing.T) {
	op := operatortest.New(t)
	old := operatortest.Team(t, op, "old", record.PolicySet{})
	old.Write(journal.Draft{Kind: record.KindEnded, Must: true, Body: record.Ended{How: "down"}})
	r := operatortest.Team(t, op, "api", record.PolicySet{})
	s := r.State()
	ann := r.Enlist(s, "ann")
	r.Enlist(s, "bob")
	r.Write(journal.Draft{Kind: record.KindLeft, Must: true, Body: record.Left{Instance: ann.Instance, How: record.LeftStopped}})
	done, err := live.Of(op, "").Done(t.Context())
	testenv.Must(t, err)
	var got []string
	for _, d := range done {
		got = append(got, strings.Join([]string{d.Kind, d.Team, d.Member, d.Says, string(d.Do.Step)}, "|"))
	}
	if want := "team|old||ended: taken down|read-ended\nmember|api|ann|was ended|why"; !strings.HasPrefix(strings.Join(got, "\n"), want) {
		t.Errorf("%q, want %q", got, want)
	}
	done, err = live.Of(op, "api").Done(t.Context())
	if err != nil || len(done) == 0 || done[0].Member != "ann" {
		t.Errorf("of one team: %+v, %v", done, err)
	}
}

// TestProposal: a proposal is started, and not decided as a request.
func TestProposal(t *testing.T) {
	src := live.Of(operatortest.New(t), "")
	var got []tui.Act
	src.Start = func(_ context.Context, a tui.Act) ([]string, error) {
		got = append(got, a)
		return []string{"ann of team x is working"}, nil
	}
	var q decide.Request
	q.Kind, q.ID, q.Team, q.Digest = decide.KindProposal, "p-1", decide.SessionTeam, "d"
	act := tui.Act{Verb: tui.Allow, Requests: []decide.Request{q}}
	lines, err := src.Do(t.Context(), act)
	if err != nil || len(got) != 1 || len(lines) != 1 || got[0].Requests[0].Digest != act.Requests[0].Digest {
		t.Errorf("%q, %v, %+v", lines, err, got)
	}
	act.Verb = tui.Deny // there is no such proposal
	if _, err := src.Do(t.Context(), act); len(got) != 1 {
		t.Errorf("a denial starts it: %v, %+v", err, got)
	}
}

// TestSessionAtADialog: a session that waits at a dialog of its own is one of the crew, with what is known of it.
func TestSessionAtADialog(t *testing.T) {
	op := operatortest.New(t)
	op.ClaudeDir = t.TempDir()
	testenv.Must(t, os.Mkdir(filepath.Join(op.ClaudeDir, "sessions"), 0o700))
	entry := fmt.Sprintf(`{"pid":%d,"sessionId":"s-1","name":"mine","kind":"interactive","status":"waiting","statusUpdatedAt":1}`, os.Getpid())
	testenv.Must(t, os.WriteFile(filepath.Join(op.ClaudeDir, "sessions", fmt.Sprint(os.Getpid(), ".json")), []byte(entry), 0o600))
	src := live.Of(op, "")
	crew, err := src.Crew(t.Context())
	if err != nil || len(crew.Members) != 1 || crew.Members[0].Is != inspect.ConditionNeedsYou || !strings.Contains(crew.Members[0].Why, "answer in its own terminal") {
		t.Fatalf("%+v, %v", crew, err)
	}
	known, err := src.Page(t.Context(), tui.Page{Tab: tui.TabOutput, Team: crew.Members[0].Team, Member: "mine", Lines: 100})
	if text := strings.Join(known.Lines, "\n"); err != nil || !strings.Contains(text, "mine is session s-1") || !strings.Contains(text, "its questions are not seen") {
		t.Errorf("%v: %s", err, text)
	}
}

// TestDamage: the screen has what waggle status says is wrong with the files of a team.
func TestDamage(t *testing.T) {
	op := operatortest.New(t)
	operatortest.Team(t, op, "api", record.PolicySet{})
	testenv.Must(t, os.WriteFile(op.Root.ConfigPath("api"), []byte("{"), 0o600))
	st, err := inspect.Of(op).Status(t.Context(), "api")
	if err != nil || len(st.Damage) == 0 {
		t.Fatalf("%+v: %v", st, err)
	}
	c, err := live.Of(op, "").Crew(t.Context())
	if err != nil || !slices.Contains(c.Problems, "team api: "+st.Damage[0]) {
		t.Errorf("%q: %v", c.Problems, err)
	}
}
