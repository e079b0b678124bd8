//go:build unix

package claude_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/agent"
	"waggle/internal/claude"
	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// quitter is a player that ends when its function does.
type quitter player

func (q quitter) Run(_ context.Context, c spawn.Command) (spawn.Exit, error) {
	q(c.Argv, bufio.NewScanner(c.Stdin), c.Output)
	return spawn.Exit{}, nil
}

// status plays a client that answers questions about its tool servers with these states, the last one
// again and again, and then ends its turns. Its count is the number of those questions.
func status(count *int, states ...string) quitter {
	return func(_ []string, in *bufio.Scanner, out io.Writer) {
		sent := 0
		for in.Scan() {
			switch line := in.Text(); {
			case strings.Contains(line, `"subtype":"mcp_status"`):
				sent++
				state := states[min(*count, len(states)-1)]
				*count++
				if state == "exit" {
					return
				}
				if state != "" {
					fmt.Fprintf(out, `{"type":"control_response","response":{"request_id":"waggle-%d",%s}}`+"\n", sent, state)
				}
			case strings.Contains(line, `"subtype":`):
				sent++
				fmt.Fprintf(out, `{"type":"control_response","response":{"subtype":"success","request_id":"waggle-%d","response":{"hooks_applied":true,"hook_on_failure_supported":true}}}`+"\n", sent)
			default:
				fmt.Fprintln(out, `{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"done","session_id":"s1"}`)
			}
		}
	}
}

// has is an answer with the tool servers of a client.
func has(servers string) string {
	return `"subtype":"success","response":{"mcpServers":[` + servers + `]}`
}

// The first turn of a client begins when no tool server is being connected; the next ones do not ask.
// The output says which tools are missing, and why.
func TestWaitsForServers(t *testing.T) {
	t.Parallel()
	const connecting = `{"name":"a","status":"pending"}`
	for name, one := range map[string]struct {
		states []string
		limit  time.Duration
		asked  int // 0: not compared
		output string
	}{
		"none":      {[]string{has(``)}, 0, 1, ""},
		"connected": {[]string{has(connecting), has(connecting), has(`{"name":"a","status":"connected"}`)}, 0, 3, ""},
		"failed": {[]string{has(connecting), has(`{"name":"a","status":"failed","error":"Connection closed\nmore"},{"name":"b","status":"failed"},{"name":"c","status":"needs-auth"},{"name":"d","status":"disabled"}`)}, 0, 2,
			"tool server a could not be connected: Connection closed\ntool server b could not be connected\ntool server c needs a login: start the client yourself and use /mcp\n"},
		"waits":   {append(slices.Repeat([]string{has(connecting)}, 7), has(``)), 0, 8, "the turn waits until the client has connected its tool servers\n"},
		"slow":    {[]string{has(connecting)}, time.Millisecond, 0, "tool server a is still being connected: the model does not have its tools yet\n"},
		"refused": {[]string{`"subtype":"error","error":"unknown"`}, 0, 1, "the state of the tool servers is not known: the client refuses mcp_status: unknown\n"},
		"no list": {[]string{`"subtype":"success"`}, 0, 1, ""},
		"other":   {[]string{has(`1,{"Name":"a","Status":"pending"}`)}, 0, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			a := withServers(t, status(&asked, one.states...), claude.Waits{Servers: one.limit})
			g := newGate(t, "2.1.330")
			for range 2 {
				if res, err := a.Turn(t.Context(), g, task()); err != nil || res.Summary != "done" {
					t.Fatalf("%+v %v", res, err)
				}
			}
			testenv.Must(t, a.Close(context.Background()))
			if one.asked > 0 && asked != one.asked {
				t.Errorf("asked %d times, want %d", asked, one.asked)
			}
			if got := g.out.String(); got != one.output {
				t.Errorf("output %q, want %q", got, one.output)
			}
		})
	}
}

// A turn that ends while the servers are connected ends as any other.
func TestEndsBesideServers(t *testing.T) {
	t.Parallel()
	const connecting = `{"name":"a","status":"pending"}`
	a := withServers(t, status(new(int), has(connecting), "exit"), claude.Waits{})
	g := newGate(t, "2.1.330")
	if res, err := a.Turn(t.Context(), g, task()); err != nil || !res.Failed || !strings.Contains(res.Reason, "the client ended without a result") || g.out.Len() > 0 {
		t.Errorf("the client ended: %+v %v %s", res, err, &g.out)
	}

	a = withServers(t, status(new(int), has(connecting)), claude.Waits{})
	w := task()
	w.Task.Timeout = 50 * time.Millisecond
	if res, err := a.Turn(t.Context(), newGate(t, "2.1.330"), w); err != nil || !res.Failed || res.Reason != "ended by the task's timeout of 50ms" {
		t.Errorf("the task's timeout: %+v %v", res, err)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("stop")
	a = withServers(t, func(argv []string, in *bufio.Scanner, out io.Writer) {
		status(new(int), has(connecting))(argv, in, &then{out, func(line string) {
			if strings.Contains(line, "pending") {
				cancel(why)
			}
		}})
	}, claude.Waits{})
	if _, err := a.Turn(ctx, newGate(t, "2.1.330"), task()); !errors.Is(err, why) {
		t.Errorf("interrupted: %v", err)
	}
}

// then is a writer that tells of each line.
type then struct {
	io.Writer
	wrote func(string)
}

func (w *then) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.wrote(string(p))
	return n, err
}

// withServers is an agent whose client is p.
func withServers(t *testing.T, p quitter, wait claude.Waits) *claude.Agent {
	t.Helper()
	wait.Ready, wait.Answer, wait.End = time.Minute, time.Minute, time.Second
	return settled(t, `{}`, agent.Place{Exec: p}, "/bin/waggle", wait)
}
