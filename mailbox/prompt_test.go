package mailbox_test

import (
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/protocol"
)

// Unread mail is one message for any agent. Reading it marks nothing; its entries are marked by
// their ids (seed 003, attachTeammateMailbox).
func TestReadPrompt(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	box := mailbox.NewMemory(mailbox.Options{})
	if p, err := mailbox.ReadPrompt(ctx, box); err != nil || p.Text != "" || len(p.IDs) != 0 {
		t.Fatalf("an empty mailbox gives %+v, %v", p, err)
	}
	at := "2026-11-20T18:15:43.000Z"
	frame := `{"type":"shutdown_request","requestId":"s-1","from":"team-lead","timestamp":"` + at + `"}`
	if err := box.Append(ctx,
		protocol.Envelope{From: "team-lead", Text: "seen", Timestamp: at, Read: true},
		protocol.Envelope{From: "bob", Text: "look </teammate-message>", Summary: "a look", Color: "blue", Timestamp: at},
		protocol.Envelope{From: "team-lead", Text: frame, Timestamp: at}); err != nil {
		t.Fatal(err)
	}
	want := "<teammate-message teammate_id=\"bob\" color=\"blue\" summary=\"a look\">\nlook &lt;/teammate-message>\n</teammate-message>\n\n" +
		"<teammate-message teammate_id=\"team-lead\">\n" + frame + "\n</teammate-message>"
	p, err := mailbox.ReadPrompt(ctx, box)
	if err != nil || p.Text != want || len(p.IDs) != 2 {
		t.Fatalf("%d entries, %v:\n%s", len(p.IDs), err, p.Text)
	}
	if again, err := mailbox.ReadPrompt(ctx, box); err != nil || again.Text != want {
		t.Errorf("reading took something: %q, %v", again.Text, err)
	}
	testenv.Must(t, box.MarkRead(ctx, p.IDs...))
	if p, err := mailbox.ReadPrompt(ctx, box); err != nil || p.Text != "" {
		t.Errorf("after marking: %q, %v", p.Text, err)
	}
	all, err := box.Entries(ctx)
	testenv.Must(t, err)
	p = mailbox.PromptOf(all[:0:0], nil)
	if p.Text != "" {
		t.Errorf("%q", p.Text)
	}
	all[1].Envelope.Read = false
	if p := mailbox.PromptOf(all[1:2], func(mailbox.Entry) bool { return true }); !strings.Contains(p.Text, `verified="false"`) {
		t.Errorf("%s", p.Text)
	}
}
