package mail_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/json/jsonobj"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/record"
)

// edit rewrites a mailbox like a program that knows nothing of waggle.
func edit(t *testing.T, r *operatortest.Rig, of protocol.MemberName, change func([]map[string]any) []map[string]any) {
	t.Helper()
	var entries []map[string]any
	testenv.Must(t, json.Unmarshal([]byte(read(t, r.Mailbox(of))), &entries))
	data := testenv.Value(jsonobj.Marshal(change(entries)))(t)
	r.WriteMailbox(of, string(data))
}

// let ends a membership on record.
func let(t *testing.T, r *operatortest.Rig, name protocol.MemberName) {
	t.Helper()
	s := r.State()
	testenv.Must(t, mail.Of(r.Op).Append(t.Context(), s, func() ([]journal.Draft, error) {
		m, _ := s.Lead.Member(name)
		return s.Lead.Let(m, record.LeftStopped, "by the test"), nil
	}))
}

// For a member that another program runs, the mailbox is the evidence of a message's state.
func TestMessageToAMemberByFile(t *testing.T) {
	t.Parallel()
	type entries = []map[string]any
	anon := func(e map[string]any) { delete(e, "msg_id"); delete(e, "messageId") }
	for name, c := range map[string]struct {
		change func(entries) entries
		state  mail.Delivery
		says   string
	}{
		"left alone":               {func(e entries) entries { return e }, mail.Written, ""},
		"read":                     {func(e entries) entries { e[1]["read"] = true; return e }, mail.Delivered, "it is marked read"},
		"anew without an id":       {func(e entries) entries { anon(e[1]); return e }, mail.Written, "another program has written it anew without its id"},
		"anew and read":            {func(e entries) entries { anon(e[1]); e[1]["read"] = true; return e }, mail.Delivered, "was written anew without its id"},
		"taken out":                {func(e entries) entries { return e[:0] }, mail.Delivered, "its reader has taken it"},
		"taken out beside another": {func(e entries) entries { return e[:1] }, mail.Erased, "nobody has read it"},
	} {
		t.Run(name, func(t *testing.T) {
			_, tm := operatortest.API(t)
			tm.ByFile("bob")
			send(t, tm, "bob", "older")
			id := send(t, tm, "bob", "words").MsgID
			edit(t, tm, "bob", c.change)
			m := became(t, tm, id)
			if last := m.States[len(m.States)-1]; m.State != c.state || !strings.Contains(last.Detail, c.says) {
				t.Errorf("%+v", m.States)
			}
			if m.To != "bob" || m.From != string(protocol.Lead) || m.MsgID != id || m.Entry.Text != "words" || m.States[0].At == "" || m.Priority != "normal" {
				t.Errorf("%+v", m)
			}
			if m.States[0].State != mail.Queued || !strings.HasPrefix(m.States[0].Evidence, "journal leader, seq ") {
				t.Errorf("%+v", m.States[0])
			}
		})
	}
}

// TestMessageInATornMailbox: what cannot be read of a mailbox is no evidence. A program that writes the file in
// place, as a shell does, leaves it empty or cut off for a while: nobody has taken the message then.
func TestMessageInATornMailbox(t *testing.T) {
	t.Parallel()
	op, ours := operatortest.API(t)
	ours.ByFile("bob")
	for _, tm := range []*operatortest.Rig{ours, operatortest.ForeignTeam(t, op, foreign, "bob")} {
		send(t, tm, "bob", "older")
		id := send(t, tm, "bob", "words").MsgID
		whole := read(t, tm.Mailbox("bob"))
		second := strings.LastIndex(whole, "{")
		for name, text := range map[string]string{"empty": "", "only begun": "[", "cut in the first": whole[:3], "cut before the second": whole[:second], "cut in the second": whole[:second+9]} {
			tm.WriteMailbox("bob", text)
			m := became(t, tm, id)
			if last := m.States[len(m.States)-1]; m.State != mail.Written || !strings.Contains(last.Detail, "what is in it is not known") {
				t.Errorf("%s, %s: %+v", tm.Name, name, m.States)
			}
			if got := read(t, tm.Mailbox("bob")); got != text {
				t.Errorf("%s, %s: who looked has written %q", tm.Name, name, got)
			}
		}
		tm.WriteMailbox("bob", "[]")
		if m := became(t, tm, id); m.State != mail.Delivered {
			t.Errorf("%s, taken: %+v", tm.Name, m.States)
		}
	}
}

