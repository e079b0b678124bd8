package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"waggle/internal/cmdline"
	"waggle/internal/cut"
	"waggle/internal/json/jsontext"
	"waggle/protocol"
	"waggle/spawn"
)

// ExecSpec is an exec member's settings.
type ExecSpec struct {
	// Command is the argv that is run for each task. Empty: the task's
	// instructions are the command, run by sh -c.
	Command []string `json:"command,omitempty"`
	// Report makes the end of the command's output the turn's result, and words to the lead: a lead that cannot read
	// the member's journal and log.
	Report bool `json:"report,omitempty"`
}

type execAgent struct{ spec ExecSpec }

func newExec(raw json.RawMessage) (Agent, error) {
	var s ExecSpec
	if err := decodeSpec(raw, &s); err != nil {
		return nil, fmt.Errorf("exec: %w", err)
	}
	return &execAgent{s}, nil
}

// Turn implements Agent. Chat is written to the log and otherwise ignored: a
// command cannot read it.
func (a *execAgent) Turn(ctx context.Context, h Host, w Work) (Result, error) {
	if w.Task == nil {
		return Result{Summary: fmt.Sprintf("%d messages noted", len(w.Mail))}, nil
	}
	cmd, err := a.spec.command(w.Task)
	if err != nil {
		return Result{Failed: true, Reason: err.Error()}, nil
	}
	if w.Task.PlanRequired {
		ans, err := h.Plan(ctx, "Run this command in "+w.Task.Cwd+":\n\n    "+cmd.Text+"\n")
		if err != nil {
			return Result{}, err
		}
		if !ans.Allowed {
			return Result{Failed: true, Denied: true, Reason: "plan rejected: " + ans.Reason}, nil
		}
	}
	ctx, cancel := w.Task.Limit(ctx)
	defer cancel()
	out, err := runShell(ctx, h, cmd, w.Task)
	if err != nil {
		return Result{}, err
	}
	r := shellResult(out)
	if a.spec.Report && out.Allowed {
		return reported(ctx, h, out.Ran, r)
	}
	return r, nil
}

// reported is the result of a command whose output is one. The output goes to the lead as words too; one that a reader
// would take for a message of the protocol is marked as output.
func reported(ctx context.Context, h Host, ran *Ran, r Result) (Result, error) {
	text := strings.TrimSpace(strings.ToValidUTF8(ran.Tail, "\uFFFD"))
	if text == "" {
		return r, nil
	}
	if protocol.DecodeText(text).Kind != protocol.KindText {
		text = "its output:\n" + text
	}
	r.Summary = text
	words := text
	if r.Failed {
		words = r.Reason + "\n" + text
	}
	summary, _, _ := strings.Cut(words, "\n")
	return r, h.Say(ctx, string(protocol.Lead), words, summary)
}

// Command is what an exec member starts for a task.
type Command struct {
	Text  string   // the judged text: the shell text, or argv quoted for a shell
	Argv  []string // the argv to start
	Stdin string   // what it reads: a task's instructions, where the member has a command of its own
}

// ExecCommand says what a member of kind exec with these settings starts for a task,
// unless an answer changes it. It is what Turn starts.
func ExecCommand(spec json.RawMessage, t Task) (Command, error) {
	var s ExecSpec
	if err := decodeSpec(spec, &s); err != nil {
		return Command{}, fmt.Errorf("exec: %w", err)
	}
	return s.command(&t)
}

// command returns the command of a task. The judged text is, byte for byte, the command that runs:
// sh -c TEXT is judged as TEXT, any other argv as its quoted form (commands §7).
func (s ExecSpec) command(t *Task) (Command, error) {
	if len(s.Command) == 0 {
		text := strings.TrimSpace(t.Instructions)
		if text == "" {
			return Command{}, errors.New("the task has no instructions and the member no command")
		}
		return Command{Text: text, Argv: shellArgv(text)}, nil
	}
	text, err := s.text()
	return Command{Text: text, Argv: s.Command, Stdin: t.Instructions}, err
}

// text is the shell text as which the command is judged.
func (s ExecSpec) text() (string, error) {
	if argv := s.Command; len(argv) == 3 && (argv[0] == "sh" || argv[0] == "bash") && argv[1] == "-c" {
		return argv[2], nil
	}
	return cmdline.Quote(s.Command)
}

// CommandOf is the shell text as which the command of a member's settings is judged; "" when they have none.
func CommandOf(agent string, spec json.RawMessage) string {
	var s ExecSpec
	if agent != "exec" || decodeSpec(spec, &s) != nil || len(s.Command) == 0 {
		return ""
	}
	text, err := s.text()
	if err != nil {
		return ""
	}
	return text
}

// ShellTexts are the shell texts that a member's settings name, where its calls are known before it starts: none of an exec
// member, whose command is allowed by the team file that has it or whose tasks are its commands; those of a
// script's steps. known is false for every other agent.
func ShellTexts(agent string, spec json.RawMessage) (texts []string, known bool) {
	switch agent {
	case "exec":
		return nil, true
	case "script":
		var s ScriptSpec
		if decodeSpec(spec, &s) != nil {
			return nil, false
		}
		for _, step := range append(slices.Clone(s.Steps), s.OnMail...) {
			var in struct {
				Command string `json:"command"`
			}
			if step.Tool != nil && step.Tool.Name == "Bash" && json.Unmarshal(step.Tool.Input, &in) == nil {
				texts = append(texts, in.Command)
			}
		}
		return texts, true
	}
	return nil, false
}

