package session

import (
	"context"

	"waggle/journal"
	"waggle/spawn"
)

// recUnverified says that a command was given in the operator's name from inside a
// session.
const recUnverified = "unverified"

// Unverified is that record.
type Unverified struct {
	What string `json:"what"`
	PID  int    `json:"pid"`
}

// Inside returns the registered session among the processes above this one; false when
// there is none.
func Inside(above []spawn.Identity, registered []Registered) (Registered, bool) {
	for _, a := range above {
		for _, r := range registered {
			if a.PID == r.Process.PID && a.Start == r.Process.Start {
				return r, true
			}
		}
	}
	return Registered{}, false
}

// Refuse records that a command was given from inside a session.
func (s Store) Refuse(ctx context.Context, w journal.Writer, id ID, what string, pid int) error {
	one, err := s.Make(id)
	if err != nil {
		return err
	}
	return one.append(ctx, w, func(*Fold) ([]journal.Draft, error) {
		return []journal.Draft{{Kind: recUnverified, Must: true, Body: Unverified{What: what, PID: pid}}}, nil
	})
}
