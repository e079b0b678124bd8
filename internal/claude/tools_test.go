//go:build unix

package claude_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/agent"
	"waggle/internal/claude"
	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// player is a client as a function over its streams.
type player func(argv []string, in *bufio.Scanner, out io.Writer)

func (p player) Run(_ context.Context, c spawn.Command) (spawn.Exit, error) {
	in := bufio.NewScanner(c.Stdin)
	p(c.Argv, in, c.Output)
	for in.Scan() {
	}
	return spawn.Exit{}, nil
}

// toolServer is `waggle mcp`: it answers with what it was asked, and counts the sessions.
const toolServer = `#!/bin/sh
[ "$1 $WAGGLE_SPAWN_TOKEN" = "mcp secret" ] || exit 1
n=0
while read -r line; do
	id=$(printf %s "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\).*/\1/p')
	case $line in
	*'"initialize"'*) n=$((n+1)); r='{"sessions":'$n'}';;
	*'"tools/call"'*) r='{"called":true}';;
	*) continue;;
	esac
	printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
`

// TestLeadsTools: the client of the agent behind the lead has a tool server of its member, by its own
// streams. Its tools are not asked about, whatever the member's type has; those of any other server are.
// A client that begins two sessions with the same ids gets an answer to each.
func TestLeadsTools(t *testing.T) {
	var name string
	var got []string
	client := player(func(argv []string, in *bufio.Scanner, out io.Writer) {
		var config struct {
			Servers map[string]struct{ Type string } `json:"mcpServers"`
		}
		if err := json.Unmarshal([]byte(argv[slices.Index(argv, "--mcp-config")+1]), &config); err != nil {
			t.Error(err)
		}
		for n, s := range config.Servers {
			if name = n; s.Type != "sdk" {
				t.Errorf("%+v", config)
			}
		}
		next := func() string { in.Scan(); return in.Text() }
		ask := func(id, request string) {
			fmt.Fprintf(out, `{"type":"control_request","request_id":"%s","request":%s}`+"\n", id, request)
		}
		message := func(id, server, text string) {
			ask(id, `{"subtype":"mcp_message","server_name":"`+server+`","message":`+text+`}`)
		}
		next() // initialize
		message("m1", name, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`)
		message("m2", name, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`)
		both := []string{next(), next()}
		slices.Sort(both)
		message("m3", name, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		got = append(both, next())
		fmt.Fprintln(out, `{"type":"control_response","response":{"subtype":"success","request_id":"waggle-1","response":{"hooks_applied":true,"hook_on_failure_supported":true}}}`)
		next() // mcp_status
		fmt.Fprintln(out, `{"type":"control_response","response":{"subtype":"success","request_id":"waggle-2","response":{"mcpServers":[]}}}`)
		next() // the user line
		message("m4", "other", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		got = append(got, next())
		for i, tool := range []string{"mcp__" + name + "__answer_request", "mcp__" + name + "0__answer_request", "mcp__waggle__answer_request"} {
			ask(fmt.Sprintf("c%d", i), `{"subtype":"can_use_tool","tool_name":"`+tool+`","input":{"id":"A"},"tool_use_id":"`+tool+`"}`)
			got = append(got, next())
		}
		message("m5", name, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"answer_request","arguments":{"id":"A"}}}`)
		got = append(got, next())
		fmt.Fprintln(out, `{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"done","session_id":"s1"}`)
	})
	hook := filepath.Join(t.TempDir(), "waggle")
	testenv.Must(t, testenv.Executable(hook, []byte(toolServer)))
	g := newGate(t, "2.1.330")
	g.tool = func(agent.Call) (agent.Decision, string) { return agent.Decision{Reason: "no", By: "operator"}, "" }
	a := settled(t, `{"tools":["Read","mcp__waggle"]}`, agent.Place{Exec: client, Leads: true}, hook, claude.Waits{Ready: time.Minute, Answer: time.Minute, End: time.Second})
	if res, err := a.Turn(t.Context(), g, task()); err != nil || res.Summary != "done" {
		t.Errorf("%+v %v", res, err)
	}
	if err := a.Close(context.Background()); err != nil {
		t.Error(err)
	}
	for i, want := range []string{
		`"request_id":"m1","response":{"mcp_response":{"jsonrpc":"2.0","id":0,"result":{"sessions":1}}}`,
		`"request_id":"m2","response":{"mcp_response":{"jsonrpc":"2.0","id":0,"result":{"sessions":1}}}`,
		`"request_id":"m3","response":{"mcp_response":{"jsonrpc":"2.0","result":{},"id":0}}`,
		`"subtype":"error","request_id":"m4"`,
		`"request_id":"c0","response":{"behavior":"allow","updatedInput":{"id":"A"}}`,
		`"request_id":"c1","response":{"behavior":"deny"`,
		`"request_id":"c2","response":{"behavior":"deny","message":"denied by operator: no"}`,
		`"request_id":"m5","response":{"mcp_response":{"jsonrpc":"2.0","id":7,"result":{"called":true}}}`,
	} {
		if i >= len(got) || !strings.Contains(got[i], want) {
			t.Errorf("answer %d of\n%s\nis not\n%s", i, strings.Join(got, "\n"), want)
		}
	}
	if len(g.asked) != 1 || g.asked[0].Tool != "mcp__waggle__answer_request" {
		t.Errorf("asked %+v", g.asked)
	}
}
