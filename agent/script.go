package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"waggle/internal/backoff"
	"waggle/internal/caught"
	"waggle/protocol"
)

// ScriptSpec is a script member's settings: its steps for each task.
type ScriptSpec struct {
	Steps []Step `json:"steps"`
	// OnMail are the steps of a turn that reads messages; none: it only reads them.
	OnMail []Step `json:"on_mail,omitempty"`
	// Decide is how it answers members' questions when it sits behind the lead.
	Decide *DecideStep `json:"decide,omitempty"`
}

// Step is one step of a script; exactly one field is set.
type Step struct {
	Say      *SayStep      `json:"say,omitempty"`
	Tool     *ToolStep     `json:"tool,omitempty"`
	Plan     *PlanStep     `json:"plan,omitempty"`
	Network  *NetworkStep  `json:"network,omitempty"`
	Ask      *AskStep      `json:"ask_question,omitempty"`
	Progress *ProgressStep `json:"progress,omitempty"`
	Use      *UseStep      `json:"use,omitempty"`
	Fail     *FailStep     `json:"fail,omitempty"`
	Wait     *WaitStep     `json:"wait,omitempty"`
}

// SayStep sends plain text; To is the lead when empty.
type SayStep struct {
	To      string `json:"to,omitempty"`
	Text    string `json:"text"`
	Summary string `json:"summary,omitempty"`
}

// ToolStep asks for a tool call. Bash and Write really run; the call of any
// other tool only asks.
type ToolStep struct {
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input"`
	Reason string          `json:"reason,omitempty"`
	// Expect is "deny" when the script continues after a denial; otherwise a denial fails the task.
	Expect string `json:"expect,omitempty"`
}

// PlanStep proposes plans, one after another, until one is approved.
type PlanStep struct {
	Revisions []string `json:"revisions"`
	// Withdraw is how long a revision waits for its answer before the script takes it back and
	// continues with the next one, after the last with the next step, its plan not approved. Nil:
	// it waits.
	Withdraw *WaitStep `json:"withdraw,omitempty"`
}

// NetworkStep asks for a host. Expect is as in ToolStep.
type NetworkStep struct {
	Host   string `json:"host"`
	Reason string `json:"reason,omitempty"`
	Expect string `json:"expect,omitempty"`
}

// ProgressStep reports progress to the lead. Phase is one of protocol.Phases; "" is
// implementing.
type ProgressStep struct {
	Phase   string `json:"phase"`
	Message string `json:"message"`
}

// UseStep reports what a model would have used.
type UseStep struct {
	USD    float64 `json:"usd,omitempty"`
	Tokens int64   `json:"tokens,omitempty"`
}

func (s *UseStep) play(ctx context.Context, h Host) error {
	return h.Used(ctx, Usage{Input: s.Tokens, CostMicros: int64(math.Round(s.USD * 1e6)), Estimated: true})
}

// FailStep ends the turn as failed.
type FailStep struct {
	Reason string `json:"reason"`
}

// WaitStep waits for a time, or until a file exists.
type WaitStep struct {
	For   Duration `json:"for,omitempty"`
	Until string   `json:"until,omitempty"` // relative to the task's directory
}

// Duration is a time.Duration as text: "2s".
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

type scriptAgent struct {
	spec  ScriptSpec
	heard atomic.Int64 // messages, in the turn that runs
}

var _ Listener = (*scriptAgent)(nil)

// Hear implements Listener: a script continues with its steps and reports at the end how many
// messages it was given.
func (a *scriptAgent) Hear(_ context.Context, mails []protocol.Mail) error {
	a.heard.Add(int64(len(mails)))
	return nil
}

// played sums a turn up.
func (a *scriptAgent) played() string {
	s := fmt.Sprintf("played %d steps", len(a.spec.Steps))
	if n := a.heard.Load(); n > 0 {
		s += fmt.Sprintf(", heard %d messages", n)
	}
	return s
}

func newScript(raw json.RawMessage) (Agent, error) {
	var s ScriptSpec
	if err := decodeSpec(raw, &s); err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	if s.Decide != nil {
		if err := s.Decide.check(); err != nil {
			return nil, fmt.Errorf("script: %w", err)
		}
	}
	for i, st := range slices.Concat(s.Steps, s.OnMail) {
		if err := st.check(); err != nil {
			return nil, fmt.Errorf("script: step %d: %w", i+1, err)
		}
	}
	return &scriptAgent{spec: s}, nil
}

