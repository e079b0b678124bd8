package claude

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"waggle/agent"
	"waggle/internal/json/jsonobj"
)

// paneTurn is one turn of a member in a pane.
type paneTurn struct {
	asker
	p *inPane
	s *session

	waits  *shown
	asks   sync.WaitGroup   // answers that are waited for
	open   map[*dialog]bool // guarded by the agent's mutex, as what follows is
	looks  looks
	before int // prompts of waggle that the session had taken when it began
	told   int // prompts that it will have taken with the last verdict; 0: there was none
}

// looks counts what the client's registry has said again and again.
type looks struct {
	worked  bool // since the turn began, or its words were taken
	idle    int
	unknown int // it waits for its person, and no hook has told of that
	quiet   int // nothing runs
}

// dialog is a dialog in the pane that has a hook beside it: whoever answers first decides.
type dialog struct {
	id, tool string
	close    context.CancelCauseFunc

	waited bool // the client's registry said that the session waits for its person
	left   int  // looks since it says so no more
	passed bool // a plan whose dialog is closed: the pane's key said yes
	alone  bool // its hook has ended: by the pane's no, or the dialog stays
	since  int  // looks since then
}

const (
	paneAllowed = "answered in the pane: allowed, and it ran"
	paneDenied  = "answered in the pane: denied, or the turn was interrupted there"
	paneUnknown = "answered in the pane"
	paneAlone   = "its hook has ended: it is answered in the pane"
	paneLeft    = "its hook has ended: the turn was interrupted in the pane, or the dialog there asks"
)

// The tools that need their user.
const (
	exitPlanMode    = "ExitPlanMode"
	askUserQuestion = "AskUserQuestion"
)

// refuse is the second line's judgement of a call.
func (p *inPane) refuse(ctx context.Context, s *session, e Event) string {
	p.change(func() { s.take(e) })
	ctx, cancel := context.WithTimeout(ctx, turnWait)
	defer cancel()
	t := p.enter(ctx, s)
	switch {
	case t == nil:
		return betweenTurns
	case !slices.Contains([]string{"", ModeDefault, ModePlan, "acceptEdits"}, e.Mode):
		return "the session is in mode " + clipped(e.Mode) + ", in which the client asks less than the team wants: press shift+tab until it is in manual mode"
	}
	if why := s.shells.refuse(e.Tool); why != "" {
		return why
	}
	if steps := declared(Called{Tool: e.Tool, Input: e.Input}); steps != nil && e.Agent == "" {
		_ = t.h.Steps(t.ctx, steps) // only shown to people
	}
	return t.asker.refuse(ctx, e)
}

// turnWait is how long a call waits for a turn to begin.
const turnWait = 10 * time.Second

// heed is told of the other events, and returns what their hook prints.
func (p *inPane) heed(ctx context.Context, s *session, e Event) []byte {
	switch e.Name {
	case permissionRequest:
		return p.asked(ctx, s, e)
	case elicitationAsked:
		return p.elicited(ctx, s, e)
	}
	p.mu.Lock()
	t := p.turn
	p.mu.Unlock()
	if t != nil && t.s != s {
		t = nil
	}
	switch e.Name {
	case postToolUse, postToolUseFailure:
		if t != nil {
			t.ran(e)
		}
	case stop, stopFailure, userPromptSubmit:
		if t != nil && e.Agent == "" {
			t.closeAll(paneDenied)
		}
	}
	p.change(func() { s.take(e) })
	switch {
	case t != nil:
		p.keep(t)
	case e.Name == userPromptSubmit:
		p.want()
	}
	return nil
}

// asked asks the gate for what a dialog in the pane asks, and returns the answer for the client. It
// returns nothing when the pane has answered, or when nobody can be asked: the dialog stays.
func (p *inPane) asked(ctx context.Context, s *session, e Event) []byte {
	t, d, within := p.dialog(ctx, s, e)
	if t == nil {
		return nil
	}
	defer t.leave(d)
	defer context.AfterFunc(ctx, func() { p.change(func() { d.alone = true }) })()
	a := Asked{Tool: e.Tool, Input: e.Input, UseID: d.id}
	if a.UseID == "" {
		a.UseID = "pane-" + e.Tool // no PreToolUse has told of it
	}
	r := t.Answer(within, a)
	p.mu.Lock()
	cut, passed := t.ctx.Err() != nil, d.passed
	p.mu.Unlock()
	// A hook that has ended gives no answer.
	elsewhere := errors.As(context.Cause(within), new(*agent.ElsewhereError)) || ctx.Err() != nil
	if r.undo != nil && (elsewhere || cut) {
		r.undo()
	}
	switch {
	case passed && !cut:
		t.verdict(r)
		return nil
	case elsewhere:
		return nil
	}
	return t.decide(a, r, cut).decision(e.Tool, cut)
}

