package claude

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"waggle/agent"
	"waggle/internal/cut"
	"waggle/internal/json/jsonobj"
	"waggle/spawn"
)

// The permission modes in which waggle runs the client. Because the gate decides, none of them asks
// less than the default.
const (
	ModeDefault = "default"
	ModePlan    = "plan"
)

// Start has the settings of a client's start.
type Start struct {
	Program  string
	Version  Version
	Dir      string   // its working directory
	Env      []string // Environ's
	Settings string   // a file with the private settings
	Mode     string   // its first permission mode; "": ModeDefault
	Model    string   // "": the client's own choice
	Prompt   string   // what is added to its system prompt
	Tools    string   // the built-in tools that it offers, with commas; "": all
	Resume   string   // a session's id; "": a new one
	Args     []string // further arguments (checkArgs)
	// Server is the name of a tool server that this process is, and Serve answers its messages; "": there
	// is none.
	Server string
	Serve  func(ctx context.Context, message []byte) (answer []byte, err error)
	// Prefixed has it start a server by the prefix of its shell commands (Shells).
	Prefixed bool
	// Missed returns what the model must be told at the end of a tool call, which failed or not, and its
	// output; nil: nothing.
	Missed func(failed bool, output string) string
	Exec   agent.Exec
	// Errors gets what the client writes to stderr; nil: it is dropped.
	Errors *os.File
	// Wants is told that the client asks while no turn runs: the next one answers, also one without words.
	// It must not block.
	Wants func()
	Wait  Waits
}

// Waits are the client's time limits; zero values are the usual ones.
type Waits struct {
	Ready  time.Duration // from its start to its answer; 0: 60 s
	Answer time.Duration // for any other answer; 0: 10 s
	End    time.Duration // after the end of its input; 0: 5 s
	Told   time.Duration // from the end of one of its agents to the turn in which it takes that up; 0: 2 s
	// Servers is for its tool servers, before its first turn; 0: 60 s. The client gives each of them 30 s,
	// or what MCP_TIMEOUT says.
	Servers time.Duration
}

func (w Waits) filled() Waits {
	return Waits{Ready: cmp.Or(w.Ready, time.Minute), Answer: cmp.Or(w.Answer, 10*time.Second), End: cmp.Or(w.End, 5*time.Second),
		Told: cmp.Or(w.Told, 2*time.Second), Servers: cmp.Or(w.Servers, time.Minute)}
}

// argv is the client's command line.
func (s Start) argv() []string {
	argv := s.options("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--permission-prompt-tool", "stdio")
	if servers := s.servers(); servers != "" {
		argv = append(argv, "--mcp-config", `{"mcpServers":{`+servers+`}}`)
	}
	return append(argv, s.Args...)
}

// interactive is the command line of a client in a terminal: the member's pane, or a person's own.
func (s Start) interactive() []string { return append(s.options(), s.Args...) }

// options begin a command line: the program, the options first and those that the settings give.
func (s Start) options(first ...string) []string {
	argv := append([]string{s.Program}, first...)
	for _, opt := range []struct{ flag, value string }{{"--permission-mode", s.Mode}, {"--settings", s.Settings}, {"--model", s.Model}, {"--append-system-prompt", s.Prompt}, {"--tools", s.Tools}, {"--resume", s.Resume}} {
		if opt.value != "" {
			argv = append(argv, opt.flag, opt.value)
		}
	}
	return argv
}

// servers are the tool servers that waggle gives the client, as the members of a JSON object.
func (s Start) servers() string {
	var list []string
	if s.Server != "" {
		name := string(jsonobj.AppendString(nil, s.Server))
		list = append(list, name+`:{"type":"sdk","name":`+name+`}`)
	}
	if s.Prefixed {
		list = append(list, `"`+prefixServer+`":{"command":"true"}`)
	}
	return strings.Join(list, ",")
}

// Client is a running client. One turn runs at a time.
type Client struct {
	start Start
	run   context.Context // ends with the process
	stop  context.CancelFunc
	done  chan struct{} // closed when the process has ended
	exit  spawn.Exit    // before done is closed
	err   error         // before done is closed
	login string        // by what it is logged in; "": it is not, or does not say

	writing sync.Mutex // held while a line is written
	stdin   *io.PipeWriter

	mu      sync.Mutex
	sent    int
	waiting map[string]chan Answered
	session string
	mode    string
	model   string
	turn    *running
	busy    bool           // its main conversation works, in a turn of waggle or in one that it began itself
	agents  int            // agents of it that work in the background
	told    int            // of them have ended, and the main conversation has not taken that up
	began   bool           // its first turn has begun
	held    []Asked        // what was asked since then while no turn ran
	changed chan struct{}  // closed and replaced when one of these changes
	asides  sync.WaitGroup // answers to requests outside turns; Close waits for them
}

