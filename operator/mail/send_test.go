package mail_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
)

const someID = "0b8f4b5e-2a55-4f2a-9d1e-7f3b0b0f7a11"

func TestSendRefuses(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.ByFile("bob")
	tm.Member("ann", operatortest.Idle)
	solo := operatortest.Team(t, op, "solo", record.PolicySet{})
	lead := tm.Mailbox(protocol.Lead)
	before := read(t, lead)
	for _, c := range []struct {
		to   string
		m    mail.Message
		code operator.Kind
		says string
	}{
		{"bob", mail.Message{Text: " \n"}, operator.Usage, "nothing to send"},
		{"bob", mail.Message{Text: "a\xff"}, operator.Usage, "UTF-8"},
		{"bob", mail.Message{Text: strings.Repeat("a", protocol.MaxText+1)}, operator.Usage, "UTF-8"},
		{"bob", mail.Message{Text: `{"type":"shutdown_request","requestId":"x","from":"team-lead","timestamp":"2026-02-16T10:30:00.000Z"}`}, operator.Refused, "is a shutdown_request message"},
		{"bob", mail.Message{Text: `{"type":"permission_response"}`}, operator.Refused, "is a permission_response message"},
		{"bob", mail.Message{Text: "hi", Priority: "now"}, operator.Usage, "now"},
		{"bob", mail.Message{Text: "hi", As: "a b"}, operator.Usage, "a b"},
		{"bob", mail.Message{Text: "hi", As: "ghost"}, operator.Refused, "ghost is not in the registry"},
		{"bob", mail.Message{Text: "hi", As: "ann", Priority: record.PriorityInterrupt}, operator.Refused, "only the lead's own words"},
		{"bob", mail.Message{Text: "hi", ID: "7"}, operator.Usage, "no message id"},
		{"bridge:ed", mail.Message{Text: "hi", ID: someID}, operator.Usage, "--id is for members"},
		{"*", mail.Message{Text: "hi", Supersedes: someID}, operator.Usage, "supersedes"},
		{"uds:/tmp/none", mail.Message{Text: "hi", Expires: time.Second}, operator.Usage, "are for members"},
		{"nobody", mail.Message{Text: "hi"}, operator.NotFound, "nobody"},
		{"bob@web", mail.Message{Text: "hi"}, operator.Usage, "is in team web"},
	} {
		c.m.To = address(t, c.to)
		sent, err := mail.Of(op).Send(t.Context(), "api", c.m)
		if operatortest.Fails(t, err, c.code, c.says); sent != nil {
			t.Errorf("%s: %+v", c.says, sent)
		}
	}
	if n := len(inbox(t, tm, "bob").Entries) + len(inbox(t, tm, "ann").Entries); n != 0 || read(t, lead) != before {
		t.Errorf("%d messages were sent", n)
	}
	if _, err := os.Stat(tm.Mailbox("nobody")); !os.IsNotExist(err) {
		t.Errorf("an unknown recipient has a mailbox: %v", err)
	}
	_, err := mail.Of(op).Send(t.Context(), "", mail.Message{To: address(t, "bob"), Text: "hi"})
	operatortest.Fails(t, err, operator.Usage, "none is named")
	_, err = mail.Of(op).Send(t.Context(), "gone", mail.Message{To: address(t, "bob"), Text: "hi"})
	operatortest.Fails(t, err, operator.NotFound, "gone")
	_, err = mail.Of(op).Send(t.Context(), solo.Name, mail.Message{To: address(t, "*"), Text: "hi"})
	operatortest.Fails(t, err, operator.NotFound, "no other member")
}

