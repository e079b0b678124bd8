package demo

import (
	"encoding/json"
	"fmt"
	"sort"

	"waggle"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/record"
)

// tell reads what is new in every journal and tells what matters of it.
func (p *play) tell() error {
	recs, err := p.s.Records()
	if err != nil {
		return err
	}
	// One story out of several journals: by time, and within a journal by line.
	sort.SliceStable(recs, func(i, j int) bool { return recs[i].Time.Before(recs[j].Time) })
	n := map[string]int{}
	for _, r := range recs {
		n[r.Name]++
		if n[r.Name] <= p.told[r.Name] {
			continue
		}
		p.told[r.Name] = n[r.Name]
		if who, text := p.line(r); text != "" {
			whose := r.Name + "'s journal"
			if r.Name == "leader" {
				whose = "the leader's journal"
			}
			p.o.Tell(Line{who, text, fmt.Sprintf("%s, line %d", whose, r.Seq)})
		}
	}
	return nil
}

// line says in words what a record means, "" when it is not worth a line.
func (p *play) line(r operator.LogRecord) (who, text string) {
	if r.Name == "leader" {
		return p.leaderLine(r)
	}
	return r.Name, p.workerLine(r)
}

// body decodes a record that our own program wrote and the fold has accepted.
func body[T any](r operator.LogRecord) T {
	var b T
	if err := json.Unmarshal(r.Body, &b); err != nil {
		panic(fmt.Sprintf("demo: record %d of %s: %v", r.Seq, r.Name, err))
	}
	return b
}

func (p *play) name(i record.Instance) string {
	for n, have := range p.members {
		if have == i {
			return string(n)
		}
	}
	return "somebody"
}

func (p *play) leaderLine(r operator.LogRecord) (who, text string) {
	switch r.Kind {
	case record.KindProcess:
		b := body[record.Process](r)
		return p.name(b.Instance), fmt.Sprintf("runs as process %d (the leader is %d)", b.ID.PID, p.op.PID)
	case record.KindCommanded:
		b := body[record.Commanded](r)
		if b.What == record.CommandAssigned {
			return "lead", fmt.Sprintf("assigns task %s to %s: %s", b.Task.ID, p.name(b.Instance), b.Task.Subject)
		}
		return "lead", fmt.Sprintf("asks %s to shut down", p.name(b.Instance))
	case record.KindDecided:
		b := body[record.Decided](r)
		word := "denies"
		if b.Decision == record.DecisionAllow {
			word = "allows"
		}
		text = fmt.Sprintf("%s %s (%s's), digest %.8s…", word, b.ID, p.name(b.Instance), b.Digest)
		if b.Reason != "" {
			text += ": " + b.Reason
		}
		return string(b.By), text
	case record.KindLeft:
		b := body[record.Left](r)
		return p.name(b.Instance), fmt.Sprintf("has left by %s, %s", b.How, b.Detail)
	}
	return "", ""
}

func (p *play) workerLine(r operator.LogRecord) string {
	switch r.Kind {
	case record.KindAsked:
		b := body[record.Asked](r)
		if b.Kind == waggle.KindPlanApprovalRequest {
			return fmt.Sprintf("proposes a plan (%s): %s", b.ID, b.Ask.Plan)
		}
		return fmt.Sprintf("asks for %s (%s)", decide.Describe(b.Kind, b.Ask), b.ID)
	case record.KindAnswered:
		b := body[record.Answered](r)
		if b.Ask != nil {
			return fmt.Sprintf("%s: %s, by rule: %s", decide.Describe(b.Kind, *b.Ask), b.Decision, b.Rule)
		}
		return fmt.Sprintf("takes the answer to %s: %s", b.ID, b.Decision)
	case record.KindFinished:
		b := body[record.Finished](r)
		return fmt.Sprintf("ran %s, once", b.ID)
	case record.KindUnverified:
		b := body[record.Unverified](r)
		return fmt.Sprintf("%s for %s has no effect: %s", b.Kind, b.ID, b.Why)
	case record.KindTaken:
		b := body[record.Taken](r)
		if len(b.Entries) > 0 {
			p.did["chat taken"] = p.did["chat taken"] || r.Name == "cleo"
			return "is idle and takes the held message"
		}
	case record.KindSaid:
		return saidLine(body[record.Said](r))
	}
	return ""
}

func saidLine(b record.Said) string {
	switch b.Kind {
	case waggle.KindTaskCompleted:
		return fmt.Sprintf("completes task %s", b.Task)
	case waggle.KindTaskProgress:
		return "reports " + b.Note
	case waggle.KindShutdownRejected:
		return "declines to shut down: " + b.Note
	case waggle.KindShutdownApproved:
		return "agrees to shut down"
	}
	return ""
}