func (s Step) check() error {
	n := 0
	for _, set := range []bool{s.Say != nil, s.Tool != nil, s.Plan != nil, s.Network != nil, s.Ask != nil, s.Progress != nil, s.Use != nil, s.Fail != nil, s.Wait != nil} {
		if set {
			n++
		}
	}
	switch {
	case n != 1:
		return errors.New("want exactly one of say, tool, plan, network, ask_question, progress, use, fail, wait")
	case s.Tool != nil && (s.Tool.Name == "" || len(s.Tool.Input) == 0):
		return errors.New("tool wants name and input")
	case s.Plan != nil && len(s.Plan.Revisions) == 0:
		return errors.New("plan wants at least one revision")
	case s.Network != nil && s.Network.Host == "":
		return errors.New("network wants a host")
	case s.Ask != nil && len(s.Ask.Questions) == 0:
		return errors.New("ask_question wants at least one question")
	case s.Progress != nil && s.Progress.Phase != "" && !slices.Contains(protocol.Phases(), s.Progress.Phase):
		return fmt.Errorf("progress: phase %q is not one of %s", s.Progress.Phase, strings.Join(protocol.Phases(), ", "))
	case s.Use != nil && (s.Use.Tokens < 0 || s.Use.Tokens > maxUse || !(s.Use.USD >= 0 && s.Use.USD <= maxUse)):
		return errors.New("use wants usd and tokens from 0 to a billion")
	}
	return nil
}

// maxUse bounds what a step says that it used.
const maxUse = 1e9

// errFailed ends a script's turn as failed without being an error of the agent.
type errFailed struct {
	reason string
	denied bool
}

func (e *errFailed) Error() string { return e.reason }

// Turn implements Agent.
func (a *scriptAgent) Turn(ctx context.Context, h Host, w Work) (Result, error) {
	if w.Task == nil {
		return a.turn(ctx, h, a.spec.OnMail, &Task{Cwd: w.Cwd}, func() string { return fmt.Sprintf("read %d messages", len(w.Mail)) })
	}
	a.heard.Store(int64(len(w.Mail)))
	return a.turn(ctx, h, a.spec.Steps, w.Task, a.played)
}