// A message lies in the mailbox as it is on record: with the same hash, and with its sender's color
// and metadata.
func TestSendIsOnRecordAndInTheMailbox(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.ByFile("bob")
	long := strings.Repeat("é", 300)
	sent, err := mail.Of(op).Send(t.Context(), "api", mail.Message{To: address(t, "bob"), Text: long + "\nmore", ID: someID, Color: "red", Metadata: json.RawMessage(`{"k":1}`)})
	if err != nil || len(sent) != 1 || sent[0].State != mail.Written || sent[0].MsgID != someID || sent[0].Ahead != 0 || mail.Exit(sent) != nil {
		t.Fatalf("%+v, %v", sent, err)
	}
	e := inbox(t, tm, "bob").Entries[0]
	if e.From != string(protocol.Lead) || e.MsgID != someID || e.Color != "red" || e.Kind != "text" || e.Read || e.Summary != strings.Repeat("é", 199)+"…" {
		t.Errorf("%+v", e)
	}
	meta, _ := e.Entry.Envelope.Member("metadata")
	second, _ := e.Entry.Envelope.Member("messageId")
	if strings.Join(strings.Fields(string(meta)), "") != `{"k":1}` || string(second) != `"`+someID+`"` {
		t.Errorf("metadata %s, second id %s", meta, second)
	}
	ord := words(t, tm, someID)
	if ord.Hash != e.Entry.ID.Hash || !ord.Sent || ord.Words.By != policy.RoleOperator || ord.Words.Instance != "" || ord.File == 0 {
		t.Errorf("on record: %+v, words %+v", ord, ord.Words)
	}
	if next := send(t, tm, "bob", "second"); next.Ahead != 1 {
		t.Errorf("%d ahead of the second", next.Ahead)
	}
}

func TestSendOfTheSameIDIsNotRepeated(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.ByFile("bob")
	m := mail.Message{To: address(t, "bob"), Text: "once", ID: someID}
	for i := range 2 {
		sent, err := mail.Of(op).Send(t.Context(), "api", m)
		if err != nil || sent[0].State != mail.Written || (i == 1) != strings.Contains(sent[0].Detail, "not sent twice") {
			t.Fatalf("%+v, %v", sent, err)
		}
	}
	m.Text = "other words"
	sent, err := mail.Of(op).Send(t.Context(), "api", m)
	if err != nil || sent[0].State != mail.Refused {
		t.Fatalf("%+v, %v", sent, err)
	}
	operatortest.Fails(t, mail.Exit(sent), operator.Refused, "belongs to another message to bob")
	if got := texts(inbox(t, tm, "bob")); !slices.Equal(got, []string{"once"}) {
		t.Errorf("%q", got)
	}
}

// A message to everyone is one message to each member, with an id that is derived from the first id.
func TestSendToEveryone(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.ByFile("ann")
	tm.ByFile("bob")
	m := mail.Message{To: address(t, "*"), Text: "to all", ID: someID, As: "Ann"}
	sent, err := mail.Of(op).Send(t.Context(), "api", m)
	if err != nil || len(sent) != 2 || sent[0].To != string(protocol.Lead) || sent[1].To != "bob" || sent[0].MsgID == sent[1].MsgID || sent[0].MsgID == someID {
		t.Fatalf("%+v, %v", sent, err)
	}
	if len(inbox(t, tm, "ann").Entries) != 0 {
		t.Error("its sender has it too")
	}
	if e := inbox(t, tm, "bob").Entries; len(e) != 1 || e[0].From != "ann" || e[0].MsgID != sent[1].MsgID {
		t.Errorf("%+v", e)
	}
	again, err := mail.Of(op).Send(t.Context(), "api", m)
	if err != nil || again[1].MsgID != sent[1].MsgID || len(inbox(t, tm, "bob").Entries) != 1 {
		t.Errorf("%+v, %v", again, err)
	}
}

// Send refuses a recipient that can never take a message.
func TestSendToThoseWhoCannotReceive(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.ByFile("file")
	tm.Member("left", operatortest.Idle)
	s, gone := tm.State(), tm.Instance("left")
	testenv.Must(t, mail.Of(op).Append(t.Context(), s, func() ([]journal.Draft, error) {
		m, _ := s.Lead.ByInstance(gone)
		return s.Lead.Let(m, record.LeftStopped, "by the test"), nil
	}))
	for _, c := range []struct {
		to, says string
		want     mail.Delivery
	}{
		{"left", "cannot receive messages: it left at", ""},
		{"file", "acknowledges nothing", mail.Acknowledged},
	} {
		sent, err := mail.Of(op).Send(t.Context(), "api", mail.Message{To: address(t, c.to), Text: "hi", Want: c.want})
		if err != nil || sent[0].State != mail.Refused {
			t.Fatalf("%+v, %v", sent, err)
		}
		operatortest.Fails(t, mail.Exit(sent), operator.Refused, c.says)
	}
}

