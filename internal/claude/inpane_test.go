//go:build unix

package claude_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"waggle/agent"
	"waggle/internal/claude"
	"waggle/internal/test/testenv"
	"waggle/policy"
	"waggle/spawn"
)

// pane is a display whose program is the test: it registers a session, takes words at a messaging
// socket and runs hooks.
type pane struct {
	t      *testing.T
	config string
	words  chan string
	began  chan spawn.Command
	hooks  string // where they ask
	mode   string // the client's permission mode; "": default
	// late, unless nil, is called before a prompt is taken.
	late func(words string)
}

func (p *pane) Shown() ([]string, int64) { return []string{"a screen"}, 1 }

// Run is one session.
func (p *pane) Run(ctx context.Context, _ agent.Exec, c spawn.Command) (spawn.Exit, error) {
	dir, err := os.MkdirTemp("", "wp")
	if err != nil {
		return spawn.Exit{}, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o700); err != nil {
		return spawn.Exit{}, err
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		return spawn.Exit{}, err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer l.Close()
	wg.Go(func() { p.serve(l) })
	for _, kv := range c.Env {
		if at, ok := strings.CutPrefix(kv, claude.SecondVar+"="); ok {
			p.hooks = at
		}
	}
	entry, err := json.Marshal(map[string]any{"pid": os.Getpid(), "sessionId": "s-1", "kind": "interactive", "status": "busy", "messagingSocketPath": l.Addr().String()})
	if err != nil {
		return spawn.Exit{}, err
	}
	if err := os.WriteFile(filepath.Join(p.config, "sessions", fmt.Sprintf("%d.json", os.Getpid())), entry, 0o600); err != nil {
		return spawn.Exit{}, err
	}
	p.hook("SessionStart", `"source":"startup","model":"m"`)
	p.began <- c
	<-ctx.Done()
	return spawn.Exit{Code: -1, Signal: "terminated"}, ctx.Err()
}

// serve takes words and reports each as a prompt.
func (p *pane) serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		var got bytes.Buffer
		_, _ = got.ReadFrom(c)
		c.Close()
		for _, line := range strings.Split(got.String(), "\n") {
			var f struct {
				Message struct {
					Content string `json:"content"`
				} `json:"message"`
			}
			if json.Unmarshal([]byte(line), &f) == nil && f.Message.Content != "" {
				words, err := json.Marshal(f.Message.Content)
				if err != nil {
					p.t.Error(err)
				}
				if p.late != nil {
					p.late(f.Message.Content)
				}
				p.hook("UserPromptSubmit", `"prompt":`+string(words))
				p.words <- f.Message.Content
			}
		}
	}
}

// hook runs the hook of an event and returns what it prints.
func (p *pane) hook(event, fields string) string {
	in := strings.NewReader(`{"session_id":"s-1","hook_event_name":"` + event + `","permission_mode":"` + cmp.Or(p.mode, "default") + `",` + fields + `}`)
	tell := func() ([]byte, error) { return claude.Report(context.Background(), p.hooks, event, in) }
	if event == "PreToolUse" {
		tell = func() ([]byte, error) { return claude.AskSecond(context.Background(), p.hooks, in) }
	}
	out, err := tell()
	if err != nil {
		p.t.Errorf("%s: %v", event, err)
	}
	return strings.TrimSpace(string(out))
}

// call returns the inputs of the hooks for a Bash call.
func call(id, command string) (announced, asked string) {
	asked = `"tool_name":"Bash","tool_input":{"command":"` + command + `"}`
	return asked + `,"tool_use_id":"` + id + `"`, asked
}

// newPane is an agent with a pane.
func newPane(t *testing.T, g *gate) (*claude.Agent, *pane) {
	t.Helper()
	p := &pane{t: t, config: t.TempDir(), words: make(chan string, 8), began: make(chan spawn.Command, 8)}
	testenv.Must(t, os.Mkdir(filepath.Join(p.config, "sessions"), 0o700))
	g.env = append(g.env, "CLAUDE_CONFIG_DIR="+p.config)
	a := settled(t, `{"model":"m"}`, agent.Place{}, "/bin/waggle", claude.Waits{})
	a.Display(p)
	a.Set(claude.Tune{Hook: "/bin/waggle"})
	return a, p
}

