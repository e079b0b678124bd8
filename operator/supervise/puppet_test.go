package supervise_test

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"waggle/agent"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/teamfile"
	"waggle/record"
	"waggle/spawn"
)

// A puppet follows the instructions of its task: the first word is the action, the rest its argument.
type puppet struct{}

func (puppet) Turn(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
	if w.Task == nil {
		return agent.Result{}, nil
	}
	what, rest, _ := strings.Cut(w.Task.Instructions, " ")
	switch what {
	case "fail":
		return agent.Result{Failed: true, Reason: rest}, nil
	case "panic":
		panic(rest)
	case "spend":
		return agent.Result{}, h.Used(ctx, agent.Usage{Input: 100})
	case "wait":
		<-ctx.Done()
		return agent.Result{}, ctx.Err()
	case "run":
		input, _ := json.Marshal(map[string]string{"command": rest})
		out, err := h.Tool(ctx, agent.Call{Tool: "Bash", Input: input, Cwd: w.Task.Cwd}, func(context.Context, json.RawMessage) agent.Ran {
			status := 0
			return agent.Ran{ExitCode: &status, Tail: "it ran\n"}
		})
		return agent.Result{Failed: !out.Allowed, Denied: !out.Allowed, Reason: out.Reason}, err
	}
	return agent.Result{Summary: rest}, nil
}

func init() {
	agent.Register("puppet", func(json.RawMessage) (agent.Agent, error) { return puppet{}, nil })
}

// parse reads the text of a team file that does not exist on disk.
func parse(t *testing.T, op operator.Operator, text string) *teamfile.File {
	t.Helper()
	var words []string
	for _, b := range op.Backends {
		words = append(words, b.Name())
	}
	f, err := teamfile.ParseFile(filepath.Join(t.TempDir(), "waggle.yaml"), []byte(text), words...)
	testenv.Must(t, err)
	return f
}

// fresh is an operator of a root and a state of its own, quick to end.
func fresh(t *testing.T) operator.Operator {
	t.Helper()
	op := operatortest.New(t)
	op.Self = "/own/program"
	return op
}

// exits is a backend whose processes end at once.
func exits(code int) spawn.Backend {
	return spawn.InProcess(func(context.Context, spawn.Spec, io.Writer) spawn.Exit { return spawn.Exit{Code: code} })
}

// created is an empty team.
func created(t *testing.T, op operator.Operator) *operator.State {
	t.Helper()
	return operatortest.Team(t, op, "api", record.PolicySet{}).State()
}