// A message to a member that has left, or whose process is not started again, is refused with the step that
// brings it back, whether or not the registry has it still; one to a member that nobody starts is written,
// with the step after which it is read.
func TestSendSaysWhatBringsAMemberBack(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.Member("joined", operatortest.Idle)
	s := tm.State()
	left, unlisted := tm.Enlist(s, "left"), tm.Enlist(s, "unlisted")
	dead := tm.Enlist(s, "dead")
	tm.Enlist(s, "waits")
	tm.Runs(s, dead, gone(t))
	joined, _ := s.Lead.ByInstance(tm.Instance("joined"))
	testenv.Must(t, mail.Of(op).Append(t.Context(), s, func() (ds []journal.Draft, _ error) {
		for _, m := range []*control.Member{left, unlisted, joined} {
			ds = append(ds, s.Lead.Let(m, record.LeftStopped, "by the test")...)
		}
		return ds, nil
	}))
	reg, err := team.Open(op.Root, "api", team.Options{})
	if err == nil {
		err = reg.Remove(t.Context(), "unlisted", time.Now())
	}
	testenv.Must(t, err)
	look := func(cases map[string]operator.Step) {
		t.Helper()
		for to, want := range cases {
			sent, err := mail.Of(op).Send(t.Context(), "api", mail.Message{To: address(t, to), Text: "hi"})
			if err != nil {
				t.Fatal(to, err)
			}
			next := sent[0].Next
			if to != "waits" {
				operatortest.Fails(t, mail.Exit(sent), operator.Refused, to+" cannot receive messages")
				if e, ok := errors.AsType[*operator.Error](sent[0].Err()); ok {
					next = e.Next
				}
			}
			if next.Step != want {
				t.Errorf("%s: %+v, not %s", to, next, want)
			}
		}
	}
	look(map[string]operator.Step{"left": operator.NextLeadReturn, "unlisted": operator.NextLeadReturn, "joined": operator.NextWhoIsThere,
		"dead": operator.NextResumeTeam, "waits": operator.NextResumeTeam})
	lead := operatortest.Process(t)
	operatortest.Append(t, op, s, journal.Draft{Kind: record.KindLeading, Must: true, Body: record.LeadingProcess{ID: lead}})
	look(map[string]operator.Step{"left": operator.NextReturnMember, "unlisted": operator.NextReturnMember, "dead": operator.NextResumeMember, "waits": ""})
	_, err = mail.Of(op).Send(t.Context(), "api", mail.Message{To: address(t, "never"), Text: "hi"})
	operatortest.Fails(t, err, operator.NotFound, "never")
}

// gone is a process that has ended.
func gone(t *testing.T) spawn.Identity {
	t.Helper()
	p := testenv.Value(spawn.ProcessBackend().Start(t.Context(), spawn.Spec{Argv: []string{"/bin/true"}, Dir: t.TempDir(), Log: t.TempDir() + "/log"}))(t)
	<-p.Done()
	return p.Identity()
}

func TestSendToABusyMember(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	turn, begun, free := operatortest.Busy()
	defer free()
	tm.Member("ann", turn)
	tm.Task("ann", "long")
	<-begun
	for _, c := range []struct {
		p    record.Priority
		says string
	}{
		{"", "busy with task 1"},
		{record.PriorityNextTool, "an exec member reads nothing during a turn"},
		{record.PriorityInterrupt, "its turn is stopped"},
	} {
		sent, err := mail.Of(op).Send(t.Context(), "api", mail.Message{To: address(t, "ann"), Text: "hi", Priority: c.p})
		if err != nil || sent[0].State != mail.Written || !strings.Contains(sent[0].Detail, c.says) {
			t.Errorf("%q: %+v, %v", c.p, sent, err)
		}
		if ord := words(t, tm, sent[0].MsgID); ord.Words.Instance != tm.Instance("ann") || c.p != "" && ord.Words.Priority != c.p {
			t.Errorf("on record: %+v", ord.Words)
		}
		if c.p == "" {
			m := became(t, tm, sent[0].MsgID)
			if is(t, m, mail.Queued, mail.Written, mail.Held); m.States[2].Detail != "busy with task 1" {
				t.Errorf("%+v", m.States)
			}
		}
	}
}