// begin runs a turn with a task and returns its end.
func begin(t *testing.T, a *claude.Agent, p *pane, h agent.Host) (ended <-chan agent.Result) {
	t.Helper()
	end := make(chan agent.Result, 1)
	go func() {
		r, err := a.Turn(context.Background(), h, task())
		if err != nil {
			t.Error(err)
		}
		end <- r
	}()
	if w := <-p.words; !strings.Contains(w, "do it") || !strings.Contains(w, `from-name="waggle"`) {
		t.Errorf("the client is told %q", w)
	}
	return end
}

// stop ends the client's turn with words, which are the summary of the member's turn.
func (p *pane) stop(ended <-chan agent.Result, words string) {
	p.t.Helper()
	p.hook("Stop", `"last_assistant_message":"`+words+`"`)
	if r := <-ended; r.Failed || r.Summary != words {
		p.t.Errorf("the turn ends with %+v", r)
	}
}

// The client is an ordinary session with private settings. Its hook answers its questions: an allow
// has no input, because the client would judge that anew, and a call that is approved with another
// input is not run.
func TestInPane(t *testing.T) {
	g := newGate(t, "2.1.330")
	g.tool = func(c agent.Call) (agent.Decision, string) {
		switch {
		case strings.Contains(string(c.Input), "no"):
			return agent.Decision{Reason: "not that", By: "operator"}, ""
		case strings.Contains(string(c.Input), "other"):
			return agent.Decision{Allowed: true, By: "operator"}, `{"command":"changed"}`
		}
		return agent.Decision{Allowed: true, By: "operator"}, ""
	}
	a, p := newPane(t, g)
	ended := begin(t, a, p, g)
	c := <-p.began
	if line := strings.Join(c.Argv, " "); !strings.Contains(line, "--permission-mode default --settings ") || strings.Contains(line, " -p ") || strings.Contains(line, "--agent-") {
		t.Errorf("the client is started as %s", line)
	}
	const prefix = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":`
	for id, want := range map[string]string{"yes": `{"behavior":"allow"}}}`, "no": `{"behavior":"deny","message":"denied by operator: not that"}}}`,
		"other": `{"behavior":"deny","message":"It is approved in another form, which this session cannot be given. Call Bash again with exactly this input: {\"command\":\"changed\"}"}}}`} {
		announced, asked := call(id, id)
		if out := p.hook("PreToolUse", announced); out != "" {
			t.Errorf("%s: the second line says %s", id, out)
		}
		if out := p.hook("PermissionRequest", asked); out != prefix+want {
			t.Errorf("%s: the hook prints\n%s\nwant\n%s", id, out, prefix+want)
		}
		if id == "yes" {
			p.hook("PostToolUse", announced+`,"tool_response":{"stdout":"fine","stderr":""}`)
		}
	}
	p.stop(ended, "all done")
	if r := g.done["yes"]; r.Failed || r.Tail != "fine" {
		t.Errorf("the call came to %+v", r)
	}
	if r, ok := g.done["other"]; !ok || !r.Failed {
		t.Errorf("the call with another input came to %+v, %t", r, ok)
	}
	if len(g.talks) != 1 || !strings.Contains(g.talks[0], "s-1") {
		t.Errorf("the conversation is %q", g.talks)
	}
}