// ErrEnded: the client's process ended before its turn did.
var ErrEnded = errors.New("the client ended without a result")

var errSilent = errors.New("the client does not answer")

// open starts a client and waits until it answers. The caller closes it.
func open(ctx context.Context, s Start) (*Client, error) {
	s.Wait = s.Wait.filled()
	if s.Mode == "" {
		s.Mode = ModeDefault
	}
	run, stop := context.WithCancel(context.Background())
	in, out := io.Pipe()
	c := &Client{start: s, run: run, stop: stop, done: make(chan struct{}), stdin: out, waiting: map[string]chan Answered{}, changed: make(chan struct{}),
		session: s.Resume, mode: s.Mode}
	go func() {
		defer close(c.done)
		c.exit, c.err = s.Exec.Run(run, spawn.Command{Argv: s.argv(), Dir: s.Dir, Env: s.Env, Stdin: in, Output: &lines{each: c.take}, Errors: s.Errors,
			Grace: spawn.Grace{Term: s.Wait.End, Kill: s.Wait.End}, Linger: s.Wait.End, Reap: true})
		_ = in.CloseWithError(ErrEnded)
	}()
	ready, cancel := context.WithTimeoutCause(ctx, s.Wait.Ready, fmt.Errorf("it did not answer within %s", s.Wait.Ready))
	defer cancel()
	body, err := c.request(ready, "initialize", s.hostHooks())
	if err == nil {
		err = s.hooked(body)
	}
	if err != nil {
		err = errors.Join(err, c.Close(context.WithoutCancel(ctx)))
		return nil, fmt.Errorf("start %s: %w", s.Program, err)
	}
	c.login = login(body)
	return c, nil
}

// hostHook asks for a call of this process before every tool, without a matcher; when it fails the
// client blocks the tool. The answer is always that the client must ask (can_use_tool), which beats
// allow rules and permission modes of the user's and a project's settings.
const (
	hookID   = "gate"
	hostHook = `"PreToolUse":[{"hookCallbackIds":["` + hookID + `"],"timeout":86400,"onFailure":"block"}]`
)

// hostHooks are the calls of this process that the client is asked for: with Missed also one after every
// tool call, whose id is its event.
func (s Start) hostHooks() string {
	hooks := hostHook
	for _, event := range []string{postToolUse, postToolUseFailure} {
		if s.Missed != nil {
			hooks += `,"` + event + `":[{"hookCallbackIds":["` + event + `"],"timeout":10}]`
		}
	}
	return `,"hooks":{` + hooks + `}`
}

// afterCall answers the hook after a tool call. input is what the client tells of it.
func (s Start) afterCall(event, input string) string {
	words := s.Missed(event == postToolUseFailure, input)
	if words == "" {
		return "{}"
	}
	return `{"hookSpecificOutput":{"hookEventName":"` + event + `","additionalContext":` + string(jsonobj.AppendString(nil, words)) + `}}`
}

// hooked checks that the client runs the host's hook.
func (s Start) hooked(body *jsonobj.Object) error {
	applied, has := body.Get("hooks_applied")
	if !has && s.Version.before(confirms) {
		return nil // it does not tell; its ask rules hold as well
	}
	if string(applied) != "true" || !isTrue(body, "hook_on_failure_supported") {
		return fmt.Errorf("this client, Claude Code %s, does not say that it runs the hook of its host, and blocks a call when that fails: its calls could run unasked; use another version", s.Version)
	}
	return nil
}

// Session is the id of the client's session; "" before its first turn.
func (c *Client) Session() string { c.mu.Lock(); defer c.mu.Unlock(); return c.session }

// Mode is the client's permission mode.
func (c *Client) Mode() string { c.mu.Lock(); defer c.mu.Unlock(); return c.mode }

// Model is the model that the client uses; "" before its first turn.
func (c *Client) Model() string { c.mu.Lock(); defer c.mu.Unlock(); return c.model }