func TestMessageFinds(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.ByFile("bob")
	first, second := send(t, tm, "bob", "first"), send(t, tm, "bob", "second")
	m := became(t, tm, second.MsgID[:8])
	if m.Ahead != 1 || m.Entry.Index != 1 || len(m.Raw) == 0 {
		t.Errorf("%+v", m)
	}
	if byEntry := became(t, tm, m.Entry.ID); byEntry.MsgID != second.MsgID {
		t.Errorf("%+v", byEntry)
	}
	for _, id := range []string{second.MsgID[:5], "00000000", ""} {
		_, err := mail.Of(op).Message(t.Context(), "api", id)
		operatortest.Fails(t, err, operator.NotFound, id)
	}
	_, err := mail.Of(op).Message(t.Context(), "gone", first.MsgID)
	operatortest.Fails(t, err, operator.NotFound, "gone")
	// A text that another program altered is shown beside the text that was sent.
	edit(t, tm, "bob", func(e []map[string]any) []map[string]any { e[0]["text"] = "something else"; return e })
	found, err := mail.Of(op).Message(t.Context(), "api", first.MsgID)
	if err != nil || len(found) != 2 || found[0].Entry.Text != "something else" || found[1].Entry.Text != "first" || found[1].Entry.Index != -1 {
		t.Fatalf("%+v, %v", found, err)
	}
	if w := found[0].Entry.Warnings; len(w) != 1 || !strings.Contains(w[0], "another program altered it") {
		t.Errorf("%q", w)
	}
}

// Messages lists the messages on record, oldest first, and those that the leader sends itself only if
// asked for all.
func TestMessages(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.Member("ann", operatortest.Idle)
	tm.ByFile("bob")
	send(t, tm, "bob", "first")
	tm.Task("ann", "quick")
	send(t, tm, "bob", "second")
	list := func(all bool) (texts, kinds []string) {
		ms := testenv.Value(mail.Of(op).Messages(t.Context(), "api", all))(t)
		for _, m := range ms {
			texts, kinds = append(texts, m.Entry.Text), append(kinds, m.Entry.Kind)
		}
		return texts, kinds
	}
	if got, _ := list(false); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("%q", got)
	}
	if _, kinds := list(true); len(kinds) < 3 || kinds[1] != string(protocol.KindTaskAssignment) {
		t.Errorf("%q", kinds)
	}
	tm.Until("the order was obeyed", func(*control.Leader) bool {
		ms, err := mail.Of(op).Messages(t.Context(), "api", true)
		return err == nil && ms[1].State == mail.Acknowledged
	})
}

// The messages of another program's team can be shown after the team is gone.
func TestMessageOfATeamThatIsGone(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.ForeignTeam(t, op, foreign, "theirs")
	id := send(t, tm, "theirs", "hi").MsgID
	testenv.Must(t, os.RemoveAll(op.Root.TeamDir(foreign)))
	m := became(t, tm, id)
	if is(t, m, mail.Queued, mail.Written); m.Entry.Index != -1 || m.Entry.Text != "hi" || !strings.HasPrefix(m.States[0].Evidence, "journal operator, seq ") {
		t.Errorf("%+v", m)
	}
}

// TestMessageStaysDelivered: what a reader of another program's team took stays delivered after the team is gone, as a list
// or Await has seen it; for what nobody has seen the mailbox is named as the evidence that is missing.
func TestMessageStaysDelivered(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.ForeignTeam(t, op, foreign, "theirs")
	first := send(t, tm, "theirs", "first").MsgID
	tm.WriteMailbox("theirs", "[]")
	if m := became(t, tm, first); m.State != mail.Delivered {
		t.Fatalf("%+v", m)
	}
	second := send(t, tm, "theirs", "second").MsgID
	testenv.Must(t, os.RemoveAll(op.Root.TeamDir(foreign)))
	if m := became(t, tm, first); m.State != mail.Delivered || m.States[len(m.States)-1].At == "" {
		t.Errorf("first: %+v", m.States)
	}
	if m := became(t, tm, second); m.State != mail.Written || !strings.Contains(m.States[len(m.States)-1].Detail, "whether it was read is not known") {
		t.Errorf("second: %+v", m.States)
	}
}

