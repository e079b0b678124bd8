package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waggle/agent"
	"waggle/internal/claude/claudeaccount"
	"waggle/internal/cut"
	"waggle/internal/json/jsonobj"
	"waggle/policy"
	"waggle/protocol"
	"waggle/spawn"
)

// Kind is the name of this agent in team files.
const Kind = "claude"

// Spec is a member's settings.
type Spec struct {
	Program string   `json:"program,omitempty"` // "": claude, from PATH
	Model   string   `json:"model,omitempty"`
	Prompt  string   `json:"prompt,omitempty"` // added to its system prompt
	Mode    string   `json:"mode,omitempty"`   // the mode in which each turn begins: ModeDefault or ModePlan
	Args    []string `json:"args,omitempty"`   // see checkArgs
	// Tools are the only tools that it has, nil: all; and NoTools those that it has not. They allow
	// nothing.
	Tools   []string `json:"tools,omitzero"`
	NoTools []string `json:"no_tools,omitempty"`
}

// arguments are the permitted further arguments of a member: they add context for the model or
// limit it, and none changes permissions, settings, hooks, sessions or the protocol.
var arguments = map[string]bool{ // whether a value follows
	"--add-dir": true, "--effort": true, "--fallback-model": true, "--max-turns": true, "--max-budget-usd": true,
	"--disallowedTools": true, "--disallowed-tools": true, "--strict-mcp-config": false, "--disable-slash-commands": false,
	"--verbose": false,
}

// checkArgs refuses arguments that are not permitted.
func checkArgs(args []string) error {
	for i := 0; i < len(args); i++ {
		name, value, has := strings.Cut(args[i], "=")
		follows, known := arguments[name]
		switch {
		case !known:
			return fmt.Errorf("args: %q is not one that a member may be given; those are %s", clipped(args[i]), strings.Join(slices.Sorted(maps.Keys(arguments)), ", "))
		case has && (!follows || value == ""):
			return fmt.Errorf("args: %q has a value that it does not take, or none", clipped(args[i]))
		case follows && !has:
			if i++; i == len(args) || strings.HasPrefix(args[i], "-") {
				return fmt.Errorf("args: %s needs a value", name)
			}
		}
	}
	return nil
}

// Read reads a member's settings by exact field name.
func Read(raw json.RawMessage) (Spec, error) {
	var s Spec
	if len(raw) == 0 {
		return s, nil
	}
	o, err := jsonobj.Parse(raw)
	if err != nil {
		return s, fmt.Errorf("claude: %w", err)
	}
	for _, key := range o.Keys() {
		v, _ := o.Get(key)
		text := map[string]*string{"program": &s.Program, "model": &s.Model, "prompt": &s.Prompt, "mode": &s.Mode}[key]
		list := map[string]*[]string{"args": &s.Args, "tools": &s.Tools, "no_tools": &s.NoTools}[key]
		var ok bool
		switch {
		case text != nil:
			*text, ok = jsonobj.String(v)
		case list != nil:
			*list, ok = texts(v)
		default:
			return s, fmt.Errorf("claude: %q is not one of args, mode, model, no_tools, program, prompt, tools", clipped(key))
		}
		if !ok {
			return s, fmt.Errorf("claude: %s is %s", key, jsonobj.TypeOf(v))
		}
	}
	switch {
	case s.Mode != "" && s.Mode != ModeDefault && s.Mode != ModePlan:
		return s, fmt.Errorf("claude: mode %q is not one of default, plan: what else it may do is the team's policy", clipped(s.Mode))
	case strings.HasPrefix(s.Model, "-"), strings.HasPrefix(s.Program, "-"):
		return s, errors.New("claude: model and program do not begin with -")
	}
	if err := errors.Join(checkArgs(s.Args), CheckTools(s.Tools), CheckTools(s.NoTools)); err != nil {
		return s, fmt.Errorf("claude: %w", err)
	}
	return s, nil
}

// texts reads a list of texts, which is not nil.
func texts(raw json.RawMessage) (list []string, ok bool) {
	es, ok := jsonobj.Elements(raw)
	list = []string{}
	for _, e := range es {
		t, is := jsonobj.String(e)
		list, ok = append(list, t), ok && is
	}
	return list, ok
}