func (a *scriptAgent) turn(ctx context.Context, h Host, steps []Step, t *Task, summary func() string) (Result, error) {
	var exit *int
	for i, st := range steps {
		ran, err := st.play(ctx, h, t)
		if ran != nil && ran.ExitCode != nil {
			exit = ran.ExitCode
		}
		var failed *errFailed
		switch {
		case errors.As(err, &failed):
			return Result{Failed: true, Denied: failed.denied, Reason: failed.reason, ExitCode: exit}, nil
		case err != nil:
			return Result{}, fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return Result{Summary: summary(), ExitCode: exit}, nil
}

func (s Step) play(ctx context.Context, h Host, t *Task) (*Ran, error) {
	switch {
	case s.Say != nil:
		return nil, h.Say(ctx, cmp.Or(s.Say.To, string(protocol.Lead)), s.Say.Text, s.Say.Summary)
	case s.Tool != nil:
		return s.Tool.play(ctx, h, t)
	case s.Plan != nil:
		return nil, s.Plan.play(ctx, h, t)
	case s.Network != nil:
		ans, err := h.Network(ctx, s.Network.Host, s.Network.Reason)
		if err == nil && !ans.Allowed && s.Network.Expect != "deny" {
			err = &errFailed{"network to " + s.Network.Host + " denied: " + ans.Reason, true}
		}
		return nil, err
	case s.Ask != nil:
		return nil, s.Ask.play(ctx, h)
	case s.Progress != nil:
		return nil, h.Progress(ctx, cmp.Or(s.Progress.Phase, "implementing"), s.Progress.Message)
	case s.Use != nil:
		return nil, s.Use.play(ctx, h)
	case s.Fail != nil:
		return nil, &errFailed{reason: s.Fail.Reason}
	case s.Wait != nil:
		return nil, s.Wait.play(ctx, t)
	}
	return nil, nil
}

func (s *PlanStep) play(ctx context.Context, h Host, t *Task) error {
	var end error
	for _, rev := range s.Revisions {
		ans, err := s.propose(ctx, h, t, rev)
		switch {
		case errors.Is(err, ErrWithdrawn):
			end = nil
		case err != nil:
			return err
		case ans.Allowed:
			return nil
		default:
			end = &errFailed{"plan rejected: " + ans.Reason, true}
		}
	}
	return end
}

// propose asks for one revision, for as long as the step waits for it.
func (s *PlanStep) propose(ctx context.Context, h Host, t *Task, rev string) (Decision, error) {
	if s.Withdraw == nil {
		return h.Plan(ctx, rev)
	}
	patience, giveUp := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- caught.Do(func() error {
			if s.Withdraw.play(patience, t) == nil {
				giveUp()
			}
			return nil
		})
	}()
	ans, err := h.Plan(patience, rev)
	giveUp()
	return ans, errors.Join(err, <-ended)
}

func (s *ToolStep) play(ctx context.Context, h Host, t *Task) (*Ran, error) {
	call := Call{Tool: s.Name, Input: s.Input, Cwd: t.Cwd, Reason: s.Reason}
	if text, stdin, err := commandOf(s.Input); s.Name == "Bash" && err == nil {
		call.Stdin, call.Env, call.Argv = stdin, TaskEnv(t.ID, t.Subject), shellArgv(text)
	}
	var w write
	if s.Name == "Write" {
		w = newWrite(s.Input, t.Cwd)
		call.Files = w.file
	}
	out, err := h.Tool(ctx, call, func(ctx context.Context, input json.RawMessage) Ran { return runTool(ctx, h, s.Name, input, t, w) })
	switch {
	case err != nil:
		return nil, err
	case !out.Allowed && s.Expect == "deny":
		return nil, nil
	case !out.Allowed:
		return nil, &errFailed{s.Name + " denied: " + out.Reason, true}
	case out.Ran.Failed:
		return out.Ran, &errFailed{reason: s.Name + " failed: " + shellResult(out).Reason}
	}
	return out.Ran, nil
}

// runTool runs the tools a script has.
func runTool(ctx context.Context, h Host, tool string, input json.RawMessage, t *Task, w write) Ran {
	switch tool {
	case "Bash":
		return runBash(ctx, h, input, t)
	case "Write":
		return w.run(input)
	}
	return Ran{Tail: "a script has no " + tool + " tool: only the permission was asked for"}
}

// pollFile is how often a script checks for the file that it waits for.
const pollFile = 50 * time.Millisecond

func (s *WaitStep) play(ctx context.Context, t *Task) error {
	if s.Until == "" {
		backoff.Pause(ctx, time.Duration(s.For))
		return ctx.Err()
	}
	path := s.Until
	if !filepath.IsAbs(path) {
		path = filepath.Join(t.Cwd, path)
	}
	for {
		if _, err := os.Lstat(path); err == nil {
			return nil
		}
		if !backoff.Pause(ctx, pollFile) {
			return ctx.Err()
		}
	}
}

// AskStep asks a person in words, and writes the answers to the member's output.
type AskStep struct {
	Questions []AskedPart `json:"questions"`
	// Expect is "none" when the script continues without an answer; otherwise the task fails.
	Expect string `json:"expect,omitempty"`
}

// AskedPart is a Part in a script.
type AskedPart struct {
	Question string   `json:"question"`
	Header   string   `json:"header,omitempty"`
	Options  []Option `json:"options,omitempty"`
	Multiple bool     `json:"multiple,omitempty"`
	Closed   bool     `json:"closed,omitempty"`
}

func (s *AskStep) play(ctx context.Context, h Host) error {
	var q Question
	for _, p := range s.Questions {
		q.Parts = append(q.Parts, Part{Header: p.Header, Text: p.Question, Options: p.Options, Multiple: p.Multiple, Closed: p.Closed})
	}
	got, err := h.Question(ctx, q)
	switch {
	case err != nil:
		return err
	case !got.Given && s.Expect == "none":
		_, err = fmt.Fprintf(h.Output(), "no answer: %s\n", got.Reason)
		return err
	case !got.Given:
		return &errFailed{"the question has no answer: " + got.Reason, true}
	}
	for i, p := range q.Parts {
		if _, err := fmt.Fprintf(h.Output(), "question: %s\nanswer: %s\n", p.Text, got.Replies[i]); err != nil {
			return err
		}
	}
	return nil
}
