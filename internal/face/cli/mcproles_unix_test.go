//go:build unix

package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"waggle/agent"
	"waggle/internal/face/cli"
	"waggle/internal/face/cli/app"
	"waggle/internal/test/testenv"
	"waggle/transport"
)

func init() { programs["waggle-caller"] = callerMain }

// callerMain is waggle with one more kind of agent: caller writes the environment from Host.Caller
// into a file for the test, and works until its turn is ended.
func callerMain() {
	agent.Register("caller", func(json.RawMessage) (agent.Agent, error) { return caller{}, nil })
	os.Exit(cli.Main())
}

type caller struct{}

func (caller) Turn(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
	dir := w.Cwd
	if w.Task != nil {
		dir = w.Task.Cwd
	}
	name := filepath.Join(dir, fmt.Sprintf("caller-%d", os.Getpid()))
	if err := os.WriteFile(name+".new", []byte(strings.Join(h.Caller(), "\n")), 0o600); err != nil {
		return agent.Result{}, err
	}
	if err := os.Rename(name+".new", name); err != nil {
		return agent.Result{}, err
	}
	<-ctx.Done()
	return agent.Result{}, ctx.Err()
}

const rolesTeam = `team: api
lead: boss
decide: {tool: leader, plan: leader, question: leader}
policy: {allow: ["Bash(true)"]}
lead_policy: {allow: ["Bash(true)", "Bash(make:*)"]}
sandbox: {mode: off}
members:
  - {name: boss, agent: caller, backend: process}
  - {name: ann, agent: caller, backend: process}
  - {name: old, agent: caller, backend: process}
  - {name: cursor, agent: mcp}
  - {name: exe, agent: exec, backend: process}
`

// roles is a team with the sessions of every role.
type roles struct {
	*homeTree
	sessions map[string]*client // by the member's name
}

func newRoles(t *testing.T) *roles {
	h := newHome(t, "waggle-caller")
	h.must("up", h.write("waggle.yaml", rolesTeam), "--detach", "-q")
	h.ends("api")
	return &roles{h, map[string]*client{}}
}

// caller returns the environment that the agent of a member gives its processes.
func (r *roles) caller(member string) (env []string) {
	r.t.Helper()
	testenv.Eventually(r.t, member+" works", func() bool {
		m := rowOf(r.status("api"), member)
		if m == nil || m.PID == 0 {
			return false
		}
		data, err := os.ReadFile(filepath.Join(r.work, fmt.Sprintf("caller-%d", m.PID)))
		env = strings.Split(string(data), "\n")
		return err == nil && len(env) == 2
	})
	return env
}

// dial starts `waggle mcp` and connects.
func (r *roles) dial(env []string, args ...string) (*client, error) {
	cmd := r.command(append([]string{"mcp"}, args...)...)
	cmd.Env = append(cmd.Env, env...)
	return dial(r.t.(*testing.T), cmd)
}

func (r *roles) connect(member string, env []string, args ...string) *client {
	r.t.Helper()
	c, err := r.dial(env, args...)
	if err != nil {
		r.t.Fatalf("%s: %v", member, err)
	}
	r.sessions[member] = c
	return c
}

// mcpRow is a tool in the matrix.
type mcpRow struct {
	own string // arguments for something of the caller's own; "": it has its own test
	// others are arguments with which the caller would act as another member, on a task or call of
	// another member, or approve its own request.
	others []string
	lead   bool // only the lead has the tool
	asks   bool // own waits for an answer
	board  bool // a member whose tasks come to its agent does not do it
	below  bool // the lead has nobody to do it for
}

// mcpRows has every tool: a tool without a row fails the test.
var mcpRows = map[string]mcpRow{
	"ask_question":       {own: `{"questions":[{"question":"whose is NAME?"}]}`, asks: true},
	"brief":              {own: `{}`},
	"check_messages":     {own: `{"wait_seconds":1}`},
	"claim_task":         {own: `{"id":"2"}`, others: []string{`{"id":"1"}`}, board: true},
	"complete_task":      {others: []string{`{"id":"1","summary":"not mine"}`, `{"id":"1","summary":"not mine","failed":true}`}, board: true},
	"list_members":       {own: `{}`},
	"list_tasks":         {own: `{}`},
	"permission_prompt":  {own: `{"tool_name":"Bash","input":{"command":"true"}}`, others: []string{`{"tool_name":"mcp__waggle__answer_request","input":{"id":"HANDLE","digest":"DIGEST","allow":true}}`}},
	"report_progress":    {own: `{"message":"by NAME"}`, below: true},
	"report_result":      {others: []string{`{"call_id":"CALL","exit_code":0}`}},
	"request_network":    {own: `{"host":"NAME.example.com"}`, asks: true},
	"request_permission": {own: `{"tool":"Bash","input":{"command":"touch by-NAME"}}`, asks: true},
	"send_message":       {own: `{"to":"exe","text":"by NAME"}`},
	"submit_plan":        {own: `{"plan":"the plan of NAME"}`, asks: true},
	"update_task":        {others: []string{`{"id":"1","note":"by NAME"}`}},
	"answer_request":     {lead: true, others: []string{`{"id":"HANDLE","digest":"DIGEST","allow":true}`, `{"id":"HANDLE","digest":"DIGEST","escalate":true}`}},
	"assign_task":        {lead: true, others: []string{`{"task":"1","member":"team-lead"}`, `{"task":"1","member":"boss"}`}},
	"list_requests":      {lead: true, own: `{}`},
	"spawn_member":       {lead: true, others: []string{`{"name":"team-lead","prompt":"x"}`, `{"name":"ann","prompt":"x"}`}},
	"stop_member":        {lead: true, others: []string{`{"member":"team-lead"}`, `{"member":"boss"}`}},
}

