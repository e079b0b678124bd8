//go:build unix

package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/test/testenv"
	"waggle/operator/inspect"
)

const mcpTeam = `team: api
lead: operator
policy: {allow: ["Bash(true)"]}
sandbox: {mode: off}
members:
  - {name: cursor, agent: mcp}
  - {name: ann, agent: exec}
`

// client is an MCP client with its server, `waggle mcp`.
type client struct {
	t   *testing.T
	ses *sdk.ClientSession
	pid int
}

// newClient connects to a member, as the entry that `team add` prints says it.
func newClient(t *testing.T, h *homeTree, member string) *client {
	t.Helper()
	c, err := dial(t, h.command("mcp", "--team", "api", "--as", member))
	testenv.Must(t, err)
	return c
}

// dial starts a server and connects.
func dial(t *testing.T, cmd *exec.Cmd) (*client, error) {
	ses, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = ses.Close() })
	return &client{t, ses, cmd.Process.Pid}, nil
}

// call calls a tool and reads what it returns.
func (c *client) call(tool, args string, into any) (failed bool) {
	c.t.Helper()
	r, err := c.ses.CallTool(c.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		c.t.Fatalf("%s: %v", tool, err)
	}
	text := r.Content[0].(*sdk.TextContent).Text
	if into != nil && !r.IsError {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			c.t.Fatalf("%s: %s: %v", tool, text, err)
		}
	} else if r.IsError {
		c.t.Logf("%s: %s", tool, text)
	}
	return r.IsError
}

type mcpWork struct {
	Task     *struct{ ID, Instructions string }
	Messages []struct{ From, Text string }
}

type mcpPermission struct {
	Allowed bool
	Reason  string
	CallID  string `json:"call_id"`
	Input   json.RawMessage
}

// rowOf is the row of a member in status; nil: it is not there.
func rowOf(st *view.StatusDocument, member string) *inspect.MemberStatus {
	for i, m := range st.Members {
		if m.Name == member {
			return &st.Members[i]
		}
	}
	return nil
}

// asked waits for a request with a text, another than before, and returns its id.
func (h *homeTree) asked(text, before string) (id string) {
	h.t.Helper()
	testenv.Eventually(h.t, "it is asked: "+text, func() bool {
		out, _, _ := h.waggle("pending", "--json")
		if !strings.Contains(out, text) {
			return false
		}
		for _, w := range strings.FieldsFunc(out, func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			if strings.HasPrefix(w, "perm-") && w != before {
				id = w
			}
		}
		return id != ""
	})
	return id
}

// TestMCPMember: a client gets words and tasks, and its requests are in the list of pending.
// Its session ends with its connection: a call that was allowed to one client is not allowed
// to the next one.
func TestMCPMember(t *testing.T) {
	t.Parallel()
	h := newTeam(t, "api", mcpTeam)
	if m := rowOf(h.status("api"), "cursor"); m == nil || m.State != "starting" || !strings.Contains(m.Why, "no client") {
		t.Fatalf("%+v", m)
	}
	h.must("send", "cursor", "before anybody came")
	h.must("task", "add", "greet", "--owner", "cursor", "--instructions", "say hello")
	first := newClient(t, h, "cursor")
	var w mcpWork
	if first.call("check_messages", `{}`, &w); len(w.Messages) != 1 || w.Messages[0].Text != "before anybody came" {
		t.Fatalf("%+v", w)
	}
	if first.call("check_messages", `{}`, &w); w.Task == nil || w.Task.ID != "1" || w.Task.Instructions != "say hello" {
		t.Fatalf("%+v", w)
	}

	// A member takes one client at a time, and only a member that is for clients takes one.
	for as, code := range map[string]int{"cursor": app.ExitLocked, "ann": app.ExitRefused, "eve": app.ExitNotFound, "team-lead": app.ExitUsage} {
		if _, said, got := h.waggle("mcp", "--team", "api", "--as", as); got != code {
			t.Errorf("as %s: exit %d, want %d: %s", as, got, code, said)
		}
	}
	if _, said, code := h.waggle("mcp", "--as", "cursor"); code != app.ExitUsage {
		t.Errorf("without --team: exit %d: %s", code, said)
	}

	// The client's request is in the list of pending, and the client reports the end of the call.
	var p mcpPermission
	asked := make(chan bool)
	go func() {
		asked <- first.call("request_permission", `{"tool":"Bash","input":{"command":"touch one"}}`, &p)
	}()
	id := h.asked("touch one", "")
	h.must("approve", id)
	if failed := <-asked; failed || !p.Allowed || string(p.Input) != `{"command":"touch one"}` {
		t.Fatalf("%+v", p)
	}
	first.call("report_result", `{"call_id":"`+p.CallID+`","exit_code":0,"output":"one"}`, nil)
	if first.call("complete_task", `{"id":"1","summary":"greeted"}`, nil) {
		t.Error("its task could not be completed")
	}
	testenv.Eventually(t, "the board shows it", func() bool { return strings.Contains(h.must("task", "list", "--all"), "completed") })

	// The next client is another session.
	if err := first.ses.Close(); err != nil {
		t.Error(err)
	}
	testenv.Eventually(t, "the seat is free", func() bool {
		m := rowOf(h.status("api"), "cursor")
		return m != nil && strings.Contains(m.Why, "no client")
	})
	next := newClient(t, h, "cursor")
	refused := make(chan bool)
	go func() {
		refused <- next.call("request_permission", `{"tool":"Bash","input":{"command":"touch one"}}`, &p)
	}()
	h.must("deny", h.asked("touch one", id), "-m", "not twice")
	if failed := <-refused; failed || p.Allowed || !strings.Contains(p.Reason, "not twice") {
		t.Errorf("%+v", p)
	}
	if out := h.must("log", "--kind", "unverified", "--json"); strings.Contains(out, "has a journal here") {
		t.Errorf("its own messages were not believed: %s", out)
	}
	h.must("audit", "verify")

	// The client's server ends with the team.
	next.call("check_messages", `{"wait_seconds":1}`, nil)
	h.must("down", "api")
	testenv.Eventually(t, "the server ends", func() bool { return !alive(next.pid) })
}