// New makes an agent from a member's settings. It starts nothing.
func New(raw json.RawMessage) (agent.Agent, error) {
	s, err := Read(raw)
	if err != nil {
		return nil, err
	}
	return &Agent{member: member{spec: s, starts: make(chan struct{}, 1), dirs: map[string]string{}}}, nil
}

// Agent is the Claude Code client of a member. Its process runs across turns, and its session is
// resumed after a crash.
type Agent struct {
	member
	turn *turn   // guarded by mu
	pane *inPane // does the turns instead, where the client has a pane; nil: it is headless
}

var (
	_ agent.Resident   = (*Agent)(nil)
	_ agent.Borrowable = (*Agent)(nil)
	_ agent.Displayed  = (*Agent)(nil)
	_ agent.Starter    = (*Agent)(nil)
)

// Display implements agent.Displayed: the client is an interactive one, in the member's pane.
func (a *Agent) Display(d agent.Display) {
	a.pane = &inPane{member: &a.member, show: d, changed: make(chan struct{})}
	a.want() // the pane shows the client from the beginning
}

// Starts implements agent.Starter. A headless client wants a turn when it asks while none runs: what it has in
// the background has ended, and it goes on.
func (a *Agent) Starts() <-chan struct{} { return a.starts }

// goesOn is the running client when it works or asks while no turn runs; else nil.
func (a *Agent) goesOn() *opened {
	a.mu.Lock()
	o, _ := a.running.(*opened)
	a.mu.Unlock()
	if o == nil || !o.c.goesOn() {
		return nil
	}
	return o
}

// Settle implements agent.Resident.
func (a *Agent) Settle(p agent.Place) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.place = p
}

// SetMode implements agent.Session. The client's mode is plan or default only: the gate decides
// about calls. A client whose task needs an approved plan leaves plan mode only by ExitPlanMode.
func (a *Agent) SetMode(ctx context.Context, mode policy.Mode) error {
	a.mu.Lock()
	a.mode = mode
	o, _ := a.running.(*opened)
	t := a.turn
	a.mu.Unlock()
	want := a.spec.wants(mode)
	if o == nil || t == nil || o.c.Mode() == want || want == ModeDefault && t.owes() {
		return nil // the next turn begins in this mode
	}
	return o.c.setMode(ctx, want)
}

// wants returns the client's mode for a mode of the team.
func (s Spec) wants(mode policy.Mode) string {
	if mode == policy.ModePlan || s.Mode == ModePlan && mode == "" {
		return ModePlan
	}
	return ModeDefault
}

// Tune has settings for tests.
type Tune struct {
	Hook string // the program of hooks, of the prefix and of the member's tools; "": this program
	Wait Waits
}

// Set sets the Tune, before the first turn.
func (a *Agent) Set(t Tune) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tune = t
}

// Model is the model in use, as far as it is known.
func (a *Agent) Model() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running != nil {
		if m := a.running.using(); m != "" {
			return m
		}
	}
	return a.spec.Model
}

// Close implements agent.Session: it ends the client. The next turn starts it again, with its session.
func (a *Agent) Close(ctx context.Context) error {
	a.turning.Lock()
	defer a.turning.Unlock()
	return a.shut(ctx)
}

// opened is a running client with its directory and session.
type opened struct {
	begun
	c       *Client
	private string    // a directory of its own, which is removed with it
	tools   *ownTools // nil: its member does not lead
	errs    *os.File
	account claudeaccount.Account // of a client in a sandbox
	own     string                // where that client writes; "": there is no sandbox
	usd     float64               // of its session, up to the last turn
	met     bool                  // its tool servers were waited for
	kept    agent.Conversation    // the recorded session
}

func (o *opened) using() string { return o.c.Model() }

func (o *opened) ended() bool { return closed(o.c.Done()) }

func (o *opened) close(ctx context.Context) error {
	err := o.c.Close(ctx)
	if o.own != "" {
		err = errors.Join(err, o.account.Renewed(o.own)) // a login that it has renewed in its sandbox
	}
	return errors.Join(err, o.clear())
}

// clear ends and removes what was made for the client.
func (o *opened) clear() error {
	err := errors.Join(o.shells.close(), o.tools.close())
	if o.errs != nil {
		err = errors.Join(err, o.errs.Close())
	}
	return errors.Join(err, os.RemoveAll(o.private))
}

