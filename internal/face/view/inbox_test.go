package view_test

import (
	"encoding/json"
	"strings"
	"testing"

	"waggle/control"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/internal/face/view/sentence"
	"waggle/internal/test/protocoltest"
	"waggle/operator/decide"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/record"
)

func entry() mail.InboxEntry {
	return mail.InboxEntry{Index: 1, From: "ann", Timestamp: "2026-11-20T11:00:00Z", Kind: "idle_notification", Text: "one\ntwo", Payload: map[string]int{"a": 1},
		Summary: "words", Color: "blue", MsgID: "m-1", Warnings: []string{"unverified"}, ID: "ff.1", Archive: "/a"}
}

func inbox() *mail.Inbox {
	read := mail.InboxEntry{Index: 2, From: "bob", Timestamp: "some day", Read: true, Kind: string(protocol.KindText), Text: "hi"}
	return &mail.Inbox{Team: "api", Member: "team-lead", Entries: []mail.InboxEntry{entry(), read},
		News: []control.News{{Seq: 7, Time: at(1), Member: "ann", What: "result", Task: "1", Note: "done"}, {Seq: 8, Time: at(2), What: "idle"}}}
}

func TestInbox(t *testing.T) {
	golden(t, "inbox", view.Inbox(inbox()))
	golden(t, "inbox_empty", view.Inbox(&mail.Inbox{Team: "api", Member: "ann", Entries: []mail.InboxEntry{{}}}))
	golden(t, "inbox_news", view.News(inbox().News))
	golden(t, "inbox_address", view.AddressDocument{Address: "uds:/s", Member: "ann", Team: "api"})
	golden(t, "prompt", view.Attachments("words"))
	golden(t, "prompt_empty", view.Attachments(""))
	samePage(t, "inbox_raw", view.InboxPage(inbox(), true, now))
	samePage(t, "inbox", view.InboxPage(inbox(), false, now))
	samePage(t, "inbox_team", view.TeamInboxPage(inbox(), false, now))
	if p := view.TeamInboxPage(&mail.Inbox{Team: "api"}, false, now); len(p) != 0 {
		t.Error(p)
	}
	if p := view.InboxPage(&mail.Inbox{}, false, now); len(p) != 0 {
		t.Error(p)
	}
}

func TestMessages(t *testing.T) {
	m := mail.StoredMessage{To: "ann", From: "team-lead", MsgID: "m-1", State: mail.Held, Since: page.Stamp(at(1)), Ahead: 2, Priority: record.PriorityInterrupt, Entry: entry(), Raw: json.RawMessage("{\"a\":1,\n\"b\":2}\n"),
		States: []mail.MessageState{{State: mail.Queued, At: page.Stamp(at(1)), Evidence: "journal leader, seq 7: said"}, {State: mail.Held, Evidence: "journal ann", Detail: "busy"}}}
	theirs := mail.StoredMessage{To: "bob", State: mail.Written, Since: "some day", Priority: record.PriorityNormal, Entry: mail.InboxEntry{Index: -1, Kind: "text"}, Raw: json.RawMessage(`{}`),
		States: []mail.MessageState{{State: mail.Written, At: "some day", Evidence: "the mailbox"}}}
	golden(t, "messages", view.Messages([]mail.StoredMessage{m, theirs}, nil))
	golden(t, "messages_empty", view.Messages(nil, nil))
	theirs.Entry.Summary = "their words"
	samePage(t, "messages", view.MessagesPage([]mail.StoredMessage{m, theirs}, now))
	samePage(t, "message", append(view.MessagePage(m, now), view.MessagePage(theirs, now)...))
}

func TestSaid(t *testing.T) {
	said := []mail.SaidMessage{{MsgID: "m-1", Session: "s-1", From: "operator", Socket: "/s", State: mail.Written, Detail: "read", At: at(1), SHA256: "ff", Bytes: 2}}
	golden(t, "said", view.SaidDocument{Said: said})
	samePage(t, "said", view.SaidPage(said, now))
}