// TestMCPKilled: if a client's server is killed while it asks, the request is closed and its
// call is not started. The next client is served.
func TestMCPKilled(t *testing.T) {
	t.Parallel()
	h := newTeam(t, "api", mcpTeam)
	c := newClient(t, h, "cursor")
	go func() { // its answer never comes
		_, _ = c.ses.CallTool(t.Context(), &sdk.CallToolParams{Name: "request_permission", Arguments: json.RawMessage(`{"tool":"Bash","input":{"command":"touch two"}}`)})
	}()
	testenv.Eventually(t, "it asks", func() bool {
		out, _, _ := h.waggle("pending")
		return strings.Contains(out, "touch two")
	})
	testenv.Must(t, syscall.Kill(c.pid, syscall.SIGKILL))
	testenv.Eventually(t, "it is gone", func() bool { return !alive(c.pid) || zombie(c.pid) })
	next := newClient(t, h, "cursor")
	if next.call("list_members", `{}`, nil) {
		t.Error("the next client is not served")
	}
	testenv.Eventually(t, "what was asked is closed", func() bool {
		out, _, _ := h.waggle("pending")
		return !strings.Contains(out, "touch two")
	})
	if out := h.must("log", "--kind", "started", "--json"); strings.Contains(out, "touch") {
		t.Errorf("it was started: %s", out)
	}
	h.must("audit", "verify")
}

// TestMCPInside: a member's own process cannot become another member, and that is on record.
func TestMCPInside(t *testing.T) {
	t.Parallel()
	h := newHome(t, "waggle")
	h.write("try.sh", `"$1" mcp --team api --as cursor </dev/null >out 2>&1; echo "exit $?" >tried`+"\n")
	h.must("up", h.write("waggle.yaml", strings.Replace(mcpTeam, "Bash(true)", "Bash(sh try.sh:*)", 1)), "--detach", "-q")
	h.ends("api")
	h.must("task", "add", "try", "--owner", "ann", "--instructions", "sh try.sh "+h.program)
	tried := ""
	testenv.Eventually(t, "it was tried", func() bool {
		data, err := os.ReadFile(filepath.Join(h.work, "tried"))
		tried = string(data)
		return err == nil && strings.HasSuffix(tried, "\n")
	})
	if want := "exit " + strconv.Itoa(app.ExitRefused) + "\n"; tried != want {
		out, _ := os.ReadFile(filepath.Join(h.work, "out"))
		t.Errorf("%s, want %s: %s", tried, want, out)
	}
	if out := h.must("log", "--kind", "unverified", "--json"); !strings.Contains(out, "mcp was called from inside member ann") {
		t.Error(out)
	}
}

// TestMCPAdd: the entry that is printed for a client's configuration works.
func TestMCPAdd(t *testing.T) {
	t.Parallel()
	h := newHome(t, "waggle")
	h.must("team", "create", "api")
	h.ends("api")
	var doc view.ClientDocument
	testenv.Must(t, json.Unmarshal([]byte(h.must("team", "add", "ed", "--team", "api", "--agent", "mcp", "--json")), &doc))
	if out := h.must("team", "add", "vi", "--team", "api", "--agent", "mcp"); !strings.Contains(out, `"mcpServers": {`) {
		t.Error(out)
	}
	cmd := h.command()
	cmd.Path, cmd.Args, cmd.Dir = doc.Servers.Waggle.Command, append([]string{doc.Servers.Waggle.Command}, doc.Servers.Waggle.Args...), "/"
	c, err := dial(t, cmd)
	testenv.Must(t, err)
	var r struct{ Team, You string }
	if c.call("list_members", `{}`, &r); r.Team != "api" || r.You != "ed" {
		t.Errorf("%+v", r)
	}
	if err := c.ses.Close(); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{"--agent", "exec"}, {"--plan"}} {
		if _, said, code := h.waggle(append([]string{"team", "add", "no", "--team", "api"}, args...)...); code != app.ExitUsage {
			t.Errorf("%v: exit %d: %s", args, code, said)
		}
	}
}