// meet waits for the tool servers of the client, before its first turn, and says which are missing.
func (o *opened) meet(ctx context.Context, h agent.Host) error {
	if o.met {
		return nil
	}
	err := o.c.connected(ctx, func(line string) { fmt.Fprintln(h.Output(), line) })
	o.met = err == nil
	return err
}

// Turn implements agent.Agent.
func (a *Agent) Turn(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
	if a.pane != nil {
		return a.pane.Turn(ctx, h, w)
	}
	a.turning.Lock()
	defer a.turning.Unlock()
	work := w.Task != nil || len(w.Mail) > 0
	ctx, dir, cancel := where(ctx, w)
	defer cancel()
	if o := a.goesOn(); o != nil {
		if r, err := a.own(ctx, h, o, work); !work || err != nil {
			return inTime(ctx, w, r, err)
		}
	}
	if !work {
		return agent.Result{}, nil
	}
	o, err := a.open(ctx, h, dir, w.Conversation)
	if err != nil {
		return inTime(ctx, w, agent.Result{}, err)
	}
	met := o.meet(ctx, h)
	a.mu.Lock()
	team := a.mode // it may have changed while the client was started
	a.mu.Unlock()
	mode := a.spec.begins(w, team)
	t := a.turnOf(ctx, h, o, mode)
	t.required = w.Task != nil && w.Task.PlanRequired
	if met != nil {
		return a.result(ctx, w, t, Ended{}, met)
	}
	return a.play(ctx, w, t, mode, unnamed(o.words(w)))
}

// own does what the client goes on with by itself, in the directory and the mode that it has. Before a turn with work
// it gets no approval of a plan: that would be one for the work.
func (a *Agent) own(ctx context.Context, h agent.Host, o *opened, work bool) (agent.Result, error) {
	a.mu.Lock()
	team := a.mode
	a.mu.Unlock()
	mode := o.c.Mode()
	if team == policy.ModePlan {
		mode = ModePlan
	}
	t := a.turnOf(ctx, h, o, mode)
	t.past = work
	r, err := a.play(ctx, agent.Work{}, t, mode, "")
	if limited := (*agent.Limited)(nil); !work && errors.As(err, &limited) {
		return agent.Result{}, nil // there is no work that goes on later; the next words say what was cut short
	}
	return r, err
}

// turnOf is a turn of a client in one of its modes.
func (a *Agent) turnOf(ctx context.Context, h agent.Host, o *opened, mode string) *turn {
	return &turn{a: a, o: o, asker: asker{begun: &o.begun, h: h, ctx: ctx, lacks: func(tool string) string { return cmp.Or(a.spec.lacks(tool), o.shells.refuse(tool)) }, own: o.tools.has, claims: map[string]agent.Claim{},
		inPlan: func() bool { return o.c.Mode() == ModePlan }, planning: mode == ModePlan}}
}

// play does a turn; without words the client goes on by itself.
func (a *Agent) play(ctx context.Context, w agent.Work, t *turn, mode, words string) (agent.Result, error) {
	a.mu.Lock()
	a.turn = t
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.turn = nil
		a.mu.Unlock()
	}()
	if t.o.c.Mode() != mode {
		if err := t.o.c.setMode(ctx, mode); err != nil {
			return agent.Result{}, errors.Join(err, a.shut(context.WithoutCancel(ctx)))
		}
	}
	e, err := t.o.c.Turn(ctx, words, t)
	a.count(context.WithoutCancel(ctx), t.o, t, e, err)
	return a.result(ctx, w, t, e, err)
}

// inTime is what a turn returns when its work's time may be over: a turn that its task's timeout has ended failed.
func inTime(ctx context.Context, w agent.Work, r agent.Result, err error) (agent.Result, error) {
	if err == nil || w.Task == nil || w.Task.Timeout <= 0 || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return r, err
	}
	return agent.Result{Failed: true, Reason: "ended by " + context.Cause(ctx).Error()}, nil
}

// where is the directory of a turn. Its context has the task's time limit.
func where(ctx context.Context, w agent.Work) (_ context.Context, dir string, cancel context.CancelFunc) {
	dir, cancel = w.Cwd, func() {}
	if w.Task == nil {
		return ctx, dir, cancel
	}
	ctx, cancel = w.Task.Limit(ctx)
	return ctx, w.Task.Cwd, cancel
}

