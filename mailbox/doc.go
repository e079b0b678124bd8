// Package mailbox is one member's durable store of messages, in one of two layouts
// (protocol §2.2): teams/<team>/inboxes/<name>.json, a JSON array that real Claude Code
// processes, Node tools and jq read and write too, and
// teams/<team>/mailbox/<name>.jsonl, one message a line, from which what was taken
// is removed.
//
//	dir := mailbox.Dir{Path: inboxes}
//	box, err := dir.Open("tester", mailbox.Options{})
//	err = box.Append(ctx, env)
//	entries, err := box.Unread(ctx)
//	err = box.MarkRead(ctx, entries[0].ID)
//
// Guarantees: an append that returned nil is in the file, once, whoever else
// writes under the lock; a lock-free reader always sees valid JSON from us; the
// bytes of other people's entries are never changed, except the value of read
// when an entry is marked. At least once, in file order: a receiver marks an
// entry read only after it owns it.
//
// A writer that was killed may have published its last entry without having said
// so: whoever repeats it must expect a second copy, which has the same Hash.
//
// Other programs may write without the lock, or half a file. What they add
// between our read and our write is merged where the file system can exchange
// names (package atomicfile says how); a file that stays broken is repaired by
// keeping its readable entries, and what it was is kept beside it as
// "<name>.json.corrupt-<time>". Of a file of lines only the lines that are not JSON
// go there; a last line without its end stays for its writer. Nothing is ever
// silently emptied or deleted.
package mailbox
