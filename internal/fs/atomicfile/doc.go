// Package atomicfile edits shared JSON files so that no reader ever sees half of
// one and no two writers lose each other's work: the npm proper-lockfile lock
// (protocol §2.4), a queue among our own processes, whole-file replacement by copy,
// splice and exchange, and the fsync policies (docs/adr/0003-copy-splice-exchange.md).
//
//	err := atomicfile.Edit(ctx, path, atomicfile.Options{}, func(v atomicfile.View) ([]atomicfile.Splice, error) {
//		return []atomicfile.Splice{{Offset: v.Size(), Insert: line}}, nil
//	})
//
// Per path the order is: in-process mutex, our flock on a sibling that is never
// replaced (".<base>.flk"), the proper-lockfile directory ("<file>.lock", always
// empty). One deadline covers all three (trust §6). The directory is the real
// lock: it alone excludes other programs. The flock is a queue in front of it,
// and the file it lies on holds the record of our holder, so that a directory
// left behind by a killed process of ours is recognised and adopted at once.
//
// An edit builds the new content in ".<base>.<hex>.tmp" beside the file and
// publishes it whole. On the exchange tier the displaced file is compared with
// what was read: if a program that does not lock changed it meanwhile, the
// exchange is undone and the edit starts over on the changed content. The rename
// tier checks just before it renames; a change by such a program between that
// check and the rename (some microseconds) is lost, and it cannot see it.
//
// An edit costs a copy of its file. A mailbox in which much stays unread is better in JSON Lines, from which what was
// taken is removed.
//
// What is guaranteed is the exclusion of everybody who takes the lock, and
// whole contents for every reader, even when a writer is killed at any point.
// Power loss is another matter: see Sync.
package atomicfile
