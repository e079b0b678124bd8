package mail_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"waggle/control"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

func register(r *operatortest.Rig, m team.Member, unique bool) (team.Member, string, error) {
	m.JoinedAt, m.AgentType, m.Subscriptions = r.Op.Minter.Now(), "general-purpose", []string{}
	return mail.Of(r.Op).Register(r.T.Context(), r.Name, m, unique)
}

// A registered member is in the registry, on record with trust file, and has its prompt in the
// mailbox.
func TestRegister(t *testing.T) {
	t.Parallel()
	_, tm := operatortest.API(t)
	added, archived, err := register(tm, team.Member{Name: "bob", Prompt: "you review"}, false)
	if err != nil || added.Name != "bob" || archived != "" || added.Model != mail.NoModel || added.IsActive == nil {
		t.Fatalf("%+v, %q, %v", added, archived, err)
	}
	m, ok := tm.State().Lead.Member("bob")
	if !ok || m.Trust != record.FileTrust || m.Backend != mail.BackendRegistered || m.Agent != mail.BackendRegistered || m.Left != nil {
		t.Errorf("on record: %+v", m)
	}
	e := inbox(t, tm, "bob").Entries
	if len(e) != 1 || e[0].Text != "you review" || e[0].Summary != "Initial system prompt" || e[0].Entry.Envelope.Type != string(protocol.KindSystemInit) {
		t.Errorf("%+v", e)
	}
	_, _, err = register(tm, team.Member{Name: "Bob"}, false)
	operatortest.Fails(t, err, operator.Refused, "taken")
	second, _, err := register(tm, team.Member{Name: "bob"}, true)
	if err != nil || second.Name == "bob" {
		t.Errorf("%+v, %v", second, err)
	}
	_, _, err = register(tm, team.Member{Name: "cas", Prompt: " "}, false)
	operatortest.Fails(t, err, operator.Usage, "prompt")
	if _, ok := tm.State().Lead.Member("cas"); ok {
		t.Error("who was refused is on record")
	}
	gone := *tm
	gone.Name = "gone"
	_, _, err = register(&gone, team.Member{Name: "bob"}, false)
	operatortest.Fails(t, err, operator.NotFound, "gone")
}

// The mail of an earlier member of a name does not become that of the next one.
func TestRegisterPutsOldMailAway(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.WriteMailbox("bob", `[{"from":"x","text":"for another bob","timestamp":"2026-02-16T10:30:00.000Z","read":false}]`)
	_, archived, err := register(tm, team.Member{Name: "bob"}, false)
	if err != nil || !strings.Contains(read(t, archived), "for another bob") || !strings.HasPrefix(archived, tm.State().Dir.Archive()) {
		t.Fatalf("%q, %v", archived, err)
	}
	if n := len(inbox(t, tm, "bob").Entries); n != 0 {
		t.Errorf("%d old messages", n)
	}
	kept, err := mail.Of(op).Archived(t.Context(), "api", "bob", true)
	if err != nil || !slices.Equal(texts(kept), []string{"for another bob"}) {
		t.Errorf("%+v, %v", kept, err)
	}
}

// In another program's team, Discharge records the end only of a member that was registered here, and
// a second Admit replaces the first membership.
func TestAdmitAndDischarge(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.ForeignTeam(t, op, foreign, "theirs")
	tm.ByFile("ours")
	cfg := testenv.Value(op.Listing(t.Context(), foreign))(t)
	of := func() (*operator.State, *control.Member) {
		s, led, err := mail.Of(op).JournalOf(t.Context(), cfg)
		if err != nil || led {
			t.Fatal(led, err)
		}
		m, _ := s.Lead.Member("ours")
		return s, m
	}
	s, first := of()
	if s.JournalName != operator.OwnJournal || first.Left != nil || first.Trust != record.FileTrust {
		t.Fatalf("%+v", first)
	}
	testenv.Must(t, mail.Of(op).Admit(t.Context(), cfg, team.Member{Name: "ours"}))
	s, second := of()
	old, ok := s.Lead.ByInstance(first.Instance)
	if !ok || second.Instance == first.Instance || old.Left == nil || old.Left.How != record.LeftReplaced {
		t.Errorf("%+v, then %+v", old, second)
	}
	operatortest.Fails(t, mail.Of(op).Discharge(t.Context(), cfg, "theirs"), operator.Refused, "theirs was not registered here")
	testenv.Must(t, mail.Of(op).Discharge(t.Context(), cfg, "ours"))
	if _, m := of(); m.Left == nil || m.Left.How != record.LeftReleased {
		t.Errorf("%+v", m)
	}
	operatortest.Fails(t, mail.Of(op).Discharge(t.Context(), cfg, "ours"), operator.Refused, "ours was not registered here")
}

