package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/mail"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Recap is what happened in a team since a time (`recap`). Lists are in order of time.
type Recap struct {
	Team      string          `json:"team"`
	Since     time.Time       `json:"since"`
	SinceWhy  string          `json:"since_why"` // the event at that time
	State     string          `json:"state"`     // led, not led, interrupted, ended, other
	Results   []RecapResult   `json:"results"`
	Members   []RecapMember   `json:"members"`   // deaths, restarts, departures and new members
	Decisions []RecapDecision `json:"decisions"` // decisions of others than the operator
	Calls     RecapCalls      `json:"calls"`     // decisions of members' rules without a request
	Messages  []RecapMessage  `json:"messages"`
	Sent      []RecapSent     `json:"sent"`    // in a team that another program leads: the operator's messages
	Waiting   []RecapWaiting  `json:"waiting"` // open requests of the present, whenever they were asked
	Trouble   []RecapMember   `json:"trouble"` // members that have failed, are blocked or unknown now
}

// RecapResult is the end of a turn of a task.
type RecapResult struct {
	At      time.Time     `json:"at"`
	Member  string        `json:"member"`
	Task    string        `json:"task"`
	Subject string        `json:"subject"`
	Outcome string        `json:"outcome"` // completed, failed
	Note    string        `json:"note"`    // its result, or why it failed
	Do      operator.Next `json:"next"`    // the next step
}

// RecapMember is an event of a member, or its state.
type RecapMember struct {
	At     time.Time     `json:"at"`
	Member string        `json:"member"`
	What   string        `json:"what"` // joined, died, restarted, left; in Trouble: its condition
	Detail string        `json:"detail"`
	Do     operator.Next `json:"next"` // the next step
}

// RecapDecision is an answer that a rule, the lead's agent or the deadline gave.
type RecapDecision struct {
	At       time.Time     `json:"at"`
	ID       string        `json:"id"`
	Member   string        `json:"member"`
	Asks     string        `json:"asks"`
	Decision string        `json:"decision"`
	By       string        `json:"by"`  // rules, leader, system
	Via      string        `json:"via"` // expiry, …
	Rule     string        `json:"rule"`
	Reason   string        `json:"reason"`
	Do       operator.Next `json:"next"` // the next step
}

// RecapCalls counts the calls that rules decided without a request.
type RecapCalls struct {
	Allowed int             `json:"allowed"`
	Denied  []RecapDecision `json:"denied"`
}

// RecapMessage is a message to the lead.
type RecapMessage struct {
	Timestamp string `json:"at"` // the time that the message claims, as text
	From      string `json:"from"`
	Text      string `json:"text"`
	Read      bool   `json:"read"`
}

// RecapWaiting is an open request.
type RecapWaiting struct {
	ID     string        `json:"id"`
	Handle string        `json:"handle"`
	Member string        `json:"member"`
	Asks   string        `json:"asks"`
	Risk   string        `json:"risk"`
	Asked  operator.Past `json:"age_s"`
	Asker  string        `json:"asker"` // its process is dead; "" when it lives
	Do     operator.Next `json:"next"`  // the next step
}

// Recap returns what happened in a team since a time; the zero time: since the operator last
// detached or decided something, or since the team began. It also works for a team that has ended
// (operator.Read), and changes nothing: messages stay unread.
func (o Operator) Recap(ctx context.Context, of string, since time.Time) (*Recap, error) {
	s, live, err := o.present(ctx, of)
	if s == nil && (err == nil || operator.KindOf(err) == operator.NotFound) {
		r, aerr := o.Open(ctx, protocol.TeamName(of), operator.Read)
		switch {
		case aerr == nil && r.Foreign:
			return o.recapForeign(ctx, r, since)
		case err == nil:
			err = &operator.Error{Kind: operator.NotFound, Op: "recap", Msg: "another program leads that team, and waggle has no record of what happened", Next: operator.NextStatusNow.With()}
		}
	}
	if err != nil {
		return nil, err
	}
	recs, broken := s.Records()
	if recs == nil {
		return nil, broken
	}
	for _, r := range s.Found { // what a leader pass would record now
		recs = append(recs, operator.LogRecord{Record: r, Name: string(journal.Leader)})
	}
	d, err := recapOf(s, recs, since, (*recapper).take)
	if err != nil {
		return nil, err
	}
	if broken != nil { // the recap has the rest
		d.Trouble = append(d.Trouble, RecapMember{At: o.Minter.Now(), What: "unread", Detail: broken.Error(), Do: operator.Next{Step: operator.NextAudit}})
	}
	return d, o.recapNow(ctx, s, live, d)
}