// begins is the client's mode at the begin of a turn, in a mode of the team.
func (s Spec) begins(w agent.Work, mode policy.Mode) string {
	if w.Task != nil && w.Task.PlanRequired {
		return ModePlan
	}
	return s.wants(mode)
}

// result makes the result of a turn.
func (a *Agent) result(ctx context.Context, w agent.Work, t *turn, e Ended, err error) (agent.Result, error) {
	if t.o.ended() {
		err = errors.Join(err, a.shut(context.WithoutCancel(ctx)))
	}
	t.mu.Lock()
	o := outcome{last: e.Text, trouble: t.trouble, status: e.Status, limit: t.limit}
	t.mu.Unlock()
	if e.Failed {
		o.failed = failed(e)
	}
	return t.asker.result(w, o, err)
}

func failed(e Ended) string {
	words := firstLine(e.Text)
	switch {
	case words == "":
		return "the client's turn ended with " + clipped(e.Subtype)
	case e.Subtype == "success":
		return words
	}
	return clipped(e.Subtype) + ": " + words
}

// passes reports a turn that has failed because the model's service is overloaded, has failed itself, or is out
// of reach: by what the client says in place of an answer, and the HTTP status of the service, 0 for none.
func passes(trouble string, status int) bool {
	return (status == 0 || status >= 500) && (trouble == "server_error" || trouble == "overloaded" || trouble == "unknown")
}

// afterLimit begins the words of a turn that was cut short and goes on; it says by what.
const afterLimit = "Your turn was cut short by %s, which is over. Go on where you stopped, and do not repeat what is done. What you were given last:"

func (l Limited) reason() string {
	if l.Kind == "" {
		return "a usage limit is reached"
	}
	return "a usage limit is reached (" + clipped(l.Kind) + ")"
}

func (l Limited) words() string {
	s := l.reason()
	if !l.Until.IsZero() {
		s += ", until " + protocol.FormatTime(l.Until)
	}
	return s
}

// firstLine is the first words of a text.
func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return strings.ToValidUTF8(cut.Runes(s, 1000), "\uFFFD")
}

// count records the usage of a turn.
func (a *Agent) count(ctx context.Context, o *opened, t *turn, e Ended, err error) {
	t.mu.Lock()
	sum, last := t.used.plus(t.last.tokens), t.last.message
	t.mu.Unlock()
	u := agent.Usage{ID: last, Estimated: true}
	if err == nil && e.USD != nil {
		sum, u.ID, u.Estimated = e.Tokens, cmp.Or(e.ID, last), false
		usd := *e.USD
		if usd >= o.usd { // the figure is the sum of the session
			usd -= o.usd
		}
		u.CostMicros, o.usd = int64(math.Round(min(usd, mostUSD)*1e6)), *e.USD
	}
	u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Turns = sum.Input, sum.Output, sum.CacheRead, sum.CacheWrite, e.Turns
	if sum.Total() == 0 && u.CostMicros == 0 {
		return
	}
	if err := t.h.Used(ctx, u); err != nil {
		fmt.Fprintf(t.h.Output(), "what the turn has used is not on record: %v\n", err)
	}
}

// The largest plausible cost of one turn, and the largest number of turns of the model in it.
const (
	mostUSD   = 1e6
	mostTurns = 1e6
)

// open returns the client for a directory. It replaces a client that has ended, or that runs in
// another directory.
func (a *Agent) open(ctx context.Context, h agent.Host, dir, conversation string) (*opened, error) {
	a.mu.Lock()
	o, _ := a.running.(*opened)
	of := a.dirs[conversation]
	a.mu.Unlock()
	if o != nil && !o.ended() && o.dir == dir {
		return o, nil
	}
	if err := a.shut(ctx); err != nil {
		return nil, err
	}
	if err := resume(ctx, h, dir, conversation, of, func(conversation string) (err error) {
		o, err = a.begin(ctx, h, dir, conversation)
		return err
	}); err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.running = o
	a.mu.Unlock()
	return o, nil
}