// Done is closed when the client's process has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// write writes one line.
func (c *Client) write(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.stdin.Write(append(line, '\n'))
	if errors.Is(err, io.ErrClosedPipe) {
		err = ErrEnded
	}
	return err
}

// request sends a control request to the client and waits for its answer. fields are the members of
// the request after its subtype, as JSON, with a comma before.
func (c *Client) request(ctx context.Context, subtype, fields string) (*jsonobj.Object, error) {
	c.mu.Lock()
	c.sent++
	id, got := "waggle-"+strconv.Itoa(c.sent), make(chan Answered, 1)
	c.waiting[id] = got
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
	}()
	wrote := make(chan error, 1)
	go func() {
		wrote <- c.write([]byte(`{"type":"control_request","request_id":"` + id + `","request":{"subtype":"` + subtype + `"` + fields + `}}`))
	}()
	for {
		select {
		case err := <-wrote:
			if err != nil {
				return nil, c.ended(err)
			}
			wrote = nil
		case a := <-got:
			if !a.OK {
				return nil, fmt.Errorf("the client refuses %s: %s", subtype, a.Error)
			}
			return a.Body, nil
		case <-c.done:
			return nil, c.ended(ErrEnded)
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", subtype, context.Cause(ctx))
		}
	}
}

// command is a request of a client that has answered before.
func (c *Client) command(ctx context.Context, subtype, fields string) (*jsonobj.Object, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.start.Wait.Answer, errSilent)
	defer cancel()
	return c.request(ctx, subtype, fields)
}

// ended is the error of a client whose process has ended.
func (c *Client) ended(err error) error {
	select {
	case <-c.done:
	case <-time.After(c.start.Wait.End):
		return err
	}
	how := c.exit.How()
	if last := c.lastWords(); last != "" {
		how += ": " + last
	}
	return fmt.Errorf("%w (%s)", ErrEnded, how)
}

// lastWords is the end of the client's stderr.
func (c *Client) lastWords() string {
	const most = 400
	if c.start.Errors == nil {
		return ""
	}
	fi, err := c.start.Errors.Stat()
	if err != nil {
		return ""
	}
	b := make([]byte, min(fi.Size(), most))
	n, _ := c.start.Errors.ReadAt(b, max(0, fi.Size()-most))
	return strings.ToValidUTF8(strings.TrimSpace(string(b[:n])), "\uFFFD")
}

// setMode changes the permission mode. It succeeds only when the client confirms the change.
func (c *Client) setMode(ctx context.Context, mode string) error {
	body, err := c.command(ctx, "set_permission_mode", `,"mode":`+string(jsonobj.AppendString(nil, mode)))
	if err != nil {
		return err
	}
	if got := body.Text("mode"); got != "" && got != mode {
		return fmt.Errorf("the client was told mode %s and answers %s", mode, got)
	}
	c.mu.Lock()
	c.mode = mode
	c.mu.Unlock()
	return nil
}

// Close ends the client: it closes its input, and after the time limit signals its process tree.
func (c *Client) Close(ctx context.Context) error {
	_ = c.stdin.Close()
	select {
	case <-c.done:
	case <-time.After(c.start.Wait.End):
	case <-ctx.Done():
	}
	c.stop()
	<-c.done
	c.asides.Wait()
	if errors.Is(c.err, context.Canceled) {
		return nil
	}
	return c.err
}

// take handles one line of the client. A line that is no frame is dropped.
func (c *Client) take(line []byte) {
	f, err := Decode(line)
	if err != nil {
		return
	}
	c.mu.Lock()
	t := c.turn
	switch f := f.(type) {
	case Init:
		c.session, c.model, c.mode = f.Session, f.Model, f.Mode
		c.busy, c.told = true, max(0, c.told-1)
		c.change()
	case Status:
		if f.Mode != "" {
			c.mode = f.Mode
		}
	case Ended:
		if f.Session != "" {
			c.session = f.Session
		}
		c.busy = false
		if t != nil {
			t.ends = append(t.ends, f)
		}
		c.change()
	case Working:
		c.told += max(0, c.agents-f.Agents)
		c.agents = f.Agents
		c.change()
	case Answered:
		if got := c.waiting[f.ID]; got != nil {
			delete(c.waiting, f.ID)
			got <- f
		}
	case Cancelled:
		c.held = slices.DeleteFunc(c.held, func(a Asked) bool { return a.ID == f.ID })
		if t != nil && t.open[f.ID] != nil {
			t.open[f.ID]()
			delete(t.open, f.ID)
			c.change()
		}
	case Asked:
		c.answer(t, f)
	}
	c.mu.Unlock()
	if t != nil {
		t.tell(f)
	}
}

