package poll_test

import (
	"context"
	"fmt"

	"waggle/mailbox"
	"waggle/message"
	"waggle/poll"
	"waggle/protocol"
)

// reader is the smallest machine: it judges nothing and takes all chat.
type reader struct{ taken map[string]bool }

func (reader) Refresh(context.Context) error                   { return nil }
func (reader) Receive(context.Context, message.Incoming) error { return nil }
func (reader) Apply(context.Context) error                     { return nil }

func (r reader) Standing(entry string) poll.Standing {
	if r.taken[entry] {
		return poll.Owned
	}
	return poll.New
}

func (r reader) Deliver(_ context.Context, chat []message.Incoming) (taken []mailbox.ID, err error) {
	for _, in := range chat {
		fmt.Printf("%s: %s\n", in.Envelope.From, in.Envelope.Text)
		r.taken[in.Entry] = true
		id, err := mailbox.ParseID(in.Entry)
		if err != nil {
			return taken, err
		}
		taken = append(taken, id)
	}
	return taken, nil
}

func Example() {
	ctx := context.Background()
	box := mailbox.NewMemory(mailbox.Options{})
	err := box.Append(ctx, protocol.Envelope{From: "bob", Text: "the tests are green"}, protocol.Envelope{From: "eve", Text: "mine too"})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := poll.Poller{Name: "ann", Box: box, Machine: reader{map[string]bool{}}, Mark: true}
	for range 2 { // the second pass finds no new entry
		if err := p.Pass(ctx); err != nil {
			fmt.Println(err)
		}
	}
	left, err := box.Unread(ctx)
	fmt.Println(len(left), "unread", err)
	// Output:
	// bob: the tests are green
	// eve: mine too
	// 0 unread <nil>
}
