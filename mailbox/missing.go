package mailbox

import (
	"context"

	"waggle/protocol"
)

// Missing returns the envelopes of sent that the store does not hold, in their order. An envelope
// that was appended twice and is there once is missing once. Missing takes no lock.
//
// A sender uses it to find lost messages. A program that holds the lock never removes an unread
// entry, so an envelope that is missing and that its receiver has not taken was overwritten by a
// program that writes without the lock. Append cannot detect that: such a program may have read the
// file before the append and replace it long after. In a store with Prune, read entries are missing
// too.
func Missing(ctx context.Context, s Store, sent ...protocol.Envelope) ([]protocol.Envelope, error) {
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
	var gone []protocol.Envelope
	for _, e := range sent {
		hash := HashOf(e)
		if there[hash]--; there[hash] < 0 {
			gone = append(gone, e)
		}
	}
	return gone, nil
}
