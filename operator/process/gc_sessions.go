package process

import (
	"context"
	"time"

	"waggle/internal/claude/session"
	"waggle/operator"
	"waggle/operator/decide"
)

// GarbageSession is the journal of a session that has ended.
const GarbageSession = "session"

// sessionAge is how long a session's journal is kept after its end.
const sessionAge = 30 * 24 * time.Hour

// sessions finds the journals of sessions that ended long ago. One that cannot be read is kept.
func (c *collector) sessions() {
	store, live := session.At(c.o.Home.Path, c.o.Minter.Now), session.Looking(c.o.Ancestors)
	before := c.o.Minter.Now().Add(-sessionAge)
	ids, err := store.Over(before, live)
	if err != nil {
		c.keep(Kept{Kind: GarbageSession, Team: decide.SessionTeam, Path: store.Dir, Why: operator.Sentence{Text: err.Error()}})
	}
	for _, id := range ids {
		path := store.Path(id)
		c.find(&operator.State{Team: decide.SessionTeam}, string(id), Garbage{Kind: GarbageSession, Path: path, Why: "the session ended, and nothing of it was written for 30 days",
			unused: func(context.Context) bool { return store.IsOver(id, before, live) }, gone: missing(path),
			end: func(context.Context) error { return store.Remove(id) }})
	}
}