func TestSigner(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.ForeignTeam(t, op, foreign, "theirs")
	cfg := func() *team.Config {
		return testenv.Value(op.Registry(t.Context(), foreign))(t)
	}
	signer := func(led bool, as string) (protocol.MemberName, error) {
		s, _, err := mail.Of(op).JournalOf(t.Context(), cfg())
		testenv.Must(t, err)
		return mail.Of(op).Signer(t.Context(), s, cfg(), led, as)
	}
	if name, err := signer(true, "THEIRS"); name != "theirs" || err != nil {
		t.Errorf("in a team that waggle leads anybody's: %q, %v", name, err)
	}
	_, err := signer(true, "ghost")
	operatortest.Fails(t, err, operator.Refused, "ghost is not in the registry")
	if name, err := signer(false, ""); name != "waggle" || err != nil {
		t.Errorf("the first: %q, %v", name, err)
	}
	if name, err := signer(false, ""); name != "waggle" || err != nil {
		t.Errorf("the only one: %q, %v", name, err)
	}
	tm.ByFile("ours")
	if name, err := signer(false, "Ours"); name != "ours" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	_, err = signer(false, "theirs")
	operatortest.Fails(t, err, operator.Refused, "theirs was not registered here")
	_, err = signer(false, "")
	operatortest.Fails(t, err, operator.Usage, "several")
}

// A team that has ended and whose files still exist is a Leftover, and takes no members.
func TestLeftover(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	leftover := func(name protocol.TeamName) *operator.State {
		return testenv.Value(mail.Of(op).Leftover(t.Context(), name))(t)
	}
	if leftover("api") != nil || leftover("gone") != nil {
		t.Error("a team that lives, or none, is left over")
	}
	s := tm.State()
	testenv.Must(t, mail.Of(op).Append(t.Context(), s, func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: record.KindEnded, Must: true, Body: record.Ended{How: "deleted"}}}, nil
	}))
	if left := leftover("api"); left == nil || left.Dir.UID != s.Dir.UID {
		t.Fatalf("%+v", left)
	}
	if _, _, err := register(tm, team.Member{Name: "bob"}, false); err == nil || !strings.Contains(err.Error(), "deleting") {
		t.Errorf("%v", err)
	}
	testenv.Must(t, os.WriteFile(op.Root.ConfigPath("api"), []byte("{"), 0o600))
	if leftover("api") != nil {
		t.Error("nothing says whose these files are")
	}
}

func TestArchiveOf(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	s := tm.State()
	if at, err := mail.Of(op).ArchiveOf(s, nil); at != s.Dir.Archive() || err != nil {
		t.Errorf("%q, %v", at, err)
	}
	operatortest.ForeignTeam(t, op, foreign)
	cfg := testenv.Value(op.Listing(t.Context(), foreign))(t)
	want := op.Home.Dir(op.RootURL, foreign, operator.UIDOf(cfg)).Archive()
	if at, err := mail.Of(op).ArchiveOf(nil, cfg); at != want || err != nil || !strings.HasPrefix(at, op.Home.Path) {
		t.Errorf("%q, not %q, %v", at, want, err)
	}
}