// A message whose mailbox cannot be used is on record, and a member that waggle runs gets it from
// there.
func TestSendWithoutAMailbox(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.Join("ann")
	for _, c := range []struct {
		wreck func() error
		state mail.Delivery
		says  string
	}{
		{func() error { return nil }, mail.Written, "it has not started yet"},
		{func() error { return errors.Join(os.Remove(tm.Mailbox("ann")), os.Mkdir(tm.Mailbox("ann"), 0o700)) }, mail.Queued, "its mailbox cannot be used"},
		{func() error { return os.RemoveAll(op.Root.TeamDir("api")) }, mail.Queued, "the team's directory is gone"},
	} {
		testenv.Must(t, c.wreck())
		sent, err := mail.Of(op).Send(t.Context(), "api", mail.Message{To: address(t, "ann"), Text: "still here?"})
		if err != nil || sent[0].State != c.state || sent[0].Err() != nil || !strings.Contains(sent[0].Detail, c.says) {
			t.Fatalf("%+v, %v", sent, err)
		}
		if ord := words(t, tm, sent[0].MsgID); ord.Sent != (c.state == mail.Written) || ord.Closed || ord.Instance != tm.Instance("ann") {
			t.Errorf("on record: %+v", ord)
		}
	}
}

// If a mailbox is full, Send fails, and the record says that nothing was sent.
func TestSendToAFullMailboxOfAFileMember(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	op.Limits.Bytes = 400
	tm := operatortest.Team(t, op, "api", record.PolicySet{})
	tm.ByFile("bob")
	sent, err := mail.Of(op).Send(t.Context(), "api", mail.Message{To: address(t, "bob"), Text: strings.Repeat("x", 1000)})
	if err != nil || sent[0].State != mail.Failed || sent[0].Error == "" {
		t.Fatalf("%+v, %v", sent, err)
	}
	if ord := words(t, tm, sent[0].MsgID); !ord.Closed || !strings.HasPrefix(ord.End, record.Failed) {
		t.Errorf("on record: %+v", ord)
	}
	is(t, became(t, tm, sent[0].MsgID), mail.Queued, mail.Failed)
}

// A message that is sent from inside a member has that member as its sender, whatever As says.
func TestSendFromInsideAMember(t *testing.T) {
	t.Parallel()
	_, tm := operatortest.API(t)
	tm.ByFile("bob")
	tm.Member("ann", operatortest.Idle)
	inside := mail.Of(tm.FromInside())
	sent, err := inside.Send(t.Context(), "api", mail.Message{To: address(t, "bob"), Text: "hi"})
	if err != nil || sent[0].State != mail.Written {
		t.Fatalf("%+v, %v", sent, err)
	}
	if e := inbox(t, tm, "bob").Entries; len(e) != 1 || e[0].From != "ann" {
		t.Errorf("%+v", e)
	}
	if ord := words(t, tm, sent[0].MsgID); ord.Words.By != policy.RoleWorker {
		t.Errorf("on record: %+v", ord.Words)
	}
	_, err = inside.Send(t.Context(), "api", mail.Message{To: address(t, "bob"), Text: "hi", As: "bob"})
	operatortest.Fails(t, err, operator.Refused, "member ann cannot send as bob")
	_, err = inside.Send(t.Context(), "api", mail.Message{To: address(t, "bob"), Text: "hi", Priority: record.PriorityInterrupt})
	operatortest.Fails(t, err, operator.Refused, "was called from inside member ann")
	_, err = inside.Withdraw(t.Context(), "api", sent[0].MsgID)
	operatortest.Fails(t, err, operator.Refused, "withdraw was called from inside member ann")
	tm.Member("cas", operatortest.Idle)
	_, err = inside.Send(t.Context(), "api", mail.Message{To: address(t, "bob"), Text: "hi"})
	operatortest.Fails(t, err, operator.Refused, "nobody can tell which")
}

