package mailbox

import (
	"context"

	"waggle"
)

// Missing returns those of sent that are in a store no more, in their order; one
// that was appended twice and is there once is missing once. It takes no lock.
//
// It is how a sender learns that its message was lost: whoever keeps to the lock
// takes no unread entry away, so one that is missing and that its receiver has
// not taken was overwritten by a program that writes without the lock. That
// cannot be seen while it is being appended: such a program may have read the
// file before and replace it long after. In a store with Prune, what was read is
// missing too.
func Missing(ctx context.Context, s Store, sent ...waggle.Envelope) ([]waggle.Envelope, error) {
	if len(sent) == 0 {
		return nil, nil
	}
	entries, err := s.Entries(ctx)
	if err != nil {
		return nil, err
	}
	there := make(map[string]int, len(entries))
	for _, e := range entries {
		there[e.ID.Hash]++
	}
	var gone []waggle.Envelope
	for _, e := range sent {
		hash := HashOf(e)
		if there[hash]--; there[hash] < 0 {
			gone = append(gone, e)
		}
	}
	return gone, nil
}
