package mailbox_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"waggle/mailbox"
	"waggle/protocol"
)

func Example() {
	team, err := os.MkdirTemp("", "team")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(team)

	ctx := context.Background()
	box, err := mailbox.Dir{Path: filepath.Join(team, "inboxes")}.Open("tester", mailbox.Options{})
	if err != nil {
		panic(err)
	}
	err = box.Append(ctx, protocol.Envelope{From: "team-lead", Text: "please test", Timestamp: "2026-11-20T18:15:43.000Z"})
	if err != nil {
		panic(err)
	}
	entries, err := box.Unread(ctx)
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		fmt.Println(e.Envelope.From, "says", e.Envelope.Text)
		if err := box.MarkRead(ctx, e.ID); err != nil {
			panic(err)
		}
	}
	entries, err = box.Unread(ctx)
	fmt.Println(len(entries), "unread", err)
	// Output:
	// team-lead says please test
	// 0 unread <nil>
}
