package control

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle/journal"
	"waggle/machine"
	"waggle/message"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Answer is one principal's answer to a question.
type Answer struct {
	record.Key
	Digest  record.Digest // the digest that was shown; at least its first 16 digits
	Allow   bool
	By      policy.Role
	Channel policy.Channel
	Via     string
	Rule    string
	Reason  string
	// UpdatedInput, when set, is what runs instead; it must be a JSON object.
	UpdatedInput string
	// Answers are those to a question, one for each, with Allow.
	Answers []record.Reply
	// Rules are those that the same append makes of the allow of a tool call. The answer tells its reader of
	// them (protocol §1.2); what holds is the policy on record.
	Rules []policy.Rule
	// Session says of an allow of a host that a standing answer of the same command allows it for as long as
	// the member is there. The answer tells its reader (protocol §1.4); what holds is the policy on record.
	Session bool
	// First is the first request that the same command answers; nil: this one.
	First *record.Key

	judged record.Judged // of the rules
}

// Outcome is what a Decide comes to. Drafts may have to be appended even when
// the answer itself is refused: a deadline that has passed is recorded first.
type Outcome struct {
	Drafts  []journal.Draft
	Changed bool // the request is decided by this answer
	Voted   bool // the allow is one of two; the other has to come from another principal
	Request *Request
	Refusal error // *DecidedError, *ExpiredError, *DigestError, *RefusedError, ErrDiverged, *UnknownRequestError
}

// grant is how long an allow can be claimed.
const grant = time.Hour

// Decide answers a request once (trust §3), in a record that w will write. The same decision again
// changes nothing; a different one is refused with the first decision, its author and its time.
func (l *Leader) Decide(v Answer, w journal.Writer, mint record.Mint) (Outcome, error) {
	req := l.byKey[v.Key]
	if req == nil {
		return Outcome{Refusal: &UnknownRequestError{ID: v.ID}}, nil
	}
	out := Outcome{Request: req}
	if over, err := l.over(req, v); over {
		out.Refusal = err
		return out, nil
	}
	if req.Expires != nil && !mint.Now.Before(*req.Expires) && (v.By != policy.RoleSystem || v.Allow) {
		out.Refusal = &ExpiredError{Request: req}
		v = Answer{Key: v.Key, By: policy.RoleSystem, Channel: policy.ChannelJournal, Via: ViaExpiry, Reason: expiredReason(req)}
	}
	if v.By == policy.RoleRules && !l.byRules(req, &v, mint.Now) {
		out.Refusal = &RefusedError{Why: "the rules say nothing of it any more"}
		return out, nil
	}
	if ok, why := l.mayDecide(req, v.By, v.Allow, w); !ok {
		out.Refusal = &RefusedError{Why: why}
		return out, nil
	}
	if why := cmp.Or(unasked(req, v), l.overspends(req, v), l.overreach(req, v, mint.Now)); why != "" {
		out.Refusal = &RefusedError{Why: why}
		return out, nil
	}
	d, err := l.decision(req, v, mint)
	if err != nil {
		return Outcome{}, err
	}
	if l.needsTwo(req, v.Allow) && req.second(d) == nil {
		out.Voted = true
		if !req.voted(d) {
			d.Mail, d.UseBy = nil, nil
			out.Drafts = []journal.Draft{{Kind: record.KindVoted, Must: true, Body: d}}
		}
		return out, nil
	}
	out.Drafts = []journal.Draft{{Kind: record.KindDecided, Must: true, Body: d}}
	for i, twin := range l.twins(req, v, mint.Now) {
		d, err := l.decision(twin, v, mint.Nth(i+1))
		if err != nil {
			return Outcome{}, err
		}
		out.Drafts = append(out.Drafts, journal.Draft{Kind: record.KindDecided, Must: true, Body: d})
	}
	out.Changed = out.Refusal == nil
	return out, nil
}

// unasked returns why an answer is not of the form that the request takes: a question takes words, and
// nothing else does. A plan without words is approved by nobody: a client may ask before it has written the file.
func unasked(req *Request, v Answer) string {
	switch words := req.Kind == record.KindQuestion; {
	case v.Allow && req.Gate() == policy.GatePlan && strings.TrimSpace(req.Ask.Plan) == "":
		return fmt.Sprintf("the plan of request %s is empty, as its file was not written yet: a denial has the member propose it again", req.ID)
	case v.UpdatedInput != "" && req.Gate() == policy.GateTool && !message.CarriesInput(req.Spelling):
		return fmt.Sprintf("request %s asks in a form whose answer has no place for a changed input: allow what was asked, or deny it and say what would be allowed", req.ID)
	case v.Allow && req.Ask.Refused != "":
		return fmt.Sprintf("request %s cannot be allowed: %s", req.ID, req.Ask.Refused)
	case !words && len(v.Answers) > 0:
		return fmt.Sprintf("request %s asks for permission, not for words", req.ID)
	case !words || !v.Allow:
		return ""
	}
	if err := record.CheckReplies(req.Ask.Input, v.Answers); err != nil {
		return fmt.Sprintf("request %s asks for words: %v", req.ID, err)
	}
	return ""
}

