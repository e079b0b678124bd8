package session

import (
	"context"
	"slices"

	"waggle/internal/claude/claudesessions"
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

// Caller is the session inside of which a command was given.
type Caller struct {
	Session  ID
	Variable string // of the environment, which says so; "": a process above does
}

// idVars are the variables in which clients tell the processes that they start the id of their session. Such a process
// has them also when its parents have gone.
var idVars = map[Client]string{Claude: "CLAUDE_CODE_SESSION_ID", Codex: "CODEX_THREAD_ID", Gemini: "GEMINI_SESSION_ID"}

// Above returns the running session whose process is among those above a process, or whose id is in its environment. The
// sessions of Claude Code are those that it has registered in configDir, with a start time or without, of other clients those that a hook recorded.
func (s Store) Above(configDir string, above []spawn.Identity, environ []string, live Liveness) (Caller, bool) {
	var list []running
	for _, r := range registeredIn(configDir, claudesessions.Entry.Alive) { // what is not verified is refused all the same
		list = append(list, running{r, Claude})
	}
	stored, _ := s.All() // those that can be read
	for _, one := range stored {
		if p := one.Process(); p != nil && p.Client != Claude && one.runs(live) {
			list = append(list, running{Registered{one.ID, p.Process}, p.Client})
		}
	}
	for _, a := range above {
		for _, r := range list {
			if a.Is(r.Process) {
				return Caller{Session: r.Session}, true
			}
		}
	}
	for _, r := range list {
		if name := idVars[r.client]; name != "" && slices.Contains(environ, name+"="+string(r.Session)) {
			return Caller{Session: r.Session, Variable: name}, true
		}
	}
	return Caller{}, false
}

// running is a session that runs, with its client.
type running struct {
	Registered
	client Client
}

// Refuse records that a command was given from inside a session.
func (s Store) Refuse(ctx context.Context, w journal.Writer, id ID, what string, pid int) error {
	return s.put(ctx, w, id, journal.Draft{Kind: recUnverified, Must: true, Body: Unverified{What: what, PID: pid}})
}