// Before a call the hook denies what a rule denies; while the client plans it does not deny the plan's file,
// and no other file with it.
func TestInPaneDenies(t *testing.T) {
	g := newGate(t, "2.1.330")
	g.refuse = func(c agent.Call) string { return "rule against " + c.Tool }
	a, p := newPane(t, g)
	p.mode = "plan"
	testenv.Must(t, a.SetMode(t.Context(), policy.ModePlan))
	ended := begin(t, a, p, g)
	write := func(path string) string {
		return p.hook("PreToolUse", `"tool_name":"Write","tool_input":{"file_path":"`+path+`","content":"x"},"tool_use_id":"t1"`)
	}
	if out := write(p.config + "/plans/a-b.md"); out != "" {
		t.Errorf("of the plan's file the hook says %s", out)
	}
	for _, path := range []string{p.config + "/plans/../x.md", p.config + "/plans/a/b.md", p.config + "/plans/.a.md", "/w/a.md"} {
		if out := write(path); !strings.Contains(out, `"permissionDecision":"deny"`) || !strings.Contains(out, "rule against Write") {
			t.Errorf("of %s the hook says %q", path, out)
		}
	}
	announced, _ := call("two", "make")
	if out := p.hook("PreToolUse", announced); !strings.Contains(out, "rule against Bash") {
		t.Errorf("of a call the hook says %q", out)
	}
	p.stop(ended, "all done")
}

// A call that runs while its request is open was allowed in the pane: the request is closed with
// these words, and its hook prints nothing.
func TestInPaneAnsweredThere(t *testing.T) {
	g := newGate(t, "2.1.330")
	causes := make(chan error, 1)
	asked := make(chan struct{})
	a, p := newPane(t, g)
	ended := begin(t, a, p, waiting{g, asked, causes})
	announced, request := call("one", "make")
	p.hook("PreToolUse", announced)
	printed := make(chan string, 1)
	go func() { printed <- p.hook("PermissionRequest", request) }()
	<-asked
	p.hook("PostToolUse", announced+`,"tool_response":{"stdout":"made"}`)
	var elsewhere *agent.ElsewhereError
	if err := <-causes; !errors.As(err, &elsewhere) || elsewhere.Error() != "answered in the pane: allowed, and it ran" {
		t.Errorf("the request is closed by %v", err)
	}
	if out := <-printed; out != "" {
		t.Errorf("the hook prints %s", out)
	}
	p.stop(ended, "done")
}

// The verdict on a plan whose dialog the pane's key has closed may come while the client still works,
// which takes it as a prompt after that: the turn lasts until that is done too.
func TestInPaneVerdictIsHeard(t *testing.T) {
	g := newGate(t, "2.1.330")
	planned, decided := make(chan struct{}), make(chan struct{})
	g.plan = func(string) agent.Decision {
		close(planned)
		<-decided
		return agent.Decision{Allowed: true, By: "operator"}
	}
	a, p := newPane(t, g)
	worked, said := make(chan struct{}), make(chan string, 1)
	p.late = func(words string) {
		if strings.Contains(words, "Your plan is approved") {
			said <- words
			<-worked
		}
	}
	ended := begin(t, a, p, g)
	<-p.began
	const plan = `"tool_name":"ExitPlanMode","tool_input":{"plan":"first this"}`
	p.hook("PreToolUse", plan+`,"tool_use_id":"plan"`)
	printed := make(chan string, 1)
	go func() { printed <- p.hook("PermissionRequest", plan) }()
	<-planned
	p.hook("PostToolUse", plan+`,"tool_use_id":"plan","tool_response":{"plan":"first this"}`)
	close(decided)
	<-said
	if out := <-printed; out != "" {
		t.Errorf("the hook prints %s", out)
	}
	p.hook("Stop", `"last_assistant_message":"I wait"`)
	close(worked)
	<-p.words
	p.stop(ended, "carried out")
}

// waiting is a host on which no question is answered.
type waiting struct {
	*gate
	asked  chan struct{}
	causes chan error
}

func (w waiting) Ask(ctx context.Context, _ agent.Call) (agent.Claim, error) {
	close(w.asked)
	<-ctx.Done()
	w.causes <- context.Cause(ctx)
	return agent.Claim{}, ctx.Err()
}

