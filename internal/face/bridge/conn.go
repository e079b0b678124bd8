package bridge

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/coder/websocket"

	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/mail"
)

// conn is one editor's connection. One goroutine reads and carries out the editor's frames; a
// second one reads the team and pushes changes.
type conn struct {
	b    *Bridge
	ws   *websocket.Conn
	id   string // guarded by b.mu until serve has named it
	mail Mail
	look chan struct{} // capacity 1

	stop   context.CancelFunc // ends it
	number uint64             // in the order of arrival; guarded by b.mu
	out    bool               // it was put out; guarded by b.mu

	// What the editor has been sent on this connection; only the pushing goroutine uses it.
	sent    map[string]map[string]bool // by member, "" for its own: the entries that are there
	waits   string
	members string
}

// nudge requests another reading of the team; pending requests are merged.
func (c *conn) nudge() {
	select {
	case c.look <- struct{}{}:
	default:
	}
}

// leave sends the editor the reason for the end of its connection. A failure is ignored, because
// the connection ends anyway.
func (c *conn) leave(ctx context.Context, why error) { _ = c.write(ctx, c.b.failed(opError, "", why)) }

// serve runs until the editor leaves, is put out, or ctx ends.
func (c *conn) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := c.hello(ctx); err != nil {
		c.b.o.Log.Warn("bridge: refused", "why", err)
		c.leave(ctx, err)
		_ = c.ws.Close(websocket.StatusPolicyViolation, "hello")
		return
	}
	c.b.replace(ctx, c)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer cancel() // an editor that does not read is not read either
		c.pushes(ctx)
	})
	c.reads(ctx)
	cancel()
	wg.Wait()
	_ = c.ws.CloseNow()
}

// hello accepts an editor that has the token. Frames before that are ignored.
func (c *conn) hello(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, helloWait)
	defer cancel()
	_, data, err := c.ws.Read(ctx)
	if err != nil {
		return err
	}
	f, err := parseFrame(data)
	switch {
	case err != nil:
		return &operator.Error{Kind: operator.Usage, Op: "bridge", Err: err}
	case f.op != opHello || !c.b.knows(f.token):
		return &operator.Error{Kind: operator.Refused, Op: "bridge", Msg: "the first frame must be a hello with the token of this bridge",
			Next: operator.NextBridgeToken.With()}
	case f.version != version:
		return &operator.Error{Kind: operator.Usage, Op: "bridge", Msg: fmt.Sprintf("this bridge speaks version %d, not %d", version, f.version)}
	}
	if c.mail, err = c.b.o.Desk.Register(ctx, f.id); err != nil {
		return err
	}
	if err := c.b.name(c, f.id); err != nil {
		return err
	}
	return c.write(ctx, push{Op: opWelcome, V: version, Team: c.b.o.Desk.Team(), ID: f.id})
}

