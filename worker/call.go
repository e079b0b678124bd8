package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"waggle/agent"
	"waggle/internal/cut"
	"waggle/protocol"
	"waggle/record"
	"waggle/transport"
)

var _ transport.Callee = endpoint{}

// calls are the operations of the member's own processes (docs/design/sockets.md). Each acts in the
// present turn, in the member's name, and with at most the rights of its agent.
var calls = map[string]func(host, context.Context, transport.Args) (any, error){
	"ask":      host.callAsk,
	"done":     host.callDone,
	"question": host.callQuestion,
	"plan":     host.callPlan,
	"network":  host.callNetwork,
	"say":      host.callSay,
	"progress": host.callProgress,
	"mail":     host.callMail,
}

// Call implements transport.Callee.
func (e endpoint) Call(ctx context.Context, _ transport.Peer, op string, body json.RawMessage) (any, error) {
	a, err := transport.ParseArgs(body)
	if err != nil {
		return nil, err
	}
	if op == "brief" {
		return e.w.brief(), nil
	}
	do := calls[op]
	if leadCalls[op] && e.w.leads {
		do = func(h host, ctx context.Context, a transport.Args) (any, error) { return h.lead(ctx, op, a) }
	}
	if do == nil {
		return nil, &transport.CallError{Code: transport.CodeInvalid, Why: fmt.Sprintf("the operation %q is not known", op)}
	}
	e.w.mu.Lock()
	t := e.w.turn
	running := t != nil && !t.over
	e.w.mu.Unlock()
	if !running {
		return nil, noTurn
	}
	got, err := do(host{e.w, t}, ctx, a)
	return got, called(ctx, err)
}

// called makes the error of a call. The host has retried temporary errors, so that any other error
// refuses the call.
func called(ctx context.Context, err error) error {
	var refused *transport.CallError
	switch {
	case err == nil, errors.As(err, &refused), ctx.Err() != nil, ill(err) != nil:
		return err
	case errors.Is(err, errTurnOver), errors.Is(err, context.Canceled):
		return noTurn
	}
	return &transport.CallError{Code: transport.CodeRefused, Why: err.Error()}
}

var noTurn = &transport.CallError{Code: transport.CodeRefused, Why: "no turn of this member runs: there is nothing to ask or say for"}

// CallDecision is what the call ask returns; the calls plan and network return an agent.Decision.
type CallDecision struct {
	Allowed bool               `json:"allowed"`
	ID      protocol.RequestID `json:"id,omitempty"`
	Input   json.RawMessage    `json:"input,omitempty"` // the exact input that may run
	Reason  string             `json:"reason"`
	By      string             `json:"by"`
}

// callAsk asks the gate about a call that the process, or its client, runs itself. When callAsk
// returns an allow, the journal has the start of the call; done records its end.
func (h host) callAsk(ctx context.Context, a transport.Args) (any, error) {
	c := agent.Call{Tool: a.Text("tool"), Cwd: a.Text("cwd"), Reason: a.Text("reason"), UseID: a.Text("use_id"), Input: a.Fields["input"]}
	if a.Err != nil || c.Tool == "" || len(c.Input) == 0 || c.Input[0] != '{' {
		return nil, a.Bad("ask wants a tool and an input, a JSON object")
	}
	c.Cwd = cmp.Or(c.Cwd, h.w.p.Cwd)
	claim, err := h.Ask(ctx, c)
	if err != nil {
		return nil, err
	}
	if claim.Allowed {
		h.w.mu.Lock()
		h.t.claims[claim.ID] = claim
		h.w.mu.Unlock()
	}
	return CallDecision{claim.Allowed, claim.ID, claim.Input, claim.Reason, claim.By}, nil
}

// callDone records how a call ended.
func (h host) callDone(ctx context.Context, a transport.Args) (any, error) {
	r := agent.Ran{Tail: a.Text("tail"), Err: a.Text("error")}
	a.Read("exit_code", &r.ExitCode)
	a.Read("failed", &r.Failed)
	id := protocol.RequestID(a.Text("id"))
	h.w.mu.Lock()
	claim, ok := h.t.claims[id]
	h.w.mu.Unlock()
	switch {
	case a.Err != nil || id == "":
		return nil, a.Bad("done wants the id of the call")
	case !ok:
		return nil, &transport.CallError{Code: transport.CodeNotFound, Why: fmt.Sprintf("no call %s was allowed here in this turn", id)}
	}
	return struct{}{}, claim.Done(ctx, r)
}

// CallAnswers is what the call question returns.
type CallAnswers struct {
	Given   bool        `json:"given"`
	Answers []CallReply `json:"answers"`
	Reason  string      `json:"reason"`
	By      string      `json:"by"`
}

// CallReply is the answer to one of the questions.
type CallReply struct {
	Question string   `json:"question"`
	Answer   string   `json:"answer"`
	Labels   []string `json:"labels,omitempty"` // of the chosen options; none: Answer is words
}

