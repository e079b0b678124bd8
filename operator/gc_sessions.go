package operator

import (
	"context"
	"time"

	"waggle/internal/session"
)

// GarbageSession is what is kept of a session that has ended.
const GarbageSession = "session"

// sessionAge is how long what a session asked is kept after its end.
const sessionAge = 30 * 24 * time.Hour

// sessions finds what is kept of sessions that ended long ago. One that cannot be read
// is kept.
func (c *collector) sessions() {
	store, live := session.At(c.o.Home.Path, c.o.Minter.Now), session.Looking(c.o.Ancestors)
	before := c.o.Minter.Now().Add(-sessionAge)
	ids, err := store.Over(before, live)
	if err != nil {
		c.keep(Kept{Kind: GarbageSession, Team: SessionTeam, Path: store.Dir, Why: err.Error()})
	}
	for _, id := range ids {
		name, path := GarbageSession+" "+string(id), store.Path(id)
		if c.seen[name] {
			continue
		}
		c.seen[name] = true
		c.out.Found = append(c.out.Found, &Garbage{Kind: GarbageSession, Team: SessionTeam, Path: path, Why: "the session ended, and nothing of it was written for 30 days",
			unused: func(context.Context) bool { return store.IsOver(id, before, live) }, gone: missing(path),
			end: func(context.Context) error { return store.Remove(id) }})
	}
}
