package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/policy"
	"waggle/record"
)

// calls is what an agent tries in each mode: what it reads, edits and runs.
var calls = []agent.Call{
	{Tool: "Read", Input: json.RawMessage(`{"file_path":"a.go"}`), Cwd: "/work"},
	{Tool: "Edit", Input: json.RawMessage(`{"file_path":"a.go","old_string":"a","new_string":"b"}`), Cwd: "/work"},
	{Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`), Cwd: "/work"},
	{Tool: "Bash", Input: json.RawMessage(`{"command":"npm run allowed by a rule"}`), Cwd: "/work"},
	{Tool: "Bash", Input: json.RawMessage(`{"command":"rm denied-by-a-rule"}`), Cwd: "/work"},
}

// modes says what becomes of them: allow and deny at once, or ask.
var modes = map[policy.Mode][5]string{
	policy.ModeDefault:           {"allow", "ask", "ask", "allow", "deny"},
	policy.ModeAcceptEdits:       {"allow", "allow", "ask", "allow", "deny"},
	policy.ModePlan:              {"allow", "deny", "deny", "deny", "deny"},
	policy.ModeBypassPermissions: {"allow", "allow", "allow", "allow", "deny"},
	policy.ModeDontAsk:           {"allow", "deny", "deny", "allow", "deny"},
	policy.ModeAuto:              {"allow", "ask", "ask", "allow", "deny"},
	policy.ModeSafe:              {"allow", "ask", "ask", "ask", "deny"},
	policy.ModeLockedDown:        {"allow", "deny", "deny", "deny", "deny"},
}

// TestModesForReal: a mode that the operator sets applies to the next call of a turn that already
// runs, for every mode. The member reports which version it has applied, and a replayed older one
// changes nothing.
func TestModesForReal(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.gateWait = time.Second // no test here waits for an unanswered request
		c.starts("ann")
		next, tried := make(chan int), make(chan [5]string)
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			for round := range next {
				var got [5]string
				for i, call := range calls {
					call.Reason = fmt.Sprint("round ", round)
					if call.Tool == "Bash" { // other bytes in every round: no grant of an earlier one
						call.Input = json.RawMessage(fmt.Sprintf(`{"command":%q}`, command(call)+fmt.Sprint(" ", round)))
					} else {
						call.Input = json.RawMessage(fmt.Sprintf(`{"file_path":"%d.go"%s`, round, string(call.Input)[len(`{"file_path":"a.go"`):]))
					}
					out, err := h.Tool(ctx, call, func(context.Context, json.RawMessage) agent.Ran { return agent.Ran{} })
					switch {
					case err != nil:
						return agent.Result{}, err
					case out.Allowed:
						got[i] = "allow"
					case out.By == "rules":
						got[i] = "deny"
					default:
						got[i] = "ask"
					}
				}
				tried <- got
			}
			return agent.Result{}, nil
		})
		round := 0
		for _, info := range policy.Modes() {
			c.command(func(l *control.Leader, m record.Mint) ([]journal.Draft, error) {
				ann, _ := l.Member("ann")
				return l.SetMode(ann, info.Mode, policy.RoleOperator, journal.Writer{Operator: true}, m)
			})
			round++
			next <- round
			if d := cmp.Diff(modes[info.Mode], <-tried); d != "" {
				t.Errorf("%s: %s", info.Mode, d)
			}
		}
		version := uint64(len(policy.Modes()) + 1)
		c.until("the newest is applied", func() bool { return c.fold("ann").PolicyVersion == version })
		for _, e := range testenv.Value(c.box("ann").Entries(t.Context()))(t) { // the whole mailbox again
			testenv.Must(t, c.box("ann").Append(t.Context(), e.Envelope))
		}
		c.poke()
		time.Sleep(5 * time.Second) // the bubble's clock
		if got := c.fold("ann"); got.PolicyVersion != version || got.Effective(c.leaderFold(), time.Now()).Mode != policy.ModeBypassPermissions {
			t.Errorf("version %d, %s", got.PolicyVersion, got.Effective(c.leaderFold(), time.Now()).Mode)
		}
		c.policy(func(p *record.PolicySet) { p.Policy.Deny = append(p.Policy.Deny, policy.MustRules("Bash(make:*)")...) })
		round++
		next <- round
		if got := <-tried; got[2] != "deny" {
			t.Errorf("a new deny rule at the next call: %v", got)
		}
		close(next)
		c.until("over", c.finished("ann", "1"))
	}, "ann")
}

func command(c agent.Call) string {
	var in struct{ Command string }
	if err := json.Unmarshal(c.Input, &in); err != nil {
		panic(err)
	}
	return in.Command
}