// In another program's team the operator sends as a member that is registered for that, and the
// message is in the operator's own journal.
func TestSendForeign(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.ForeignTeam(t, op, foreign, "theirs")
	sent := send(t, tm, "theirs", "hi")
	if e := inbox(t, tm, "theirs").Entries; len(e) != 1 || e[0].From != "waggle" || e[0].MsgID != sent.MsgID {
		t.Fatalf("%+v", e)
	}
	send(t, tm, "theirs", "again")
	cfg, err := op.Registry(t.Context(), foreign)
	if err != nil || len(cfg.Members) != 3 || cfg.Members[2].Name != "waggle" {
		t.Fatalf("%+v, %v", cfg, err)
	}
	s, led, err := mail.Of(op).JournalOf(t.Context(), cfg)
	if err != nil || led || s.JournalName != operator.OwnJournal || len(s.Lead.SpokenAs(sent.MsgID)) != 1 {
		t.Errorf("%+v, %v, %v", s, led, err)
	}
	for _, c := range []struct {
		m    mail.Message
		says string
	}{
		{mail.Message{Text: "hi", As: "theirs"}, "theirs was not registered here"},
		{mail.Message{Text: "hi", Priority: record.PriorityInterrupt}, "another program leads this team"},
	} {
		c.m.To = address(t, "team-lead")
		_, err := mail.Of(op).Send(t.Context(), foreign, c.m)
		operatortest.Fails(t, err, operator.Refused, c.says)
	}
	tm.ByFile("second")
	_, err = mail.Of(op).Send(t.Context(), foreign, mail.Message{To: address(t, "theirs"), Text: "hi"})
	operatortest.Fails(t, err, operator.Usage, "several members of this team were registered here: waggle, second")
	got, err := mail.Of(op).Send(t.Context(), foreign, mail.Message{To: address(t, "team-lead"), Text: "hi", As: "Second"})
	if err != nil || got[0].State != mail.Written || inbox(t, tm, protocol.Lead).Entries[0].From != "second" {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = mail.Of(op).Withdraw(t.Context(), foreign, got[0].MsgID)
	operatortest.Fails(t, err, operator.Refused, "has another leader")
}

// An editor's mail waits for it under its address.
func TestBridge(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	ctx := t.Context()
	sent, err := mail.Of(op).Send(ctx, "api", mail.Message{To: address(t, "bridge:ed"), Text: "hi"})
	if err != nil || sent[0].State != mail.Failed {
		t.Fatalf("%+v, %v", sent, err)
	}
	operatortest.Fails(t, mail.Exit(sent), operator.NotFound, "no editor has registered that id")
	_, err = mail.Of(op).RegisterBridge(ctx, "api", "a b")
	operatortest.Fails(t, err, operator.Usage, "a b")
	_, err = mail.Of(op).RegisterBridge(ctx, "gone", "ed")
	operatortest.Fails(t, err, operator.NotFound, "gone")
	b, err := mail.Of(op).RegisterBridge(ctx, "api", "ed")
	testenv.Must(t, err)
	got := send(t, tm, "bridge:ed", "to the editor")
	unread, err := b.Unread(ctx)
	if err != nil || len(unread) != 1 || unread[0].Text != "to the editor" || unread[0].From != string(protocol.Lead) || got.State != mail.Written {
		t.Fatalf("%+v, %+v, %v", got, unread, err)
	}
	if m := became(t, tm, got.MsgID); m.To != "bridge:ed" || m.State != mail.Written {
		t.Errorf("%+v", m)
	}
	operatortest.Fails(t, b.Take(ctx, "nonsense"), operator.Usage, "nonsense")
	testenv.Must(t, b.Take(ctx, unread[0].ID))
	if again, err := b.Unread(ctx); err != nil || len(again) != 0 {
		t.Errorf("%+v, %v", again, err)
	}
	operatortest.Fails(t, mail.Of(op).Await(ctx, []mail.Sent{got}, mail.Delivered, time.Second), operator.Usage, "only a message to a member can be waited for")
}

func TestSendToAddressesThatLeadNowhere(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	file := op.Root.Path + "/file"
	testenv.Must(t, os.WriteFile(file, nil, 0o600))
	for _, c := range []struct {
		to   string
		code operator.Kind
		says string
	}{
		{"uds:" + op.Root.Path + "/none", operator.NotFound, "none"},
		{"uds:" + file, operator.Usage, "file"},
		{"http://192.0.2.1/teams/api/members/bob", operator.Usage, "in clear"},
	} {
		sender := op
		sender.Token = "secret"
		sent, err := mail.Of(sender).Send(t.Context(), "", mail.Message{To: address(t, c.to), Text: "hi"})
		if err != nil || sent[0].State != mail.Failed {
			t.Fatalf("%+v, %v", sent, err)
		}
		operatortest.Fails(t, mail.Exit(sent), c.code, c.says)
	}
}

func TestExitIsTheCodeThatAllFailuresHave(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.ByFile("bob")
	one := send(t, tm, "bob", "hi")
	refused, err := mail.Of(op).Send(t.Context(), "api", mail.Message{To: address(t, "bob"), Text: "hi", Want: mail.Acknowledged})
	testenv.Must(t, err)
	missing, err := mail.Of(op).Send(t.Context(), "api", mail.Message{To: address(t, "bridge:ed"), Text: "hi"})
	testenv.Must(t, err)
	for _, c := range []struct {
		sent []mail.Sent
		code operator.Kind
	}{
		{nil, 0},
		{[]mail.Sent{one}, 0},
		{[]mail.Sent{one, refused[0], refused[0]}, operator.Refused},
		{[]mail.Sent{missing[0], one}, operator.NotFound},
		{[]mail.Sent{missing[0], refused[0]}, operator.Failed},
	} {
		if got := operator.KindOf(mail.Exit(c.sent)); got != c.code {
			t.Errorf("%+v: %d, not %d", c.sent, got, c.code)
		}
	}
}

func TestEntryOf(t *testing.T) {
	t.Parallel()
	env := protocol.Envelope{From: "bob", Text: `{"type":"idle_notification","from":"bob","timestamp":"2026-02-16T10:30:00.000Z","idleReason":"available"}`, Timestamp: "2026-02-16T10:30:00.000Z", MsgID: someID, Color: "red", Summary: "s", Read: true}
	e := mail.EntryOf(mailbox.Entry{Index: 3, Envelope: env})
	if e.Index != 3 || e.From != "bob" || e.Kind != string(protocol.KindIdleNotification) || e.Payload == nil || e.Text != env.Text || e.MsgID != someID || e.Color != "red" || e.Summary != "s" || !e.Read || e.Warnings == nil {
		t.Errorf("%+v", e)
	}
	broken := mail.EntryOf(mailbox.Entry{Raw: []byte("7"), Err: errors.New("no object")})
	if broken.Kind != string(protocol.KindInvalid) || broken.Text != "7" || !slices.Equal(broken.Warnings, []string{"no object"}) || broken.Payload != nil {
		t.Errorf("%+v", broken)
	}
}

// Extras writes the second id only for the readers of teams that waggle leads.
func TestExtras(t *testing.T) {
	t.Parallel()
	_, tm := operatortest.API(t)
	env := protocol.Envelope{From: "x", Text: "hi", Timestamp: "2026-02-16T10:30:00.000Z", MsgID: someID}
	for _, s := range []*operator.State{nil, tm.State()} {
		got := testenv.Value(mail.Extras(s, env, mail.Message{Metadata: json.RawMessage(`{"k":1}`)}))(t)
		_, meta := got.Member("metadata")
		if _, second := got.Member("messageId"); !meta || second != (s != nil) || got.Text != "hi" {
			t.Errorf("%s", got.AppendJSON(nil))
		}
	}
}
