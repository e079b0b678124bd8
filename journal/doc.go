// Package journal is the append-only, hash-chained record behind every effect in
// a team (trust §4). One journal per member instance and one for the leader; the
// state of a machine is a fold of its journal.
//
//	dir := journal.Dir{Path: "…/journal", UID: uid}
//	j, err := dir.Open("leader", fold, journal.Options{})
//	err = j.Refresh(ctx)                        // fold what others appended
//	recs, err := j.Append(ctx, writer, func() ([]journal.Draft, error) {
//		// the fold is current and nobody else can append: compare, then set
//		if !fold.Pending(id) { return nil, errDecided }
//		return []journal.Draft{{Kind: "decided", Must: true, Body: d}}, nil
//	})
//
// Bodies are opaque here: control knows what they mean.
//
// # Guarantees
//
// Append returns nil only after its lines are on disk. Its compare is against
// everything appended before. All records of one Append are there or none, for
// readers and after a crash. A line that counts is never changed or removed, but
// for one case: an append whose flush failed is withdrawn, and a reader that was
// quick enough to fold it then finds the journal broken and has to open it again.
//
// An epoch only rises: an append by an older start of an instance is refused with
// StaleError.
//
// An unfinished append at the end (its writer died) is ignored by readers; the
// next Append cuts it, keeps its bytes among the bodies and records that
// ("repaired"). Everything else that is not as it was written is a BrokenError,
// which says where, and ends reading and appending through that File. So is an end
// that was cut off, also exactly behind an append: who has the journal open knows
// what it read, and everybody else knows what certain.json says.
//
// What was folded is not read again: a File notices a replaced or shortened
// segment, and a changed line or a removed segment when the next line is appended;
// Open notices all, except for what lies before a snapshot.
//
// # Files
//
//	<Path>/<name>/                 0700, a real directory
//	    lock                       flock that Append holds; never replaced
//	    00000001.jsonl             segments, 0600, numbered without gaps from 1
//	    bodies/<sha256>            bodies over 8 KiB, and bytes that were cut
//	    certain.json               the last line that is certainly on disk
//	    snapshot-<16 hex>          a cache of a Snapshotter, may be deleted at any time
//
// FORMAT.md describes what is in them. Segments and the directories that hold them are used only
// when they are no symbolic links and writable by nobody but their owner. One append never spans
// two segments. A file certain.json that is put back together with the segments, both old, shows
// nothing.
package journal
