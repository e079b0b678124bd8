package transport_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"waggle/mailbox"
	"waggle/protocol"
	"waggle/transport"
)

func address(t *testing.T, s string) protocol.Address {
	t.Helper()
	a, err := protocol.ParseAddress(s)
	must(t, err)
	return a
}

func TestRouter(t *testing.T) {
	t.Parallel()
	box := mailbox.NewMemory(mailbox.Options{})
	missing := errors.New("no such member")
	r := transport.Router{protocol.SchemeMember: transport.Mailboxes{Open: func(_ context.Context, to protocol.Address) (mailbox.Store, error) {
		if to.Member != "ann" {
			return nil, missing
		}
		return box, nil
	}}}
	for ahead := range 3 {
		env := protocol.Envelope{From: "bob", Text: "hello", MsgID: fmt.Sprint("m", ahead)}
		got, err := r.Send(t.Context(), address(t, "ann"), env)
		if want := (transport.Receipt{MsgID: env.MsgID, State: transport.Written, Ahead: ahead}); err != nil || got != want {
			t.Errorf("receipt %+v, %v, want %+v", got, err, want)
		}
	}
	if _, err := r.Send(t.Context(), address(t, "ann"), protocol.Envelope{From: "bob", Text: "hello", MsgID: "m1"}); err != nil {
		t.Errorf("the same message again: %v", err)
	}
	if _, err := r.Send(t.Context(), address(t, "eve"), protocol.Envelope{}); !errors.Is(err, missing) {
		t.Errorf("a member that is not there: %v", err)
	}
	for _, to := range []string{"uds:/run/x.sock", "bridge:1", "http://127.0.0.1:1/", "*"} {
		_, err := r.Send(t.Context(), address(t, to), protocol.Envelope{})
		if scheme, ok := errors.AsType[*transport.SchemeError](err); !ok || scheme.Scheme != address(t, to).Scheme || !strings.HasSuffix(err.Error(), "only to: member") {
			t.Errorf("%s: %v", to, err)
		}
	}
	if entries, err := box.Entries(t.Context()); err != nil || len(entries) != 3 {
		t.Errorf("%d entries, %v, want 3", len(entries), err)
	}
}

func ExampleRouter() {
	ctx := context.Background()
	box := mailbox.NewMemory(mailbox.Options{})
	r := transport.Router{protocol.SchemeMember: transport.Mailboxes{
		Open: func(context.Context, protocol.Address) (mailbox.Store, error) { return box, nil },
	}}
	to, err := protocol.ParseAddress("ann@api")
	if err != nil {
		fmt.Println(err)
		return
	}
	receipt, err := r.Send(ctx, to, protocol.Envelope{From: "bob", Text: "the tests are green", MsgID: "1"})
	fmt.Println(receipt.State, receipt.Ahead, err)
	// Output: written 0 <nil>
}
