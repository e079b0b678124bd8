package agentcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"waggle/agent"
	"waggle/internal/json/jsonobj"
	"waggle/operator"
	"waggle/protocol"
)

// connecting casts members with agent mcp: it is the client, and connects to `waggle mcp`.
type connecting struct{ op operator.Operator }

func (d connecting) cast(_ context.Context, name protocol.MemberName, acts []Act) (Role, error) {
	if d.op.Self == "" {
		return Role{}, errors.New("agent mcp needs the program of waggle, which serves the client")
	}
	c := &client{acts: acts}
	return Role{Instructions: Script(acts), Heard: c.said, Connect: func(ctx context.Context, team protocol.TeamName) error {
		cmd := exec.CommandContext(ctx, d.op.Self, "mcp", "--root", d.op.Root.Path, "--state", d.op.Home.Path, "--team", string(team), "--as", string(name))
		cmd.Env, cmd.Stderr = outside(d.op.Environ), io.Discard
		return c.work(ctx, cmd)
	}}, nil
}

// outside is an environment without what leads a program to a team.
func outside(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		return strings.HasPrefix(kv, "WAGGLE_") || strings.HasPrefix(kv, "XDG_RUNTIME_DIR=")
	})
}

// client is an MCP client that does acts in each task that it is given.
type client struct {
	acts []Act
	ses  *sdk.ClientSession

	mu    sync.Mutex
	heard string
}

func (c *client) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heard
}

// work takes work until the member is asked to end.
func (c *client) work(ctx context.Context, cmd *exec.Cmd) (err error) {
	c.ses, err = sdk.NewClient(&sdk.Implementation{Name: "agentcheck", Version: "1"}, nil).Connect(ctx, &sdk.CommandTransport{Command: cmd, TerminateDuration: time.Second}, nil)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := c.ses.Close(); ctx.Err() == nil {
			err = errors.Join(err, cerr)
		}
	}()
	for ctx.Err() == nil {
		o, failed, err := c.call(ctx, "check_messages", map[string]int{"wait_seconds": 5})
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case failed:
			return errors.New("check_messages fails: " + c.said())
		}
		if ending, _ := o.Get("ending"); string(ending) == "true" {
			return nil
		}
		if task, _ := o.Get("task"); len(task) > 0 {
			if err := c.task(ctx, task); err != nil {
				return err
			}
		}
	}
	return nil
}

// task does the acts, and completes the task.
func (c *client) task(ctx context.Context, raw json.RawMessage) error {
	t, err := jsonobj.Parse(raw)
	if err != nil {
		return err
	}
	for _, a := range c.acts {
		if err := c.act(ctx, a, t.Text("cwd")); err != nil {
			return err
		}
	}
	_, _, err = c.call(ctx, "complete_task", map[string]string{"id": t.Text("id"), "summary": "did what the check says"})
	return err
}

func (c *client) act(ctx context.Context, a Act, cwd string) error {
	switch {
	case a.Run != "":
		return c.run(ctx, a.Run, cwd)
	case a.Both != nil:
		errs := make([]error, len(a.Both))
		var wg sync.WaitGroup
		for i, one := range a.Both {
			wg.Go(func() { errs[i] = c.act(ctx, one, cwd) })
		}
		wg.Wait()
		return errors.Join(errs...)
	case a.Ask == nil:
		o, failed, err := c.call(ctx, "submit_plan", map[string]string{"plan": a.Plan})
		if err != nil || failed || a.Empty || allowed(o) {
			return err
		}
		_, _, err = c.call(ctx, "submit_plan", map[string]string{"plan": a.Plan + " Take it back with rm."})
		return err
	}
	_, _, err := c.call(ctx, "ask_question", map[string][]agent.AskedPart{"questions": {a.Ask.part()}})
	return err
}

// run asks for a command, runs what was allowed, and reports the end.
func (c *client) run(ctx context.Context, command, cwd string) error {
	o, failed, err := c.call(ctx, "request_permission", map[string]any{"tool": "Bash", "input": map[string]string{"command": command}})
	if err != nil || failed || !allowed(o) {
		return err
	}
	raw, _ := o.Get("input")
	input, err := jsonobj.Parse(raw)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", input.Text("command"))
	cmd.Dir = cwd
	out, rerr := cmd.CombinedOutput()
	_, _, err = c.call(ctx, "report_result", map[string]any{"call_id": o.Text("call_id"), "failed": rerr != nil, "output": string(out)})
	return err
}

// call calls a tool. What it returns is an object, nil when the tool failed.
func (c *client) call(ctx context.Context, tool string, arguments any) (o *jsonobj.Object, failed bool, err error) {
	in, err := jsonobj.Marshal(arguments)
	if err != nil {
		return nil, false, err
	}
	r, err := c.ses.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(in)})
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", tool, err)
	}
	text := ""
	for _, content := range r.Content {
		if t, ok := content.(*sdk.TextContent); ok {
			text += t.Text
		}
	}
	c.mu.Lock()
	c.heard += tool + ": " + text + "\n"
	c.mu.Unlock()
	if r.IsError {
		return nil, true, nil
	}
	o, err = jsonobj.Parse([]byte(text))
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", tool, err)
	}
	return o, false, nil
}

func allowed(o *jsonobj.Object) bool {
	raw, _ := o.Get("allowed")
	return string(raw) == "true"
}