// twins are the other requests of a member about the same host: one answer decides all of them,
// each by its id and under its own digest. Requests that need two votes are not answered beside
// another, nor are those that expire.
func (l *Leader) twins(req *Request, v Answer, now time.Time) []*Request {
	if req.Gate() != policy.GateNetwork || v.By == policy.RoleSystem || l.needsTwo(req, v.Allow) {
		return nil
	}
	var twins []*Request
	for _, r := range l.pending {
		same := r != req && r.Instance == req.Instance && r.Kind == req.Kind &&
			strings.EqualFold(r.Ask.Host, req.Ask.Host) && r.Ask.Port == req.Ask.Port
		if same && (r.Expires == nil || now.Before(*r.Expires)) {
			twins = append(twins, r)
		}
	}
	return twins
}

// Escalate gives an open request to the operator, who alone decides it from then on, whatever
// decider the policy names. A lead agent that may not or will not answer does this; so may the
// operator, so that rules do not answer first. A request that needs two votes already needs the
// operator.
func (l *Leader) Escalate(k record.Key, shown record.Digest, by policy.Role, reason string, w journal.Writer) (Outcome, error) {
	req := l.byKey[k]
	if req == nil {
		return Outcome{Refusal: &UnknownRequestError{ID: k.ID}}, nil
	}
	out := Outcome{Request: req}
	if over, err := l.over(req, Answer{Key: k, Digest: shown}); over {
		if out.Refusal = err; err == nil {
			out.Refusal = &DecidedError{Request: req}
		}
		return out, nil
	}
	if req.Escalated != nil {
		return out, nil
	}
	if why := l.mayEscalate(req, by, w); why != "" {
		out.Refusal = &RefusedError{Why: why}
		return out, nil
	}
	out.Changed = true
	out.Drafts = []journal.Draft{{Kind: record.KindVoted, Must: true, Body: record.Decided{Key: k, Digest: req.Digest, Decision: record.DecisionEscalate, By: by,
		Channel: policy.ChannelJournal, Policy: l.Policy.Policy.Version, Reason: reason, Trust: l.byInst[k.Instance].Trust}}}
	return out, nil
}

// mayEscalate returns why a principal may not escalate a request, "" when it may.
func (l *Leader) mayEscalate(req *Request, by policy.Role, w journal.Writer) string {
	switch {
	case req.State != machine.RequestPending || req.Escalated != nil:
		return "the request is not open to that"
	case by != policy.RoleLeader && by != policy.RoleOperator:
		return fmt.Sprintf("%q passes nothing on", by)
	case w.Operator != (by == policy.RoleOperator):
		return "it is written in another's name"
	case l.Policy.DeciderOf(req.Gate()) == policy.DecideTwo:
		return "it takes two, and one of them is the operator"
	}
	return ""
}

// deciderOf is who answers one question: who answers its kind, unless it was
// passed on.
func (l *Leader) deciderOf(req *Request) policy.Decider {
	d := l.Policy.DeciderOf(req.Gate())
	if req.Kind == record.KindQuestion && d != policy.DecideLeader { // no rule and no vote answers in words
		return policy.DecideOperator
	}
	if req.Escalated != nil || l.asksBudget(req) || l.byOperator(req, d) || l.byFile(req) && d != policy.DecideTwo {
		return policy.DecideOperator
	}
	return d
}

// PendingForLead lists the open requests that a lead agent is to answer: those that the policy gives to it
// alone or as one of two votes, and that it has neither voted on nor escalated.
func (l *Leader) PendingForLead() []*Request {
	return those(l.pending, l.ForLead)
}

// ForLead reports whether a lead agent is to answer an open request (PendingForLead).
func (l *Leader) ForLead(r *Request) bool {
	d := l.deciderOf(r)
	voted := slices.ContainsFunc(r.Votes, func(v record.Decided) bool { return v.By == policy.RoleLeader && v.Policy == l.Policy.Policy.Version })
	return (d == policy.DecideLeader || d == policy.DecideTwo) && !voted
}

