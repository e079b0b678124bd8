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
// # Layout
//
//	<Path>/<name>/                 0700, a real directory
//	    lock                       flock that Append holds; never replaced
//	    00000001.jsonl             segments, 0600, numbered without gaps from 1
//	    bodies/<sha256>            bodies over 8 KiB, and bytes that were cut
//	    certain.json               the last line that is certainly on disk
//	    snapshot-<16 hex>          a cache, may be deleted at any time
//
// Segments and the directories that hold them are used only when they are no
// symbolic links and writable by nobody but their owner. An append goes to the
// last segment, or to a new one when that has 8 MiB or more: one append never
// spans two, and a segment that has a successor gets no more lines.
//
// # Lines
//
// A line is one JSON object on one line, ended by a newline, at most 12 KiB, with
// these keys in this order, no spaces between them, and no others:
//
//	v        1. Another number: written by a newer waggle, not read further
//	must     true: a reader that does not know kind must not go on
//	journal  the journal's name
//	seq      1, 2, 3, … without gaps, through all segments
//	prev     hex SHA-256 of the previous line's bytes with its newline; for seq 1
//	         of "waggle/journal/1" NUL team_uid NUL name
//	time     "2026-01-02T15:04:05.000Z"
//	writer   {instance, operator, epoch, pid}; the first three only when they
//	         are not "", false, 0
//	kind     a-z, 0-9, "_", "-", "."
//	body     any JSON, or in its place
//	ref      {sha256, size} of the file that holds the body; neither: no body
//	more     true, on all lines of an append but its last: they count together
//	sum      first 16 hex digits of the SHA-256 of the line's bytes up to here,
//	         that is before ,"sum"
//
// A body file is flushed before the line that names it is written. sum finds what
// a disk or an editor changed, on the last line too; the chain finds what was
// removed, added or moved.
//
// # The end
//
// certain.json is one object, and spaces up to 95 bytes and a newline, with these
// keys in this order:
//
//	seq    of the last line that was flushed
//	sum    of that line
//	check  first 16 hex digits of the SHA-256 of the bytes up to here, that is
//	       before ,"check"
//
// Whoever appended writes it in place, under the lock and after the flush. A writer
// that is killed in between leaves the one of an earlier line: it may lag, and never
// leads. Readers read it before the segments and only compare: a journal that ends
// before that line, or has another line there, is broken. One that is missing, or
// not as it was written, says nothing, and the next append writes it anew. A copy of
// a journal that is taken while it is written must read it first, or leave it out.
// A file that is put back together with the segments, both old, shows nothing.
//
// # Snapshots
//
// A fold that implements Snapshotter is not rebuilt from the first line: Open
// hands it the newest snapshot, after checking that the line it was taken behind
// is in its place with its hash, and folds the rest. When that is much, it saves a
// new one. The digits of the name are the beginning of the SHA-256 of FoldVersion.
package journal
