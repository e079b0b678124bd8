package view_test

import (
	"encoding/json"
	"testing"

	"waggle"
	"waggle/control"
	"waggle/internal/view"
	"waggle/operator/mail"
	"waggle/record"
)

func entry() mail.InboxEntry {
	return mail.InboxEntry{Index: 1, From: "ann", Timestamp: "2026-11-20T11:00:00Z", Kind: "idle_notification", Text: "one\ntwo", Payload: map[string]int{"a": 1},
		Summary: "words", Color: "blue", MsgID: "m-1", Warnings: []string{"unverified"}, ID: "ff.1", Archive: "/a"}
}

func inbox() *mail.Inbox {
	read := mail.InboxEntry{Index: 2, From: "bob", Timestamp: "some day", Read: true, Kind: string(waggle.KindText), Text: "hi"}
	return &mail.Inbox{Team: "api", Member: "team-lead", Entries: []mail.InboxEntry{entry(), read},
		News: []control.News{{Seq: 7, Time: at(1), Member: "ann", What: "result", Task: "1", Note: "done"}, {Seq: 8, Time: at(2), What: "idle"}}}
}

func TestInbox(t *testing.T) {
	golden(t, "inbox", view.Inbox(inbox()))
	golden(t, "inbox_empty", view.Inbox(&mail.Inbox{Team: "api", Member: "ann", Entries: []mail.InboxEntry{{}}}))
	golden(t, "inbox_news", view.NewsDocument{News: inbox().News})
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
	m := mail.StoredMessage{To: "ann", From: "team-lead", MsgID: "m-1", State: mail.Held, Ahead: 2, Priority: record.PriorityInterrupt, Entry: entry(), Raw: json.RawMessage("{\"a\":1,\n\"b\":2}\n"),
		States: []mail.MessageState{{State: mail.Queued, At: at(1), Evidence: "journal leader, seq 7: said"}, {State: mail.Held, Evidence: "journal ann", Detail: "busy"}}}
	theirs := mail.StoredMessage{To: "bob", State: mail.Written, Priority: record.PriorityNormal, Entry: mail.InboxEntry{Index: -1, Kind: "text"}, Raw: json.RawMessage(`{}`),
		States: []mail.MessageState{{State: mail.Written, Claimed: "some day", Evidence: "the mailbox"}}}
	golden(t, "messages", view.Messages([]mail.StoredMessage{m, theirs}, nil))
	golden(t, "messages_empty", view.Messages(nil, nil))
	theirs.Entry.Summary = "their words"
	samePage(t, "messages", view.MessagesPage([]mail.StoredMessage{m, theirs}, now))
	samePage(t, "message", append(view.MessagePage(m, now), view.MessagePage(theirs, now)...))
}

func TestSaid(t *testing.T) {
	said := []mail.SaidMessage{{MsgID: "m-1", Session: "s-1", From: "operator", Socket: "/s", State: mail.Written, Detail: "read", At: at(1), SHA256: "ff", Bytes: 2}}
	golden(t, "said", view.Said(said))
	samePage(t, "said", view.SaidPage(said, now))
}

func TestSent(t *testing.T) {
	sent := []mail.Sent{{To: "ann", MsgID: "m-1", State: mail.Written, Ahead: 2, Detail: "busy"}, {To: "bob", MsgID: "m-2", State: mail.Delivered, Ahead: 1}}
	golden(t, "sent", view.SentsDocument{Results: view.Sents(sent)})
	golden(t, "sent_empty", view.SentsDocument{Results: view.Sents(nil)})
	samePage(t, "sent", append(append(view.SentPage(sent), view.SentPage(sent[:1])...), view.SentPage(sent[1:])...))
}

func TestEndpoint(t *testing.T) {
	e := mail.Endpoint{V: 1, URL: "http://127.0.0.1:1", Token: "secret", PID: 7}
	golden(t, "endpoint", view.Endpoint(e))
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
