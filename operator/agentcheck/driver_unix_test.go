//go:build unix

package agentcheck_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"waggle/agent"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/agentcheck"
	"waggle/operator/teamfile"
)

// acts is one act of each form.
var acts = []agentcheck.Act{
	{Run: "echo allowed"}, {Run: "echo denied"}, {Plan: "First this."}, {Empty: true},
	{Ask: &agentcheck.Asked{Text: "Which way?", Options: []string{"Left", "Right"}}},
	{Both: []agentcheck.Act{{Run: "echo allowed one"}, {Run: "echo allowed two"}}},
}

// driver is the driver for a member.
func driver(t *testing.T, op operator.Operator, dir string, m teamfile.FileMember) *agentcheck.Driver {
	t.Helper()
	d := testenv.Value(agentcheck.DriverOf(op, agentcheck.Options{Dir: dir, Member: m}))(t)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func cast(t *testing.T, d *agentcheck.Driver) agentcheck.Role {
	t.Helper()
	return testenv.Value(d.Cast(t.Context(), "ann", acts))(t)
}

func init() { serve = serveMCP }

// served is what a server of the Model Context Protocol is asked, which serveMCP writes as lines.
type served struct {
	Tool string
	Args map[string]any
}

// serveMCP is `waggle mcp` for TestConnecting: it offers one task, allows commands that say "allowed",
// rejects the first plan, and then says that the member ends. It writes each call but those for messages
// to the file that MCP_CALLS names.
func serveMCP() error {
	calls, err := os.OpenFile(os.Getenv("MCP_CALLS"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer calls.Close()
	done := make(chan struct{})
	plans := 0
	answer := func(c served) any {
		switch c.Tool {
		case "check_messages":
			select {
			case <-done:
				return map[string]any{"ending": true}
			default:
				return map[string]any{"task": map[string]string{"id": "7", "cwd": os.Getenv("MCP_CWD")}}
			}
		case "request_permission":
			in, _ := c.Args["input"].(map[string]any)
			command, _ := in["command"].(string)
			return map[string]any{"allowed": strings.Contains(command, "allowed"), "call_id": "c", "input": map[string]string{"command": command + " twice"}}
		case "submit_plan":
			plans++
			return map[string]any{"allowed": plans > 1}
		case "complete_task":
			close(done)
		}
		return map[string]any{}
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	for _, name := range []string{"check_messages", "request_permission", "report_result", "submit_plan", "ask_question", "complete_task"} {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			c := served{Tool: name}
			if err := json.Unmarshal(r.Params.Arguments, &c.Args); err != nil {
				return nil, err
			}
			if name == "ask_question" {
				return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "nobody answers"}}}, nil
			}
			if name != "check_messages" {
				line, err := json.Marshal(c)
				if err == nil {
					_, err = calls.Write(append(line, '\n'))
				}
				if err != nil {
					return nil, err
				}
			}
			text, err := json.Marshal(answer(c))
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}, err
		})
	}
	return s.Run(context.Background(), &sdk.StdioTransport{})
}

// TestConnecting: the client of agent mcp does each act with the tool for it. It runs the command that
// it was allowed, as the answer has it, and none that was denied; it proposes a rejected plan once more,
// completes its task, and ends when the member does. No variable of waggle reaches the server.
func TestConnecting(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	testenv.Must(t, err)
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	op := operatortest.New(t)
	op.Self = self
	op.Environ = append(slices.Clone(op.Environ), serverVar+"=1", "MCP_CALLS="+calls, "MCP_CWD="+dir, "WAGGLE_TEAM=of-somebody-else")
	d := driver(t, op, dir, teamfile.FileMember{Agent: agent.KindMCP})
	role := cast(t, d)
	if err := role.Connect(t.Context(), "api"); err != nil {
		t.Fatalf("%v: %s", err, role.Heard())
	}
	data, err := os.ReadFile(calls)
	testenv.Must(t, err)
	var got []string
	for line := range strings.Lines(string(data)) {
		var c served
		testenv.Must(t, json.Unmarshal([]byte(line), &c))
		text, _ := c.Args["output"].(string)
		if plan, ok := c.Args["plan"].(string); ok {
			text = plan
		}
		got = append(got, strings.TrimSpace(c.Tool+" "+strings.TrimSpace(text)))
	}
	slices.Sort(got[6 : len(got)-1]) // two acts at once
	want := []string{"request_permission", "report_result allowed twice", "request_permission", "submit_plan First this.", "submit_plan First this. Take it back with rm.",
		"submit_plan", "report_result allowed one twice", "report_result allowed two twice", "request_permission", "request_permission", "complete_task"}
	if !slices.Equal(got, want) {
		t.Errorf("the server was asked\n%q, want\n%q", got, want)
	}
	if heard := role.Heard(); !strings.Contains(heard, "ask_question: nobody answers\n") {
		t.Errorf("it heard %s", heard)
	}
	if u := d.Unsupported[agentcheck.Resumed]; u == "" || d.Unsupported[agentcheck.Ask] != "" {
		t.Errorf("%q", u)
	}
	op.Self = ""
	if _, err := driver(t, op, dir, teamfile.FileMember{Agent: agent.KindMCP}).Cast(t.Context(), "ann", acts); err == nil {
		t.Error("there is a client without a program of waggle")
	}
}

