package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"waggle/agent"
	"waggle/internal/face/mcp"
	"waggle/internal/test/testenv"
)

// seat is a member whose answers the test gives; calls has the calls of its methods, in order.
type seat struct {
	lead   bool
	answer agent.Decision
	input  json.RawMessage // the allowed input; nil: the input that was asked
	reply  agent.Answers
	work   mcp.Work
	brief  string
	err    error

	mu    sync.Mutex
	calls []string
}

func (s *seat) note(format string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
	return s.err
}

func (s *seat) called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

func (s *seat) Identity() mcp.Identity { return mcp.Identity{Team: "api", Member: "ann", Lead: s.lead} }
func (s *seat) Say(_ context.Context, to, text, summary string) error {
	return s.note("say %s %q %q", to, text, summary)
}
func (s *seat) Progress(_ context.Context, phase, message string) error {
	return s.note("progress %s %q", phase, message)
}
func (s *seat) Ask(_ context.Context, c agent.Call) (agent.Claim, error) {
	err := s.note("ask %s %s in %q as %q because %q", c.Tool, c.Input, c.Cwd, c.UseID, c.Reason)
	if err != nil || !s.answer.Allowed {
		return agent.Claim{Decision: s.answer}, err
	}
	in := s.input
	if in == nil {
		in = c.Input
	}
	return agent.Granted(s.answer, "perm-1", in, func(_ context.Context, r agent.Ran) error {
		code := "-"
		if r.ExitCode != nil {
			code = fmt.Sprint(*r.ExitCode)
		}
		return s.note("done failed=%v code=%s %q", r.Failed, code, r.Tail)
	}), nil
}
func (s *seat) Question(_ context.Context, q agent.Question) (agent.Answers, error) {
	return s.reply, s.note("question %+v", q.Parts)
}
func (s *seat) Plan(_ context.Context, plan string) (agent.Decision, error) {
	return s.answer, s.note("plan %q", plan)
}
func (s *seat) Network(_ context.Context, host, reason string) (agent.Decision, error) {
	return s.answer, s.note("network %s %q", host, reason)
}
func (s *seat) Check(_ context.Context, wait time.Duration) (mcp.Work, error) {
	return s.work, s.note("check %s", wait)
}
func (s *seat) Members(context.Context) ([]mcp.Member, error) {
	return []mcp.Member{{Name: "ann", State: "working", You: true}}, s.note("members")
}
func (s *seat) Tasks(context.Context) ([]agent.BoardTask, error) {
	return []agent.BoardTask{{ID: "1", Subject: "a", Owner: "ann", Status: "pending"}, {ID: "2", Subject: "b", Status: "pending"}}, s.note("tasks")
}
func (s *seat) Claim(_ context.Context, id string) (agent.BoardTask, error) {
	return agent.BoardTask{ID: id}, s.note("claim %q", id)
}
func (s *seat) Complete(_ context.Context, id, summary string, failed bool) (agent.BoardTask, error) {
	return agent.BoardTask{ID: id}, s.note("complete %s %q %v", id, summary, failed)
}
func (s *seat) Brief(context.Context) (mcp.Brief, error) {
	return mcp.Brief{Text: s.brief}, s.note("brief")
}

// leading is the seat of the agent behind the lead.
type leading struct{ *seat }