// begin starts a client.
func (a *Agent) begin(ctx context.Context, h agent.Host, dir, resume string) (o *opened, err error) {
	place, t, err := a.settled(h.Environ())
	if err != nil {
		return nil, err
	}
	run, at := agent.Exec(direct{}), ""
	if place.Box != nil { // its version is asked in the sandbox: its member may have written it
		run, at = place.Exec, dir
	}
	found, err := findBy(ctx, run, a.spec.Program, h.Environ(), at)
	if err != nil {
		return nil, err
	}
	if err := found.held(h.Environ(), dir); err != nil {
		return nil, err
	}
	o = &opened{begun: begun{dir: dir, resumed: resume != "", wasResumed: resume != ""}}
	temp := os.TempDir()
	if place.Box != nil {
		temp = place.Box.Shared
	}
	if o.private, err = os.MkdirTemp(temp, "wcl"); err != nil { // a short name, because the path of a socket is limited
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.clear())
		}
	}()
	o.tools = toolsOf(place, h, t.Hook, o.private)
	if o.shells, err = shellsOf(place, o.private, dir, t.Hook); err != nil {
		return nil, err
	}
	file, err := writeSettings(o.private, place.Box != nil || place.Shell != nil, o.shells.Prefix())
	if err != nil {
		return nil, err
	}
	if o.errs, err = os.OpenFile(filepath.Join(o.private, "stderr"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	env, err := a.environ(place, o, h.Environ())
	if err != nil {
		return nil, err
	}
	o.rules = rulesOf(h.Environ(), dir)
	for _, line := range append(notRun(h.Environ(), dir), o.rules.said...) {
		fmt.Fprintln(h.Output(), line)
	}
	o.plans = plansIn(env)
	var missed func(bool, string) string
	if place.Box != nil {
		missed = place.Box.Missed
	}
	o.c, err = open(ctx, Start{Missed: missed, Program: found.Program, Version: found.Version, Dir: dir, Env: env, Settings: file, Mode: a.spec.Mode,
		Model: a.spec.Model, Prompt: told(a.spec.Prompt, place, o.tools.Name()), Server: o.tools.Name(), Serve: o.tools.Serve, Prefixed: o.shells != nil,
		Tools: a.spec.offered(), Resume: resume, Args: a.spec.Args, Exec: place.Exec, Errors: o.errs, Wants: a.want, Wait: t.Wait})
	return o, err
}

// inSandbox is what the model is told of its sandbox.
const inSandbox = "Your commands run in a sandbox. They change only files of your working directory, of $WAGGLE_ARTIFACTS and of /tmp. " +
	"The network is reached only by the proxy that HTTP_PROXY, HTTPS_PROXY and ALL_PROXY name, which asks a person about hosts that are not allowed yet: " +
	"a program that ignores these variables fails at once, so use one that reads them, or give it the proxy."

// told is what is added to the system prompt.
func told(prompt string, p agent.Place, server string) string {
	if server != "" {
		prompt += "\n\nYou lead this team. The tools mcp__" + server + "__* are the team's: its members, tasks and requests."
	}
	if p.Box != nil || p.Shell != nil {
		prompt += "\n\n" + inSandbox
	}
	return strings.TrimSpace(prompt)
}

// direct runs a client as spawn does.
type direct struct{}

func (direct) Run(ctx context.Context, c spawn.Command) (spawn.Exit, error) { return c.Run(ctx) }

// unnamed escapes each "@" that could name a file, for which the client would read that file into the
// conversation and ask nobody: words of a task, of mail, and of the model to itself. "\@" is the same to a
// reader of Markdown and to a shell. An "@" behind a letter, a digit or a quotation mark names none.
func unnamed(words string) string {
	var b strings.Builder
	before := ' '
	for _, r := range words {
		if r == '@' && !strings.ContainsRune("\"'`\\_.-", before) && !isAlnum(before) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

func isAlnum(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}

// prompt is the user line of a turn.
func prompt(w agent.Work, resumed bool) string {
	var parts []string
	if resumed {
		parts = append(parts, "Your process ended and was started again. Go on where you stopped, and do not repeat what is done. What you are given now, or were given last:")
	}
	if w.Task != nil {
		head := "Task"
		if w.Task.ID != "" {
			head += " " + w.Task.ID
		}
		if w.Task.Subject != "" {
			head += ": " + w.Task.Subject
		}
		parts = append(parts, head, w.Task.Instructions)
	}
	if len(w.Mail) > 0 {
		parts = append(parts, protocol.TextForm(w.Mail...))
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}
