// Package session keeps what ordinary sessions of coding agents ask their person:
// sessions that waggle did not start and does not lead, in which a hook of ours runs
// (trust §1, "session"; client §2, §3).
//
// Each session has a private journal, STATE/sessions/<session id>/session. The hook
// process appends what the session asks and waits; any operator process decides, once,
// by compare-and-set on that journal; the hook process prints the answer for the
// client and records it. The client's own dialog stands beside all this: whoever
// answers first decides.
//
//	store := session.Store{Dir: dir, Now: time.Now}
//	err := session.Hook{Store: store, …}.Run(ctx, "PermissionRequest", os.Stdin, os.Stdout)
//	open, err := store.Open(id)          // the journal and its fold
//	out, err := open.Decide(ctx, w, v)   // compare-and-set
//
// An answer here gates nothing: what the session's own rules allow is never seen, and
// a dead hook leaves the client's dialog as it was (level "answers").
package session
