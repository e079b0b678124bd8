// Adapter has an agent of its own, lines, that does what its task says line by line: run, plan,
// ask. Its test plays it through everything that a member does.
//
//	go run ./adapter
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"waggle/agent"
	"waggle/operator"
	"waggle/operator/agentcheck"
	"waggle/operator/teamfile"
	"waggle/poll"
	"waggle/spawn"
)

// lines is the agent. A real adapter drives a program here, and turns what the program asks into
// calls of its host.
type lines struct{}

// Turn does the lines of a task, those after a line "both" at once. A denial ends no turn: the next
// line may still be done.
func (lines) Turn(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
	if w.Task == nil { // words that came while it was idle
		return agent.Result{Summary: fmt.Sprintf("read %d messages", len(w.Mail))}, nil
	}
	all := strings.Split(strings.TrimSpace(w.Task.Instructions), "\n")
	results, errs := make([]agent.Result, len(all)), make([]error, len(all))
	var atOnce sync.WaitGroup
	both := false
	for i, line := range all {
		one := func() { results[i], errs[i] = do(ctx, h, w.Task, line) }
		switch {
		case line == "both":
			both = true
		case both:
			atOnce.Go(one)
		default:
			one()
		}
	}
	atOnce.Wait()
	for _, r := range results {
		if r.Failed {
			return r, errors.Join(errs...)
		}
	}
	return agent.Result{}, errors.Join(errs...)
}

// do does one line.
func do(ctx context.Context, h agent.Host, t *agent.Task, line string) (agent.Result, error) {
	verb, rest, _ := strings.Cut(line, " ")
	var denied string
	var err error
	switch verb {
	case "run":
		denied, err = run(ctx, h, t, rest)
	case "plan":
		denied, err = plan(ctx, h, rest)
	case "ask":
		err = ask(ctx, h, strings.Split(rest, " | "))
	default:
		err = fmt.Errorf("%q is none of run, plan, ask", verb)
	}
	return agent.Result{Failed: denied != "", Denied: denied != "", Reason: denied}, err
}

// run asks for a command; its host runs it once when it is allowed, with the bytes that were.
func run(ctx context.Context, h agent.Host, t *agent.Task, command string) (denied string, err error) {
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return "", err
	}
	argv := func(c string) []string { return []string{"sh", "-c", c} }
	out, err := h.Tool(ctx, agent.Call{Tool: "Bash", Input: input, Cwd: t.Cwd, Argv: argv(command)}, func(ctx context.Context, allowed json.RawMessage) agent.Ran {
		var in struct{ Command string }
		if err := json.Unmarshal(allowed, &in); err != nil {
			return agent.Ran{Failed: true, Err: err.Error()}
		}
		exit, err := h.Run(ctx, spawn.Command{Argv: argv(in.Command), Dir: t.Cwd, Env: h.Environ(), Output: h.Output()})
		if err != nil {
			return agent.Ran{Failed: true, Err: err.Error()}
		}
		return agent.Ran{ExitCode: &exit.Code, Failed: exit.Code != 0}
	})
	if err != nil || out.Allowed {
		return "", err
	}
	return "denied: " + out.Reason, nil
}

// plan proposes a plan, and once more when it is rejected.
func plan(ctx context.Context, h agent.Host, words string) (denied string, err error) {
	for range 2 {
		a, err := h.Plan(ctx, words)
		if err != nil || a.Allowed {
			return "", err
		}
		words, denied = words+" And back again.", "plan rejected: "+a.Reason
	}
	return denied, nil
}

// ask asks a person, and writes down what it is told. Silence is no answer.
func ask(ctx context.Context, h agent.Host, parts []string) error {
	part := agent.Part{Text: parts[0]}
	for _, o := range parts[1:] {
		part.Options = append(part.Options, agent.Option{Label: o})
	}
	got, err := h.Question(ctx, agent.Question{Parts: []agent.Part{part}})
	switch {
	case err != nil:
		return err
	case !got.Given:
		fmt.Fprintln(h.Output(), agent.NoAnswer)
	default:
		fmt.Fprintln(h.Output(), got.Replies[0])
	}
	return nil
}

// check plays the agent through a scratch team in dir.
func check(ctx context.Context, dir string) (*agentcheck.Table, error) {
	op := operator.At(filepath.Join(dir, "root"), filepath.Join(dir, "state"), poll.Minter{Now: time.Now, Rand: rand.Reader})
	op.Environ = os.Environ()
	return agentcheck.Check(ctx, op, agentcheck.Options{Dir: dir, Member: teamfile.FileMember{Agent: "lines"}, Backend: operator.BackendInProcess})
}

func main() {
	agent.Register("lines", func(json.RawMessage) (agent.Agent, error) { return lines{}, nil })
	dir, err := os.MkdirTemp("", "wa")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	t, err := check(context.Background(), dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range t.Rows {
		fmt.Printf("%-11s %-11s %s%s\n", r.Line, r.Verdict, r.Detail, r.Source)
	}
}