// TestMessageClosed: each evidence with which a record closes words is a state.
func TestMessageClosed(t *testing.T) {
	t.Parallel()
	_, tm := operatortest.API(t)
	tm.Join("ann")
	for evidence, want := range map[string]mail.MessageState{
		"withdrawn":                                  {State: mail.Withdrawn},
		"superseded by 0b81":                         {State: mail.Superseded, Detail: "by 0b81"},
		"replaced by a newer one":                    {State: mail.Superseded, Detail: "replaced by a newer one"},
		"expired":                                    {State: mail.Expired, Detail: "nobody took it in time"},
		"failed: append: disk full":                  {State: mail.Failed, Detail: "append: disk full"},
		"its reader has marked it read":              {State: mail.Delivered, Detail: "its reader has marked it read"},
		"its reader has taken it out of the mailbox": {State: mail.Delivered, Detail: "its reader has taken it out of the mailbox"},
		"another program erased it, twice":           {State: mail.Erased, Detail: "another program erased it, twice"},
		"taken":                                      {State: mail.Held, Detail: "it has not started yet"},
	} {
		id := send(t, tm, "ann", evidence).MsgID
		tm.Write(journal.Draft{Kind: record.KindClosed, Must: true, Body: record.Closed{Ref: uint64(words(t, tm, id).Seq), Evidence: evidence}})
		m := became(t, tm, id)
		i := slices.IndexFunc(m.States, func(s mail.MessageState) bool { return s.State == want.State })
		if i < 0 || m.States[i].Detail != want.Detail || want.State != mail.Held && !strings.HasSuffix(m.States[i].Evidence, ": closed") {
			t.Errorf("%s: %+v", evidence, m.States)
		}
	}
}

// TestMessageBetweenMembers: words of one member to another are in the sender's journal, and a dead letter when the other
// leaves without having taken them.
func TestMessageBetweenMembers(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.Join("bob")
	tm.Member("ann", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
		return agent.Result{}, h.Say(ctx, "bob", "from ann", "")
	})
	send(t, tm, "ann", "tell bob")
	var m mail.StoredMessage
	testenv.Eventually(t, "ann has told bob", func() bool {
		ms, err := mail.Of(op).Messages(t.Context(), "api", false)
		if len(ms) < 2 || err != nil {
			return false
		}
		m = ms[1]
		return m.Entry.Index >= 0
	})
	if is(t, m, mail.Queued, mail.Written, mail.Held); m.To != "bob" || !strings.HasPrefix(m.States[0].Evidence, "journal ann, seq ") {
		t.Errorf("%+v", m)
	}
	let(t, tm, "bob")
	if m = became(t, tm, m.MsgID); m.State != mail.DeadLetter || m.States[len(m.States)-1].Detail != "its recipient has ended: stopped" {
		t.Errorf("%+v", m.States)
	}
}

// Await ends with the state that the message reached, by the member's own journal.
func TestAwaitUntilItHadItsEffect(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.Member("ann", operatortest.Idle)
	sent := []mail.Sent{send(t, tm, "ann", "hi")}
	if err := mail.Of(op).Await(t.Context(), sent, mail.Acknowledged, time.Minute); err != nil || mail.Exit(sent) != nil || sent[0].State != mail.Acknowledged {
		t.Fatalf("%+v, %v", sent, err)
	}
	m := became(t, tm, sent[0].MsgID)
	if is(t, m, mail.Queued, mail.Written, mail.Delivered, mail.Acknowledged); m.States[3].Detail != "the turn that was given it has ended" || !strings.HasPrefix(m.States[3].Evidence, "journal ann, ") {
		t.Errorf("%+v", m.States)
	}
	_, err := mail.Of(op).Withdraw(t.Context(), "api", sent[0].MsgID)
	operatortest.Fails(t, err, operator.Refused, "too late: ann has taken")
	again, err := mail.Of(op).Send(t.Context(), "api", mail.Message{To: address(t, "ann"), Text: "instead", Supersedes: sent[0].MsgID})
	testenv.Must(t, err)
	operatortest.Fails(t, mail.Exit(again), operator.Refused, "too late")
	if err := mail.Of(op).Await(t.Context(), nil, mail.Delivered, time.Minute); err != nil {
		t.Errorf("nothing was sent: %v", err)
	}
}