// decide is the answer that the client can be given. It takes another input only from a tool that
// needs its user: of any other one it is told, and asks again.
func (t *paneTurn) decide(a Asked, r Reply, cut bool) Reply {
	if r.input == nil || cut || needsUser(a.Tool) || same(r.input, a.Input) {
		return r
	}
	if r.undo != nil {
		r.undo()
	}
	return deny("It is approved in another form, which this session cannot be given. Call " + a.Tool + " again with exactly this input: " + string(r.input))
}

// needsUser reports the tools that take an allow only with their input.
func needsUser(tool string) bool { return tool == askUserQuestion || tool == exitPlanMode }

// dialog enters a turn with a dialog. Its context ends with the turn, and when the dialog is answered
// in the pane.
func (p *inPane) dialog(ctx context.Context, s *session, e Event) (t *paneTurn, d *dialog, within context.Context) {
	for d == nil {
		if t = p.enter(ctx, s); t == nil {
			return nil, nil, nil
		}
		p.change(func() {
			if p.turn != t {
				return // it has ended meanwhile
			}
			d = &dialog{id: s.asks(e), tool: e.Tool}
			within, d.close = context.WithCancelCause(t.ctx)
			t.open[d] = true
			t.asks.Add(1)
		})
	}
	return t, d, within
}

// leave ends a dialog that has been entered.
func (t *paneTurn) leave(d *dialog) {
	d.close(nil)
	t.p.change(func() { delete(t.open, d) })
	t.asks.Done()
}

// verdict tells the client what became of a plan whose dialog the pane has closed meanwhile.
func (t *paneTurn) verdict(r Reply) {
	words := "Your plan is approved: carry it out."
	if !r.allowed() {
		words = "Your plan is not approved. " + r.reason()
	}
	t.p.mu.Lock()
	id, was, msgID := t.s.id, t.s.busy, t.s.message(words)
	t.p.mu.Unlock()
	t.p.change(func() { t.s.busy, t.looks, t.told = true, looks{}, t.s.ours+1 })
	if err := t.s.say(t.ctx, id, msgID, words); err != nil {
		t.p.change(func() { t.s.busy, t.told = was, 0 })
		fmt.Fprintf(t.h.Output(), "the client has not got the verdict on its plan: %v\n", err)
	}
}

// decision is what the hook of a PermissionRequest prints. cut ends the client's turn. An input is
// given to tools that need it alone: the client judges a call with one anew, and its dialog stays.
func (r Reply) decision(tool string, cut bool) []byte {
	b := []byte(`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":`)
	switch {
	case r.input != nil && !cut && needsUser(tool):
		return append(append(append(b, `"allow","updatedInput":`...), r.input...), "}}}\n"...)
	case r.input != nil && !cut:
		return append(b, `"allow"}}}`+"\n"...)
	}
	words := r.reason()
	if cut {
		words = "the turn is being ended"
	}
	b = jsonobj.AppendString(append(b, `"deny","message":`...), words)
	if cut {
		b = append(b, `,"interrupt":true`...)
	}
	return append(b, "}}}\n"...)
}

// ran takes the evidence that a call has ended: one that was allowed here has its end on record, and
// one whose dialog is open was allowed in the pane. A plan is approved by its verdict on record alone,
// so that its request stays open.
func (t *paneTurn) ran(e Event) {
	if t.finish(e.UseID, e.Name == postToolUseFailure, e.Text) {
		return
	}
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	for d := range t.open {
		switch {
		case d.id == "" || d.id != e.UseID:
		case d.tool == exitPlanMode:
			d.passed = true
		default:
			d.elsewhere(paneAllowed)
		}
	}
}

// elsewhere closes a request that the pane has answered. The caller holds the agent's mutex.
func (d *dialog) elsewhere(how string) {
	if !d.passed {
		d.close(&agent.ElsewhereError{How: how})
	}
}

// closeAll closes every request that is open: the client waits for none any more.
func (t *paneTurn) closeAll(how string) {
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	for d := range t.open {
		d.elsewhere(how)
	}
}

// say gives the client words, and waits until it has taken them.
func (t *paneTurn) say(words string) error {
	since, said := 0, false
	return t.until(func() bool { return t.s.ours > t.before }, func(status string) {
		if since++; said && (status != "idle" || since < sayAgain) {
			return
		}
		t.p.mu.Lock()
		id, msgID := t.s.id, t.s.message(words)
		t.p.mu.Unlock()
		err := t.s.say(t.ctx, id, msgID, words)
		switch {
		case err == nil:
			said, since = true, 0
		case t.ctx.Err() == nil:
			fmt.Fprintf(t.h.Output(), "the client has not got its words yet: %v\n", err)
		}
	})
}

// Numbers of looks.
const (
	sayAgain    = 60 // after which words are said again that an idle client has not taken
	surelyLeft  = 6  // a dialog is gone, and nothing says how it was answered
	surelyIdle  = 4  // a session that has worked is idle
	surelyStill = 20 // one that was never seen to work is
	surelyOther = 4  // a dialog that no hook has told of
	surelyQuiet = 2  // nothing runs, and no turn has to go on for it
)

