package demo

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"waggle/internal/claude"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// tell reads what is new in every journal and tells what matters of it.
func (p *play) tell() error {
	// A journal may grow after it was read and before the next one is. What was written since then is
	// told next time, so that no line comes before the one that it follows from.
	until := p.op.Minter.Now()
	recs, err := p.s.Records()
	if err != nil {
		return err
	}
	var lines []Line
	for _, r := range story(recs) {
		if r.at.After(until) {
			break
		}
		if r.Seq <= p.told[r.Name] {
			continue
		}
		p.told[r.Name] = r.Seq
		if act, who, text := p.line(r.LogRecord); text != "" {
			whose := r.Name + "'s journal"
			if r.Name == "leader" {
				whose = "the leader's journal"
			}
			lines = append(lines, Line{Act: act, Who: who, Text: text, Source: fmt.Sprintf("%s, line %d", whose, r.Seq)})
		}
	}
	p.say(lines)
	return nil
}

// moment is a record with its place in time: not before the line above it in its journal, which another
// process may have written, whose clock was a little later.
type moment struct {
	operator.LogRecord
	at time.Time
}

// story makes one story out of several journals: by time, and within a journal by line.
func story(recs []operator.LogRecord) []moment {
	all, last := make([]moment, 0, len(recs)), map[string]time.Time{}
	for _, r := range recs {
		at := r.Time
		if above := last[r.Name]; at.Before(above) {
			at = above
		}
		last[r.Name] = at
		all = append(all, moment{r, at})
	}
	slices.SortStableFunc(all, func(a, b moment) int { return a.at.Compare(b.at) })
	return all
}

// say tells lines. A member begins before the others have their tasks: what follows from the first
// act waits until all of that is told.
func (p *play) say(lines []Line) {
	lines = append(p.later, lines...)
	p.later = nil
	slices.SortStableFunc(lines, func(a, b Line) int { return int(a.Act - b.Act) })
	for _, l := range lines {
		switch {
		case l.Act == ActStart:
			p.begun++
		case p.begun < len(p.f.Members)+len(p.f.Tasks) && !p.did["end"]:
			p.later = append(p.later, l)
			continue
		}
		p.o.Tell(l)
	}
}

// line says in words what a record means, "" when it is not worth a line, and of which act it is.
func (p *play) line(r operator.LogRecord) (act Act, who, text string) {
	if r.Name == "leader" {
		return p.leaderLine(r)
	}
	act, text = p.workerLine(r)
	return act, r.Name, text
}

// body decodes a record that our own program wrote and the fold has accepted.
func body[T any](r operator.LogRecord) T {
	b, err := record.Body[T](r.Record)
	if err != nil {
		panic(fmt.Sprintf("demo: record %d of %s: %v", r.Seq, r.Name, err))
	}
	return b
}

func (p *play) name(i record.Instance) string {
	m, _ := p.s.Lead.ByInstance(i)
	return string(m.Name)
}

func (p *play) leaderLine(r operator.LogRecord) (act Act, who, text string) {
	switch r.Kind {
	case record.KindProcess:
		b := body[record.Process](r)
		what := ""
		if m, _ := p.s.Lead.ByInstance(b.Instance); m.Agent == claude.Kind {
			what = ", Claude Code " + p.client
		}
		return ActStart, p.name(b.Instance), fmt.Sprintf("runs as process %d (the leader is %d)%s", b.ID.PID, p.op.PID, what)
	case record.KindCommanded:
		b := body[record.Commanded](r)
		if b.What == record.CommandAssigned {
			return ActStart, "lead", fmt.Sprintf("assigns task %s to %s: %s", b.Task.ID, p.name(b.Instance), b.Task.Subject)
		}
		if act = ActEnd; p.name(b.Instance) == "cleo" && !p.did["end"] {
			act = ActBusy
		}
		return act, "lead", fmt.Sprintf("asks %s to shut down", p.name(b.Instance))
	case record.KindDecided:
		b := body[record.Decided](r)
		who, word := string(b.By), "denies"
		if b.Decision == record.DecisionAllow {
			word = "allows"
		}
		if b.By == policy.RoleOperator {
			who, word = "you", b.Decision // allow or deny
		}
		text = word + " " + p.handle(b.ID)
		if b.Reason != "" {
			text += ": " + b.Reason
		}
		return p.acts[b.ID], who, text
	case record.KindLeft:
		b := body[record.Left](r)
		return ActEnd, p.name(b.Instance), fmt.Sprintf("has left by %s, %s", b.How, b.Detail)
	}
	return 0, "", ""
}

func (p *play) workerLine(r operator.LogRecord) (act Act, text string) {
	switch r.Kind {
	case record.KindAsked:
		b := body[record.Asked](r)
		p.acts[b.ID] = asks(r.Name, b.Kind)
		if b.Kind == protocol.KindPlanApprovalRequest {
			return p.acts[b.ID], "proposes a plan: " + b.Ask.Plan
		}
		return p.acts[b.ID], "asks for " + describe(b.Kind, b.Ask)
	case record.KindAnswered:
		b := body[record.Answered](r)
		if b.Ask != nil {
			p.acts[b.ID] = ActRules
			return ActRules, fmt.Sprintf("%s: %s, by the rule %s", describe(b.Kind, *b.Ask), b.Decision, b.Rule)
		}
		return p.acts[b.ID], fmt.Sprintf("takes the answer to %s: %s", p.handle(b.ID), b.Decision)
	case record.KindFinished:
		b := body[record.Finished](r)
		return p.acts[b.ID], fmt.Sprintf("ran %s, once", p.handle(b.ID))
	case record.KindUnverified:
		return ActForged, "finds that it has no effect: " + body[record.Unverified](r).Why
	case record.KindTaken:
		if len(body[record.Taken](r).Entries) > 0 {
			p.did["chat taken"] = p.did["chat taken"] || r.Name == "cleo"
			return ActBusy, "is idle and takes the held message"
		}
	case record.KindSaid:
		act = map[string]Act{"ada": ActCall, "bob": ActForged, "cleo": ActBusy}[r.Name]
		switch b := body[record.Said](r); b.Kind {
		case protocol.KindTaskCompleted:
			return act, "completes task " + b.Task
		case protocol.KindTaskProgress:
			return act, "reports " + b.Note
		case protocol.KindShutdownRejected:
			return act, "declines to shut down: " + b.Note
		case protocol.KindShutdownApproved:
			return ActEnd, "agrees to shut down"
		}
	}
	return 0, ""
}

// handle is what a person types for a request. A call that a rule allowed has none.
func (p *play) handle(id protocol.RequestID) string {
	for _, r := range p.s.Lead.Requests {
		if r.ID == id && r.Handle != "" {
			return r.Handle
		}
	}
	return "it"
}

// describe is what a request asks for, in its own words where they are short.
func describe(k protocol.Kind, a record.Ask) string {
	var in struct {
		Command string `json:"command"`
		Path    string `json:"file_path"`
	}
	if a.Tool != "" && json.Unmarshal([]byte(a.Input), &in) == nil && in.Command+in.Path != "" {
		return a.Tool + " " + in.Command + in.Path
	}
	return decide.Describe(k, a)
}
