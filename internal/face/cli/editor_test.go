package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

const editorTeam = `
team: editor
policy: {mode: default}
members:
  - name: asker
    agent: script
    steps:
      - {tool: {name: Bash, input: {command: "echo one\u001b[2J"}, expect: allow}}
      - {tool: {name: Write, input: {file_path: "notes.txt", content: "two"}, expect: deny}}
tasks:
  - {subject: ask, owner: asker}
`

// editor is the VS Code extension in a stand-in for VS Code.
type editor struct {
	t     *testing.T
	in    io.WriteCloser
	lines chan map[string]any
}

func startEditor(t *testing.T, op operator.Operator) *editor {
	t.Helper()
	node := testenv.Require(t, "node")
	if out, err := exec.Command(node, "--experimental-websocket", "-e", "new WebSocket('ws://127.0.0.1:1').onerror=()=>{}").CombinedOutput(); err != nil {
		t.Skipf("this node has no WebSocket: %s", out)
	}
	program := filepath.Join(t.TempDir(), "waggle")
	testenv.Must(t, os.Symlink(op.Self, program))
	vscode := filepath.Join("..", "..", "..", "editors", "vscode")
	for _, js := range []string{"client.js", "extension.js", "test/host.js"} { // so that go test knows that they matter
		if _, err := os.ReadFile(filepath.Join(vscode, js)); err != nil {
			t.Fatal(err)
		}
	}
	settings, err := json.Marshal(map[string]string{"path": program, "team": "editor", "id": "vscode"})
	testenv.Must(t, err)
	cmd := exec.CommandContext(t.Context(), node, "--experimental-websocket", filepath.Join(vscode, "test", "host.js"), string(settings))
	cmd.Env = append(os.Environ(), "WAGGLE_ROOT="+op.Root.Path, "WAGGLE_STATE="+op.Home.Path, "NODE_NO_WARNINGS=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	testenv.Must(t, err)
	out, err := cmd.StdoutPipe()
	testenv.Must(t, err)
	testenv.Must(t, cmd.Start())
	e := &editor{t, in, make(chan map[string]any, 1000)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(e.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			var line map[string]any
			if err := json.Unmarshal(s.Bytes(), &line); err != nil {
				t.Errorf("%s: %v", s.Bytes(), err)
				return
			}
			e.lines <- line
		}
	}()
	t.Cleanup(func() {
		e.act(`{"do":"quit"}`)
		_ = in.Close()
		<-read
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("the editor: %v", err)
		}
	})
	return e
}

func (e *editor) act(line string) {
	if _, err := io.WriteString(e.in, line+"\n"); err != nil {
		e.t.Error(err)
	}
}

// until reads what the person sees until one line satisfies ok.
func (e *editor) until(what string, ok func(map[string]any) bool) map[string]any {
	e.t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case line, open := <-e.lines:
			if !open {
				e.t.Fatalf("the editor ended before: %s", what)
			}
			if ok(line) {
				return line
			}
		case <-late:
			e.t.Fatalf("never in the editor: %s", what)
		}
	}
}

// shows is a tree that has an item with this text.
func shows(tree, text string) func(map[string]any) bool {
	return func(l map[string]any) bool {
		items, _ := l["items"].([]any)
		return l["tree"] == tree && slices.ContainsFunc(items, func(i any) bool { return strings.Contains(i.(string), text) })
	}
}

// TestEditor: a person in VS Code sees the open requests, allows one and denies one, and
// gets and sends words; the leader's journal has the answers, given through the bridge.
func TestEditor(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	testenv.Require(t, "node")
	r := newRig(t, editorTeam)
	r.assign()
	r.until("a question", func(l *control.Leader) bool { return len(l.Pending()) == 1 })

	ctx, cancel := context.WithCancel(t.Context())
	bridge := exec.CommandContext(ctx, r.op.Self, "bridge", "--json", "--team", "editor", "--root", r.op.Root.Path, "--state", r.op.Home.Path)
	bridge.Cancel = func() error { return bridge.Process.Signal(os.Interrupt) }
	bridge.WaitDelay = 10 * time.Second
	out, err := bridge.StdoutPipe()
	testenv.Must(t, err)
	testenv.Must(t, bridge.Start())
	t.Cleanup(func() {
		cancel()
		_ = bridge.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}

	e := startEditor(t, r.op)
	e.until("the first question", shows("waggle.pending", `echo one\u001b[2J`))
	sent, err := mail.Of(r.op).Send(ctx, "editor", mail.Message{To: protocol.Address{Scheme: protocol.SchemeBridge, Target: "vscode"}, Text: "look at this"})
	testenv.Must(t, err)
	if known, err := mail.Of(r.op).Message(ctx, "editor", sent[0].MsgID); err != nil || len(known) != 1 {
		t.Errorf("the id that send printed is not known: %+v, %v", known, err)
	}
	e.until("words for the editor", func(l map[string]any) bool { return l["info"] == "team-lead: look at this" })
	e.act(`{"do":"dismiss","tool":"Bash"}`)
	e.until("the dialog is closed", func(l map[string]any) bool { return l["done"] == "dismiss" })
	if n := len(r.pending()); n != 1 {
		t.Fatalf("%d questions after a dialog that was closed, want 1", n)
	}
	e.act(`{"do":"allow","tool":"Bash"}`)
	d := e.until("the dialog", func(l map[string]any) bool { return l["dialog"] != nil })
	if detail, _ := d["detail"].(string); d["modal"] != true || !strings.Contains(detail, `"echo one\u001b[2J"`) || !strings.Contains(detail, "digest") {
		t.Errorf("the dialog does not show the call: %v", d)
	}
	r.until("the first is answered, the second is asked", func(l *control.Leader) bool {
		return len(l.Pending()) == 1 && l.Pending()[0].Ask.Tool == "Write"
	})
	e.until("the second question", shows("waggle.pending", "notes.txt"))
	e.act(`{"do":"deny","tool":"Write","reason":"not in an editor"}`)
	e.act(`{"do":"send","to":"asker","text":"well done"}`)
	r.until("nothing waits", func(l *control.Leader) bool { return len(l.Pending()) == 0 })
	rests, written := false, false // in any order
	e.until("nothing waits in the editor, and the words are in the member's mailbox", func(l map[string]any) bool {
		rests = rests || l["badge"] == "$(check) waggle"
		written = written || shows("waggle.messages", "well done | team-lead to asker")(l)
		return rests && written
	})

	r.lead.View(func(l *control.Leader) {
		for _, q := range l.Requests {
			want := map[string]string{"Bash": record.DecisionAllow, "Write": record.DecisionDeny}[q.Ask.Tool]
			if q.Decided == nil || q.Decided.Decision != want || q.Decided.By != policy.RoleOperator || q.Decided.Via != "bridge" {
				t.Errorf("%s: %+v, want %s by the operator through the bridge", q.Ask.Tool, q.Decided, want)
			}
			if q.Decided != nil && q.Ask.Tool == "Write" && q.Decided.Reason != "not in an editor" {
				t.Errorf("the reason is %q", q.Decided.Reason)
			}
		}
	})
}

// pending returns the requests that wait for the operator.
func (r *rig) pending() []*control.Request {
	r.t.Helper()
	var qs []*control.Request
	r.lead.View(func(l *control.Leader) { qs = l.Pending() })
	return qs
}
