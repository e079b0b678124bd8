//go:build unix

package transport_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"waggle/mailbox"
	"waggle/protocol"
	"waggle/transport"
)

// desk is a host that puts every message into one mailbox.
type desk struct{ box mailbox.Store }

func (d desk) Take(ctx context.Context, _ transport.Peer, _ protocol.Address, env protocol.Envelope) (transport.Receipt, error) {
	return transport.Deposit(ctx, d.box, env)
}

func (d desk) Refused(_ context.Context, r transport.Refusal) { fmt.Println("refused:", r.Why) }

// A process that serves a socket, and a client that finds its key and talks to it.
func ExampleDial() {
	dir, err := os.MkdirTemp("", "wx")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	place := transport.SocketDirs{Dir: filepath.Join(dir, "run"), Keys: filepath.Join(dir, "keys")}
	s, err := transport.Listen(transport.SocketOptions{Dirs: place, Name: "ann", Team: "api", Rand: rand.Reader, Now: time.Now,
		Host: desk{mailbox.NewMemory(mailbox.Options{})}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(ctx) })
	defer serving.Wait()
	defer cancel()

	token, _ := transport.Token([]string{place.Keys}, s.Path())
	c, err := transport.Dial(ctx, s.Path(), token)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	receipt, err := c.Send(ctx, protocol.Address{}, protocol.Envelope{From: "bob", Text: "the tests are green", MsgID: "1"})
	fmt.Println(c.Name(), receipt.State, err)
	// Output: ann written <nil>
}
