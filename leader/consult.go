package leader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waggle/agent"
	"waggle/control"
	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// consult asks the lead agent for its answers, one request at a time and in a goroutine beside the
// passes: an agent may need long, and the passes must not wait for it.
func (l *Leader) consult() {
	if l.p.Agent == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.consulting || l.ctx.Err() != nil || l.nextForLead() == nil {
		return
	}
	l.consulting = true
	l.agents.Go(func() {
		for {
			l.mu.Lock()
			r := l.nextForLead()
			if r == nil || l.ctx.Err() != nil {
				l.consulting = false
				l.mu.Unlock()
				return
			}
			l.consulted[r.Key] = l.p.Fold.Policy.Policy.Version
			q := l.questionOf(r)
			l.mu.Unlock()
			answer, err := l.ask(q)
			if l.ctx.Err() != nil {
				continue
			}
			words, werr := replies(r.Key, r.Ask.Input, answer)
			err = l.rule(r.Key, r.Digest, answer, words, errors.Join(err, werr))
			l.trouble.Note("answer "+string(r.ID), err, "the lead agent's answer is not on record", "id", r.ID)
		}
	})
}

// nextForLead is the oldest question that the lead agent has not been asked by this
// process under the policy that holds: a vote counts under its own policy only. The
// caller holds mu.
func (l *Leader) nextForLead() *control.Request {
	for _, r := range l.p.Fold.PendingForLead() {
		if l.consulted[r.Key] < l.p.Fold.Policy.Policy.Version {
			return r
		}
	}
	return nil
}

// questionOf is a request as the agent is shown it. The caller holds mu.
func (l *Leader) questionOf(r *control.Request) agent.Request {
	m, _ := l.p.Fold.ByInstance(r.Instance)
	q := agent.Request{ID: string(r.ID), Member: string(m.Name), Digest: string(r.Digest), Kind: string(r.Gate()), Tool: r.Ask.Tool, Cwd: r.Ask.Cwd, Host: r.Ask.Hostport(),
		Plan: r.Ask.Plan, Reason: r.Ask.Reason, Risk: string(policy.RiskHigh)}
	switch r.Gate() {
	case policy.GateTool:
		q.Host, q.Input = "", json.RawMessage(r.Ask.Input)
		q.Risk = string(policy.RiskOf(l.p.Fold.Policy.Call(r.Ask)))
	case policy.GatePlan:
		q.Host, q.Risk = "", string(policy.RiskMedium)
	case policy.GateQuestion:
		q.Host, q.Risk = "", string(policy.RiskLow)
		parts, _ := record.Questions(r.Ask.Input)
		for _, p := range parts {
			q.Parts = append(q.Parts, agent.RequestPart{Header: p.Header, Text: p.Text, Options: p.Options, Multiple: p.Multiple, Closed: p.Closed})
		}
	}
	return q
}

// replies reads the lead agent's answers to a question; none of anything else.
func replies(k record.Key, input string, r agent.Answer) ([]record.Reply, error) {
	if k.Kind != record.KindQuestion || !r.Allow {
		return nil, nil
	}
	return record.Replies(input, r.Answers)
}

// ask asks the agent; a panic is an error of the agent.
func (l *Leader) ask(q agent.Request) (answer agent.Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the lead agent panicked: %v", p)
		}
	}()
	return l.p.Agent.Decide(l.ctx, q)
}

// rule records the lead agent's answer, in the lead's name. The operator gets the request when the
// lead agent may not allow it, gives no answer, or answers another digest than it was shown.
func (l *Leader) rule(k record.Key, digest record.Digest, r agent.Answer, words []record.Reply, failed error) error {
	why := r.Reason
	switch {
	case failed != nil:
		why = "the lead agent failed: " + failed.Error()
	case r.Digest != string(digest):
		why = "the lead agent answered something else than it was shown"
	case !r.Escalate:
		v := control.Answer{Key: k, Digest: digest, Allow: r.Allow, By: policy.RoleLeader, Channel: policy.ChannelJournal, Via: "lead agent", Reason: r.Reason, Answers: words}
		l.mu.Lock()
		out, refused, err := decide(l.ctx, l.p.Journal, l.p.Fold, l.p.Writer, l.p.Minter, v)
		l.mu.Unlock()
		if err = errors.Join(refused, err); err != nil {
			return err
		}
		var beyond *control.RefusedError
		if !errors.As(out.Refusal, &beyond) {
			return l.flush(l.ctx)
		}
		why = "the lead agent said " + word(r.Allow) + ", and " + beyond.Why
	}
	return l.appendNow(l.ctx, func() ([]journal.Draft, error) {
		out, err := l.p.Fold.Escalate(k, digest, policy.RoleLeader, why, l.p.Writer)
		return out.Drafts, err
	})
}

func word(allow bool) string {
	if allow {
		return record.DecisionAllow
	}
	return record.DecisionDeny
}

// SetMode orders a member into a mode, in the lead's name: never wider than the
// team's mode or the lead's own (control.Leader.ModeOf).
func (l *Leader) SetMode(ctx context.Context, name protocol.MemberName, mode policy.Mode) error {
	return l.command(ctx, name, func(m *control.Member, mint record.Mint) ([]journal.Draft, error) {
		return l.p.Fold.SetMode(m, mode, policy.RoleLeader, l.p.Writer, mint)
	})
}
