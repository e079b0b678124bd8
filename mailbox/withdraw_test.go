package mailbox_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/protocol"
)

// withdrawers are the stores that implement Withdrawer.
func withdrawers(t *testing.T) map[string]mailbox.Store {
	t.Helper()
	box, err := mailbox.Dir{Path: t.TempDir()}.Open("ann", mailbox.Options{})
	testenv.Must(t, err)
	lines, err := mailbox.Dir{Path: t.TempDir(), Layout: mailbox.JSONL}.Open("ann", mailbox.Options{})
	testenv.Must(t, err)
	return map[string]mailbox.Store{"box": box, "lines": lines, "memory": mailbox.NewMemory(mailbox.Options{})}
}

// TestWithdraw removes unread entries, whatever the retention; read entries and all others stay.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	for name, box := range withdrawers(t) {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			var envs []protocol.Envelope
			for i := range 4 {
				envs = append(envs, protocol.Envelope{From: "bob", Text: fmt.Sprint("words ", i), Timestamp: "2026-01-01T00:00:00.000Z", MsgID: fmt.Sprint(i)})
			}
			w := box.(mailbox.Withdrawer)
			if gone, err := w.Withdraw(ctx, mailbox.ID{Hash: envs[0].Hash(), Occurrence: 1}); err != nil || len(gone) > 0 {
				t.Fatalf("from nothing: %v, %v", gone, err)
			}
			testenv.Must(t, box.Append(ctx, envs...))
			es, err := box.Entries(ctx)
			testenv.Must(t, err)
			testenv.Must(t, box.MarkRead(ctx, es[1].ID))
			gone, err := w.Withdraw(ctx, es[0].ID, es[1].ID, es[2].ID, mailbox.ID{Hash: "none", Occurrence: 1})
			if err != nil || !slices.Equal(gone, []mailbox.ID{es[0].ID, es[2].ID}) {
				t.Errorf("gone %v, %v", gone, err)
			}
			rest, err := box.Entries(ctx)
			if err != nil || len(rest) != 2 || rest[0].ID != es[1].ID || !rest[0].Envelope.Read || rest[1].ID != es[3].ID {
				t.Errorf("left %v, %v", rest, err)
			}
			if gone, err := w.Withdraw(ctx, es[0].ID); err != nil || len(gone) > 0 {
				t.Errorf("again: %v, %v", gone, err)
			}
		})
	}
}

// TestWithdrawOrRead: a reader marks and a sender withdraws; each entry goes to one of them.
func TestWithdrawOrRead(t *testing.T) {
	t.Parallel()
	for name, box := range withdrawers(t) {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			const n = 30
			for i := range n {
				testenv.Must(t, box.Append(ctx, protocol.Envelope{From: "bob", Text: "words", Timestamp: "2026-01-01T00:00:00.000Z", MsgID: fmt.Sprint(i)}))
			}
			es, err := box.Entries(ctx)
			testenv.Must(t, err)
			back := make([]bool, n)
			var wg sync.WaitGroup
			wg.Go(func() {
				for _, e := range es {
					if err := box.MarkRead(ctx, e.ID); err != nil {
						t.Error(err)
					}
				}
			})
			wg.Go(func() {
				for i, e := range slices.Backward(es) {
					gone, err := box.(mailbox.Withdrawer).Withdraw(ctx, e.ID)
					back[i] = len(gone) == 1
					if err != nil {
						t.Error(err)
					}
				}
			})
			wg.Wait()
			left := map[string]bool{}
			rest, err := box.Entries(ctx)
			testenv.Must(t, err)
			for _, e := range rest {
				left[e.Envelope.MsgID] = e.Envelope.Read
			}
			for i := range n {
				if read, there := left[fmt.Sprint(i)]; there == back[i] || there && !read {
					t.Errorf("entry %d: withdrawn %v, there %v, read %v", i, back[i], there, read)
				}
			}
		})
	}
}
