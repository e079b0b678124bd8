package boxes_test

import (
	"context"
	"fmt"
	"os"

	"waggle/boxes"
	"waggle/mailbox"
	"waggle/protocol"
	"waggle/team"
)

// A program that knows a team's name reads and writes its mailboxes as its members do.
func ExampleOf() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	root := team.Root{Path: dir}
	if _, err := team.Create(ctx, root, team.Config{Name: "api"}, team.Options{}); err != nil {
		panic(err)
	}
	box, err := boxes.Of(root, "api").Open("tester", mailbox.Options{})
	if err != nil {
		panic(err)
	}
	if err := box.Append(ctx, protocol.Envelope{From: "team-lead", Text: "Good morning", Timestamp: "2026-11-22T10:00:00.000Z"}); err != nil {
		panic(err)
	}
	unread, err := box.Unread(ctx)
	for _, e := range unread {
		fmt.Println(e.Envelope.From+":", e.Envelope.Text, err)
	}
	// Output: team-lead: Good morning <nil>
}