// Await does not wait for a message that can come no further, and its error says why the message did
// not arrive.
func TestAwaitOfWhatNeverArrives(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.ByFile("bob")
	tm.Join("ann")
	tm.Join("cas")
	for _, c := range []struct {
		to      string
		expires time.Duration
		then    func(mail.Sent)
		timeout time.Duration
		code    operator.Kind
		state   mail.Delivery
		says    string
	}{
		{"ann", 0, func(mail.Sent) {}, time.Millisecond, operator.Timeout, mail.Held, "ann: not delivered within 1ms; it is held: it has not started yet"},
		{"ann", time.Nanosecond, func(mail.Sent) {}, time.Minute, operator.Timeout, mail.Expired, "ann: expired"},
		{"bob", 0, func(s mail.Sent) {
			testenv.Value(mail.Of(op).Withdraw(t.Context(), "api", s.MsgID))(t)
		}, time.Minute, operator.Refused, mail.Withdrawn, "bob: withdrawn"},
		{"cas", 0, func(mail.Sent) { let(t, tm, "cas") }, time.Minute, operator.Died, mail.DeadLetter, "its recipient has ended: stopped"},
	} {
		sent, err := mail.Of(op).Send(t.Context(), "api", mail.Message{To: address(t, c.to), Text: "hi", Expires: c.expires})
		if err != nil || mail.Exit(sent) != nil {
			t.Fatal(sent, err)
		}
		c.then(sent[0])
		if err := mail.Of(op).Await(t.Context(), sent, mail.Delivered, c.timeout); err != nil || sent[0].State != c.state || sent[0].Error == "" {
			t.Errorf("%+v, %v", sent[0], err)
		}
		operatortest.Fails(t, mail.Exit(sent), c.code, c.says)
	}
	sent := []mail.Sent{send(t, tm, "bob", "hi")}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := mail.Of(op).Await(ctx, sent, mail.Delivered, time.Minute); err == nil {
		t.Error("it waited for nobody")
	}
}

// While somebody waits for a message that another program erased, Await sends it once more under the
// same id.
func TestAwaitSendsErasedWordsAgain(t *testing.T) {
	t.Parallel()
	op, ours := operatortest.API(t)
	ours.ByFile("bob")
	for _, tm := range []*operatortest.Rig{ours, operatortest.ForeignTeam(t, op, foreign, "bob")} {
		t.Run(string(tm.Name), func(t *testing.T) {
			tm.WriteMailbox("bob", `[{"from":"x","text":"older","timestamp":"2026-02-16T10:30:00.000Z","read":false}]`)
			sent := []mail.Sent{send(t, tm, "bob", "words")}
			edit(t, tm, "bob", func(e []map[string]any) []map[string]any { return e[:1] })
			done := make(chan error, 1)
			go func() { done <- mail.Of(op).Await(t.Context(), sent, mail.Delivered, time.Minute) }()
			testenv.Eventually(t, "it lies there again", func() bool {
				in := inbox(t, tm, "bob")
				return len(in.Entries) == 2 && in.Entries[1].MsgID == sent[0].MsgID
			})
			edit(t, tm, "bob", func(e []map[string]any) []map[string]any { e[0]["read"], e[1]["read"] = true, true; return e })
			if err := <-done; err != nil || sent[0].State != mail.Delivered || mail.Exit(sent) != nil {
				t.Errorf("%+v, %v", sent, err)
			}
		})
	}
}

// A message that nobody has taken can be withdrawn, or replaced by another to the same recipient.
func TestWithdrawAndSupersede(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.ByFile("bob")
	tm.Join("ann")
	for _, to := range []string{"bob", "ann"} {
		back, old := send(t, tm, to, "back"), send(t, tm, to, "old")
		for range 2 {
			if s, err := mail.Of(op).Withdraw(t.Context(), "api", back.MsgID); err != nil || s.State != mail.Withdrawn || s.To != to || s.MsgID != back.MsgID {
				t.Fatalf("%+v, %v", s, err)
			}
		}
		sent, err := mail.Of(op).Send(t.Context(), "api", mail.Message{To: address(t, to), Text: "new", Supersedes: old.MsgID[:8]})
		if err != nil || mail.Exit(sent) != nil {
			t.Fatalf("%+v, %v", sent, err)
		}
		if got := texts(inbox(t, tm, protocol.MemberName(to))); !slices.Equal(got, []string{"new"}) {
			t.Errorf("%q", got)
		}
		is(t, became(t, tm, back.MsgID), mail.Queued, mail.Written, mail.Withdrawn)
		m := became(t, tm, old.MsgID)
		if is(t, m, mail.Queued, mail.Written, mail.Superseded); !strings.Contains(m.States[2].Detail, sent[0].MsgID) {
			t.Errorf("%+v", m.States)
		}
		if ord := words(t, tm, sent[0].MsgID); ord.Words.Supersedes != uint64(words(t, tm, old.MsgID).Seq) {
			t.Errorf("%+v", ord.Words)
		}
	}
	taken := send(t, tm, "bob", "read at once")
	edit(t, tm, "bob", func(e []map[string]any) []map[string]any { e[1]["read"] = true; return e })
	_, err := mail.Of(op).Withdraw(t.Context(), "api", taken.MsgID)
	operatortest.Fails(t, err, operator.Refused, "too late: bob has taken")
	for _, c := range []struct {
		to, id, says string
		code         operator.Kind
	}{
		{"ann", taken.MsgID, "went to bob, not to ann", operator.Usage},
		{"bob", taken.MsgID, "too late", operator.Refused},
		{"bob", taken.MsgID[:5], taken.MsgID[:5], operator.NotFound},
	} {
		sent := testenv.Value(mail.Of(op).Send(t.Context(), "api", mail.Message{To: address(t, c.to), Text: "x", Supersedes: c.id}))(t)
		operatortest.Fails(t, mail.Exit(sent), c.code, c.says)
	}
	for _, id := range []string{"aaaaaaa0-2a55-4f2a-9d1e-7f3b0b0f7a11", "aaaaaaa1-2a55-4f2a-9d1e-7f3b0b0f7a11"} {
		testenv.Value(mail.Of(op).Send(t.Context(), "api", mail.Message{To: address(t, "bob"), Text: id, ID: id}))(t)
	}
	_, err = mail.Of(op).Withdraw(t.Context(), "api", "aaaaaaa")
	operatortest.Fails(t, err, operator.Usage, "begins several messages")
}

