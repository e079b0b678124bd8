package teams_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
	"waggle/worker"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	o, ctx := teams.Of(op), t.Context()
	s, err := o.CreateAs(ctx, "api", teamfile.About{Description: "the API", Metadata: []byte(`{"k":1}`)}, mailbox.JSONL, ofMode(policy.ModeDefault))
	if err != nil || s.Lead.Policy.Policy.Version != 1 || s.Lead.Policy.By != policy.RoleOperator || s.Dir.Unmade() {
		t.Fatalf("%+v, %v", s, err)
	}
	cfg, err := op.Listing(ctx, "api")
	if err != nil || cfg.Description != "the API" || !slices.Equal(cfg.Present(), []protocol.MemberName{protocol.Lead}) || operator.UIDOf(cfg) != s.Dir.UID || cfg.SchemaVersion != team.SchemaVersion {
		t.Errorf("%+v, %v", cfg, err)
	}
	if l, err := op.Boxes("api").Layout(); err != nil || l != mailbox.JSONL {
		t.Errorf("%v, %v", l, err)
	}
	_, err = o.Create(ctx, "api", "again", ofMode(policy.ModeDefault))
	operatortest.Fails(t, err, operator.Failed, "team api is there already")
	held, err := op.Claim("test", "web")
	testenv.Must(t, err)
	_, err = o.Create(ctx, "web", "", ofMode(policy.ModeDefault))
	operatortest.Fails(t, err, operator.Locked, "makes a team web at this moment")
	if _, err := o.Make(ctx, "web", teamfile.About{}, mailbox.Array, ofMode(policy.ModeDefault)); err != nil {
		t.Errorf("who holds the name: %v", err)
	}
	held.Free()
	for name, about := range map[protocol.TeamName]string{"a b": "", "UPPER_/": "", "fine": strings.Repeat("x", 100_000)} {
		_, err := o.Create(ctx, name, about, ofMode(policy.ModeDefault))
		if operator.KindOf(err) != operator.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
	if names, err := op.Root.Names(); err != nil || len(names) != 2 {
		t.Errorf("%v, %v", names, err)
	}
}