func TestSent(t *testing.T) {
	sent := []mail.Sent{{To: "ann", MsgID: "m-1", State: mail.Written, Ahead: 2, Detail: "busy"}, {To: "bob", MsgID: "m-2", State: mail.Delivered, Ahead: 1}}
	golden(t, "sent", map[string]any{"results": sent})
	golden(t, "sent_empty", map[string]any{"results": []mail.Sent(nil)})
	samePage(t, "sent", append(append(view.SentPage(sent), view.SentPage(sent[:1])...), view.SentPage(sent[1:])...))
}

func TestEndpoint(t *testing.T) {
	e := mail.Endpoint{V: 1, URL: "http://127.0.0.1:1", Token: "secret", PID: 7}
	golden(t, "endpoint", e)
	samePage(t, "endpoint", view.EndpointPage(e))
}

// Pages show the beginning of a message's id, longer where another of the list begins so, and whole where
// it is no UUID.
func TestMessageIDs(t *testing.T) {
	ids := []string{"2b6bac17-f72a-4b6b-8379-624e49ad3959", "11111111-1111-4111-8111-111111111111", "11111111-1211-4111-8111-111111111111", "msg-task-001"}
	var ms []mail.StoredMessage
	var sent []mail.Sent
	for _, id := range ids {
		ms = append(ms, mail.StoredMessage{To: "ann", From: "lead", MsgID: id})
		sent = append(sent, mail.Sent{To: "ann", MsgID: id})
	}
	want := []string{"2b6bac17", "11111111-11", "11111111-12", "msg-task-001"}
	listed, written := view.MessagesPage(ms, now)[0].Table, view.SentPage(sent)[0].Table
	for i, w := range want {
		if got := listed.Rows[i][0]; got != w {
			t.Errorf("listed %s, want %s", got, w)
		}
		if got := written.Rows[i][3]; got != w {
			t.Errorf("sent %s, want %s", got, w)
		}
	}
	if one := view.SentPage(sent[:1])[0].Line; one[len(one)-1].Text != " (2b6bac17)" {
		t.Errorf("one message: %v", one)
	}
}

