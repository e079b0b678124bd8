// Package session records the requests of ordinary sessions of coding agents: sessions that waggle
// did not start and does not lead, in which a hook of waggle runs (trust §1, "session"; client §2,
// §3).
//
// Each session has a private journal, STATE/sessions/<session id>/session. The hook process appends
// the session's request and waits; any operator process decides, once, by compare-and-set on that
// journal; the hook process prints the answer for the client and records it. The client's own
// dialog is open meanwhile: the first answer decides.
//
//	store := session.Store{Dir: dir, Now: time.Now}
//	err := session.Hook{Store: store, …}.Run(ctx, "PermissionRequest", os.Stdin, os.Stdout)
//	open, err := store.Open(id)          // the journal and its fold
//	out, err := open.Decide(ctx, w, v)   // compare-and-set
//
// A hook that holds its client's own dialog back waits only while a person attends: a process that shows
// what waits holds a lock in the store (Store.Attend), or the user has said so (Store.SetAway). Else the
// request is left to that dialog, and its session is listed as one that waits there.
//
// The package only answers requests; it is no gate: it never sees a call that the session's own
// rules allow, and a dead hook leaves the client's dialog as it was (level "answers").
package session
