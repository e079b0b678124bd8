package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/message"
	"waggle/operator"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// asker is a member whose journal the test writes: it asks many things at once.
type asker struct {
	j      journal.Journal
	w      *control.Worker
	writer journal.Writer
}

// crowd is a team of askers over real journals and mailboxes, which nobody leads.
type crowd struct {
	t      *testing.T
	op     operator.Operator
	s      *operator.State
	box    mailbox.Store
	askers []*asker
}

func newCrowd(t *testing.T, n int) *crowd {
	t.Helper()
	return newCrowdUnder(t, n, record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault}})
}

func newCrowdUnder(t *testing.T, n int, set record.PolicySet) *crowd {
	t.Helper()
	c := &crowd{t: t, op: newOperator(t)}
	// No worker takes note of a policy here: a clock that runs ahead ends the wait for that.
	began, ticks := time.Now(), atomic.Int64{}
	c.op.Minter.Now = func() time.Time { return began.Add(time.Duration(ticks.Add(1)) * 500 * time.Millisecond) }
	ctx := t.Context()
	var err error
	c.s, err = teams.Of(c.op).Create(ctx, "crowd", "", set)
	testenv.Must(t, err)
	c.box, err = c.op.Boxes("crowd").Open(protocol.Lead, mailbox.Options{})
	testenv.Must(t, err)
	// A process that lives as long as the test is recorded as the process of each member.
	id := operatortest.Process(t)
	for i := range n {
		c.askers = append(c.askers, c.join(ctx, fmt.Sprintf("worker%d", i+1), id))
	}
	return c
}

func (c *crowd) join(ctx context.Context, name string, id spawn.Identity) *asker {
	c.t.Helper()
	m, inst, err := teams.Of(c.op).Join(ctx, c.s, teamfile.FileMember{Name: protocol.MemberName(name), Agent: "exec", Backend: "process", Cwd: "/work"})
	testenv.Must(c.t, err)
	a := &asker{w: control.NewWorker(nil), writer: journal.Writer{Instance: string(inst), Epoch: 1, PID: id.PID}}
	draft := func(kind string, body any) func() ([]journal.Draft, error) {
		return func() ([]journal.Draft, error) {
			return []journal.Draft{{Kind: kind, Must: true, Body: body}}, nil
		}
	}
	_, err = c.s.Journal.Append(ctx, a.writer, draft(record.KindProcess, record.Process{Instance: inst, Epoch: 1, ID: id}))
	testenv.Must(c.t, err)
	a.j, err = c.s.Dir.Journals().Open(journal.Name(inst), a.w, journal.Options{})
	testenv.Must(c.t, err)
	_, err = a.j.Append(ctx, a.writer, draft(record.KindOpened, record.Opened{Team: "crowd", UID: c.s.Dir.UID, Instance: inst, Name: m.Name, Epoch: 1}))
	testenv.Must(c.t, err)
	_, err = a.j.Append(ctx, a.writer, func() ([]journal.Draft, error) {
		return a.w.Take(record.Taken{Entries: []string{"words"}}, c.s.Lead)
	})
	testenv.Must(c.t, err)
	return a
}

// ask puts a request on record and into the lead's mailbox. No message has a question in words.
func (c *crowd) ask(a *asker, kind protocol.Kind, ask record.Ask) {
	c.t.Helper()
	ctx := c.t.Context()
	mint, err := c.op.Minter.Mint()
	testenv.Must(c.t, err)
	_, err = a.j.Append(ctx, a.writer, func() ([]journal.Draft, error) {
		_, ds, err := a.w.Ask(kind, ask, c.s.Lead, mint)
		return ds, err
	})
	testenv.Must(c.t, err)
	if kind == record.KindQuestion {
		return
	}
	env, err := a.w.Outbox[len(a.w.Outbox)-1].Mail.Open()
	testenv.Must(c.t, err)
	testenv.Must(c.t, c.box.Append(ctx, env))
}

func (c *crowd) call(a *asker, tool, key, value string) {
	c.t.Helper()
	in, err := json.Marshal(map[string]string{key: value})
	testenv.Must(c.t, err)
	c.ask(a, protocol.KindPermissionRequest, record.Ask{Tool: tool, Input: string(in), Cwd: "/work"})
}

// waggle runs one command and returns what it prints.
func (c *crowd) waggle(args ...string) []byte {
	c.t.Helper()
	args = append(args, "--root", c.op.Root.Path, "--state", c.op.Home.Path, "--team", "crowd")
	cmd := exec.Command(binary(c.t), args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("waggle %v: %v\n%s", args, err, stderr.String())
	}
	return out
}