// Past reports an answer that decides nothing, whoever gives it: its digest differs from the
// request's, or the request is not open.
func (l *Leader) over(req *Request, v Answer) (bool, error) {
	switch d := req.Decided; {
	case len(v.Digest) < 16 || len(v.Digest) > len(req.Digest) || req.Digest[:len(v.Digest)] != v.Digest:
		return true, &DigestError{ID: v.ID, Want: v.Digest, Have: req.Digest}
	case d != nil && req.Order != nil && req.Order.TakenBack:
		return true, &RefusedError{Why: fmt.Sprintf("the answer to request %s was taken back, and it is asked again under another id", v.ID)}
	case d != nil && (d.Decision != record.DecisionDeny) == v.Allow && d.UpdatedInput == v.UpdatedInput && record.SameReplies(d.Answers, v.Answers):
		return true, nil
	case d != nil:
		return true, &DecidedError{Request: req}
	case req.State != machine.RequestPending:
		return true, &RefusedError{Why: fmt.Sprintf("request %s is closed: %s", v.ID, req.Closed)}
	case l.Divergence != nil:
		return true, ErrDiverged
	case v.Allow && l.byInst[req.Instance].Left != nil:
		return true, &RefusedError{Why: fmt.Sprintf("%s has ended: nobody waits for the answer to %s", l.byInst[req.Instance].Name, v.ID)}
	}
	return false, nil
}

// mayDecide reports whether the policy allows a principal to decide a request, and whether w may
// write in its name. No principal decides its own request: workers never decide, and the operator
// answers the lead's agent.
func (l *Leader) mayDecide(req *Request, by policy.Role, allow bool, w journal.Writer) (ok bool, why string) {
	switch {
	case l.Policy.Policy.Version == 0:
		return false, "the team has no policy on record"
	case by == policy.RoleOperator && !w.Operator:
		return false, "only a process of the operator decides in the operator's name"
	case by == policy.RoleLeader && w.Operator:
		return false, "only the lead's own process decides in the lead's name"
	}
	if l.needsTwo(req, allow) {
		return policy.MayVote(req.Gate(), policy.DecideTwo, by)
	}
	if l.byFile(req) {
		return l.mayDecideFile(req, by, allow)
	}
	return policy.MayDecide(req.Gate(), l.deciderOf(req), by, allow)
}

// needsTwo reports whether an answer to the request is only one vote of two. A single deny decides.
func (l *Leader) needsTwo(req *Request, allow bool) bool {
	return allow && l.deciderOf(req) == policy.DecideTwo
}

// voted reports whether the same vote is on record.
func (req *Request) voted(d record.Decided) bool {
	return slices.ContainsFunc(req.Votes, func(v record.Decided) bool {
		return v.By == d.By && v.Policy == d.Policy && v.UpdatedDigest == d.UpdatedDigest
	})
}

// overreach returns why an allow exceeds the rights of its author: a lead agent allows only what it
// could do itself, below high risk (trust §3); only a tool call has a changed input, and the policy
// must not deny the new one.
func (l *Leader) overreach(req *Request, v Answer, now time.Time) string {
	run := req.Ask
	if v.UpdatedInput != "" {
		run = run.With(v.UpdatedInput)
		if req.Gate() != policy.GateTool || !v.Allow || v.UpdatedInput[0] != '{' || !json.Valid([]byte(v.UpdatedInput)) {
			return "a changed input must be a JSON object and goes with allowing a tool call"
		}
		if j := l.policyOf(req.Instance).During(req.Task).Judge(req.Instance, l.Policy.Policy.Mode, req.Kind, run, now); j.Decision == policy.Deny {
			return "the changed input is not allowed: " + j.Rule
		}
	}
	switch {
	case v.By != policy.RoleLeader || !v.Allow:
		return ""
	case req.Gate() == policy.GateNetwork:
		return "a lead agent does not open the network: its risk is high"
	case req.Gate() == policy.GateTool:
		own := l.Policy.For("", now)
		if l.Policy.Lead != nil {
			own = l.Policy.Ceiling.Bound(*l.Policy.Lead)
		}
		if ok, why := policy.LeaderMayAllow(own, l.Policy.Call(run)); !ok {
			return why
		}
	}
	return ""
}