func (h host) callQuestion(ctx context.Context, a transport.Args) (any, error) {
	qs, err := record.Questions(`{"questions":` + string(a.Fields["questions"]) + "}")
	if err != nil {
		return nil, a.Bad(err.Error())
	}
	if err := record.CheckQuestions(qs); err != nil {
		return nil, a.Bad(err.Error())
	}
	got, err := h.Question(ctx, agent.Question{Parts: qs})
	if err != nil {
		return nil, err
	}
	out := CallAnswers{got.Given, []CallReply{}, got.Reason, got.By}
	for i, r := range got.Replies {
		out.Answers = append(out.Answers, CallReply{qs[i].Text, r.String(), r.Labels})
	}
	return out, nil
}

func (h host) callPlan(ctx context.Context, a transport.Args) (any, error) {
	plan := a.Text("plan")
	if a.Err != nil || plan == "" {
		return nil, a.Bad("plan wants the plan's text")
	}
	return h.Plan(ctx, plan)
}

func (h host) callNetwork(ctx context.Context, a transport.Args) (any, error) {
	to, reason := a.Text("host"), a.Text("reason")
	if a.Err != nil || to == "" {
		return nil, a.Bad("network wants a host")
	}
	return h.Network(ctx, to, reason)
}

func (h host) callSay(ctx context.Context, a transport.Args) (any, error) {
	to, text, summary := a.Text("to"), a.Text("text"), a.Text("summary")
	if a.Err != nil || text == "" {
		return nil, a.Bad("say wants a text")
	}
	return struct{}{}, h.Say(ctx, cmp.Or(to, string(protocol.Lead)), text, summary)
}

func (h host) callProgress(ctx context.Context, a transport.Args) (any, error) {
	phase, message := a.Text("phase"), a.Text("message")
	if a.Err != nil || phase == "" {
		return nil, a.Bad("progress wants a phase")
	}
	if h.t.task == nil { // there is no task to report about: it is said in words
		return struct{}{}, h.Say(ctx, string(protocol.Lead), message, phase)
	}
	return struct{}{}, h.Progress(ctx, phase, message)
}

// maxMailWait is the longest wait for messages in one call.
const maxMailWait = 10 * time.Minute

// callMail returns the waiting messages of this member, once, and records that its session has
// them. Without a message it waits as long as the call asks for.
func (h host) callMail(ctx context.Context, a transport.Args) (any, error) {
	var wait int64
	a.Read("wait_ms", &wait)
	if a.Err != nil || wait < 0 {
		return nil, a.Bad("wait_ms is a number of milliseconds")
	}
	ctx, leave := h.within(ctx)
	defer leave()
	over := time.NewTimer(min(time.Duration(wait)*time.Millisecond, maxMailWait))
	defer over.Stop()
	for {
		h.w.mu.Lock()
		passed := h.w.passed
		h.w.mu.Unlock()
		mails, ids, err := h.catch(ctx, true)
		if err != nil {
			return nil, err
		}
		if late := h.late(); late != nil {
			mails = append(mails, *late)
		}
		if len(mails) > 0 {
			h.w.note(protocol.TextForm(mails...))
			h.w.trouble.Note("mail", h.w.p.Box.MarkRead(ctx, ids...), "words that the session has are not marked read")
			return messages(mails), nil
		}
		select {
		case <-passed:
		case <-over.C:
			return messages(nil), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

type readMail struct {
	From    string `json:"from"`
	Text    string `json:"text"`
	Summary string `json:"summary,omitempty"`
}

func messages(mails []protocol.Mail) any {
	out := struct {
		Messages []readMail `json:"messages"`
	}{[]readMail{}}
	for _, m := range mails {
		out.Messages = append(out.Messages, readMail{m.From, m.Text, m.Summary})
	}
	return out
}

// Limits of a brief: about 1,500 tokens in all.
const (
	maxBriefText    = 4000
	maxBriefMembers = 60
)

// CallBrief is what the call brief returns: the name of a member, its role and its work.
type CallBrief struct {
	Team     string    `json:"team"`
	Name     string    `json:"name"`
	Lead     bool      `json:"lead,omitempty"` // it is the lead's agent
	Mode     string    `json:"mode"`
	Planning bool      `json:"planning"` // it needs an approved plan before it changes anything
	Task     *CallTask `json:"task"`     // null: it has no task
	Members  []string  `json:"members"`
}

// CallTask is the task of a brief.
type CallTask struct {
	ID           string `json:"id"`
	Subject      string `json:"subject"`
	Instructions string `json:"instructions"`
}

func (w *Worker) brief() CallBrief {
	out := CallBrief{Members: []string{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	out.Team, out.Name, out.Lead, out.Planning = string(w.p.Fold.Team), string(w.p.Fold.Name), w.leads, w.p.Fold.Planning()
	out.Mode = string(w.p.Lead.ModeOf(w.p.Fold.Instance))
	if w.turn != nil && w.turn.task != nil {
		t := w.turn.task
		out.Task = &CallTask{t.ID, cut.Runes(t.Subject, longestSummary), cut.Runes(t.Instructions, maxBriefText)}
	}
	for _, m := range w.p.Lead.Live() {
		if len(out.Members) < maxBriefMembers {
			out.Members = append(out.Members, string(m.Name))
		}
	}
	return out
}
