// Package notice tells a person that somebody waits, where no screen shows it.
//
//	n := notice.Start(notice.Options{Channels: notice.Channels(notice.Place{Env: env}), Do: "waggle pending", Now: time.Now})
//	defer n.Close()
//	n.Waiting(map[string][]notice.Wait{"api": {{ID: "perm-1", Who: "ann"}}}) // all that waits, at every change
//
// A Notifier compares the ids of what waits with those that it has told of. A notice is for what is new and still
// waits after Settle, at most one a team in Window, and is withdrawn when nothing of the team waits any more. It
// has the name of the team and the names of members, never what they ask for. A notice that no channel could show
// counts as not told: it is tried again after Window. Options.Failed gets the error of a channel.
package notice
