//go:build unix

package claude_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/agent"
	"waggle/internal/claude"
	"waggle/internal/test/testenv"
)

func event(tool, input string) string {
	return fmt.Sprintf(`{"session_id":"s1","transcript_path":"/t","cwd":"/w","hook_event_name":"PreToolUse","tool_name":%q,"tool_input":%s,"tool_use_id":"t1","new":[1]}`, tool, input)
}

// The second line denies a call with a reason or prints nothing. If it cannot ask the worker, that is
// an error, which blocks the call.
func TestSecond(t *testing.T) {
	var got []claude.Event
	s, err := claude.Listen(t.TempDir(), func(_ context.Context, e claude.Event) string {
		got = append(got, e)
		if e.Tool == "Bash" {
			return `a rule says "no"`
		}
		return ""
	}, nil)
	testenv.Must(t, err)
	if fi, err := os.Stat(s.Dir()); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v", fi.Mode(), err)
	}
	ask := func(path, in string) (string, error) {
		out, err := claude.AskSecond(t.Context(), path, strings.NewReader(in))
		return string(out), err
	}
	if out, err := ask(s.Path(), event("Read", "{\"file_path\":\n\"/a\"}")); out != "" || err != nil {
		t.Errorf("%q %v", out, err)
	}
	want := `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"a rule says \"no\""}}` + "\n"
	if out, err := ask(s.Path(), event("Bash", `{"command":"x"}`)); out != want || err != nil {
		t.Errorf("%q %v, want %q", out, err, want)
	}
	want = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"the team decides about tools of servers"}}` + "\n"
	if out, err := ask(s.Path(), event("mcp__notes__mark", "{}")); out != want || err != nil {
		t.Errorf("%q %v, want %q", out, err, want)
	}
	if len(got) != 3 || string(got[0].Input) != `{"file_path":"/a"}` || got[1].UseID != "t1" || got[1].Cwd != "/w" {
		t.Errorf("the worker was asked %+v", got)
	}
	for _, in := range []string{"", "x", "[]", `{"hook_event_name":"PreToolUse"}`, event("Read", "1"), event("Read", "null"), event("", "{}"),
		strings.Replace(event("Read", "{}"), "PreToolUse", "PostToolUse", 1), strings.Replace(event("Read", "{}"), `"tool_name"`, `"Tool_Name"`, 1),
		strings.Replace(event("Read", "{}"), `"cwd"`, `"tool_name":"Bash","cwd"`, 1)} {
		if out, err := ask(s.Path(), in); err == nil {
			t.Errorf("%q passes with %q", in, out)
		}
	}
	for _, line := range []string{`{"Hook_Event_Name":"PreToolUse","tool_name":"Read","tool_input":{}}`, `{"hook_event_name":""}`} {
		c, err := net.Dial("unix", s.Path())
		testenv.Must(t, err)
		_, err = c.Write([]byte(line + "\n"))
		testenv.Must(t, err)
		if said, err := io.ReadAll(c); len(said) != 0 || err != nil {
			t.Errorf("the worker says %q, %v to %s", said, err, line)
		}
		c.Close()
	}
	if len(got) != 3 {
		t.Errorf("the worker was asked %+v", got[3:])
	}
	testenv.Must(t, s.Close())
	if out, err := ask(s.Path(), event("Read", "{}")); err == nil {
		t.Errorf("without a worker the hook says %q", out)
	}
}

// An answer of the worker other than yes or no, or none, blocks the call.
func TestSecondAnswers(t *testing.T) {
	for _, answer := range []string{"", "x\n", "{}\n", `{"denied":"false"}` + "\n", `{"Denied":false}` + "\n", `{"denied":false}`} {
		path := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", path)
		testenv.Must(t, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write([]byte(answer))
			c.Close()
		}()
		if out, err := claude.AskSecond(t.Context(), path, strings.NewReader(event("Read", "{}"))); err == nil {
			t.Errorf("%q passes with %q", answer, out)
		}
		l.Close()
		<-done
	}
}

// The deny-only hook gives its program the event and prints the program's output; it blocks the call
// when the program fails, is killed or does not exist.
func TestHookCommand(t *testing.T) {
	for name, one := range map[string]struct {
		program, out string
		code         int
	}{
		"nothing": {"cat >/dev/null", "", 0}, "words": {"cat; echo printed", "the event\nprinted\n", 0}, "failed": {"exit 1", "", 2},
		"blocked": {"exit 2", "", 2}, "killed": {"kill -9 $$", "", 2}, "not there": {"", "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "it's a program")
			if one.program != "" {
				testenv.Must(t, testenv.Executable(program, []byte("#!/bin/sh\n"+one.program+"\n")))
			}
			cmd := exec.Command("sh", "-c", denyHook(t, program))
			cmd.Stdin = strings.NewReader("the event\n")
			out, err := cmd.Output()
			if code := cmd.ProcessState.ExitCode(); string(out) != one.out || code != one.code {
				t.Errorf("it prints %q and exits with %d (%v), want %q and %d", out, code, err, one.out, one.code)
			}
		})
	}
}

// The private settings are of this user alone, ask for every tool, and switch all hooks off; the
// directory is gone when the client is.
func TestPrivateSettings(t *testing.T) {
	g := newGate(t, "2.1.330")
	a, f := newAgent(t, `{}`, initialized+user("Task 1: go\\n\\ndo it")+`< {"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"s1"}`+"\n")
	if _, err := a.Turn(t.Context(), g, task()); err != nil {
		t.Fatal(err)
	}
	argv := f.started[0].Argv
	file := argv[slices.Index(argv, "--settings")+1]
	fi, err := os.Stat(file)
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", fi, err)
	}
	data, err := os.ReadFile(file)
	testenv.Must(t, err)
	var s struct {
		Permissions struct {
			Ask, Allow []string
		}
		DisableAllHooks bool
		Hooks           json.RawMessage
	}
	testenv.Must(t, json.Unmarshal(data, &s))
	for _, tool := range []string{"Read", "Grep", "Bash", "Write", "Edit", "NotebookEdit", "WebFetch", "WebSearch", "Task", "Agent", "mcp__*", "SendMessage"} {
		if !strings.Contains(string(data), `"`+tool+`"`) {
			t.Errorf("%s is not asked for", tool)
		}
	}
	if len(s.Permissions.Allow) > 0 || !s.DisableAllHooks || s.Hooks != nil {
		t.Errorf("settings %s", data)
	}
	for _, kv := range f.started[0].Env {
		if strings.HasPrefix(kv, agent.EnvSpawn+"=") || strings.HasPrefix(kv, claude.SecondVar+"=") {
			t.Errorf("the client has %s: a process could ask as the member", kv)
		}
	}
	testenv.Must(t, a.Close(t.Context()))
	if _, err := os.Stat(filepath.Dir(file)); !os.IsNotExist(err) {
		t.Errorf("the private directory stays: %v", err)
	}
}