// callers are names of fields by which a call could say who calls.
var callers = []string{"as", "from", "sender", "caller", "by", "member_name", "owner", "identity", "role", "lead", "team", "token", "instance", "on_behalf_of", "approve"}

// tools lists the tools of a session.
func (c *client) tools() (names []string) {
	c.t.Helper()
	list, err := c.ses.ListTools(c.t.Context(), nil)
	testenv.Must(c.t, err)
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// try calls a tool, and returns its text and whether it did what was asked.
func (c *client) try(tool, args string) (text string, done bool) {
	r, err := c.ses.CallTool(c.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		return err.Error(), false
	}
	text = r.Content[0].(*sdk.TextContent).Text
	return text, !r.IsError && !strings.Contains(text, `"behavior":"deny"`)
}

// TestMCPRoles: a session of every role calls every tool, with and without the name of another
// member. No session acts as another member or approves a request of its own, and a worker has
// no tool that approves.
func TestMCPRoles(t *testing.T) {
	t.Parallel()
	r := newRoles(t)
	r.must("task", "add", "of ann", "--owner", "ann", "--instructions", "work")
	r.must("task", "add", "of nobody", "--instructions", "work")
	r.must("send", "old", "begin")
	ann := r.connect("ann", r.caller("ann"))
	old := r.connect("old", r.caller("old"))
	r.connect("cursor", nil, "--team", "api", "--as", "cursor")

	// A request that the lead may answer wakes the lead.
	asked := make(chan mcpPermission, 1)
	go func() {
		var p mcpPermission
		ann.call("request_permission", `{"tool":"Bash","input":{"command":"make for ann"}}`, &p)
		asked <- p
	}()
	lead := r.connect("team-lead", r.caller("team-lead"))
	var open struct {
		Requests []struct{ ID, Digest, Kind, Member, Tool string }
	}
	testenv.Eventually(t, "the lead sees it", func() bool {
		lead.call("list_requests", `{}`, &open)
		return len(open.Requests) == 1
	})
	if q := open.Requests[0]; q.Member != "ann" || q.Kind != "tool" || q.Tool != "Bash" {
		t.Fatalf("%+v", q)
	}
	if text, done := lead.try("answer_request", `{"id":"`+open.Requests[0].ID+`","digest":"`+strings.Repeat("0", 64)+`","allow":true}`); done {
		t.Errorf("another digest than was shown: %s", text)
	}
	if text, done := lead.try("answer_request", `{"id":"`+open.Requests[0].ID+`","digest":"`+open.Requests[0].Digest+`","allow":true}`); !done || !strings.Contains(text, `"decision":"allow"`) {
		t.Fatal(text)
	}
	p := <-asked
	if !p.Allowed {
		t.Fatalf("%+v", p)
	}
	for name, c := range r.sessions {
		t.Run(name, func(t *testing.T) { r.matrix(t, c, name, p.CallID) })
	}
	r.leads(t, lead)
	r.strangers(t, old)
	r.records(t)
}

// matrix tries every tool in one session.
func (r *roles) matrix(t *testing.T, c *client, name, call string) {
	c = &client{t, c.ses, c.pid}
	tools, lead := c.tools(), name == "team-lead"
	for _, tool := range tools {
		row, ok := mcpRows[tool]
		if !ok {
			t.Fatalf("tool %s has no row", tool)
		}
		if row.lead && !lead {
			t.Errorf("%s has %s", name, tool)
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(mcpRows)) {
		row := mcpRows[tool]
		if offered := slices.Contains(tools, tool); offered != (lead || !row.lead) {
			t.Errorf("%s is offered: %v", tool, offered)
		}
		own := strings.ReplaceAll(row.own, "NAME", name)
		handle, digest := "", ""
		if row.asks {
			text, done := r.asks(t, c, tool, own, name, "")
			if done != (tool == "submit_plan") {
				t.Errorf("%s: %s", tool, text)
			}
		} else if own != "" {
			want := (lead || !row.lead) && (!row.board || name == "cursor") && !(lead && row.below)
			if text, done := c.try(tool, own); done != want {
				t.Errorf("%s %s: %v: %s", tool, own, done, text)
			}
		}
		if strings.Contains(strings.Join(row.others, ""), "HANDLE") {
			handle, digest = r.pendingOf(t, c, name)
		}
		others := slices.Clone(row.others)
		if tool != "permission_prompt" { // permission_prompt ignores other fields
			for _, field := range callers {
				with := own
				if with == "" {
					with = row.others[0]
				}
				others = append(others, strings.Replace(strings.Replace(with, "{", `{"`+field+`":"exe",`, 1), ",}", "}", 1))
			}
		} else if text, done := c.try(tool, strings.Replace(own, "{", `{"as":"exe","from":"team-lead",`, 1)); !done {
			t.Errorf("%s: %s", tool, text)
		}
		for _, args := range others {
			if tool == "update_task" || tool == "complete_task" || tool == "report_result" {
				if name == "ann" && !strings.Contains(args, "exe") {
					continue // the task and the call are ann's
				}
			}
			args = strings.NewReplacer("NAME", name, "HANDLE", handle, "DIGEST", digest, "CALL", call).Replace(args)
			try := c.try
			if tool == "permission_prompt" { // it waits for a person
				try = func(tool, args string) (string, bool) { return r.asks(t, c, tool, args, name, handle) }
			}
			if text, done := try(tool, args); done {
				t.Errorf("%s %s: %s", tool, args, text)
			}
		}
		if handle != "" {
			r.must("deny", handle, "-m", "the test is over")
		}
	}
}

// openAsk is a question as pending lists it.
type openAsk struct{ Handle, Digest, Member, Kind string }

func (r *roles) pending() (qs []openAsk) {
	r.t.Helper()
	var doc struct{ Pending []openAsk }
	out, said, _ := r.waggle("pending", "--team", "api", "--json")
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		r.t.Fatalf("%v: %s%s", err, out, said)
	}
	return doc.Pending
}

// asks makes a request that waits: it is the caller's in the list, and a person answers.
// before is open already.
func (r *roles) asks(t *testing.T, c *client, tool, args, name, before string) (text string, done bool) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		text, done = c.try(tool, args)
	}()
	var q openAsk
	testenv.Eventually(t, tool+" is asked", func() bool {
		qs := slices.DeleteFunc(r.pending(), func(q openAsk) bool { return q.Handle == before })
		if len(qs) == 1 {
			q = qs[0]
		}
		return len(qs) == 1
	})
	if q.Member != name {
		t.Errorf("%s of %s is asked by %s", tool, name, q.Member)
	}
	if tool == "submit_plan" { // with a rejected plan, the rest would be denied
		r.must("approve", q.Handle)
	} else {
		r.must("deny", q.Handle, "-m", "no")
	}
	<-ended
	return text, done && !strings.Contains(text, `"allowed":false`) && !strings.Contains(text, `"answered":false`)
}