// Every kind of docs/kinds.md is a sentence, with the handle of the request that it is about and what became of that; words
// and kinds that are not known are shown as they are.
func TestInboxOfEveryKind(t *testing.T) {
	open := mail.NewEntryRequest(decide.Request{PendingItem: decide.PendingItem{Handle: "7KQF", Status: decide.StatusOpen}})
	denied := mail.NewEntryRequest(decide.Request{PendingItem: decide.PendingItem{Handle: "7KQF", Status: decide.StatusDecided},
		Answer: &decide.AnswerNow{Decision: record.DecisionDeny, By: "operator", Via: "prompt", At: at(1)}})
	for _, c := range []struct {
		kind    protocol.Kind
		request *mail.EntryRequest
		reply   string
		want    string
	}{
		{protocol.KindPermissionRequest, nil, "", `asks: Bash ls -la`},
		{protocol.KindPermissionRequest, open, "", `asks 7KQF: Bash ls -la (open)`},
		{protocol.KindPermissionRequest, denied, "", `asks 7KQF: Bash ls -la (denied by operator, prompt, 1m29s ago)`},
		{protocol.KindPermissionResponse, nil, "", `allows the call with the input {"command":"ls"}, with 1 change of rules`},
		{protocol.KindPermissionResponse, denied, "", `allows 7KQF with the input {"command":"ls"}, with 1 change of rules (denied by operator, prompt, 1m29s ago)`},
		{protocol.KindSandboxPermissionRequest, open, "", `asks 7KQF for network to example.com (open)`},
		{protocol.KindSandboxPermissionResponse, denied, "", `allows 7KQF, network to example.com (denied by operator, prompt, 1m29s ago)`},
		{protocol.KindSandboxPermissionResponse, nil, "", `allows network to example.com`},
		{protocol.KindPlanApprovalRequest, open, "", `asks 7KQF for a verdict on its plan: # The plan … (open)`},
		{protocol.KindPlanApprovalResponse, nil, "", `approves the plan, mode default: Good.`},
		{protocol.KindModeSetRequest, nil, "", `sets mode acceptEdits`},
		{protocol.KindTeamPermissionUpdate, nil, "", `changes the team's rules, policy version 7: allow Bash(git:*), Read; in /src/api`},
		{protocol.KindShutdownRequest, nil, "", `asks to end: all done (no answer yet)`},
		{protocol.KindShutdownRequest, nil, "refused: busy", `asks to end: all done (refused: busy)`},
		{protocol.KindShutdownApproved, nil, "", `agrees to end`},
		{protocol.KindShutdownRejected, nil, "", `refuses to end: still busy`},
		{protocol.KindIdleNotification, nil, "", `is idle after its turn failed: no quota`},
		{protocol.KindTaskAssignment, nil, "", `gives task 1 "First", which wants a plan first: d1`},
		{protocol.KindTaskCompleted, nil, "", `has done task 1 "First", made report.md: Fixed`},
		{protocol.KindTaskProgress, nil, "", `reports progress: verifying, 9 of 10 pass`},
		{protocol.KindTeammateTerminated, nil, "", `says that a member has ended: w1 has shut down.`},
		{protocol.KindJoinRequest, nil, "", `asks to join as w9, which has no effect`},
		{protocol.KindJoinApproved, nil, "", `lets somebody join, which has no effect`},
		{protocol.KindJoinRejected, nil, "", `lets somebody not join, which has no effect: full`},
		{protocol.KindSystemInit, nil, "", "system_init\n  You are a tester."},
		{protocol.KindText, nil, "", "\n  words"},
		{protocol.KindUnknown, nil, "", "sends a message of the unknown kind \"future\"\n  {\"type\":\"future\",\"a\":1}"},
		{protocol.KindInvalid, nil, "", "invalid\n  words"},
	} {
		e := mail.InboxEntry{From: "w1", Timestamp: "then", Kind: string(c.kind), Request: c.request, Reply: c.reply, Text: "words"}
		switch c.kind {
		case protocol.KindText, protocol.KindInvalid:
		case protocol.KindUnknown:
			e.Text = `{"type":"future","a":1}`
		case protocol.KindSystemInit:
			e.Text, e.Payload = "You are a tester.", protocoltest.Sample(c.kind)
		default:
			e.Text, e.Payload = `{"raw":true}`, protocoltest.Sample(c.kind)
		}
		want := strings.TrimSpace("● w1 then " + c.want)
		if c.want[0] == '\n' {
			want = "● w1 then" + c.want
		}
		if got := wordsOf(view.EntryPage(e, false, now)); got != want {
			t.Errorf("%s: %q, want %q", c.kind, got, want)
		}
		if raw := wordsOf(view.EntryPage(e, true, now)); !strings.HasSuffix(raw, "\n  "+e.Text) {
			t.Errorf("%s, raw: %q", c.kind, raw)
		}
	}
	golden(t, "inbox_request", mail.InboxEntry{Request: denied, Reply: "agreed to"})
	said := map[protocol.Kind]bool{protocol.KindSystemInit: true}
	for _, k := range protocol.Kinds() {
		if !said[k.Kind] && sentence.OfMessage(protocoltest.Sample(k.Kind), "") == "" {
			t.Errorf("%s has no sentence", k.Kind)
		}
	}
}

// wordsOf is a page without styles.
func wordsOf(p page.Page) string {
	var lines []string
	for _, b := range p {
		l := ""
		for _, s := range b.Line {
			l += s.Text
		}
		lines = append(lines, l)
	}
	return strings.Join(lines, "\n")
}
