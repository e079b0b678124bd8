package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"waggle/internal/json/jsontext"
	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// Hook is one run of `waggle hook CLIENT EVENT`.
type Hook struct {
	Store    Store
	Client   Client
	Self     spawn.Identity
	Live     Liveness
	Sessions func() []Registered // the client's own registry of sessions
	Registry string              // the client's registry directory, "" without one: its entry for a session is evidence about the dialog
	Pane     string              // tmux pane of the session's environment
	Nonce    func() (string, error)
	Links    policy.Links          // where paths lead; nil: they are judged as text
	Rules    func() *policy.Policy // the user's rules for sessions; nil: none
	// Waiting gets the session's open requests at each look of a waiting hook, and when it ends; nil: nobody does.
	Waiting func(s *Session, open []Request)
	// Attended reports whether a person is there to answer elsewhere than in the session's own dialog; nil:
	// nobody is. A hook that holds this dialog back waits only then.
	Attended func() bool
	// Terminals are the processes that may be the terminal of a session in a directory; nil: not known.
	Terminals func(cwd string) []spawn.Identity
	// Tick is how often a waiting hook looks by itself; 0 means a second.
	Tick time.Duration
	// Wait is how long it waits for an answer; 0: to the client's own time-out, or
	// serialWait or mateWait where the client holds its own prompt back meanwhile.
	Wait time.Duration
}

// Registered is a session process as the client's own registry has it.
type Registered struct {
	Session ID
	Process spawn.Identity
}

// Run handles one event. It makes the store where there is none, and writes to out only the answer to a
// request, or that the user has stopped the session, in one write. Its caller only logs the error: a client must never notice it.
func (h Hook) Run(ctx context.Context, event string, in io.Reader, out io.Writer) error {
	e, err := readEvent(in)
	if err != nil {
		return err
	}
	if e.Name != "" && e.Name != event {
		return fmt.Errorf("the hook was started for %s and got the event %s", event, e.Name)
	}
	event = h.Client.eventOf(event)
	switch event {
	case "PermissionRequest", "PreToolUse", "PostToolUse":
		if why, halted := h.halted(e); halted && h.Client.Answers() {
			return h.stop(event, why, out)
		}
	case "Stop", "SessionStart", "SessionEnd", "UserPromptSubmit":
		if err := h.goesOn(e, event); err != nil {
			return err
		}
	}
	switch event {
	case "PermissionRequest":
		if !h.Client.Answers() {
			return nil
		}
		return h.ask(ctx, e, out)
	case "PreToolUse":
		return h.remember(e)
	case "PostToolUse":
		return h.ran(ctx, e)
	case "Stop", "SubagentStop", "TeammateIdle":
		return h.turnOver(ctx, e, event)
	case "SessionStart":
		return h.began(ctx, e)
	case "SessionEnd":
		return h.ended(ctx, e)
	case "UserPromptSubmit":
		return h.prompted(ctx, e)
	case "Notification", "SubagentStart":
		return h.note(e, event)
	}
	return nil
}

func (h Hook) writer(id ID) journal.Writer {
	return journal.Writer{Instance: string(id), PID: h.Self.PID}
}

// process finds the session's own process among the hook's ancestors: the registered
// one, or where the client has no registry the one that SessionStart recorded.
func (h Hook) process(s *Session, e Event) (spawn.Identity, string) {
	above, err := h.Live.Ancestors(h.Self.PID)
	if err != nil && len(above) == 0 {
		return spawn.Identity{}, "the processes above the hook cannot be seen: " + err.Error()
	}
	var wanted []spawn.Identity
	for _, r := range h.Sessions() {
		if r.Session == e.Session {
			wanted = append(wanted, r.Process)
		}
	}
	if p := s.Process(); p != nil && len(wanted) == 0 && p.Process.PID != 0 {
		wanted = append(wanted, p.Process)
	}
	if len(wanted) == 0 {
		return spawn.Identity{}, "no running session is registered under this id"
	}
	for _, w := range wanted {
		for _, a := range above {
			if a.Is(w) {
				return a, ""
			}
		}
	}
	return spawn.Identity{}, "the session did not start this hook"
}