func (l leading) Spawn(_ context.Context, n agent.NewMember) (mcp.Member, error) {
	return mcp.Member{Name: n.Name}, l.note("spawn %+v", n)
}
func (l leading) Assign(_ context.Context, task, member string) (agent.BoardTask, error) {
	return agent.BoardTask{ID: task}, l.note("assign %s %s", task, member)
}
func (l leading) Stop(_ context.Context, member, reason string) error {
	return l.note("stop %s %q", member, reason)
}
func (l leading) Requests(context.Context) ([]agent.Request, error) {
	return []agent.Request{{ID: "AB2C", Digest: "d", Kind: "tool", Member: "bob", Risk: "low", Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`)}}, l.note("requests")
}
func (l leading) Answer(_ context.Context, v mcp.Verdict) (agent.Answered, error) {
	return agent.Answered{Decision: "allow"}, l.note("answer %s %s %v %v %q %q", v.ID, v.Digest, v.Allow, v.Escalate, v.Reason, v.Answers)
}

var _ mcp.Leading = leading{}

// connect serves a seat to a client.
func connect(t *testing.T, s mcp.Seat) *sdk.ClientSession {
	t.Helper()
	here, there := sdk.NewInMemoryTransports()
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := mcp.New(s, mcp.Options{Version: "1"}).Run(t.Context(), there); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the server: %v", err)
		}
	})
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), here, nil)
	testenv.Must(t, err)
	t.Cleanup(func() {
		_ = c.Close()
		serving.Wait()
	})
	return c
}

// call calls a tool with arguments as they are and returns its one block of text.
func call(t *testing.T, c *sdk.ClientSession, tool, args string) (text string, failed bool) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, args, err)
	}
	if len(r.Content) != 1 {
		t.Fatalf("%s: %d blocks", tool, len(r.Content))
	}
	return r.Content[0].(*sdk.TextContent).Text, r.IsError
}

var worker = []string{"ask_question", "brief", "check_messages", "claim_task", "complete_task", "list_members", "list_tasks", "permission_prompt", "report_progress",
	"report_result", "request_network", "request_permission", "send_message", "submit_plan", "update_task"}

// TestRoles: a worker sees no tool that decides or starts anything, whatever its seat could do;
// no tool of any role has an argument that names the caller.
func TestRoles(t *testing.T) {
	own := []string{"answer_request", "assign_task", "list_requests", "spawn_member", "stop_member"}
	for _, r := range []struct {
		name string
		seat mcp.Seat
		want []string
	}{
		{"worker", &seat{}, worker},
		{"a worker whose seat could lead", leading{&seat{}}, worker},
		{"a lead whose seat cannot", &seat{lead: true}, worker},
		{"lead", leading{&seat{lead: true}}, slices.Sorted(slices.Values(append(slices.Clone(worker), own...)))},
	} {
		t.Run(r.name, func(t *testing.T) {
			c := connect(t, r.seat)
			list, err := c.ListTools(t.Context(), nil)
			testenv.Must(t, err)
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
				if a := tool.Annotations; a != nil && (a.ReadOnlyHint != slices.Contains([]string{"brief", "list_members", "list_requests", "list_tasks"}, tool.Name) ||
					*a.DestructiveHint != (tool.Name == "stop_member") || *a.OpenWorldHint) {
					t.Errorf("%s: %+v", tool.Name, a)
				}
				if tool.Annotations == nil || tool.Title == "" || tool.Description == "" {
					t.Errorf("%s says nothing of itself", tool.Name)
				}
				var in struct {
					Type       string                     `json:"type"`
					Properties map[string]json.RawMessage `json:"properties"`
				}
				raw, _ := json.Marshal(tool.InputSchema)
				if err := json.Unmarshal(raw, &in); err != nil || in.Type != "object" {
					t.Errorf("%s: schema %s, %v", tool.Name, raw, err)
				}
				for _, caller := range []string{"as", "from", "sender", "caller", "identity", "owner", "team", "token", "role"} {
					if _, ok := in.Properties[caller]; ok {
						t.Errorf("%s takes %q: who calls stands when the connection starts", tool.Name, caller)
					}
				}
			}
			if slices.Sort(names); !slices.Equal(names, r.want) {
				t.Errorf("%v, want %v", names, r.want)
			}
			for _, tool := range own {
				_, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: map[string]any{}})
				if offered := slices.Contains(r.want, tool); !offered && (err == nil || !strings.Contains(err.Error(), "unknown tool")) {
					t.Errorf("%s: %v", tool, err)
				}
			}
		})
	}
}

// rightArgs are arguments that each tool takes, and what its seat then does.
var rightArgs = map[string]struct{ args, does string }{
	"ask_question":       {`{"questions":[{"question":"Which?","header":"h","options":[{"label":"A","description":"d"},{"label":"B"}],"multiple":true}]}`, `question [{Text:Which? Header:h Options:[{Label:A Description:d} {Label:B Description:}] Multiple:true Closed:false}]`},
	"brief":              {`{}`, `brief`},
	"check_messages":     {`{"wait_seconds":7}`, `check 7s`},
	"claim_task":         {`{"id":"4"}`, `claim "4"`},
	"complete_task":      {`{"id":"4","summary":"s","failed":true}`, `complete 4 "s" true`},
	"list_members":       {`{}`, `members`},
	"list_requests":      {`{}`, `requests`},
	"list_tasks":         {`{}`, `tasks`},
	"permission_prompt":  {`{"tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"toolu_1"}`, `ask Bash {"command":"ls"} in "" as "toolu_1" because ""`},
	"report_progress":    {`{"phase":"done","message":"m"}`, `progress done "m"`},
	"request_network":    {`{"host":"example.com","reason":"r"}`, `network example.com "r"`},
	"request_permission": {`{"tool":"Bash","input":{"command": "ls",  "n":12345678901234567890},"cwd":"/w","reason":"r"}`, `ask Bash {"command":"ls","n":12345678901234567890} in "/w" as "" because "r"`},
	"send_message":       {`{"to":"bob","text":"hi","summary":"s"}`, `say bob "hi" "s"`},
	"submit_plan":        {`{"plan":"1. do"}`, `plan "1. do"`},
	"update_task":        {`{"id":"1","note":"half"}`, `tasks, progress implementing "task 1: half"`},
	"answer_request":     {`{"id":"AB2C","digest":"d","allow":true,"escalate":true,"reason":"r","answers":["x"]}`, `answer AB2C d true true "r" ["x"]`},
	"assign_task":        {`{"task":"1","member":"bob"}`, `assign 1 bob`},
	"spawn_member":       {`{"name":"bob","prompt":"p","type":"t"}`, `spawn {Name:bob Prompt:p Type:t}`},
	"stop_member":        {`{"member":"bob","reason":"r"}`, `stop bob "r"`},
}

// TestArguments: every tool does what its arguments say and nothing with others: a field that it
// does not have, another spelling, one that is there twice, a wrong type, something missing.
func TestArguments(t *testing.T) {
	c := connect(t, leading{&seat{lead: true}})
	list, err := c.ListTools(t.Context(), nil)
	testenv.Must(t, err)
	for _, tool := range list.Tools {
		right, ok := rightArgs[tool.Name]
		if !ok {
			if tool.Name != "report_result" { // TestResult
				t.Errorf("%s is not tried", tool.Name)
			}
			continue
		}
		t.Run(tool.Name, func(t *testing.T) {
			s := &seat{lead: true, answer: agent.Decision{Allowed: true}, reply: agent.Answers{Given: true, Replies: []agent.Reply{{Labels: []string{"A"}}}}}
			c := connect(t, leading{s})
			text, failed := call(t, c, tool.Name, right.args)
			if failed {
				t.Fatal(text)
			}
			fitsSchema(t, tool, text)
			if got := strings.Join(s.called(), ", "); got != right.does {
				t.Errorf("%q, want %q", got, right.does)
			}
			s.calls = nil
			var fields map[string]json.RawMessage
			testenv.Must(t, json.Unmarshal([]byte(right.args), &fields))
			wrong := []string{`[]`, `"x"`, `{"as":"bob"}`}
			for key, value := range fields {
				other := maps.Clone(fields)
				delete(other, key)
				if tool.Name == mcp.PromptTool && key == "tool_use_id" {
					continue // the prompt tool ignores fields that it does not know: TestPrompt
				}
				other[strings.ToUpper(key[:1])+key[1:]] = value
				data, _ := json.Marshal(other)
				wrong = append(wrong, string(data), strings.TrimSuffix(right.args, "}")+fmt.Sprintf(",%q:%s}", key, value))
				other = maps.Clone(fields)
				other[key] = json.RawMessage(`[[1]]`)
				data, _ = json.Marshal(other)
				wrong = append(wrong, string(data))
			}
			if tool.Name != mcp.PromptTool {
				wrong = append(wrong, strings.Replace(right.args, "{", `{"as":"bob"`+map[bool]string{true: ",", false: ""}[len(fields) > 0], 1))
			}
			for _, args := range wrong {
				r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tool.Name, Arguments: json.RawMessage(args)})
				denied := err != nil || r.IsError || tool.Name == mcp.PromptTool && strings.Contains(r.Content[0].(*sdk.TextContent).Text, `"behavior":"deny"`)
				if !denied || len(s.called()) > 0 {
					t.Errorf("%s was taken: %q, %v", args, s.called(), r)
					s.calls = nil
				}
			}
		})
	}
}

// fitsSchema checks a result against the schema that its tool shows.
func fitsSchema(t *testing.T, tool *sdk.Tool, result string) {
	t.Helper()
	if tool.OutputSchema == nil {
		if tool.Name != mcp.PromptTool {
			t.Errorf("%s says nothing of its result", tool.Name)
		}
		return
	}
	var schema jsonschema.Schema
	var value any
	data, err := json.Marshal(tool.OutputSchema)
	testenv.Must(t, errors.Join(err, json.Unmarshal(data, &schema), json.Unmarshal([]byte(result), &value)))
	r, err := schema.Resolve(nil)
	testenv.Must(t, err)
	if err := r.Validate(value); err != nil {
		t.Errorf("%s: %s: %v", tool.Name, result, err)
	}
}

// TestLimits: arguments that are too large, and a brief that is too long.
func TestLimits(t *testing.T) {
	s := &seat{brief: strings.Repeat("é", 5000)}
	c := connect(t, s)
	for size, ok := range map[int]bool{1<<20 - len(`{"to":"bob","text":""}`): true, 1<<20 - len(`{"to":"bob","text":""}`) + 1: false} {
		if text, failed := call(t, c, "send_message", `{"to":"bob","text":"`+strings.Repeat("x", size)+`"}`); failed == ok {
			t.Errorf("a text of %d: %.200s", size, text)
		}
	}
	text, _ := call(t, c, "brief", `{}`)
	var b mcp.Brief
	if err := json.Unmarshal([]byte(text), &b); err != nil || len(b.Text) > 4500 || !strings.HasSuffix(b.Text, "\n…") || strings.ContainsRune(b.Text, '\uFFFD') {
		t.Errorf("%d bytes, %v", len(b.Text), err)
	}
	for _, wait := range []string{"-1", "51"} {
		if text, failed := call(t, c, "check_messages", `{"wait_seconds":`+wait+`}`); !failed {
			t.Errorf("%s: %s", wait, text)
		}
	}
	if text, failed := call(t, c, "check_messages", `{}`); failed || text != `{"messages":[]}` {
		t.Error(text)
	}
}

// TestPermission: an allowed input comes back byte by byte; a denied call has no input.
func TestPermission(t *testing.T) {
	for _, k := range []struct {
		name string
		seat *seat
		want string
	}{
		{"as asked", &seat{answer: agent.Decision{Allowed: true, By: "rules", Reason: "r"}}, `{"allowed":true,"reason":"r","decided_by":"rules","call_id":"perm-1","input":{"command":"ls"}}`},
		{"changed", &seat{answer: agent.Decision{Allowed: true}, input: json.RawMessage(`{"command":"ls -l","n":12345678901234567890}`)}, `{"allowed":true,"call_id":"perm-1","input":{"command":"ls -l","n":12345678901234567890}}`},
		{"denied", &seat{answer: agent.Decision{Reason: "no"}}, `{"allowed":false,"reason":"no"}`},
	} {
		t.Run(k.name, func(t *testing.T) {
			c := connect(t, k.seat)
			if text, failed := call(t, c, "request_permission", `{"tool":"Bash","input":{"command":"ls"}}`); failed || text != k.want {
				t.Errorf("%s\nwant %s", text, k.want)
			}
		})
	}
	s := &seat{err: errors.New("the turn is over")}
	if text, failed := call(t, connect(t, s), "request_permission", `{"tool":"Bash","input":{}}`); !failed || text != "request_permission: the turn is over" {
		t.Error(text)
	}
}

// TestPrompt: the answer is exactly one of the two forms that the client knows.
func TestPrompt(t *testing.T) {
	other := &seat{answer: agent.Decision{Allowed: true}}
	call(t, connect(t, other), mcp.PromptTool, `{"tool_name":"Bash","input":{},"Tool_use_id":"x","Input":{"command":"rm"}}`)
	if got := other.called(); len(got) != 1 || got[0] != `ask Bash {} in "" as "" because ""` {
		t.Errorf("other spellings: %q", got)
	}
	for _, k := range []struct {
		name string
		seat *seat
		args string
		want string
	}{
		{"allowed", &seat{answer: agent.Decision{Allowed: true}}, `{"tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"t"}`, `{"behavior":"allow","updatedInput":{"command":"ls"}}`},
		{"more than is known", &seat{answer: agent.Decision{Allowed: true}}, `{"tool_name":"Bash","input":{},"new":1}`, `{"behavior":"allow","updatedInput":{}}`},
		{"denied", &seat{answer: agent.Decision{Reason: "no"}}, `{"tool_name":"Bash","input":{}}`, `{"behavior":"deny","message":"no"}`},
		{"failed", &seat{err: errors.New("gone")}, `{"tool_name":"Bash","input":{}}`, `{"behavior":"deny","message":"gone"}`},
		{"allowed nothing", &seat{answer: agent.Decision{Allowed: true}, input: json.RawMessage{}}, `{"tool_name":"Bash","input":{}}`, `{"behavior":"deny"}`},
		{"a question", &seat{answer: agent.Decision{Allowed: true}}, `{"tool_name":"AskUserQuestion","input":{}}`, `{"behavior":"deny","message":"AskUserQuestion does not go through this prompt: use ask_question, submit_plan"}`},
		{"a plan", &seat{answer: agent.Decision{Allowed: true}}, `{"tool_name":"ExitPlanMode","input":{}}`, `{"behavior":"deny","message":"ExitPlanMode does not go through this prompt: use ask_question, submit_plan"}`},
	} {
		t.Run(k.name, func(t *testing.T) {
			if text, _ := call(t, connect(t, k.seat), mcp.PromptTool, k.args); text != k.want {
				t.Errorf("%s\nwant %s", text, k.want)
			}
		})
	}
}

// TestResult: the end of a call is recorded once, and only of a call that was allowed.
func TestResult(t *testing.T) {
	s := &seat{answer: agent.Decision{Allowed: true}}
	c := connect(t, s)
	if _, failed := call(t, c, "report_result", `{"call_id":"perm-1"}`); !failed {
		t.Error("a call that was never allowed has a result")
	}
	call(t, c, "request_permission", `{"tool":"Bash","input":{}}`)
	if text, failed := call(t, c, "report_result", `{"call_id":"perm-1","exit_code":3,"output":"o"}`); failed {
		t.Error(text)
	}
	if _, failed := call(t, c, "report_result", `{"call_id":"perm-1"}`); !failed {
		t.Error("it has two results")
	}
	if got := s.called(); len(got) != 2 || got[1] != `done failed=true code=3 "o"` {
		t.Errorf("%q", got)
	}
}

// TestQuestion: an answer for each part, or none at all; never an empty one.
func TestQuestion(t *testing.T) {
	two := `{"questions":[{"question":"Which?","options":[{"label":"A"}]},{"question":"Why?"}]}`
	for _, k := range []struct {
		name  string
		reply agent.Answers
		want  string
	}{
		{"answered", agent.Answers{Given: true, Replies: []agent.Reply{{Labels: []string{"A"}}, {Text: "so"}}}, `{"answered":true,"answers":[{"question":"Which?","labels":["A"]},{"question":"Why?","text":"so"}]}`},
		{"nobody", agent.Answers{Reason: "late"}, `{"answered":false,"reason":"nobody answered; do not assume"}`},
		{"half", agent.Answers{Given: true, Replies: []agent.Reply{{Labels: []string{"A"}}}}, `{"answered":false,"reason":"nobody answered; do not assume"}`},
	} {
		t.Run(k.name, func(t *testing.T) {
			if text, _ := call(t, connect(t, &seat{reply: k.reply}), "ask_question", two); text != k.want {
				t.Errorf("%s\nwant %s", text, k.want)
			}
		})
	}
	if text, failed := call(t, connect(t, &seat{}), "ask_question", `{"questions":[]}`); !failed {
		t.Error(text)
	}
}

// TestResources: a client reads the roster, the tasks and its brief without a tool.
func TestResources(t *testing.T) {
	c := connect(t, &seat{brief: "You are ann."})
	for uri, want := range map[string]string{
		"waggle://roster": `[{"name":"ann","state":"working","you":true}]`,
		"waggle://task":   `[{"id":"1","subject":"a","owner":"ann","status":"pending"}]`,
		"waggle://brief":  "You are ann.",
	} {
		r, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil || len(r.Contents) != 1 || r.Contents[0].Text != want {
			t.Errorf("%s: %+v, %v", uri, r, err)
		}
	}
}
