// Monitor prints how the members of a team are and what they ask, whenever it changes, until
// the team has ended. It decides nothing.
//
//	go run ./monitor ROOT STATE TEAM
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"waggle/mailbox"
	"waggle/operator"
	"waggle/poll"
	"waggle/protocol"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 4 {
		log.Fatal("usage: monitor ROOT STATE TEAM")
	}
	op := operator.At(os.Args[1], os.Args[2], poll.Minter{Now: time.Now, Rand: rand.Reader})
	name := protocol.TeamName(os.Args[3])
	s, err := op.Open(ctx, name, operator.Act)
	if err != nil {
		log.Fatalf("team %s: %v", name, err)
	}
	nudges, err := mailbox.Watch(ctx, mailbox.WatchOptions{Interval: time.Second}, s.Dir.LeaderJournal())
	if err != nil {
		log.Fatal(err)
	}
	said := map[string]bool{}
	say := func(line string) {
		if !said[line] {
			said[line] = true
			fmt.Println(line)
		}
	}
	for range nudges {
		if err := s.Journal.Refresh(ctx); err != nil || s.Lead.Ended != nil {
			say("the team has ended")
			return
		}
		for _, m := range s.Lead.Members {
			say(fmt.Sprintf("%s is %s", m.Name, m.State()))
		}
		for _, r := range s.Lead.Pending() {
			say(fmt.Sprintf("%s waits for an answer: %s %s", r.Handle, r.Ask.Tool, r.Ask.Input))
		}
	}
}