// model asks the model server of a driver for its next turn after some messages, and returns the tools
// of the turn with their inputs, or its text.
func model(t *testing.T, d *agentcheck.Driver, messages ...map[string]any) (tools []string) {
	t.Helper()
	url := ""
	for _, kv := range d.Environ {
		if v, ok := strings.CutPrefix(kv, "ANTHROPIC_BASE_URL="); ok {
			url = v
		}
	}
	body, err := json.Marshal(map[string]any{"model": "m", "tools": []map[string]string{{"name": "Bash"}}, "messages": messages})
	testenv.Must(t, err)
	res, err := http.Post(url+"/v1/messages", "application/json", bytes.NewReader(body))
	testenv.Must(t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	testenv.Must(t, err)
	var said struct {
		Content []struct {
			Type, Text, Name string
			Input            json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &said); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	for _, c := range said.Content {
		if c.Type == "tool_use" {
			tools = append(tools, c.Name+" "+string(c.Input))
		} else {
			tools = append(tools, c.Text)
		}
	}
	return tools
}

func user(content any) map[string]any { return map[string]any{"role": "user", "content": content} }

var silent = map[string]any{"role": "assistant", "content": "…"}

// TestClient: the model of agent claude says the acts of the member in whose conversation it is asked,
// one turn each, and Heard has what the tools returned. The client's home has the settings of a user who
// allows everything, no account of the caller, and hooks that break and are mended.
func TestClient(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	dir := t.TempDir()
	op.Self = filepath.Join(dir, "program")
	testenv.Must(t, testenv.Executable(op.Self, []byte("#!/bin/sh\necho waggle \"$@\"\n")))
	op.Environ = append(slices.Clone(op.Environ), "ANTHROPIC_AUTH_TOKEN=of-the-caller", "TERM=xterm")
	old := filepath.Join(dir, "old")
	testenv.Must(t, testenv.Executable(old, []byte("#!/bin/sh\necho 0.1.0\n")))
	spec, err := json.Marshal(map[string]string{"program": old})
	testenv.Must(t, err)
	d := driver(t, op, dir, teamfile.FileMember{Agent: "claude", Spec: spec})
	if env := strings.Join(d.Environ, "\n"); strings.Contains(env, "of-the-caller") || !strings.Contains(env, "TERM=xterm") || strings.Contains(env, "HOME="+filepath.Dir(op.Root.Path)+"\n") {
		t.Errorf("the client's environment: %s", env)
	}
	if v, err := d.Version(t.Context()); err == nil {
		t.Errorf("a client of version 0.1.0 is usable, as %q", v)
	}
	work := filepath.Join(dir, "work")
	testenv.Must(t, d.Prepare([]string{work}))
	for _, path := range []string{filepath.Join(work, ".claude", "settings.json"), filepath.Join(dir, "client", ".claude", "settings.json")} {
		if data, err := os.ReadFile(path); err != nil || !bytes.Contains(data, []byte(`"disableAllHooks":true`)) || !bytes.Contains(data, []byte(`"Bash(*)"`)) {
			t.Errorf("%s: %s, %v", path, data, err)
		}
	}
	role := cast(t, d)
	if got := model(t, d, user("what is there to do?")); !slices.Equal(got, []string{"there is no task yet"}) {
		t.Errorf("in another conversation: %q", got)
	}
	conversation := []map[string]any{user(role.Instructions)}
	var turns [][]string
	for range 12 {
		got := model(t, d, conversation...)
		turns = append(turns, got)
		conversation = append(conversation, silent, user([]map[string]any{{"type": "tool_result", "tool_use_id": "x", "content": "result " + got[0]}}))
		if got[0] == "nothing is left to do" {
			break
		}
	}
	var first []string
	for _, turn := range turns {
		word, _, _ := strings.Cut(turn[0], " ")
		first = append(first, word)
	}
	// The fourth turn says that the conversation names no file for the plan, as a real client's does.
	want := []string{"Bash", "Bash", "Glob", "the", "ExitPlanMode", "ExitPlanMode", "ExitPlanMode", "AskUserQuestion", "Bash", "did", "nothing"}
	if !slices.Equal(first, want) || len(turns) > 8 && len(turns[8]) != 2 {
		t.Errorf("the turns begin with %q, want %q: %q", first, want, turns)
	}
	if heard := role.Heard(); !strings.Contains(heard, "result Bash") || strings.Contains(heard, "what is there to do?") {
		t.Errorf("it heard %q", heard)
	}
	self := d.Self
	run := func(event string) string {
		out, err := exec.Command(self, "hooks", "run", event).CombinedOutput()
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(string(out))
	}
	mend, err := role.Break(agentcheck.HookMissing, work)
	testenv.Must(t, err)
	if got := run("PreToolUse"); got != "exit status 127" {
		t.Errorf("the broken hook: %s", got)
	}
	if got := run("Stop"); got != "waggle hooks run Stop" {
		t.Errorf("another hook: %s", got)
	}
	testenv.Must(t, mend())
	if got := run("PreToolUse"); got != "waggle hooks run PreToolUse" {
		t.Errorf("the mended hook: %s", got)
	}
}

// TestNoDriver: an unknown agent, and agent claude without a program of waggle, have no driver.
func TestNoDriver(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	for _, kind := range []string{"no such agent", "claude"} {
		d, err := agentcheck.DriverOf(op, agentcheck.Options{Dir: t.TempDir(), Member: teamfile.FileMember{Agent: kind}})
		if err == nil {
			t.Errorf("%s: %v", kind, d)
			_ = d.Close()
		}
	}
}