// runShell asks for tool Bash and runs what was allowed.
func runShell(ctx context.Context, h Host, cmd Command, t *Task) (Outcome, error) {
	input, err := bashInput(cmd.Text, cmd.Stdin)
	if err != nil {
		return Outcome{}, err
	}
	call := Call{Tool: "Bash", Input: input, Cwd: t.Cwd, Reason: t.Subject, Stdin: cmd.Stdin, Env: TaskEnv(t.ID, t.Subject), Argv: cmd.Argv}
	return h.Tool(ctx, call, func(ctx context.Context, allowed json.RawMessage) Ran {
		if string(allowed) == string(input) {
			return runArgv(ctx, h, cmd.Argv, cmd.Stdin, t)
		}
		return runBash(ctx, h, allowed, t)
	})
}

func shellArgv(text string) []string { return []string{"sh", "-c", text} }

// runBash runs a Bash input unchanged: its command, with its "stdin" or none.
func runBash(ctx context.Context, h Host, input json.RawMessage, t *Task) Ran {
	text, stdin, err := commandOf(input)
	if err != nil {
		return Ran{Failed: true, Err: err.Error()}
	}
	return runArgv(ctx, h, shellArgv(text), stdin, t)
}

// linger is how long what a command left running may go on after it has ended: a
// task leaves no process behind.
const linger = 5 * time.Second

func runArgv(ctx context.Context, h Host, argv []string, stdin string, t *Task) Ran {
	c := spawn.Command{Argv: argv, Dir: t.Cwd, Env: append(slices.Clone(h.Environ()), TaskEnv(t.ID, t.Subject)...)}
	if stdin != "" {
		c.Stdin = strings.NewReader(stdin)
	}
	return RunCommand(ctx, h, c)
}

// RunCommand runs a command that may run, with its output in the member's log, and leaves no process
// behind. It sets the command's Output, Linger and Reap.
func RunCommand(ctx context.Context, h Host, c spawn.Command) Ran {
	tail := &cut.Tail{Max: TailSize + 1} // a byte more says that there was more
	c.Output, c.Linger, c.Reap = io.MultiWriter(h.Output(), tail), linger, true
	exit, err := h.Run(ctx, c)
	ran := Ran{Tail: tailOf(tail.Kept)}
	switch {
	case ctx.Err() != nil && err != nil: // else it had ended by then
		ran.Failed, ran.Err = true, "ended by "+context.Cause(ctx).Error()
	case err != nil:
		ran.Failed, ran.Err = true, err.Error()
	case exit.Signal != "":
		ran.Failed, ran.Err = true, "ended by signal "+exit.Signal
	default:
		ran.ExitCode, ran.Failed = &exit.Code, exit.Code != 0
	}
	return ran
}

// tailOf is the end of an output as text, starting at a whole line when it was cut.
func tailOf(b []byte) string {
	if len(b) > TailSize {
		b = b[1:]
		if _, lines, ok := bytes.Cut(b, []byte("\n")); ok {
			b = lines
		}
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// TaskEnv describes the task of a command in variables.
func TaskEnv(id, subject string) []string {
	return []string{"WAGGLE_TASK_ID=" + id, "WAGGLE_TASK_SUBJECT=" + subject}
}

func shellResult(out Outcome) Result {
	if !out.Allowed {
		return Result{Failed: true, Denied: true, Reason: strings.TrimSuffix("denied: "+out.Reason, ": ")}
	}
	r := Result{ExitCode: out.Ran.ExitCode, Failed: out.Ran.Failed, Summary: "done"}
	switch {
	case out.Ran.Err != "":
		r.Reason = out.Ran.Err
	case out.Ran.Failed:
		r.Reason = "exit status " + strconv.Itoa(*out.Ran.ExitCode)
	}
	if r.Failed {
		r.Summary = r.Reason
	}
	return r
}

// bashInput is the Bash tool's input for a shell text and its standard input, without JSON escapes
// that encoding/json adds: a person is shown what was written.
func bashInput(text, stdin string) (json.RawMessage, error) {
	return jsontext.Marshal(struct {
		Command string `json:"command"`
		Stdin   string `json:"stdin,omitempty"`
	}{text, stdin})
}

// commandOf reads the command of a Bash input, and what it reads, by their exact keys.
func commandOf(input json.RawMessage) (text, stdin string, err error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(input, &m); err != nil {
		return "", "", fmt.Errorf("the allowed input is not an object: %w", err)
	}
	if err := json.Unmarshal(m["command"], &text); err != nil || text == "" {
		return "", "", errors.New(`the allowed input has no "command" text`)
	}
	if raw, ok := m["stdin"]; ok && json.Unmarshal(raw, &stdin) != nil {
		return "", "", errors.New(`the "stdin" of the allowed input is not a text`)
	}
	return text, stdin, nil
}
