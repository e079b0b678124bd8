// Package control holds the machines of a team: what a leader and a worker are allowed to do next,
// given what is on record. It is pure: a machine is a fold of its journal, a step reads the fold
// and returns the records to append, and the remaining effects (mail to send, members to release)
// are methods of the fold. Nothing here does I/O, waits, or reads a clock.
//
// The shape of every change, from whichever process it comes:
//
//	recs, err := j.Append(ctx, writer, func() ([]journal.Draft, error) {
//		return machine.Decide(…)      // compare with the fold, draft records
//	})                                    // written, flushed, folded
//	for _, mail := range machine.Outbox() // then do what the record calls for
//
// Forged and replayed messages, and records that their writer was not allowed to write, change
// nothing; a record that no correct program writes is an error, and the fold is not used any
// further.
//
// The state of a machine follows from what its fold holds, and from nothing else. Each move
// is in the machine's table (package machine), where observers find its row; a record whose
// move is not there is not written, and one that is on record fails no fold. What records
// hold is package record.
package control
