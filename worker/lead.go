package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/cut"
	"waggle/message"
	"waggle/poll"
	"waggle/protocol"
	"waggle/transport"
)

// The agent behind the lead runs in a worker whose mailbox is the lead's. The worker takes plain
// words and the orders that the leader's journal has for it; the leader's process, which reads the
// same mailbox, handles the requests and reports of members. From those the agent gets, as text,
// the events of the leader's journal that deserve a turn.

var _ poll.Sharing = (*Worker)(nil)

// Mine implements poll.Sharing.
func (w *Worker) Mine(in message.Incoming) bool {
	if !w.leads {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.p.Fold.Addressed(in, w.p.Lead)
}

// gather is how long events wait for more before they begin a turn by themselves: reports that
// arrive together are one turn of the lead. Mail does not wait, and events go with it.
const gather = 500 * time.Millisecond

// news returns the events that the lead's agent must get now. The caller holds mu.
func (w *Worker) news() []control.News {
	if !w.leads || w.p.Lead.Closing != nil {
		return nil
	}
	return w.p.Lead.NewsAfter(w.p.Fold.NewsSeq)
}

// newsDue reports whether events have waited for gather. The caller holds mu.
func (w *Worker) newsDue() bool {
	news := w.news()
	if len(news) == 0 {
		return false
	}
	age := w.p.Minter.Now().Sub(news[0].Time)
	return age < 0 || age >= gather // a clock that was set back delays nothing
}

// newsAgain returns the events that the earlier session got in the resumed turn.
func (w *Worker) newsAgain() []protocol.Mail {
	w.mu.Lock()
	defer w.mu.Unlock()
	if news := w.p.Fold.NewsAgain(w.p.Lead); w.leads && len(news) > 0 {
		return []protocol.Mail{newsMail(news)}
	}
	return nil
}

// asks returns the requests that wait for the lead's agent and that it was not told of: those of an
// agent that decides by calls of its own processes. The caller holds mu.
func (w *Worker) asks() []*control.Request {
	if _, decides := w.p.Agent.(agent.Decider); !w.leads || decides || w.p.Lead.Closing != nil {
		return nil
	}
	return slices.DeleteFunc(w.p.Lead.PendingForLead(), func(r *control.Request) bool { return w.told[r.Key] })
}

// asksMail tells the lead's agent which requests it is to answer. It decides by a call, never by
// words.
func asksMail(asks []*control.Request) protocol.Mail {
	var lines []string
	for _, r := range asks {
		lines = append(lines, fmt.Sprintf("request %s (%s) waits for your answer: list_requests shows it, answer_request answers", r.Handle, r.Gate()))
	}
	return protocol.Mail{From: "system", Summary: "requests for the lead", Text: strings.Join(lines, "\n")}
}

// leadCalls are the calls that the leader answers to the lead's agent.
var leadCalls = map[string]bool{"requests": true, "answer": true, "stop": true, "spawn": true, "assign": true, "board": true}

var noLeader = &transport.CallError{Code: transport.CodeRefused, Why: "no process leads this team now: try again later"}

// lead passes a call on to the process that leads, which knows this process by the record of its
// start. It decides within the policy, whatever this process says.
func (h host) lead(ctx context.Context, op string, a transport.Args) (any, error) {
	ctx, leave := h.within(ctx)
	defer leave()
	path := h.w.leading.Path(string(protocol.Lead))
	token, ok := transport.Token([]string{h.w.leading.Keys}, path)
	if !ok {
		return nil, noLeader
	}
	c, err := transport.Dial(ctx, path, token)
	if err != nil {
		return nil, noLeader
	}
	if a.Fields == nil { // the body was null
		a.Fields = map[string]json.RawMessage{}
	}
	got, err := c.Call(ctx, op, a.Fields)
	if cerr := c.Close(); err == nil {
		err = cerr
	}
	return got, err
}

// errToItself refuses messages of the lead's agent to the lead.
var errToItself = errors.New("the lead's own mailbox is where it would be read: name the member to whom this goes")

// newsMail formats events for the session of the lead. The name of its sender is reserved, so that
// no member has it.
func newsMail(news []control.News) protocol.Mail {
	lines := make([]string, len(news))
	for i, n := range news {
		lines[i] = newsLine(n)
	}
	return protocol.Mail{From: "system", Summary: "what became of the members", Text: strings.Join(lines, "\n")}
}

func newsLine(n control.News) string {
	what := map[control.NewsKind]string{control.NewsIdle: "is idle", control.NewsResult: "completed", control.NewsFailed: "failed",
		control.NewsLeft: "left the team", control.NewsAllIdle: "all members are idle"}[n.What]
	line := strings.TrimSpace(fmt.Sprintf("%s %s", n.Member, what))
	if n.Task != "" && n.What != control.NewsIdle {
		line += " task " + n.Task
	}
	if n.Note != "" {
		line += ": " + strings.Join(strings.Fields(n.Note), " ")
	}
	return line
}

// A session that was told to come back (GateWait) is told when its call is allowed after all: it asks
// again, which claims the grant.

// late returns the calls of which the session is to be told. The caller holds mu.
func (w *Worker) late() []*control.Call {
	return slices.DeleteFunc(w.p.Fold.Late(w.p.Minter.Now()), func(c *control.Call) bool { return w.told[c.Key] })
}

// tellLate remembers that the session knows. The caller holds mu.
func (w *Worker) tellLate(cs []*control.Call) {
	for _, c := range cs {
		w.told[c.Key] = true
	}
}

// late is what the session is told now, nil when there is nothing.
func (h host) late() *protocol.Mail {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	late := h.w.late()
	if len(late) == 0 {
		return nil
	}
	h.w.tellLate(late)
	m := lateMail(late)
	return &m
}

// longestLate is how much of a call's input is repeated to its session.
const longestLate = 500

func lateMail(late []*control.Call) protocol.Mail {
	var lines []string
	for _, c := range late {
		what := strings.TrimSpace(c.Ask.Tool + " " + c.Input())
		switch {
		case c.Ask.Host != "":
			what = "network " + c.Ask.Host
		case c.Ask.Tool == "":
			what = string(c.Kind)
		}
		lines = append(lines, fmt.Sprintf("%s is approved: ask for it again, with the same input, and it runs: %s", c.ID, cut.Runes(what, longestLate)))
	}
	return protocol.Mail{From: "system", Summary: "approved", Text: strings.Join(lines, "\n")}
}