// Create makes a team within the user's ceiling, or none.
func TestCreateUnderACeiling(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	op.Ceiling = &record.Ceiling{File: "config", SHA256: "00", Mode: policy.ModePlan}
	_, err := teams.Of(op).Create(t.Context(), "wide", "", ofMode(policy.ModeAcceptEdits))
	var over *record.CeilingError
	if operatortest.Fails(t, err, operator.Refused, ""); !errors.As(err, &over) || len(over.Over) == 0 {
		t.Errorf("%v", err)
	}
	s, err := teams.Of(op).Create(t.Context(), "api", "", ofMode(policy.ModeDefault))
	if err != nil || s.Lead.Policy.Policy.Mode != policy.ModePlan || !s.Lead.Policy.Ceiling.Same(op.Ceiling) {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.Team(t, op, "api", record.PolicySet{})
	i := join(t, tm, teamfile.FileMember{Name: "ann", Type: "reviewer", Prompt: "you review", Color: "red", PlanRequired: true, Mode: policy.ModePlan, Cwd: "/"})
	m, ok := tm.State().Lead.ByInstance(i)
	if !ok || m.Name != "ann" || !m.PlanRequired || m.Joined.Mode != policy.ModePlan || m.Trust != record.Cooperative || m.Agent != "exec" || m.Channel != "" {
		t.Errorf("on record: %+v", m)
	}
	cfg, err := op.Listing(t.Context(), "api")
	testenv.Must(t, err)
	if e, ok := cfg.Member("ann"); !ok || e.AgentType != "reviewer" || e.Prompt != "you review" || e.Color != "red" || e.Cwd != "/" {
		t.Errorf("in the registry: %+v", e)
	}
	_, _, err = teams.Of(op).Join(t.Context(), tm.State(), teamfile.FileMember{Name: "Ann", Agent: "exec"})
	operatortest.Fails(t, err, operator.Refused, "the name is taken: ann is a member")
	// The artifacts of an earlier member of a name do not become those of the next one.
	write(t, op.Root.MemberDir("api", "ann")+"/artifacts/a.txt", "a")
	testenv.Must(t, teams.Of(op).Remove(t.Context(), "api", "ann"))
	join(t, tm, teamfile.FileMember{Name: "ann"})
	if exists(op.Root.MemberDir("api", "ann") + "/artifacts/a.txt") {
		t.Error("the files of another ann")
	}
	rows, _, err := board.Of(op).Artifacts(t.Context(), "api", "ann")
	if err != nil || len(rows) != 0 {
		t.Errorf("%+v, %v", rows, err)
	}
}

// The process that leads takes a member that has left off the registry after that is on record: a new member
// of its name waits for it.
func TestJoinAfterLeft(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.Team(t, op, "api", record.PolicySet{})
	i := join(t, tm, teamfile.FileMember{Name: "ann"})
	s := tm.Write(journal.Draft{Kind: record.KindLeft, Must: true, Body: record.Left{Instance: i, How: record.LeftStopped}})
	reg, err := team.Open(op.Root, "api", team.Options{})
	testenv.Must(t, err)
	looks, now := 0, op.Minter.Now
	late := op
	late.Minter.Now = func() time.Time {
		if looks++; looks == 4 { // after the registry was asked once
			if err := reg.Remove(t.Context(), "ann", now()); err != nil {
				t.Error(err)
			}
		}
		return now()
	}
	added, j, err := teams.Of(late).Join(t.Context(), s, teamfile.FileMember{Name: "ann", Agent: "exec"})
	if err != nil || added.Name != "ann" || j == i {
		t.Errorf("%+v, %v", added, err)
	}
	if looks < 4 {
		t.Errorf("the clock was read %d times: the registry was free before it was asked", looks)
	}
}

// Clear frees a name from a team of waggle in which nobody works, and from nothing else.
func TestClear(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	o, ctx := teams.Of(op), t.Context()
	var told []operator.Note
	note := func(n operator.Note) { told = append(told, n) }
	if err := o.Clear(ctx, "none", note); err != nil || len(told) != 0 {
		t.Errorf("%v, %v", told, err)
	}
	tm := operatortest.Team(t, op, "api", record.PolicySet{})
	join(t, tm, teamfile.FileMember{Name: "ann"})
	archive := tm.State().Dir.Archive()
	if err := o.Clear(ctx, "api", note); err != nil || exists(op.Root.TeamDir("api")) {
		t.Fatal(err)
	}
	if len(told) != 1 || !strings.Contains(told[0].Text, "cut short with 1 members and 0 open questions") || !strings.Contains(told[0].Text, archive) {
		t.Errorf("%+v", told)
	}
	live := operatortest.Team(t, op, "live", record.PolicySet{})
	live.Member("ann", operatortest.Idle)
	operatortest.Fails(t, o.Clear(ctx, "live", note), operator.Locked, "team live is live")
	operatortest.ForeignTeam(t, op, foreign)
	operatortest.Fails(t, o.Clear(ctx, foreign, note), operator.Refused, "of which this waggle has no records")
	if !exists(op.Root.TeamDir("live")) || !exists(op.Root.TeamDir(foreign)) {
		t.Error("it is gone all the same")
	}
	// Clear puts away the rest of a team that has ended without a note.
	done := operatortest.Team(t, op, "done", record.PolicySet{})
	recordOf(t, done, func(*control.Leader) []journal.Draft {
		return []journal.Draft{{Kind: record.KindEnded, Must: true, Body: record.Ended{How: "deleted"}}}
	})
	told = nil
	if err := o.Clear(ctx, "done", note); err != nil || len(told) != 0 || exists(op.Root.TeamDir("done")) {
		t.Errorf("%+v, %v", told, err)
	}
}

// Clear puts away mail that was written under a name without a team, and a note reports it.
func TestClearOfMailThatWasLeft(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	write(t, op.Root.InboxesDir("api")+"/bob.json", `[{"from":"x","text":"hello?","timestamp":"2026-02-16T10:30:00.000Z","read":false}]`)
	var told []operator.Note
	testenv.Must(t, teams.Of(op).Clear(t.Context(), "api", func(n operator.Note) { told = append(told, n) }))
	if len(told) != 1 || !strings.Contains(told[0].Text, "api") || exists(op.Root.TeamDir("api")) {
		t.Errorf("%+v", told)
	}
}

func TestLedBy(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	op.Agent = agent.Decider(nil)
	o := teams.Of(op)
	if by, err := o.LedBy(&teamfile.File{}); err != nil || by.Agent != nil {
		t.Errorf("%+v, %v", by.Agent, err)
	}
	lead := func(kind, spec string) (operator.Operator, error) {
		return o.LedBy(&teamfile.File{Lead: &teamfile.FileMember{Name: "boss", Agent: kind, Spec: []byte(spec)}})
	}
	if by, err := lead("script", `{"decide":{"answer":"allow"}}`); err != nil || by.Agent == nil {
		t.Errorf("%+v, %v", by.Agent, err)
	}
	if by, err := lead("exec", `{"command":["cat"]}`); err != nil || by.Agent != nil {
		t.Errorf("one that decides nothing leaves it to the operator: %+v, %v", by.Agent, err)
	}
	if _, err := lead("nonsense", ""); err == nil || !strings.Contains(err.Error(), "lead boss") {
		t.Errorf("%v", err)
	}
}

// A token lets one process join, once, while it lasts.
func TestToken(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	now := time.Now()
	op.Minter.Now = func() time.Time { return now }
	tm := operatortest.Team(t, op, "api", record.PolicySet{})
	o, ctx := teams.Of(op), t.Context()
	ann := teamfile.FileMember{Name: "ann", Agent: "exec", Cwd: t.TempDir()}
	for _, c := range []struct {
		team protocol.TeamName
		name protocol.MemberName
		life time.Duration
		code operator.Kind
		says string
	}{
		{"api", "a b", 0, operator.Usage, "a b"},
		{"api", "ann", 25 * time.Hour, operator.Usage, "at most 24h"},
		{"api", "ann", -1, operator.Usage, "at most 24h"},
		{"gone", "ann", 0, operator.NotFound, "gone"},
	} {
		_, err := o.MintToken(ctx, c.team, teamfile.FileMember{Name: c.name, Agent: "exec"}, c.life)
		operatortest.Fails(t, err, c.code, c.says)
	}
	m, err := o.MintToken(ctx, "api", ann, 0)
	if err != nil || m.Team != "api" || m.Member != "ann" || !strings.HasPrefix(m.Token, "api:") || !m.Expires.Equal(now.Add(teams.DefaultTokenLife)) {
		t.Fatalf("%+v, %v", m, err)
	}
	for _, c := range []struct {
		token string
		code  operator.Kind
		says  string
	}{
		{"", operator.Refused, "is no token"},
		{"api", operator.Refused, "is no token"},
		{"api:", operator.Refused, "is no token"},
		{"a b:x", operator.Refused, "is no token"},
		{"api:wrong", operator.Refused, "never made"},
		{"gone:x", operator.NotFound, "gone"},
	} {
		_, _, _, err := o.JoinWith(ctx, c.token)
		operatortest.Fails(t, err, c.code, c.says)
		operatortest.Fails(t, o.Work(ctx, c.token, worker.Options{}), c.code, c.says)
	}
	s, added, i, err := o.JoinWith(ctx, " "+m.Token+"\n")
	if err != nil || added.Name != "ann" {
		t.Fatalf("%+v, %v", added, err)
	}
	if jm, ok := s.Lead.ByInstance(i); !ok || !strings.HasPrefix(jm.Channel, "token ") || strings.Contains(jm.Channel, m.Token[4:]) {
		t.Errorf("%+v", jm)
	}
	_, _, _, err = o.JoinWith(ctx, m.Token)
	operatortest.Fails(t, err, operator.Refused, "was used")
	_, err = o.MintToken(ctx, "api", ann, 0)
	operatortest.Fails(t, err, operator.Refused, "ann is a member of api already")

	bob := teamfile.FileMember{Name: "bob", Agent: "exec"}
	late, err := o.MintToken(ctx, "api", bob, time.Minute)
	testenv.Must(t, err)
	// A token that cannot join stays valid.
	tm.ByFile("bob")
	_, _, _, err = o.JoinWith(ctx, late.Token)
	operatortest.Fails(t, err, operator.Refused, "the name is taken")
	now = now.Add(time.Minute)
	_, _, _, err = o.JoinWith(ctx, late.Token)
	operatortest.Fails(t, err, operator.Refused, "this token has expired")
	if _, err := o.MintToken(ctx, "api", teamfile.FileMember{Name: "cas", Agent: "exec"}, 0); err != nil {
		t.Fatal(err)
	}
	_, _, _, err = o.JoinWith(ctx, late.Token)
	operatortest.Fails(t, err, operator.Refused, "never made, was used, or has expired")
	tm.Member("dan", operatortest.Idle)
	_, err = teams.Of(tm.FromInside()).MintToken(ctx, "api", teamfile.FileMember{Name: "eve", Agent: "exec"}, 0)
	operatortest.Fails(t, err, operator.Refused, "token was called from inside member dan")
}
