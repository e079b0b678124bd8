package control

import (
	"slices"
	"time"

	"waggle/message"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Leads reports the membership of the agent that sits behind the lead: a worker like
// any other, whose name and mailbox are the lead's.
func (m *Member) Leads() bool { return m.Joined.Lead != "" }

// LeadAgent finds the present agent behind the lead. Without one a person reads the
// lead's mailbox.
func (l *Leader) LeadAgent() (*Member, bool) {
	m, ok := l.current[protocol.Lead]
	return m, ok && m.Left == nil && m.Leads()
}

// ForAgent reports an entry of the lead's mailbox that is for the worker of the lead's agent: words
// that were not delivered yet, and the orders that this journal has for it. All other entries are
// for the leader's process: the members' requests and reports, and entries without a matching
// record.
func (l *Leader) ForAgent(in message.Incoming) bool {
	if in.IsControl() {
		return slices.ContainsFunc(l.Members, func(m *Member) bool { return m.Leads() && l.ordered(m.Instance, in) })
	}
	_, ok := l.LeadAgent()
	return ok && !l.Owns(in.Entry)
}

// Addressed reports an entry of the lead's mailbox that is for this start of the lead's
// agent: ForAgent, and an order only if it is for this instance.
func (w *Worker) Addressed(in message.Incoming, l *Leader) bool {
	if in.IsControl() {
		return l.ordered(w.Instance, in)
	}
	return l.ForAgent(in)
}

// ordered reports whether a control entry is an order of this journal to an instance.
func (l *Leader) ordered(i record.Instance, in message.Incoming) bool {
	return in.Envelope.From == string(protocol.Lead) && len(l.Vouches(i, in.Decoded.Kind, in.SHA256())) > 0
}

// policyOf is the policy that holds for one member.
func (l *Leader) policyOf(i record.Instance) record.PolicySet {
	return l.byInst[i].policyOf(l.Policy)
}

// byOperator reports a question that only the operator may answer where the policy says
// leader or two: the lead's agent never decides what it asks itself.
func (l *Leader) byOperator(req *Request, d policy.Decider) bool {
	m := l.byInst[req.Instance]
	return m != nil && m.Leads() && (d == policy.DecideLeader || d == policy.DecideTwo)
}

// SpokeTo reports whether words were sent to a member after a time.
func (w *Worker) SpokeTo(name protocol.MemberName, after time.Time) bool {
	return w.spoke[name].After(after)
}

// policyOf is the policy for a member under one of the team: the lead's own for the agent behind the
// lead. The member may be nil.
func (m *Member) policyOf(p record.PolicySet) record.PolicySet {
	if m == nil || !m.Leads() {
		return p
	}
	return p.OfLead()
}