// What a tool server asks is a question to a person, and the hook prints the answer as the server gets it.
// A form that is not known is left to the client's own dialog.
func TestInPaneElicitation(t *testing.T) {
	g := newGate(t, "2.1.330")
	g.answer = func(q agent.Question) agent.Answers {
		if strings.Contains(q.Parts[0].Text, "tag") {
			return agent.Answers{Reason: agent.NoAnswer}
		}
		return agent.Answers{Given: true, Replies: []agent.Reply{{Text: "main"}}}
	}
	a, p := newPane(t, g)
	ended := begin(t, a, p, g)
	<-p.began
	const form = `"mcp_server_name":"s","mode":"form","message":"Which?","requested_schema":{"properties":{` + "\n"
	for fields, want := range map[string]string{
		form + `"branch":{"type":"string"}}}`:                                                `{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"accept","content":{"branch":"main"}}}`,
		form + `"tag":{"type":"string"}}}`:                                                   `{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"cancel"}}`,
		form + `"file":{"type":"object"}}}`:                                                  ``,
		`"mcp_server_name":"s","mode":"url","message":"Open it","url":"https://example.com"`: ``,
	} {
		if out := p.hook("Elicitation", fields); out != want {
			t.Errorf("%s: the hook prints\n%s\nwant\n%s", fields, out, want)
		}
	}
	p.stop(ended, "done")
	if out := g.out.String(); strings.Count(out, "is left to the pane") != 2 {
		t.Errorf("the output is %s", out)
	}
}

// A question of a tool server whose hook has ended is closed.
func TestInPaneElicitationLeft(t *testing.T) {
	g := newGate(t, "2.1.330")
	causes := make(chan error, 1)
	asked := make(chan struct{})
	a, p := newPane(t, g)
	ended := begin(t, a, p, waiting{g, asked, causes})
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan error, 1)
	go func() {
		_, err := claude.Report(ctx, p.hooks, "Elicitation", strings.NewReader(`{"session_id":"s-1","hook_event_name":"Elicitation","mcp_server_name":"s","message":"Which?"}`))
		told <- err
	}()
	<-asked
	cancel()
	var elsewhere *agent.ElsewhereError
	if err := <-causes; !errors.As(err, &elsewhere) || !strings.HasPrefix(elsewhere.Error(), "its hook has ended: ") {
		t.Errorf("the question is closed by %v", err)
	}
	if err := <-told; err == nil {
		t.Error("a hook that has ended has an answer")
	}
	p.stop(ended, "done")
}

func (w waiting) Question(ctx context.Context, _ agent.Question) (agent.Answers, error) {
	close(w.asked)
	<-ctx.Done()
	w.causes <- context.Cause(ctx)
	return agent.Answers{}, ctx.Err()
}

// A client without messaging sockets is refused, and the error has the next step.
func TestInPaneUnsupported(t *testing.T) {
	g := newGate(t, "2.1.150")
	a, _ := newPane(t, g)
	r, err := a.Turn(context.Background(), g, task())
	if err != nil || !r.Failed || !strings.Contains(r.Reason, "2.1.224") || !strings.Contains(r.Reason, "backend: process") {
		t.Errorf("the turn ends with %+v, %v", r, err)
	}
}

// The settings of a session in a pane ask for the same tools as those of a headless one, but for those that
// its client does not have, and have a hook for every event.
func TestPaneSettings(t *testing.T) {
	b, err := claude.PaneSettings("/a b/waggle", "", claude.Version{2, 1, 329})
	testenv.Must(t, err)
	before, err := claude.PaneSettings("/a b/waggle", "", claude.Version{2, 1, 328})
	testenv.Must(t, err)
	if got := strings.NewReplacer(`"MultiEdit",`, "", `"SlashCommand",`, "").Replace(string(before)); got != string(b) || got == string(before) {
		t.Errorf("for an older client\n%s\nfor a newer one\n%s", before, b)
	}
	for _, want := range []string{`"disableAllHooks":false`, `"ask":["Bash"`, `/a b/waggle'\\'' hook claude PreToolUse <&3 & p=$!`, `|| exit 2"`, `'/a b/waggle' hook claude PermissionRequest member","timeout":86400`,
		`'/a b/waggle' hook claude Elicitation member","timeout":86400`, `hook claude PostToolUse member`, `hook claude Stop member`, `hook claude SessionStart member`, `hook claude Notification member`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the settings lack %s: %s", want, b)
		}
	}
}