// low and medium are commands that differ from worker to worker and call to call;
// high are of high risk.
var (
	mixed = []func(i int) (tool, key, value string){
		func(i int) (string, string, string) { return "Bash", "command", fmt.Sprintf("go test ./p%d", i) },
		func(i int) (string, string, string) { return "Bash", "command", fmt.Sprintf("go vet ./p%d", i) },
		func(i int) (string, string, string) { return "Bash", "command", fmt.Sprintf("go list ./p%d", i) },
		func(i int) (string, string, string) { return "Bash", "command", fmt.Sprintf("npm run build -- %d", i) },
		func(i int) (string, string, string) { return "Edit", "file_path", fmt.Sprintf("src/f%d.go", i) },
		func(i int) (string, string, string) { return "Read", "file_path", fmt.Sprintf("/usr/include/h%d", i) },
	}
	risky = []func(i int) (tool, key, value string){
		func(i int) (string, string, string) { return "Bash", "command", fmt.Sprintf("rm -rf build%d", i) },
		func(i int) (string, string, string) { return "Bash", "command", fmt.Sprintf("sudo make install%d", i) },
		func(i int) (string, string, string) { return "WebFetch", "url", fmt.Sprintf("https://h%d.example/", i) },
	}
)

// A hundred mixed requests of eight workers are cleared with at most twenty
// commands, none of high risk by a group.
func TestHundredRequestsTwentyCommands(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	const workers, requests, most = 8, 100, 20
	c := newCrowd(t, workers)
	high := 0
	for i := range requests {
		a := c.askers[i%workers]
		if i%11 == 10 {
			tool, key, value := risky[high%len(risky)](i)
			c.call(a, tool, key, value)
			high++
			continue
		}
		tool, key, value := mixed[i%len(mixed)](i)
		c.call(a, tool, key, value)
	}
	commands := 1
	var shown struct {
		Pending []json.RawMessage
		Groups  []struct {
			ID, Risk, Pattern string
			Batch             bool
		}
	}
	testenv.Must(t, json.Unmarshal(c.waggle("pending", "--json"), &shown))
	if len(shown.Pending) != requests {
		t.Fatalf("%d of %d requests are shown", len(shown.Pending), requests)
	}
	for i, g := range shown.Groups {
		if i > 0 && g.Risk == string(policy.RiskHigh) && shown.Groups[i-1].Risk != g.Risk {
			t.Errorf("%s comes after %s", g.Pattern, shown.Groups[i-1].Pattern)
		}
		if g.Batch {
			c.waggle("approve", g.ID)
			commands++
		}
	}
	testenv.Must(t, c.s.Journal.Refresh(t.Context()))
	left := c.s.Lead.Pending()
	if len(left) != high {
		t.Fatalf("after the groups %d wait, and %d are of high risk", len(left), high)
	}
	for _, r := range left {
		if risk := policy.RiskOf(policy.Call{Tool: r.Ask.Tool, Input: []byte(r.Ask.Input), Cwd: r.Ask.Cwd}); risk != policy.RiskHigh {
			t.Errorf("%s of risk %s was left", r.ID, risk)
		}
		c.waggle("deny", string(r.ID), "--digest", string(r.Digest), "-m", "one by one")
		commands++
	}
	testenv.Must(t, c.s.Journal.Refresh(t.Context()))
	if n := len(c.s.Lead.Pending()); n != 0 || commands > most {
		t.Errorf("%d wait after %d commands", n, commands)
	}
	for _, r := range c.s.Lead.Requests {
		if r.Decided == nil || r.Decided.Digest != r.Digest || r.Order == nil || !r.Order.Sent {
			t.Errorf("%s of %s was not answered as it was shown", r.ID, r.Ask.Input)
		}
	}
	if n := len(c.s.Lead.Ignored); n != 0 {
		t.Errorf("%d records had no effect", n)
	}
	testenv.Measured(t, "%d requests of %d workers, %d of high risk, cleared with %d commands", requests, workers, high, commands)
}

// take hands the answers in its mailbox to a member.
func (c *crowd) take(a *asker) {
	c.t.Helper()
	ctx := c.t.Context()
	box, err := c.op.Boxes("crowd").Open(a.w.Name, mailbox.Options{})
	testenv.Must(c.t, err)
	entries, err := box.Entries(ctx)
	testenv.Must(c.t, err)
	for _, e := range entries {
		_, err := a.j.Append(ctx, a.writer, func() ([]journal.Draft, error) {
			return a.w.Receive(message.Incoming{Entry: e.ID.String(), Box: a.w.Name, Envelope: e.Envelope, Decoded: protocol.Decode(e.Envelope)}, c.s.Lead), nil
		})
		testenv.Must(c.t, err)
	}
}