func TestDeliveryOver(t *testing.T) {
	t.Parallel()
	for _, d := range []mail.Delivery{mail.Queued, mail.Written, mail.Held} {
		if d.Over() {
			t.Errorf("%s is over", d)
		}
	}
	for _, d := range []mail.Delivery{mail.Delivered, mail.Acknowledged, mail.Refused, mail.Expired, mail.Withdrawn, mail.Superseded, mail.DeadLetter, mail.Erased, mail.Failed} {
		if !d.Over() {
			t.Errorf("%s is not over", d)
		}
	}
}

// TestMessagesBesideABrokenJournal: one member's broken journal hides no message. It is named, and of the messages to that
// member it is said that what became of them is not known.
func TestMessagesBesideABrokenJournal(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.Join("ann")
	tm.Join("bob")
	toAnn, toBob := send(t, tm, "ann", "to ann"), send(t, tm, "bob", "to bob")
	own := tm.State().Dir.JournalOf(string(tm.Instance("bob")))
	testenv.Must(t, os.MkdirAll(own, 0o700))
	testenv.Must(t, os.WriteFile(filepath.Join(own, "00000001.jsonl"), []byte("nonsense\n"), 0o600))
	o := mail.Of(op)
	list, err := o.Messages(t.Context(), "api", false)
	if js := operator.JournalErrors(err); len(js) != 1 || js[0].Owner != "bob" || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, m := range list {
		last := m.States[len(m.States)-1]
		if unknown := strings.Contains(last.Detail, "is broken"); m.State.Over() || unknown != (m.To == "bob") {
			t.Errorf("%s: %+v", m.To, m.States)
		}
	}
	if list, err := o.Message(t.Context(), "api", toAnn.MsgID); len(list) != 1 || operator.JournalErrors(err) == nil {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := o.Message(t.Context(), "api", "nothing-like-it"); list != nil || operator.KindOf(err) != operator.NotFound {
		t.Errorf("%+v, %v", list, err)
	}
	if err := o.Await(t.Context(), []mail.Sent{toBob}, mail.Delivered, time.Minute); operator.JournalErrors(err) == nil {
		t.Errorf("waiting for bob: %v", err)
	}
	sent := []mail.Sent{toAnn}
	if err := o.Await(t.Context(), sent, mail.Delivered, time.Millisecond); err != nil || operator.KindOf(sent[0].Err()) != operator.Timeout {
		t.Errorf("waiting for ann: %v, %+v", err, sent)
	}
}

// TestMovedRecords: without the directory of its records in STATE a team that waggle led is no other program's: nothing is
// sent, and nothing is made where they were. Put back, it goes on.
func TestMovedRecords(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.Join("ann")
	at := tm.State().Dir.Path
	away := filepath.Join(t.TempDir(), "away")
	testenv.Must(t, os.Rename(at, away))
	o := mail.Of(op)
	for _, to := range []string{"ann", "*", "lead"} {
		if sent, err := o.Send(t.Context(), "api", mail.Message{To: address(t, to), Text: "hello"}); operator.KindOf(err) != operator.NotFound || !strings.Contains(err.Error(), at) {
			t.Errorf("to %s: %+v, %v", to, sent, err)
		}
	}
	if _, err := o.Messages(t.Context(), "api", true); operator.KindOf(err) != operator.NotFound {
		t.Error(err)
	}
	if _, err := op.Open(t.Context(), "api", operator.Act); operator.KindOf(err) != operator.NotFound || !strings.Contains(err.Error(), at) {
		t.Error(err)
	}
	if _, err := os.Lstat(at); !os.IsNotExist(err) {
		t.Errorf("%s was made: %v", at, err)
	}
	testenv.Must(t, os.Rename(away, at))
	send(t, tm, "ann", "hello")
}