// tell passes a frame to the member's turn.
func (t *running) tell(f Frame) {
	switch f := f.(type) {
	case Init:
		t.h.inMode(f.Mode)
	case Status:
		if f.Mode != "" {
			t.h.inMode(f.Mode)
		}
	case Said:
		t.h.said(f)
	case Ran:
		t.h.ran(f)
	case Limited:
		t.h.limits(f)
	}
}

// answer answers a request in a goroutine; the turn waits for that goroutine. The caller holds mu.
func (c *Client) answer(t *running, a Asked) {
	aside := func(line func() []byte) { c.asides.Go(func() { _ = c.write(line()) }) }
	hook := a.Request.Text("callback_id")
	switch {
	case a.Subtype == "mcp_message" && a.Server != "" && a.Server == c.start.Server:
		aside(func() []byte {
			answer, err := c.start.Serve(c.run, a.Message)
			if err != nil {
				return failure(a.ID, err.Error())
			}
			return success(a.ID, `{"mcp_response":`+string(answer)+`}`)
		})
	case a.Subtype == "hook_callback" && hook == hookID:
		aside(func() []byte { return success(a.ID, mustAsk) })
	case a.Subtype == "hook_callback" && c.start.Missed != nil && (hook == postToolUse || hook == postToolUseFailure):
		input, _ := a.Request.Get("input")
		aside(func() []byte { return success(a.ID, c.start.afterCall(hook, string(input))) })
	case a.Subtype != "can_use_tool" && a.Subtype != elicits:
		aside(func() []byte { return failure(a.ID, "this host does not know "+clipped(a.Subtype)) })
	case t == nil || t.over:
		c.hold(a)
	default:
		c.ask(t, a)
	}
}

// Reply is the answer to one can_use_tool: an allow with the input that runs, or a deny with a
// reason. The zero value denies.
type Reply struct {
	input []byte
	words string
	// response is the whole answer to a request that is no can_use_tool; nil: it is one.
	response []byte
	undo     func() // called instead when the client has cancelled the request; may be nil
}

// allow lets a call run with exactly this input, a JSON object.
func allow(input []byte) Reply {
	if jsonobj.TypeOf(input) != "object" {
		return deny("the allowed input is no object")
	}
	return Reply{input: slices.Clone(input)}
}

// deny refuses a call. The model reads words as the reason.
func deny(words string) Reply { return Reply{words: words} }

// allowed reports whether the call runs.
func (r Reply) allowed() bool { return r.input != nil }

// reason is why a call is denied.
func (r Reply) reason() string {
	if strings.TrimSpace(r.words) == "" {
		return "denied without a reason"
	}
	return r.words
}

// unbroken puts JSON into one line: a line break between values would end it.
var unbroken = strings.NewReplacer("\n", " ", "\r", " ")

func (r Reply) line(id string) []byte {
	if r.response != nil {
		return success(id, string(r.response))
	}
	if r.input != nil {
		return success(id, `{"behavior":"allow","updatedInput":`+unbroken.Replace(string(r.input))+`}`)
	}
	return success(id, `{"behavior":"deny","message":`+string(jsonobj.AppendString(nil, r.reason()))+`}`)
}

// mustAsk is the answer to the host's hook.
const mustAsk = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"the team decides"}}`

// success is an answer to a request of the client.
func success(id, response string) []byte {
	b := append([]byte(`{"type":"control_response","response":{"subtype":"success","request_id":`), jsonobj.AppendString(nil, id)...)
	return append(b, `,"response":`+response+`}}`...)
}

func failure(id, words string) []byte {
	b := append([]byte(`{"type":"control_response","response":{"subtype":"error","request_id":`), jsonobj.AppendString(nil, id)...)
	b = append(b, `,"error":`...)
	return append(jsonobj.AppendString(b, words), `}}`...)
}

// clipped shortens a text of the client for an error message.
func clipped(s string) string { return cut.Valid(s, 100) }