// began records the session's process at its start: the nearest ancestor that the
// client registered, else the nearest that is no shell of the hook's own command.
func (h Hook) began(ctx context.Context, e Event) error {
	s, err := h.Store.Make(e.Session)
	if err != nil {
		return err
	}
	id, why := h.process(s, e)
	if why != "" {
		id = h.starter()
	}
	b := Opened{Session: e.Session, Client: h.Client, Process: id, Shared: h.Client.hosts(id), Cwd: e.Cwd, Pane: h.Pane, Source: e.Source}
	if b.Shared {
		b.Pane = "" // the environment is that of another session
	}
	return s.append(ctx, h.writer(e.Session), func(f *Fold) ([]journal.Draft, error) {
		if f.Process != nil && f.Ended == nil && f.Process.Process == id && f.Process.Cwd == e.Cwd {
			return nil, nil // a session that was compacted or cleared starts again in its process
		}
		ds := closeAll(f, (*Request).Left, "the session was started again: it was answered in its own dialog, or never")
		return append(ds, journal.Draft{Kind: recOpened, Must: true, Body: b}), nil
	})
}

// shells are the programs that clients start hook commands with.
var shells = map[string]bool{"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, "ash": true, "fish": true, "busybox": true}

// starter is the nearest process above the hook that is no shell.
func (h Hook) starter() spawn.Identity {
	above, _ := h.Live.Ancestors(h.Self.PID)
	for _, a := range above {
		if !shell(a.PID) {
			return a
		}
	}
	return spawn.Identity{}
}

func (h Hook) ended(ctx context.Context, e Event) error {
	s, err := h.Store.Open(e.Session)
	if err != nil {
		return err
	}
	return s.append(ctx, h.writer(e.Session), func(f *Fold) ([]journal.Draft, error) {
		if f.Process == nil && len(f.Requests) == 0 || f.Ended != nil {
			return nil, nil
		}
		ds := closeAll(f, func(*Request) bool { return true }, "the session ended")
		return append(ds, journal.Draft{Kind: recEnded, Must: true, Body: Ended{Reason: e.Source}}), nil
	})
}

// ask puts a request on record, waits for its decision and prints it.
func (h Hook) ask(ctx context.Context, e Event, out io.Writer) error {
	if e.Tool == "" || len(e.Input) == 0 || e.Input[0] != '{' {
		return errNoInput
	}
	s, err := h.Store.Make(e.Session)
	if err != nil {
		return err
	}
	watch, err := fsnotify.NewWatcher()
	if err != nil {
		watch = nil // the tick looks too
	} else {
		defer func() { _ = watch.Close() }() // a failure changes nothing
	}
	r, err := h.record(ctx, s, e)
	if err != nil {
		return err
	}
	if h.holds(r) && r.State == StateOpen && (h.Attended == nil || !h.Attended()) {
		return h.leave(ctx, s, r, "nobody is there to answer elsewhere")
	}
	if watch != nil {
		_ = watch.Add(filepath.Join(s.Dir, string(journalName))) // the tick looks too
	}
	defer h.waiting(s)
	return h.wait(ctx, s, r, watch, out)
}

// holds reports whether the client shows a request's own dialog only after its hook has ended.
func (h Hook) holds(r Request) bool { return h.Client.serial() || r.Agent != "" }

// leave closes a request that is asked in the session's own dialog now.
func (h Hook) leave(ctx context.Context, s *Session, r Request, why string) error {
	return h.close(ctx, s, Closed{Key: r.Key, Evidence: why + ": it is asked in the session's own dialog", Unsaid: true, Left: true})
}

// close closes a request, if it is open.
func (h Hook) close(ctx context.Context, s *Session, b Closed) error {
	return s.append(ctx, h.writer(s.ID), func(f *Fold) ([]journal.Draft, error) {
		if now := f.byKey[b.Key]; now == nil || now.State != StateOpen {
			return nil, nil
		}
		return []journal.Draft{{Kind: recClosed, Must: true, Body: b}}, nil
	})
}

// record appends the request. It closes what the same agent asked before only where the hook that asked
// has ended: some clients ask for several calls side by side, and name no agent. They may show several
// dialogs, too.
func (h Hook) record(ctx context.Context, s *Session, e Event) (Request, error) {
	nonce, err := h.Nonce()
	if err != nil {
		return Request{}, err
	}
	k := keyOf(e.Session, protocol.RequestID("ask-"+nonce))
	a := record.Ask{N: record.SumN, Tool: e.Tool, Input: string(e.Input), Cwd: e.Cwd, ToolUseID: h.recall(s, e)}
	form := h.Client.formOf(e.Tool)
	if form == FormPlan {
		a.Plan = jsontext.TextAt(e.Input, "plan")
	}
	var rules *policy.Policy // nil: there are none
	if h.Rules != nil {
		rules = h.Rules()
	}
	a.Paths = h.paths(a, rules)
	id, why := h.process(s, e)
	b := Asked{Client: h.Client, Key: k, Digest: record.DigestOf(uidOf(e.Session), k, a), Ask: a, Form: form, Hook: h.Self, Session: id, Why: why,
		Agent: e.Agent, AgentName: e.AgentType, Mode: e.Mode, Suggestions: e.Suggestions}
	err = s.append(ctx, h.writer(e.Session), func(f *Fold) ([]journal.Draft, error) {
		var ds []journal.Draft
		if why == "" {
			ds = closeAll(f, func(r *Request) bool {
				return r.Agent == e.Agent && r.Why == "" && (r.State == StateAnswered || h.Live.dead(r.Hook)) && !(r.Left() && h.Client.serial())
			}, "its hook has ended, and the session asked the next thing: it was answered in its own dialog")
		}
		ds = append(ds, journal.Draft{Kind: recAsked, Must: true, Body: b})
		if d := judge(rules, b); d != nil {
			ds = append(ds, journal.Draft{Kind: recDecided, Must: true, Body: *d})
		}
		return ds, nil
	})
	if err != nil {
		return Request{}, err
	}
	req, ok := s.find(k)
	if !ok {
		return req, errors.New("the request is not in the journal that it was written to")
	}
	return req, nil
}

// paths are the resolved paths by which the call is judged; they are recorded, so that a later
// judgement uses the same.
func (h Hook) paths(a record.Ask, rules *policy.Policy) []record.RealPath {
	if h.Links == nil {
		return nil
	}
	call := a.Call()
	call.Links = h.Links
	if rules == nil {
		return policy.RealPaths(call)
	}
	return policy.RealPaths(call, *rules)
}

// judge answers a tool call by the user's rules; nil: they do not decide it.
func judge(p *policy.Policy, b Asked) *Decided {
	if p == nil || b.Form != FormTool || b.Why != "" {
		return nil
	}
	v := p.Judge(b.Ask.Call())
	d := Decided{Key: b.Key, Digest: b.Digest, By: policy.RoleRules, Channel: policy.ChannelJournal, Rule: v.Rule, Reason: v.Why}
	switch { // only the user's own rules decide: modes are the client's
	case v.Decision == policy.Allow && strings.HasPrefix(v.Rule, "allow "):
		d.Decision = record.DecisionAllow
	case v.Decision == policy.Deny && strings.HasPrefix(v.Rule, "deny "):
		d.Decision = record.DecisionDeny
	default:
		return nil
	}
	return &d
}

// wait returns when the request was answered here or needs no answer any more.
func (h Hook) wait(ctx context.Context, s *Session, r Request, watch *fsnotify.Watcher, out io.Writer) error {
	t := time.NewTicker(cmp.Or(h.Tick, time.Second))
	defer t.Stop()
	var late <-chan time.Time
	switch {
	case h.Wait != 0:
	case h.Client.serial():
		h.Wait = serialWait
	case r.Agent != "":
		h.Wait = mateWait
	}
	if h.Wait > 0 {
		timer := time.NewTimer(h.Wait)
		defer timer.Stop()
		late = timer.C
	}
	open := h.dialog(r)
	var changed chan fsnotify.Event
	if watch != nil {
		changed = watch.Events
		if open.file != "" {
			_ = watch.Add(open.file) // the tick looks too
		}
	}
	sure := time.NewTimer(time.Hour)
	sure.Stop()
	defer sure.Stop()
	for {
		if err := s.Refresh(ctx); err != nil && ctx.Err() == nil {
			return err // the journal cannot be read: the dialog stays
		}
		now, ok := s.find(r.Key)
		switch {
		case !ok || now.State == StateClosed:
			return nil
		case now.State == StateDecided:
			return h.give(ctx, s, now, out)
		}
		h.waiting(s)
		if open.gone() {
			if h.Store.Now().Sub(open.left) >= sureAfter {
				// The next event tells what was answered there (evidence.go).
				return h.close(ctx, s, Closed{Key: r.Key, Evidence: "it was answered in the session's own dialog, which is closed", InDialog: true, Unsaid: true})
			}
			sure.Reset(sureAfter)
		}
		select {
		case <-changed:
		case <-sure.C:
		case <-late:
			return h.leave(ctx, s, r, fmt.Sprintf("no answer within %s", h.Wait))
		case <-t.C:
			if why := s.gone(h.Live, &r); why != "" {
				return h.close(ctx, s, Closed{Key: r.Key, Evidence: why})
			}
		case <-ctx.Done():
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			why := "its client ended its hook: it was answered in the session's own dialog, or the hook's time was over"
			if h.Client.serial() { // its dialog was not shown yet
				why = goneTerminal
			}
			return h.close(late, s, Closed{Key: r.Key, Evidence: why})
		}
	}
}

// waiting passes on what of the session waits for the person.
func (h Hook) waiting(s *Session) {
	if h.Waiting == nil {
		return
	}
	h.Waiting(s, slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.State != StateOpen || r.Why != "" || h.Live.dead(r.Hook) }))
}