func (c *conn) write(ctx context.Context, p push) error {
	data, err := page.DocumentLine(p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	return c.ws.Write(ctx, websocket.MessageText, data)
}

// reads does what the editor asks until it leaves.
func (c *conn) reads(ctx context.Context) {
	for {
		_, data, err := c.ws.Read(ctx)
		if err != nil {
			return
		}
		f, err := parseFrame(data)
		if err != nil {
			err = &operator.Error{Kind: operator.Usage, Op: "bridge", Err: err}
		} else {
			err = c.do(ctx, f)
		}
		if err != nil && c.write(ctx, c.b.failed(opResult, f.ref, err)) != nil {
			return
		}
		c.nudge()
	}
}

// do carries out one frame. The editor gets its error.
func (c *conn) do(ctx context.Context, f frame) error {
	switch f.op {
	case opTook:
		return c.mail.Take(ctx, f.entry)
	case opDecide:
		return c.decide(ctx, f)
	case opSend:
		sent, err := c.b.o.Desk.Send(ctx, f.to, f.text)
		if err != nil {
			return err
		}
		return c.write(ctx, push{Op: opResult, Ref: f.ref, Sent: &sent})
	}
	return &operator.Error{Kind: operator.Usage, Op: "bridge", Msg: fmt.Sprintf("there is no op %q", f.op)}
}

// decide answers a request. An editor always says what it was shown: the whole
// digest, not the beginning that suffices for a person who types.
func (c *conn) decide(ctx context.Context, f frame) error {
	if f.decision != "allow" && f.decision != "deny" {
		return &operator.Error{Kind: operator.Usage, Op: "decide", Msg: fmt.Sprintf("the decision is %q, not allow or deny", f.decision)}
	}
	if len(f.digest) != 64 {
		return &operator.Error{Kind: operator.Refused, Op: "decide", Msg: "an answer needs the digest of what was shown"}
	}
	d, err := c.b.o.Desk.Decide(ctx, decide.Answer{ID: f.id, Digest: f.digest, Allow: f.decision == "allow", Reason: f.reason, Via: "bridge"})
	if err == nil {
		err = d.Err()
	}
	if err != nil {
		return err
	}
	return c.write(ctx, push{Op: opResult, Ref: f.ref, Decided: &d})
}

// pushes sends what is new, at once and then whenever there is a nudge.
func (c *conn) pushes(ctx context.Context) {
	c.sent = map[string]map[string]bool{}
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		// A lock that is held at the moment is not reported.
		if err := c.push(ctx); err != nil && operator.KindOf(err) != operator.Locked {
			if ctx.Err() == nil {
				c.b.o.Log.Warn("bridge: editor is put out", "id", c.id, "why", err)
				c.leave(ctx, err)
			}
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-c.look:
		case <-ping.C:
			pctx, cancel := context.WithTimeout(ctx, writeWait)
			err := c.ws.Ping(pctx)
			cancel()
			if err != nil {
				return
			}
		}
	}
}

// push sends what has changed since the last time: own mail, then questions, then
// the members and their mail.
func (c *conn) push(ctx context.Context) error {
	mail, err := c.mail.Unread(ctx)
	if err != nil {
		return err
	}
	if err := c.once(ctx, "", mail); err != nil {
		return err
	}
	v, err := c.b.o.Desk.Look(ctx)
	if err != nil {
		return err
	}
	waiting := make([]question, len(v.Pending))
	for i, q := range v.Pending {
		waiting[i] = question{q, string(q.Input)}
	}
	if err := c.changed(ctx, &c.waits, waiting, push{Op: opPending, Pending: &page.Told{Doc: waiting, Now: v.At}}); err != nil {
		return err
	}
	status := view.Status(&v.Status)
	if err := c.changed(ctx, &c.members, status, push{Op: opStatus, Status: &status}); err != nil {
		return err
	}
	for _, in := range v.Inboxes {
		if err := c.once(ctx, in.Member, in.Entries); err != nil {
			return err
		}
	}
	return nil
}

// once sends the entries of a mailbox that were not sent on this connection; of a
// member's only the last ones. The editor's own mailbox has no member, and each of
// its messages is a frame.
func (c *conn) once(ctx context.Context, member string, entries []mail.InboxEntry) error {
	was, is := c.sent[member], make(map[string]bool, len(entries))
	var fresh []mail.InboxEntry
	for _, e := range entries {
		is[e.ID] = true
		if !was[e.ID] {
			fresh = append(fresh, e)
		}
	}
	c.sent[member] = is
	if member == "" {
		for i := range fresh {
			if err := c.write(ctx, push{Op: opMessage, Entry: &fresh[i]}); err != nil {
				return err
			}
		}
		return nil
	}
	if fresh = fresh[max(0, len(fresh)-maxHistory):]; len(fresh) == 0 {
		return nil
	}
	return c.write(ctx, push{Op: opTeam, Member: member, Entries: fresh})
}

// changed sends p when what it shows is not what was sent last. Ages, which the editor counts itself, make no difference:
// they are 0 at the zero time.
func (c *conn) changed(ctx context.Context, last *string, shows any, p push) error {
	now, err := page.DocumentLine(page.Told{Doc: shows})
	if err != nil {
		return err
	}
	if string(now) == *last {
		return nil
	}
	if err := c.write(ctx, p); err != nil {
		return err
	}
	*last = string(now)
	return nil
}
