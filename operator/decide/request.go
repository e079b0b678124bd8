package decide

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"waggle/control"
	"waggle/internal/json/jsonobj"
	"waggle/machine"
	"waggle/operator"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Request is what a person is shown of one request (`show`). PendingItem is a row of a
// list; control.Request is the request in the fold.
type Request struct {
	PendingItem
	// Bound is what of a tool call its digest covers beside tool, directory and input.
	record.Bound
	// Unheld says of a tool call that waggle does not run it, and what that means.
	Unheld string `json:"unheld,omitempty"`
	// MustAsk says why a person decides although a rule or a mode would allow the call; "": none would.
	MustAsk string `json:"must_ask,omitempty"`
	// Because says why no rule and no mode answers the call, as the rules are now; "" where they do.
	Because string `json:"because,omitempty"`
	Host    string `json:"host,omitempty"`
	Port    string `json:"port,omitempty"`
	// Sandbox is the level of the member that asks for a host: below enforced nothing holds its commands to an answer.
	Sandbox  record.HeldLevel `json:"-"`
	Plan     string           `json:"plan,omitempty"`
	Revision int              `json:"revision,omitempty"` // of a plan: 1, 2, … for this member's task
	Hash     string           `json:"hash,omitempty"`     // of a plan's text, SHA-256
	// Questions are the questions of a request for words.
	Questions []Asked  `json:"questions,omitempty"`
	Task      string   `json:"task,omitempty"`
	Command   string   `json:"command,omitempty"` // the shell text in the input, as it would run
	Pattern   string   `json:"pattern"`           // the key of its group
	Suggest   []string `json:"suggest"`           // rules that would allow it, narrowest first
	// Weights are how many of the last Weighed calls of the team each of Suggest would have matched; nil: not counted
	// (Weigh).
	Weights []int    `json:"suggest_matched,omitempty"`
	Weighed int      `json:"suggest_calls,omitempty"`
	Trust   string   `json:"trust"`
	Votes   []string `json:"votes,omitempty"` // who has allowed it, where two votes must
	// Escalated says why the lead agent left it to the operator.
	Escalated string `json:"escalated,omitempty"`
	// Asker says that the asking process is dead, and what happens to an answer; "" when it lives,
	// or when nothing is open.
	Asker string `json:"asker,omitempty"`
	// LeadOut says who answers what the lead's agent is to answer, while a person has its session; "" when
	// nobody has, or when it is not the agent's to answer.
	LeadOut string `json:"lead_out,omitempty"`
	// OwnTree: the member works in a worktree of its own, which can be made again.
	OwnTree bool       `json:"-"`
	Answer  *AnswerNow `json:"answer,omitempty"`
}

// Asked is one of several questions in words that an agent asks in one request.
type Asked struct {
	Text     string   `json:"question"`
	Header   string   `json:"header,omitempty"`
	Options  []Option `json:"options"`
	Multiple bool     `json:"multiple,omitempty"` // several options may be chosen
	Closed   bool     `json:"closed,omitempty"`   // it takes options only
}

// Option is an answer that the agent offers.
type Option = record.Option

// asked reads the questions in an input; an input of another form has none.
func asked(input json.RawMessage) (list []Asked) {
	questions, err := record.Questions(string(input))
	if err != nil {
		return nil
	}
	for _, q := range questions {
		if q.Options == nil {
			q.Options = []Option{} // a document has a list
		}
		list = append(list, Asked(q))
	}
	return list
}

// PendingItem is a request as a list shows it. The input of a network request is {"host","port"}, of a plan
// {"plan"}.
type PendingItem struct {
	Team     string          `json:"team"` // "-": a session, in no team of ours
	ID       string          `json:"id"`
	Handle   string          `json:"handle"` // what people type for it (trust §2)
	Kind     string          `json:"kind"`
	Member   string          `json:"member"`
	Instance string          `json:"instance"`
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input"`
	Cwd      string          `json:"cwd"`
	Reason   string          `json:"reason"`
	Digest   string          `json:"digest"`
	Risk     string          `json:"risk"`
	Asked    operator.Past   `json:"age_s"`
	Expires  *time.Time      `json:"expires_at"` // null: it does not
	// File is "file" when nothing but a file says that the member asks this; else "". Of a Request the document has Trust.
	File string `json:"trust,omitempty"`
	// Status is open, expired (not answered in time) or unanswerable; after its end it is decided,
	// or closed without an answer.
	Status string `json:"status"`
}