// recapOf sorts the records of a team since a time into a recap; take takes one of them.
func recapOf(s *operator.State, recs []operator.LogRecord, since time.Time, take func(*recapper, operator.LogRecord) error) (*Recap, error) {
	slices.SortStableFunc(recs, func(a, b operator.LogRecord) int { return a.Time.Compare(b.Time) })
	d := &Recap{Team: string(s.Team), Results: []RecapResult{}, Members: []RecapMember{}, Decisions: []RecapDecision{}, Calls: RecapCalls{Denied: []RecapDecision{}},
		Messages: []RecapMessage{}, Sent: []RecapSent{}, Waiting: []RecapWaiting{}, Trouble: []RecapMember{}, Since: since, SinceWhy: "you said so"}
	if since.IsZero() {
		d.Since, d.SinceWhy = lastLooked(s.Lead, recs)
	}
	g := recapper{d: d, s: s, asks: map[record.Key]record.Ask{}, ends: map[end]int{}}
	for _, r := range recs {
		var b record.Asked // to which later records refer
		if r.Kind == record.KindAsked && json.Unmarshal(r.Body, &b) == nil {
			g.asks[b.Key] = b.Ask
		}
		if r.Time.After(d.Since) {
			if err := take(&g, r); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// lastLooked returns when the operator last detached or decided something. Of requests that one command answered the
// first decision counts: what happened between the first and the last was not looked at.
func lastLooked(l *control.Leader, recs []operator.LogRecord) (at time.Time, why string) {
	var first record.Key
	for _, r := range slices.Backward(recs) {
		if r.Name != "leader" {
			continue
		}
		switch r.Kind {
		case record.KindDetached:
			return r.Time, cmp.Or(why, "you detached")
		case record.KindLeading:
			// It records itself again when the team is up: what happened until then nobody saw.
			if b, err := record.Body[record.LeadingProcess](r.Record); err == nil && b.Detached && !b.Up {
				return r.Time, cmp.Or(why, "you left it in the background")
			}
		case record.KindDecided:
			b, err := record.Body[record.Decided](r.Record)
			if err != nil || b.By != policy.RoleOperator {
				continue
			}
			if why == "" {
				id := string(b.ID)
				if req, ok := l.Request(b.Key); ok && req.Handle != "" {
					id = req.Handle
				}
				why = "you decided " + id
			}
			if first == (record.Key{}) && b.First != nil {
				first = *b.First
			}
			if first == (record.Key{}) || b.Key == first {
				return r.Time, why
			}
		}
	}
	if len(recs) > 0 {
		at = recs[0].Time.Add(-time.Nanosecond) // the first record is reported too
	}
	return at, "the team began"
}

// recapper sorts records into a recap.
type recapper struct {
	d    *Recap
	s    *operator.State
	asks map[record.Key]record.Ask // inputs of requests of any time
	ends map[end]int               // deaths that are reported already: several processes may record one
}

// end is one end of a process.
type end struct {
	instance record.Instance
	epoch    uint64
	attempt  int
}

func (g *recapper) take(r operator.LogRecord) error {
	at := r.Time
	if r.Name != "leader" {
		return g.call(r, at)
	}
	switch r.Kind {
	case record.KindSeen:
		return read(r, func(b record.Seen) { g.seen(b, at) })
	case record.KindDecided:
		return read(r, func(b record.Decided) { g.decided(b, at) })
	case record.KindJoined:
		return read(r, func(b record.Joined) { g.member(b.Instance, at, "joined", "agent "+b.Agent, operator.Next{}) })
	case record.KindProcess:
		return read(r, func(b record.Process) {
			if b.Epoch > 1 {
				g.member(b.Instance, at, "restarted", fmt.Sprintf("start %d, process %d", b.Epoch, b.ID.PID), operator.Next{})
			}
		})
	case record.KindDied:
		return read(r, func(b record.Died) { g.died(b, at) })
	case record.KindLeft:
		return read(r, func(b record.Left) {
			g.member(b.Instance, at, "left", b.How+operator.Suffix(b.Detail), operator.Next{})
		})
	}
	return nil
}

func read[T any](r operator.LogRecord, fn func(T)) error {
	b, err := record.Body[T](r.Record)
	if err != nil {
		return fmt.Errorf("record %d of %s: %w", r.Seq, r.Journal, err)
	}
	fn(b)
	return nil
}

func (g *recapper) name(i record.Instance) string {
	if m, ok := g.s.Lead.ByInstance(i); ok {
		return string(m.Name)
	}
	return string(i)
}

func (g *recapper) member(i record.Instance, at time.Time, what, detail string, do operator.Next) {
	g.d.Members = append(g.d.Members, RecapMember{At: at, Member: g.name(i), What: what, Detail: detail, Do: do})
}

func (g *recapper) died(b record.Died, at time.Time) {
	detail, do := b.Detail, operator.Next{}
	switch {
	case b.GaveUp:
		detail, do = detail+"; given up", operator.Next{Step: operator.NextWhy, Member: protocol.MemberName(g.name(b.Instance))}
	case b.Again != nil:
		detail += "; to be started again"
	}
	detail = cmp.Or(detail, "its process was found gone")
	e := end{b.Instance, b.Epoch, b.Attempt}
	if i, told := g.ends[e]; told {
		g.d.Members[i].Detail, g.d.Members[i].Do = detail, do
		return
	}
	g.ends[e] = len(g.d.Members)
	g.member(b.Instance, at, "died", detail, do)
}

func (g *recapper) seen(b record.Seen, at time.Time) {
	r := RecapResult{At: at, Member: g.name(b.Instance), Task: b.Task, Note: b.Note, Outcome: "completed"}
	switch {
	case b.Task == "":
		return
	case b.ChannelOf() == policy.ChannelFile && b.Kind == protocol.KindTaskCompleted:
		r.Outcome, r.Do = "said to be done, by file", operator.Next{Step: operator.NextFinishTask, ID: b.Task}
	case b.Kind == protocol.KindIdleNotification && b.Failed:
		r.Outcome, r.Do = "failed", operator.Next{Step: operator.NextPeek, Member: protocol.MemberName(r.Member)}
	case b.Kind != protocol.KindTaskCompleted || b.Failed:
		return
	}
	if order, ok := g.s.Lead.Assignment(b.Task); ok {
		r.Subject = order.Commanded.Task.Subject
	}
	g.d.Results = append(g.d.Results, r)
}

func (g *recapper) decided(b record.Decided, at time.Time) {
	if b.By == policy.RoleOperator {
		return
	}
	n := RecapDecision{At: at, ID: string(b.ID), Member: g.name(b.Instance), Decision: b.Decision, By: string(b.By), Via: b.Via, Rule: b.Rule, Reason: b.Reason,
		Do: operator.Next{Step: operator.NextShow, ID: string(b.ID)}}
	if r, ok := g.s.Lead.Request(b.Key); ok {
		n.Asks = decide.Brief(b.Kind, r.Ask)
		if r.Handle != "" {
			n.Do.ID = r.Handle
		}
	}
	g.d.Decisions = append(g.d.Decisions, n)
}

// call counts what the rules of a member decided.
func (g *recapper) call(r operator.LogRecord, at time.Time) error {
	if r.Kind != record.KindAnswered {
		return nil
	}
	return read(r, func(b record.Answered) {
		if b.Leader != 0 || b.By != policy.RoleRules || b.Waited {
			return
		}
		if b.Decision == record.DecisionAllow {
			g.d.Calls.Allowed++
			return
		}
		ask := g.asks[b.Key]
		if b.Ask != nil {
			ask = *b.Ask
		}
		g.d.Calls.Denied = append(g.d.Calls.Denied, RecapDecision{At: at, ID: string(b.ID), Member: r.Name, Asks: decide.Brief(b.Kind, ask), Decision: b.Decision,
			By: string(b.By), Via: control.ViaRules, Rule: b.Rule, Reason: b.Reason, Do: operator.Next{Step: operator.NextExplain, ID: string(b.ID)}})
	})
}

// recapNow adds the open requests and the state of the team.
func (o Operator) recapNow(ctx context.Context, s *operator.State, live bool, d *Recap) error {
	if s.Lead.Ended != nil || !live {
		d.State = "ended"
		return nil
	}
	st, err := o.Status(ctx, s.Team)
	if err != nil {
		return err
	}
	d.State = "not led"
	switch {
	case st.Interrupted != nil:
		d.State = "interrupted"
	case st.Leader.Led:
		d.State = "led"
	}
	if h := st.Halt; h != nil {
		d.State = "stopped"
		d.Trouble = append(d.Trouble, RecapMember{At: h.At, What: "stopped", Detail: StoppedWhy + operator.Suffix(h.Reason), Do: operator.Next{Step: operator.NextGoOn, Team: s.Team}})
	}
	for _, m := range st.Members {
		switch g := m.Group(); {
		case m.State == StateFailed || m.State == StateHeldUp: // the task is among the results
		case g == GroupFailed || g == GroupUnknown:
			d.Trouble = append(d.Trouble, RecapMember{At: m.Since, Member: m.Name, What: string(m.Is), Detail: m.Why, Do: operator.Next{Step: operator.NextWhy, Member: protocol.MemberName(m.Name)}})
		}
	}
	for _, q := range decide.Of(o.Operator).PendingIn(s, false) {
		asks := decide.InOneLine(protocol.Kind(q.Kind), record.Ask{Tool: q.Tool, Input: string(q.Input), Host: q.Host, Port: q.Port, Plan: q.Plan, Revision: q.Revision})
		if q.Status == decide.StatusExpired {
			asks += " (expired)"
		}
		d.Waiting = append(d.Waiting, RecapWaiting{ID: q.ID, Handle: q.Handle, Member: q.Member, Asks: asks,
			Risk: q.Risk, Asked: q.Asked, Asker: q.Asker, Do: operator.Next{Step: operator.NextShow, ID: q.Handle}})
	}
	in, err := mail.Of(o.Operator).Inbox(ctx, s.Team, protocol.Lead, false)
	if err != nil {
		return err
	}
	for _, e := range in.Entries {
		at, terr := protocol.ParseTime(e.Timestamp)
		if !mail.Controls(e) && (!e.Read || terr == nil && at.After(d.Since)) {
			d.Messages = append(d.Messages, RecapMessage{Timestamp: e.Timestamp, From: e.From, Text: e.Text, Read: e.Read})
		}
	}
	return nil
}

// WorkedIn reports a record of acts in another program's team that does not exist any more.
func (o Operator) WorkedIn(ctx context.Context, name protocol.TeamName) bool {
	s, err := o.Open(ctx, name, operator.Read)
	return err == nil && s.Foreign
}

// RecapSent are messages that were sent in another program's team.
type RecapSent struct {
	At   time.Time `json:"at"`
	From string    `json:"from"`
	To   string    `json:"to"`
	Text string    `json:"text"`
}

// recapForeign adds what the operator did in another program's team.
func (o Operator) recapForeign(ctx context.Context, r *operator.State, since time.Time) (*Recap, error) {
	if r.Damaged != nil {
		return nil, r.Damaged
	}
	recs, err := r.Records()
	if err != nil {
		return nil, err
	}
	d, err := recapOf(r, recs, since, (*recapper).takeForeign)
	if err != nil {
		return nil, err
	}
	d.State = "ended"
	if cfg, err := o.Listing(ctx, r.Team); err == nil && operator.UIDOf(cfg) == r.Dir.UID {
		d.State = "other"
	}
	return d, nil
}

func (g *recapper) takeForeign(r operator.LogRecord) error {
	at := r.Time
	if r.Journal != operator.OwnJournal {
		return g.guest(r, at)
	}
	switch r.Kind {
	case record.KindSaid:
		return read(r, func(b record.Words) {
			if env, err := b.Mail.Open(); err == nil {
				g.d.Sent = append(g.d.Sent, RecapSent{At: at, From: env.From, To: string(b.Mail.To), Text: env.Text})
			}
		})
	case record.KindJoined:
		return read(r, func(b record.Joined) { g.member(b.Instance, at, "joined", "registered here", operator.Next{}) })
	case record.KindProcess:
		return read(r, func(b record.Process) { g.member(b.Instance, at, "started", "as a guest", operator.Next{}) })
	case record.KindLeft:
		return read(r, func(b record.Left) {
			g.member(b.Instance, at, "left", b.How+operator.Suffix(b.Detail), operator.Next{})
		})
	}
	return nil
}

// guest adds the turns of a guest, and the decisions of its lead.
func (g *recapper) guest(r operator.LogRecord, at time.Time) error {
	switch r.Kind {
	case record.KindSaid:
		return read(r, func(b record.Said) {
			env, err := b.Mail.Open()
			switch {
			case err != nil:
			case b.Kind == protocol.KindText:
				g.d.Sent = append(g.d.Sent, RecapSent{At: at, From: env.From, To: string(b.Mail.To), Text: env.Text})
			case b.Kind == protocol.KindIdleNotification:
				res := RecapResult{At: at, Member: r.Name, Subject: "its lead's words", Outcome: "completed", Note: b.Note}
				if b.Failed {
					res.Outcome = "failed"
				}
				g.d.Results = append(g.d.Results, res)
			}
		})
	case record.KindAnswered:
		b, err := record.Body[record.Answered](r.Record)
		if err != nil || b.Channel != policy.ChannelFile {
			return g.call(r, at)
		}
		g.d.Decisions = append(g.d.Decisions, RecapDecision{At: at, ID: string(b.ID), Member: r.Name, Asks: decide.Brief(b.Kind, g.asks[b.Key]), Decision: b.Decision,
			By: string(b.By), Via: string(b.Channel), Reason: b.Reason})
	}
	return nil
}