// find is a request as it is now.
func (s *Session) find(k record.Key) (Request, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.fold.byKey[k]; ok {
		return *r, true
	}
	return Request{}, false
}

// give records that the client gets the answer and prints it. It prints nothing for a request that
// was closed meanwhile.
func (h Hook) give(ctx context.Context, s *Session, r Request, out io.Writer) error {
	w := h.writer(s.ID)
	answer, err := reply(r)
	if err != nil {
		return errors.Join(err, s.append(ctx, w, func(*Fold) ([]journal.Draft, error) {
			return []journal.Draft{closing(&r, "its answer cannot be written: "+err.Error(), false)}, nil
		}))
	}
	given := false
	err = s.append(ctx, w, func(f *Fold) ([]journal.Draft, error) {
		now := f.byKey[r.Key]
		if given = now != nil && now.State == StateDecided; !given {
			return nil, nil
		}
		return []journal.Draft{{Kind: recAnswered, Must: true, Body: Answered{Key: r.Key}}}, nil
	})
	if err != nil || !given {
		return err
	}
	_, err = out.Write(answer)
	return err
}

// callName names a call by its tool and input, for what PreToolUse says of it.
func callName(e Event) string {
	sum := sha256.Sum256([]byte(e.Agent + "\x00" + e.Tool + "\x00" + string(e.Input)))
	return hex.EncodeToString(sum[:])[:32]
}

// closeAll drafts the end of every request that waits, here or in the session's own dialog, and that of is
// true for.
func closeAll(f *Fold, of func(*Request) bool, evidence string) []journal.Draft {
	var ds []journal.Draft
	for _, r := range f.Requests {
		if !r.over() && of(r) {
			inDialog := r.State == StateOpen || r.Left()
			why := evidence
			if r.State == StateAnswered {
				why = "the answer was given to the client"
			}
			ds = append(ds, closing(r, why, inDialog))
		}
	}
	return ds
}
