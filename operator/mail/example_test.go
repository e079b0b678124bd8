package mail_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/operator"
	"waggle/operator/mail"
	"waggle/poll"
	"waggle/protocol"
	"waggle/team"
)

// A message to a member is on record before it lies in the mailbox. Its id finds it, and withdraws it
// while nobody has read it.
func Example() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	op := operator.At(filepath.Join(dir, "root"), filepath.Join(dir, "state"), poll.Minter{Now: time.Now, Rand: rand.Reader})
	ctx := context.Background()
	if _, err := team.Create(ctx, op.Root, team.Config{Name: "api", Members: []team.Member{{Name: "bob"}}}, team.Options{}); err != nil {
		panic(err)
	}
	sent, err := mail.Of(op).Send(ctx, "api", mail.Message{To: protocol.Address{Scheme: protocol.SchemeMember, Member: "bob"}, Text: "look at the tests"})
	if err != nil {
		panic(err)
	}
	in, err := mail.Of(op).Inbox(ctx, "api", "bob", true)
	if err != nil {
		panic(err)
	}
	for _, e := range in.Entries {
		fmt.Println(e.From, "to", in.Member+":", e.Text)
	}
	if _, err := mail.Of(op).Withdraw(ctx, "api", sent[0].MsgID); err != nil {
		panic(err)
	}
	found, err := mail.Of(op).Message(ctx, "api", sent[0].MsgID)
	if err != nil {
		panic(err)
	}
	for _, s := range found[0].States {
		fmt.Println(s.State)
	}
	// Output:
	// waggle to bob: look at the tests
	// queued
	// written
	// withdrawn
}

// To read the mailbox of a team that does not exist is an error, not an empty mailbox.
func ExampleOperator_Inbox() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	op := operator.At(filepath.Join(dir, "root"), filepath.Join(dir, "state"), poll.Minter{Now: time.Now, Rand: rand.Reader})
	_, err = mail.Of(op).Inbox(context.Background(), "web", "team-lead", true)
	fmt.Println(err, operator.KindOf(err) == operator.NotFound)
	// Output:
	// no team "web" true
}
