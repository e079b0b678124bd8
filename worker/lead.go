package worker

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"waggle"
	"waggle/control"
	"waggle/poll"
)

// The agent behind the lead runs in a worker whose mailbox is the lead's. The worker takes plain
// words and the orders that the leader's journal has for it; the leader's process, which reads the
// same mailbox, handles the requests and reports of members. From those the agent gets, as text,
// the events of the leader's journal that deserve a turn.

var _ poll.Sharing = (*Worker)(nil)

// Mine implements poll.Sharing.
func (w *Worker) Mine(in control.Incoming) bool {
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

// news are the events that the lead's agent has to be given now. The caller holds mu.
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

// newsAgain is what the session before was told in the turn that is taken up.
func (w *Worker) newsAgain() []waggle.Mail {
	w.mu.Lock()
	defer w.mu.Unlock()
	if news := w.p.Fold.NewsAgain(w.p.Lead); w.leads && len(news) > 0 {
		return []waggle.Mail{newsMail(news)}
	}
	return nil
}

// errToItself refuses messages of the lead's agent to the lead.
var errToItself = errors.New("the lead's own mailbox is where it would be read: name the member to whom this goes")

// newsMail formats events for the session of the lead. The name of its sender is reserved, so that
// no member has it.
func newsMail(news []control.News) waggle.Mail {
	lines := make([]string, len(news))
	for i, n := range news {
		lines[i] = newsLine(n)
	}
	return waggle.Mail{From: "system", Summary: "what became of the members", Text: strings.Join(lines, "\n")}
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