// pendingOf makes a request of the session that stays open.
func (r *roles) pendingOf(t *testing.T, c *client, name string) (handle, digest string) {
	go func() {
		_, _ = c.ses.CallTool(t.Context(), &sdk.CallToolParams{Name: "request_permission", Arguments: json.RawMessage(`{"tool":"Bash","input":{"command":"touch of-` + name + `"}}`)})
	}()
	testenv.Eventually(t, "it asks", func() bool {
		for _, q := range r.pending() {
			if q.Member == name {
				handle, digest = q.Handle, q.Digest
			}
		}
		return handle != ""
	})
	return handle, digest
}

// leads: the lead decides a request that decide gives it, and an allow beyond its own rights
// escalates. The lead starts a member like itself, assigns a task, and asks a member to end.
func (r *roles) leads(t *testing.T, lead *client) {
	ann := r.sessions["ann"]
	ask := func(args string) chan mcpPermission {
		got := make(chan mcpPermission, 1)
		go func() {
			var p mcpPermission
			ann.call("request_permission", args, &p)
			got <- p
		}()
		return got
	}
	next := func() (id, digest string) {
		var open struct{ Requests []struct{ ID, Digest string } }
		testenv.Eventually(t, "the lead sees it", func() bool {
			lead.call("list_requests", `{}`, &open)
			return len(open.Requests) == 1
		})
		return open.Requests[0].ID, open.Requests[0].Digest
	}
	got := ask(`{"tool":"Bash","input":{"command":"touch beyond"}}`)
	id, digest := next()
	if text, done := lead.try("answer_request", `{"id":"`+id+`","digest":"`+digest+`","allow":true}`); !done || !strings.Contains(text, `"decision":"escalate"`) {
		t.Errorf("an allow beyond the lead's own rights: %s", text)
	}
	r.must("deny", id, "-m", "no")
	if p := <-got; p.Allowed {
		t.Errorf("%+v", p)
	}
	got = ask(`{"tool":"Bash","input":{"command":"make no"}}`)
	id, digest = next()
	if text, done := lead.try("answer_request", `{"id":"`+id+`","digest":"`+digest+`","reason":"not now"}`); !done {
		t.Error(text)
	}
	if p := <-got; p.Allowed || !strings.Contains(p.Reason, "not now") {
		t.Errorf("%+v", p)
	}
	if text, done := lead.try("spawn_member", `{"name":"new","prompt":"work"}`); !done {
		t.Error(text)
	}
	r.caller("new")
	if m := rowOf(r.status("api"), "new"); m == nil || m.Task == "" {
		t.Errorf("%+v", m)
	}
	r.must("task", "add", "another", "--instructions", "true")
	if text, done := lead.try("assign_task", `{"task":"4","member":"exe"}`); !done || !strings.Contains(text, `"owner":"exe"`) {
		t.Error(text)
	}
	testenv.Eventually(t, "exe does it", func() bool { return strings.Contains(r.must("log", "--kind", "finished", "--json"), `"exe"`) })
	if text, done := lead.try("stop_member", `{"member":"exe","reason":"enough"}`); !done {
		t.Error(text)
	}
	testenv.Eventually(t, "exe has ended", func() bool { return rowOf(r.status("api"), "exe") == nil })
}