// over reports that the client has done the words of the turn. A verdict that came while the client
// worked is a prompt of its own, which it takes after that; one that it took with a call's result is
// no prompt, and it stays idle. The caller holds the agent's mutex.
func (t *paneTurn) over() bool {
	heard := t.s.ours >= t.told || t.looks.idle >= surelyIdle
	return heard && t.s.stops > t.s.oursAt && !t.s.busy && len(t.open) == 0
}

// await waits until a turn has ended.
func (t *paneTurn) await(over func() bool) error { return t.until(over, func(string) {}) }

// until waits for a condition of the session, which is asked under the mutex. look is called at once
// and again and again, with what the client's registry says of the session.
func (t *paneTurn) until(over func() bool, look func(status string)) error {
	look(t.look())
	err := t.p.until(t.ctx, t.s, over, func() { look(t.look()) })
	if err != nil && !errors.Is(err, ErrEnded) {
		err = errors.Join(err, t.stop())
	}
	return err
}

// look reads what the client's registry says of the session: a dialog that the pane has answered, a
// turn that a person has interrupted, for which no hook runs, and a dialog of which no hook has told.
func (t *paneTurn) look() (status string) {
	t.p.mu.Lock()
	pid, id := t.s.pid, t.s.id
	t.p.mu.Unlock()
	if e, ok := t.s.entry(pid, id); ok {
		status = e.Status
	}
	waits := false
	t.p.change(func() { waits = t.looked(status) })
	switch {
	case waits && t.waits.now == "": // what it shows may move
		lines, _ := t.p.show.Shown()
		t.waits.set(t.ctx, screenText(lines))
	case status != "waiting":
		t.waits.set(t.ctx, "")
	}
	return status
}

// looked counts one look, and reports a dialog that a person has to answer in the pane. The caller
// holds the agent's mutex.
func (t *paneTurn) looked(status string) (waits bool) {
	l, asked := &t.looks, 0
	for d := range t.open {
		d.looked(status)
		if !d.passed {
			asked++
		}
	}
	l.worked = l.worked || status == "busy" || status == "waiting"
	l.idle, l.unknown = again(status == "idle", l.idle), again(status == "waiting" && asked == 0, l.unknown)
	if t.s.busy && (l.worked && l.idle >= surelyIdle || l.idle >= surelyStill) {
		t.s.busy, t.s.failed, t.s.trouble, t.s.last, t.s.stops = false, "interrupted in the pane", "", "", t.s.stops+1
	}
	l.quiet = again(!t.s.busy && len(t.open) == 0, l.quiet)
	return l.unknown >= surelyOther
}

func again(is bool, n int) int {
	if !is {
		return 0
	}
	return n + 1
}

// looked counts one look at a dialog.
func (d *dialog) looked(status string) {
	if d.alone {
		d.since++
	}
	switch {
	case d.since >= surelyOther && status != "idle":
		d.elsewhere(paneAlone)
	case status == "waiting":
		d.waited, d.left = true, 0
	case d.alone && status == "idle" && d.since >= surelyQuiet:
		d.elsewhere(paneDenied)
	case !d.waited || d.tool == exitPlanMode && status != "idle":
	case status == "idle":
		if d.left++; d.left >= surelyQuiet {
			d.elsewhere(paneDenied)
		}
	default:
		if d.left++; d.left >= surelyLeft {
			d.elsewhere(paneUnknown)
		}
	}
}

// stop ends the client's turn: its dialogs are denied and interrupted, and a client that goes on is
// ended. The next turn resumes its session.
func (t *paneTurn) stop() error {
	t.p.mu.Lock()
	wait := t.p.tune.Wait.filled().End
	t.p.mu.Unlock()
	late, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), wait)
	defer cancel()
	err := t.p.until(late, t.s, func() bool { return !t.s.busy }, func() { t.look() })
	if errors.Is(err, context.DeadlineExceeded) {
		return t.p.shut(t.ctx)
	}
	return nil // it rests, or has ended
}

// end lets go of what the turn has open.
func (t *paneTurn) end() {
	t.p.change(func() {
		t.p.turn = nil
		for d := range t.open {
			d.passed = false
			d.elsewhere("the turn has ended")
		}
	})
	t.asks.Wait()
}

// rateLimited is what a client says of a turn that a usage limit has ended.
const rateLimited = "rate_limit"

// result makes the result of a turn.
func (t *paneTurn) result(w agent.Work, err error) (agent.Result, error) {
	if errors.Is(err, ErrEnded) {
		lines, _ := t.p.show.Shown()
		err = fmt.Errorf("%w (%s)", ErrEnded, t.s.how(lines))
	}
	t.p.mu.Lock()
	o := outcome{last: t.s.last, failed: t.s.failed, trouble: t.s.trouble, limit: Limited{Rejected: t.s.trouble == rateLimited}}
	t.p.mu.Unlock()
	return t.asker.result(w, o, err)
}