// AnswerNow is the present answer to a request.
type AnswerNow struct {
	Decision string    `json:"decision"`
	By       string    `json:"by"`
	Via      string    `json:"via"`
	Rule     string    `json:"rule,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	At       time.Time `json:"at"`
	Policy   uint64    `json:"policy_version"`
	State    string    `json:"state"` // decided, sent, closed
	Evidence string    `json:"evidence,omitempty"`
	// Input is what runs instead of what was asked, under its own digest.
	Input  json.RawMessage `json:"input,omitempty"`
	Digest string          `json:"digest,omitempty"`
	// Answers are those to a question, one for each.
	Answers []string `json:"answers,omitempty"`
}

// Values of PendingItem.Status.
const (
	StatusOpen         = "open"
	StatusExpired      = "expired"
	StatusUnanswerable = "unanswerable"
	StatusDecided      = "decided"
	StatusClosed       = "closed"
)

// Pending lists the open questions of a team, riskiest first, then oldest. all
// adds those that were answered. When nobody leads, or the process that leads has not taken them in, questions that
// arrived meanwhile are there too, those that the rules answer are not, and what is overdue is shown as expired.
// It records nothing (operator.Preview). With SessionTeam it lists those of sessions, also with an error.
func (o Operator) Pending(ctx context.Context, name protocol.TeamName, all bool) ([]Request, error) {
	if name == SessionTeam {
		_, open, err := o.Sessions()
		return open, err
	}
	mode := operator.Brief // closed requests are not read for a list of open ones
	if all {
		mode = operator.Act
	}
	s, err := o.Open(ctx, name, mode)
	if err != nil {
		return nil, err
	}
	previews, err := o.Previews(ctx, s)
	if err == nil && previews && !all { // a brief fold has no policy to judge by
		s, err = o.Open(ctx, name, operator.Act)
	}
	if err == nil && previews {
		_, err = o.Preview(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	return o.PendingIn(s, all), nil
}

// PendingIn is Pending for an open team.
func (o Operator) PendingIn(s *operator.State, all bool) []Request {
	requests := s.Lead.Pending()
	if all {
		requests = s.Lead.Requests
	}
	qs := mapped(requests, func(r *control.Request) Request { return o.Request(s, r) })
	SortRequests(qs)
	return qs
}

// Show returns one request by its id, or an unambiguous beginning of it, answered or not. It
// records nothing. With SessionTeam it returns one of a session, or a proposal.
func (o Operator) Show(ctx context.Context, name protocol.TeamName, id string) (*Request, error) {
	if name == SessionTeam {
		return o.showSession(id)
	}
	s, err := o.Open(ctx, name, operator.Seen)
	if err != nil {
		return nil, err
	}
	r, err := findRequest(s.Lead, id, "")
	if err != nil {
		return nil, err
	}
	q := o.Request(s, r)
	return &q, nil
}

// Changed returns a request as it would be with another input, with its own digest and risk (trust
// §3). It decides and records nothing.
func (o Operator) Changed(ctx context.Context, name protocol.TeamName, id, input string) (*Request, error) {
	if name == SessionTeam {
		return o.sessionChanged(id, input)
	}
	s, err := o.Open(ctx, name, operator.Seen)
	if err != nil {
		return nil, err
	}
	r, err := findRequest(s.Lead, id, "")
	if err != nil {
		return nil, err
	}
	if err := changes(r.Gate() == policy.GateTool, input); err != nil {
		return nil, err
	}
	other := *r
	other.Ask = r.Ask.With(input)
	other.Digest = record.DigestOf(s.Lead.UID, r.Key, other.Ask)
	q := o.request(s.Lead, &other)
	return &q, nil
}

// changes refuses an input that cannot run instead of what a request asks for; call reports that it asks for a tool call.
func changes(call bool, input string) error {
	if !call || input == "" || input[0] != '{' || !json.Valid([]byte(input)) {
		return &operator.Error{Kind: operator.Usage, Op: "approve", Msg: "a changed input must be a JSON object and goes with allowing a tool call"}
	}
	return nil
}

func riskOrder(r string) int { return max(0, slices.Index(policy.Risks(), policy.Risk(r))) }

// Request returns one request of an open team as it is shown, with what confines a member that asks for a host.
func (o Operator) Request(s *operator.State, r *control.Request) Request {
	q := o.request(s.Lead, r)
	if r.Gate() != policy.GateNetwork {
		return q
	}
	if q.Sandbox = heldFor(s, r.Instance); q.File == "" && !q.Sandbox.Enforces() {
		q.Unheld = "nothing holds the commands of " + q.Member + " to an answer: its sandbox is " + string(q.Sandbox)
	}
	return q
}

func (o Operator) request(l *control.Leader, r *control.Request) Request {
	now := o.Minter.Now()
	m, _ := l.ByInstance(r.Instance)
	q := Request{PendingItem: PendingItem{Team: string(l.Team), ID: string(r.ID), Handle: r.Handle, Kind: string(r.Kind), Member: string(m.Name), Instance: string(r.Instance),
		Tool: r.Ask.Tool, Input: InputOf(r), Cwd: r.Ask.Cwd, Reason: r.Ask.Reason, Digest: string(r.Digest), Risk: string(RiskOf(m, r)),
		Asked: operator.Past{Time: r.Seen}, Expires: r.Expires, Status: statusOf(r, m, now)},
		Host: r.Ask.Host, Port: r.Ask.Port, Task: r.Task, MustAsk: r.Ask.MustAsk, Trust: string(m.Trust), Suggest: []string{}}
	switch r.Gate() {
	case policy.GatePlan:
		q.Plan, q.Hash, q.Revision = r.Ask.Plan, record.HashText(r.Ask.Plan), revision(l, r)
		q.Pattern = "plan " + string(r.ID)
	case policy.GateNetwork:
		q.Pattern = "net " + target(r.Ask)
	case policy.GateQuestion:
		q.Questions, q.Pattern = asked(q.Input), "question "+string(r.ID)
	default:
		c := r.Ask.Call()
		q.Pattern, q.Command, q.Bound = policy.PatternOf(c), CommandOf(c), r.Ask.Bound
		if !r.Ask.Held && r.Ask.Sum() >= 2 {
			q.Unheld = "waggle does not run this call: program and paths are checked, not held"
		}
		if v := l.Policy.During(r.Task).Judge(r.Instance, l.ModeOf(r.Instance), r.Kind, r.Ask, now); v.Decision == policy.Ask && v.Rule != policy.RuleMustAsk && m.Trust != record.FileTrust {
			q.Because = v.Why
		}
		q.Suggest = ruleTexts(o.suggest(l, r, c, now))
	}
	if r.Escalated != nil {
		q.Escalated = string(r.Escalated.By) + operator.Suffix(r.Escalated.Reason)
	}
	for _, v := range r.Votes {
		q.Votes = append(q.Votes, string(v.By))
	}
	q.OwnTree = inTree(m, r.Ask.Cwd)
	if q.Answer = answerNow(r); m.Trust == record.FileTrust {
		q.File = q.Trust
		q.Unheld = "waggle does not run " + string(m.Name) + ": only a file says that it asks this, and what it runs is not held"
		if r.Gate() == policy.GateNetwork {
			q.Unheld = "waggle does not run " + string(m.Name) + ": only a file says that it asks this, and nothing holds it to the answer"
		}
	}
	if q.Status == StatusOpen || q.Status == StatusExpired || q.Status == StatusUnanswerable {
		q.Asker = asker(m)
	}
	if q.Status == StatusOpen && l.ForLead(r) {
		q.LeadOut = LeadOut(l, r.Gate())
	}
	return q
}

// suggest proposes rules that would allow a call of a request beside the rules of its member, as far as the ceiling lets
// them be added.
func (o Operator) suggest(l *control.Leader, r *control.Request, c policy.Call, now time.Time) []policy.Rule {
	own := l.Policy.During(r.Task).For(r.Instance, now)
	own.Mode = l.Policy.Ceiling.Meet(l.ModeOf(r.Instance))
	top := o.CeilingOf(l.Policy.Ceiling)
	return slices.DeleteFunc(own.Suggest(c), func(s policy.Rule) bool {
		return len(top.Beyond(policy.Policy{Mode: policy.ModeLockedDown, Allow: []policy.Rule{s}})) > 0
	})
}

// LeadOut says who answers the requests of a kind that the lead's agent is to answer, while a person has taken
// its session; "" when nobody has.
func LeadOut(l *control.Leader, g policy.Gate) string {
	lead, ok := l.LeadAgent()
	switch {
	case !ok || lead.Borrowed == nil || lead.Borrowed.By.Ended():
		return ""
	case l.Policy.DeciderOf(g) == policy.DecideTwo:
		return "the lead's vote waits: its session is taken"
	}
	return "you answer: the lead's session is taken"
}

// asker describes what the death of the asking process means for its request.
func asker(m *control.Member) string {
	if m.Process == nil || m.Left != nil {
		return ""
	}
	if alive, err := m.Process.ID.Check(); alive || err != nil {
		return ""
	}
	s := fmt.Sprintf("its process %d is dead", m.Process.ID.PID)
	if m.Died != nil {
		s += operator.Suffix(m.Died.Detail)
	}
	if released(m) {
		return s + ", and waggle does not start it again: nobody would take an answer"
	}
	return s + "; the answer waits for its next start"
}

// released reports a member whose process waggle did not start, and that is dead: it has no next start.
func released(m *control.Member) bool {
	return m.Process != nil && m.Process.ID.Theirs && operator.Gone(m.Process.ID)
}

func statusOf(r *control.Request, m *control.Member, now time.Time) string {
	late := r.Expires != nil && !now.Before(*r.Expires)
	switch d := r.Decided; {
	case d != nil && d.Via == control.ViaExpiry:
		return StatusExpired
	case d != nil:
		return StatusDecided
	case r.State != machine.RequestPending:
		return StatusClosed
	case m.State() == machine.Terminated, released(m):
		return StatusUnanswerable
	case late:
		return StatusExpired
	}
	return StatusOpen
}

func answerNow(r *control.Request) *AnswerNow {
	d := r.Decided
	if d == nil {
		return nil
	}
	a := &AnswerNow{Decision: d.Decision, By: string(d.By), Via: d.Via, Rule: d.Rule, Reason: d.Reason, At: r.At,
		Policy: d.Policy, State: string(r.State), Evidence: r.Closed, Digest: string(d.UpdatedDigest)}
	if d.UpdatedInput != "" {
		a.Input = json.RawMessage(d.UpdatedInput)
	}
	if r.Order != nil && r.Order.TakenBack {
		a.State, a.Evidence = "taken back", "you have taken it back; it is asked again"
	}
	a.Answers = record.Texts(d.Answers)
	return a
}

// InputOf returns the input of a request as JSON.
func InputOf(r *control.Request) json.RawMessage {
	marshal := func(v any) json.RawMessage {
		b, err := jsonobj.Marshal(v)
		if err != nil { // strings always marshal
			return json.RawMessage("null")
		}
		return b
	}
	switch r.Gate() {
	case policy.GatePlan:
		return marshal(map[string]string{"plan": r.Ask.Plan})
	case policy.GateNetwork:
		return marshal(map[string]string{"host": r.Ask.Host, "port": r.Ask.Port})
	}
	if !json.Valid([]byte(r.Ask.Input)) { // shown, and never what a decision binds to
		return marshal(r.Ask.Input)
	}
	return json.RawMessage(r.Ask.Input)
}

// CommandOf returns the shell text of a call, "" when it has none.
func CommandOf(c policy.Call) string {
	if c.Tool != "Bash" {
		return ""
	}
	return record.CommandOf(string(c.Input))
}

// inTree reports a call in the worktree of the member's own.
func inTree(m *control.Member, cwd string) bool {
	if m == nil || m.Worktree == nil {
		return false
	}
	below, err := filepath.Rel(m.Worktree.Path, cwd)
	return err == nil && filepath.IsLocal(below)
}

// RiskOf returns the risk that is shown with a request of m; nil: the member is not known.
func RiskOf(m *control.Member, r *control.Request) policy.Risk {
	switch r.Gate() {
	case policy.GatePlan:
		return policy.RiskMedium
	case policy.GateNetwork:
		return policy.RiskHigh
	case policy.GateQuestion:
		return policy.RiskLow
	}
	c := r.Ask.Call()
	c.OwnTree = inTree(m, c.Cwd)
	return policy.RiskOf(c)
}