// strangers: nothing but a living member's own token makes a session, and a session ends with its
// member.
func (r *roles) strangers(t *testing.T, old *client) {
	env := map[string][]string{"ann": r.caller("ann"), "old": r.caller("old"), "team-lead": r.caller("team-lead")}
	for _, mixed := range [][2]string{{"ann", "team-lead"}, {"team-lead", "ann"}, {"ann", "old"}} {
		from := []string{env[mixed[0]][0], env[mixed[1]][1]} // the socket of one, the token of another
		if _, err := r.dial(from); err == nil {
			t.Errorf("%v: it is let in", mixed)
		}
	}
	r.callsLeader(t)
	r.must("stop", "old", "--force")
	for tool, row := range mcpRows {
		args := row.own
		if args == "" {
			args = row.others[0]
		}
		if text, done := old.try(tool, args); done {
			t.Errorf("%s after its member's end: %s", tool, text)
		}
	}
	if _, err := r.dial(env["old"]); err == nil {
		t.Error("an ended member's token is taken")
	}
	for as, want := range map[string]int{"old": app.ExitNotFound, "ann": app.ExitRefused, "cursor": app.ExitLocked, "team-lead": app.ExitUsage, "boss": app.ExitNotFound} {
		if _, said, code := r.waggle("mcp", "--team", "api", "--as", as); code != want {
			t.Errorf("as %s: exit %d, want %d: %s", as, code, want, said)
		}
	}
}

// callsLeader: a process that is not the worker of the lead's agent makes no calls to the leader,
// whatever token it has read.
func (r *roles) callsLeader(t *testing.T) {
	keys, err := filepath.Glob(filepath.Join(r.dir, "s", "teams", "*", "sockets"))
	paths, perr := filepath.Glob(filepath.Join(r.dir, "s", "run", "*", "team-lead*.sock"))
	if err = errors.Join(err, perr); err != nil || len(keys) != 1 || len(paths) != 2 {
		t.Fatalf("%q %q %v", keys, paths, err)
	}
	for _, path := range paths {
		token, ok := transport.Token(keys, path)
		if !ok {
			t.Fatal(path)
		}
		c, err := transport.Dial(t.Context(), path, token)
		testenv.Must(t, err)
		for _, op := range []string{"requests", "answer", "spawn", "assign", "stop", "board", "ask", "brief"} {
			if got, err := c.Call(t.Context(), op, map[string]any{}); err == nil {
				t.Errorf("%s at %s: %s", op, path, got)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// records: audit verify succeeds, the leader has not decided to allow a touch, and ann's task is on the board.
func (r *roles) records(t *testing.T) {
	r.must("audit", "verify")
	for _, line := range strings.Split(r.must("log", "--kind", "decided", "--json"), "\n") {
		if strings.Contains(line, `"by":"leader"`) && strings.Contains(line, "touch") && strings.Contains(line, `"allow"`) {
			t.Error(line)
		}
	}
	list := r.must("task", "list", "--all")
	if !strings.Contains(list, "of ann") {
		t.Error(list)
	}
}
