// Reader prints what lies in one mailbox, and what comes, until it is interrupted. It takes
// nothing out and marks nothing.
//
//	go run ./reader ROOT TEAM MEMBER
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"waggle/boxes"
	"waggle/mailbox"
	"waggle/protocol"
	"waggle/team"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 4 {
		log.Fatal("usage: reader ROOT TEAM MEMBER")
	}
	name, err := protocol.ParseTeam(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	mail := boxes.Of(team.Root{Path: os.Args[1]}, name)
	box, err := mail.Open(protocol.MemberName(os.Args[3]), mailbox.Options{})
	if err != nil {
		log.Fatal(err)
	}
	nudges, err := mailbox.Watch(ctx, mailbox.WatchOptions{}, mail.Dirs()...)
	if err != nil {
		log.Fatal(err)
	}
	seen := map[mailbox.ID]bool{}
	for {
		entries, err := box.Entries(ctx)
		if err != nil && ctx.Err() == nil {
			log.Print(err)
		}
		for _, e := range entries {
			if !seen[e.ID] {
				seen[e.ID] = true
				fmt.Printf("%s: %s: %s\n", e.Envelope.From, protocol.Decode(e.Envelope).Kind, e.Envelope.Text)
			}
		}
		if _, more := <-nudges; !more {
			return
		}
	}
}