// Faces and causes of a decision, for Decided.Via.
const (
	ViaExpiry    = "expiry"
	ViaUnaskable = "unaskable" // nobody can be asked what it asks (record.Ask.Refused)
	ViaHeadless  = "headless"
	ViaRules     = "rules"
	ViaAuto      = "auto"
	ViaEnding    = "ending"
)

// expiredReason is what the asker of an expired request is told.
func expiredReason(r *Request) string {
	if r.Kind == record.KindQuestion {
		return record.NoAnswer
	}
	return "nobody answered before the deadline; ask again if it is still needed"
}

func (l *Leader) decision(req *Request, v Answer, mint record.Mint) (record.Decided, error) {
	m := l.byInst[req.Instance]
	d := record.Decided{Key: req.Key, Digest: req.Digest, Decision: record.DecisionDeny, By: v.By, Channel: v.Channel, Via: v.Via,
		Policy: l.Policy.Policy.Version, Rule: v.Rule, Reason: v.Reason, Trust: m.Trust, First: v.First, Judged: v.judged}
	if v.Allow {
		d.Decision, d.Answers = record.Positive(req.Kind), v.Answers
		t := mint.Now.Add(grant).UTC()
		d.UseBy = &t
	}
	if v.UpdatedInput != "" {
		d.UpdatedInput, d.UpdatedDigest = v.UpdatedInput, record.DigestOf(l.UID, req.Key, req.Ask.With(v.UpdatedInput))
	}
	if req.Kind == record.KindQuestion {
		return d, nil
	}
	reply := message.Reply{Allow: v.Allow, Reason: v.Reason, Input: v.UpdatedInput, Mode: l.afterPlan(m), Rules: v.Rules, Session: v.Session}
	answer, dialect := message.In(req.Spelling, message.Response(req.Key, req.Ask, reply, mint.Now), req.Ask.Input, mint.Now)
	mail, err := record.ComposeIn(dialect, protocol.Lead, "", m.Name, answer, mint)
	if err != nil {
		return record.Decided{}, err
	}
	d.Mail = mail
	return d, nil
}

// Due lists the decisions that need no person: deadlines that passed, questions of an
// unattended team, and those of the rules and of auto.
func (l *Leader) Due(now time.Time) []Answer {
	var vs []Answer
	for _, r := range l.pending {
		v := Answer{Key: r.Key, Digest: r.Digest, By: policy.RoleSystem, Channel: policy.ChannelJournal}
		decider := l.deciderOf(r)
		switch {
		case r.Expires != nil && !now.Before(*r.Expires):
			v.Via, v.Reason = ViaExpiry, expiredReason(r)
		case r.Ask.Refused != "":
			v.Via, v.Reason = ViaUnaskable, r.Ask.Refused
		case decider == policy.DecideAuto && r.Gate() == policy.GatePlan:
			v.Via, v.Allow, v.Rule = ViaAuto, true, "decide plan: auto"
		case (decider == policy.DecideRules || l.byFile(r)) && l.byRules(r, &v, now):
		case l.Policy.Unattended:
			v.Via, v.Reason = ViaHeadless, "no rule allows it and nobody attends this run"
			if r.Kind == record.KindQuestion {
				v.Reason = record.NoAnswer + ": nobody attends this run"
			}
		default:
			continue
		}
		vs = append(vs, v)
	}
	return vs
}

// byRules fills v when the team's rules decide the request.
func (l *Leader) byRules(r *Request, v *Answer, now time.Time) bool {
	j := l.policyOf(r.Instance).During(r.Task).Judge(r.Instance, l.ModeOf(r.Instance), r.Kind, r.Ask, now)
	if l.byFile(r) {
		j = l.judgeFile(r, now)
	}
	if j.Decision == policy.Ask {
		return false
	}
	v.By, v.Via, v.Rule, v.Reason, v.Allow = policy.RoleRules, ViaRules, j.Rule, j.Why, j.Decision == policy.Allow
	v.Session = v.Allow && r.Gate() == policy.GateNetwork && l.Policy.Stands(r.Instance, r.Ask)
	v.judged = l.policyOf(r.Instance).Judged(l.ModeOf(r.Instance), r.Task)
	return true
}

// Ending lists the denials that are due for open questions when a team ends.
func (l *Leader) Ending() []Answer {
	var vs []Answer
	for _, r := range l.pending {
		why := "the team is being ended"
		if r.Kind == record.KindQuestion {
			why = record.NoAnswer + ": " + why
		}
		vs = append(vs, Answer{Key: r.Key, Digest: r.Digest, By: policy.RoleSystem, Channel: policy.ChannelJournal, Via: ViaEnding, Reason: why})
	}
	return vs
}
