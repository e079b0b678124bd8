package agentcheck

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waggle/control"
	"waggle/internal/cut"
	"waggle/machine"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/mail"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// player is the member of a scene, with what the check does to it and sees of it.
type player struct {
	st       *stage
	sc       scene
	role     Role
	name     protocol.MemberName
	instance record.Instance
	cwd      string
	task     string // the last that it was given
	given    time.Time
	began    time.Time
	dead     bool // its worker was killed

	at  Line  // the line that the scene is at
	err error // of the first step that failed: those after it do nothing

	hangUp    context.CancelFunc // of a client that connects; nil: there is none
	connected chan error
}

func (p *player) output() string {
	return filepath.Join(p.st.op.Root.MemberDir(p.st.team, p.name), "output.log")
}

// connect runs the client of a member that connects by itself.
func (p *player) connect(ctx context.Context) {
	ctx, p.hangUp = context.WithCancel(ctx)
	p.connected = make(chan error, 1)
	go func() { p.connected <- p.role.Connect(ctx, p.st.team) }()
}

// trace is what the member wrote last, for a row that is a no.
func (p *player) trace() string {
	s := strings.TrimSpace(readFile(p.output()))
	if s == "" {
		return ""
	}
	return "\nits output ends: " + cut.End(s, 600)
}

// do does a step of the scene, unless one before it has failed.
func (p *player) do(step func() error) {
	if p.err == nil {
		p.failed(step())
	}
}

// failed keeps the first error of the scene.
func (p *player) failed(err error) { p.err = cmp.Or(p.err, err) }

func (p *player) fail(format string, args ...any) { p.failed(fmt.Errorf(format, args...)) }

// reach says which line the steps from here on decide.
func (p *player) reach(l Line) {
	if p.err == nil {
		p.at = l
	}
}

// yes says of a line that every step so far went as it should.
func (p *player) yes(l Line, format string, args ...any) {
	if p.err == nil {
		p.st.c.say(Row{Line: l, Verdict: Yes, Detail: fmt.Sprintf(format, args...)})
	}
}

// wait leads until cond holds, or fails the scene.
func (p *player) wait(ctx context.Context, what string, cond func() bool) {
	p.do(func() error {
		return p.st.until(ctx, what, func() (bool, error) {
			held := cond()
			return held, p.err
		})
	})
}

// until waits for what needs the member's process.
func (p *player) until(ctx context.Context, what string, cond func() bool) {
	p.wait(ctx, what, func() bool {
		m, ok := p.st.s.Lead.ByInstance(p.instance)
		switch {
		case !ok:
			p.fail("the member is not on record")
		case m.Died != nil:
			p.fail("its process ended while the check waited: %s (%s)", what, m.How())
		}
		if p.connected != nil {
			select {
			case err := <-p.connected:
				p.connected <- nil
				if err != nil {
					p.fail("its client ended while the check waited: %s: %w", what, err)
				}
			default:
			}
		}
		return p.err == nil && cond()
	})
}

// ready waits until the member takes work.
func (p *player) ready(ctx context.Context) (took time.Duration) {
	p.until(ctx, "it is ready", func() (ok bool) {
		p.view(func(w *control.Worker) {
			if ok = w.Ready != nil; ok {
				took = w.ReadyAt.Sub(p.began)
			}
		})
		return ok
	})
	return took
}

// give gives the member its task.
func (p *player) give(ctx context.Context) {
	p.do(func() error {
		r, err := board.Of(p.st.op).AddTask(ctx, p.st.team, board.NewTask{Subject: "check " + p.sc.name, Description: p.role.Instructions, Owner: p.name})
		if err == nil {
			p.task, p.given = string(r.Task.ID), p.st.op.Minter.Now()
		}
		return err
	})
	p.until(ctx, "it takes its task", func() (ok bool) {
		p.see(func(t *control.TaskState) { ok = t.Taken })
		return ok
	})
}

// begin waits until the member is ready, and gives it its task.
func (p *player) begin(ctx context.Context) {
	p.ready(ctx)
	p.give(ctx)
}

// begins has the member begin its task, and waits for its first request, of a kind.
func (p *player) begins(ctx context.Context, g policy.Gate) *control.Request {
	p.begin(ctx)
	return p.asked(ctx, g)
}

// view looks at the member's own journal.
func (p *player) view(fn func(*control.Worker)) { p.st.l.ViewMember(p.instance, fn) }

// see looks at the task that the member was given last.
func (p *player) see(fn func(*control.TaskState)) {
	p.view(func(w *control.Worker) {
		for _, t := range w.Tasks {
			if t.ID == p.task {
				fn(t)
			}
		}
	})
}

// pending are the member's open requests.
func (p *player) pending() []*control.Request {
	return slices.DeleteFunc(p.st.s.Lead.Pending(), func(r *control.Request) bool { return r.Instance != p.instance })
}

// open is the member's open request of a kind, nil for none.
func (p *player) open(g policy.Gate) *control.Request {
	for _, r := range p.pending() {
		if r.Gate() == g {
			return r
		}
	}
	return nil
}

// asked waits for a request of a kind.
func (p *player) asked(ctx context.Context, g policy.Gate) (r *control.Request) {
	p.until(ctx, "it asks (kind "+string(g)+")", func() bool {
		if r = p.open(g); r != nil {
			return true
		}
		if over, how := p.over(); over {
			p.fail("its turn ended without asking (kind %s): %s", g, how)
		}
		return false
	})
	return r
}

// again waits until a rejected request was asked anew: in the same turn, or in one for the same task.
func (p *player) again(ctx context.Context, g policy.Gate, old *control.Request) (r *control.Request) {
	given := false
	p.until(ctx, "it asks again (kind "+string(g)+")", func() bool {
		if r = p.open(g); r != nil && r.Key != old.Key {
			return true
		}
		if over, _ := p.over(); over && !given {
			given = true
			p.give(ctx)
		}
		return false
	})
	return r
}

// over reports the end of the turn of its task, and how it ended.
func (p *player) over() (over bool, how string) {
	p.see(func(t *control.TaskState) {
		if over = t.Ended; over {
			how = "done"
			if t.Failed {
				how = "failed: " + t.Note
			}
		}
	})
	return over, how
}

// decided answers a request as the person.
func (p *player) decided(ctx context.Context, r *control.Request, a decide.Answer) error {
	a.ID, a.Digest, a.Via = string(r.ID), string(r.Digest), "doctor"
	_, err := decide.Of(p.st.op).DecideOpen(ctx, p.st.s, a)
	return err
}

// decide allows or denies what a request asks for.
func (p *player) decide(ctx context.Context, r *control.Request, allow bool, reason string) {
	p.do(func() error { return p.decided(ctx, r, decide.Answer{Allow: allow, Reason: reason}) })
}

// answer answers a question in words.
func (p *player) answer(ctx context.Context, r *control.Request, typed string) {
	p.do(func() error { return p.decided(ctx, r, decide.Answer{Allow: true, Words: []string{typed}}) })
}

// allows allows a call that has not run, and waits until it has run once; when begins the error of another number.
func (p *player) allows(ctx context.Context, r *control.Request, when string) (call string) {
	p.ran(0, "before the decision")
	p.decide(ctx, r, true, "")
	call = p.ended(ctx, r)
	p.ran(1, when)
	return call
}

// denies denies a call, and waits until the turn is over without it.
func (p *player) denies(ctx context.Context, r *control.Request) {
	p.decide(ctx, r, false, deniedWords)
	p.restedAfter(ctx, 0, "denied,")
}

// ended waits until the end of an allowed call is on record, and says what was called.
func (p *player) ended(ctx context.Context, r *control.Request) (call string) {
	p.until(ctx, "the end of the call is on record", func() (done bool) {
		p.view(func(w *control.Worker) {
			c, ok := w.Call(r.Key)
			if !ok {
				return
			}
			switch done = c.Finished != nil; {
			case c.Unknown:
				p.fail("the end of the call is unknown")
			case done && c.Finished.Error != "":
				p.fail("the call failed: %s", c.Finished.Error)
			}
			call = c.Ask.Tool
		})
		return done
	})
	return call
}

// ran checks how often the member's command ran, by the file that it leaves, and by the record; when begins the error
// of another number.
func (p *player) ran(times int, when string) {
	started := 0
	p.view(func(w *control.Worker) {
		for _, c := range w.Calls {
			if c.Started && !reads(c.Ask) {
				started++
			}
		}
	})
	if started != times {
		p.fail("%s %d calls are on record as started, want %d", when, started, times)
	}
	if got := strings.Count(readFile(filepath.Join(p.cwd, "mark-"+p.sc.name)), "ran"); got != times && !p.role.Foreign {
		p.fail("%s its command ran %d times, want %d", when, got, times)
	}
}

// reads reports a call that the rules let run because it plainly reads in the working directory.
func reads(a record.Ask) bool {
	area, ok := policy.AreaOf(policy.Call{Tool: a.Tool, Input: json.RawMessage(a.Input), Cwd: a.Cwd})
	return ok && area == policy.AreaReadInside
}

// rested waits until the turn of its task is over.
func (p *player) rested(ctx context.Context) {
	p.until(ctx, "its turn is over", func() bool {
		over, _ := p.over()
		return over
	})
}

// restedAfter waits until the turn is over, in which the command ran so often; when begins the error of another number.
func (p *player) restedAfter(ctx context.Context, times int, when string) {
	p.rested(ctx)
	p.ran(times, when)
}

// reported waits until the lead has heard that the task is completed.
func (p *player) reported(ctx context.Context) {
	p.until(ctx, "the lead knows the end of the task", func() bool {
		m, _ := p.st.s.Lead.ByInstance(p.instance)
		if m.Done[p.task] != nil {
			return true
		}
		if over, how := p.over(); over && m.Turns[p.task] != nil && strings.HasPrefix(how, "failed") {
			p.fail("the task %s", how)
		}
		return false
	})
}

// idle waits until the member has said after its task that it is idle.
func (p *player) idle(ctx context.Context) {
	p.until(ctx, "it says that it is idle", func() bool {
		m, _ := p.st.s.Lead.ByInstance(p.instance)
		return m.LastIdle != nil && !m.IdleAt.Before(p.given)
	})
}

// send puts words into the member's mailbox.
func (p *player) send(ctx context.Context, words string) {
	p.do(func() error {
		sent, err := mail.Of(p.st.op).Send(ctx, p.st.team, mail.Message{To: protocol.Address{Scheme: protocol.SchemeMember, Member: p.name}, Text: words})
		if err != nil {
			return err
		}
		return sent[0].Err()
	})
}

// heardMail waits until nothing in the member's mailbox is unread, and the turn of it is over.
func (p *player) heardMail(ctx context.Context) {
	box, err := p.st.op.ReadBox(&team.Config{Name: p.st.team}, p.name, nil)
	p.failed(err)
	p.until(ctx, "it takes the words that were sent in its turn", func() (rests bool) {
		entries, err := box.Entries(ctx)
		p.failed(err)
		p.view(func(w *control.Worker) { rests = w.State() == machine.Idle })
		return rests && !slices.ContainsFunc(entries, func(e mailbox.Entry) bool { return !e.Envelope.Read })
	})
}

// hears waits until the agent was told something, as far as its driver knows what it is told.
func (p *player) hears(ctx context.Context, words string) {
	heard := p.role.Heard
	if heard == nil {
		heard = func() string { return readFile(p.output()) }
	}
	p.until(ctx, fmt.Sprintf("the agent is told %q", words), func() bool { return strings.Contains(heard(), words) })
}

// mode sets the member's mode, and waits until its worker has it.
func (p *player) mode(ctx context.Context, mode policy.Mode) {
	p.do(func() error { return p.st.l.SetMode(ctx, p.name, mode) })
	p.until(ctx, "the mode "+string(mode)+" holds", func() (ok bool) {
		p.view(func(w *control.Worker) {
			m, _ := p.st.s.Lead.ByInstance(p.instance)
			ok = m.Mode == mode && w.Effective(p.st.s.Lead, p.st.op.Minter.Now()).Mode == mode
		})
		return ok
	})
}

// leave ends the member, and what the scene has started beside it.
func (p *player) leave(ctx context.Context) {
	if p.dead {
		if p.hangUp != nil {
			p.hangUp()
			<-p.connected
		}
		return
	}
	if p.hangUp == nil && p.task != "" {
		p.rested(ctx)
	}
	p.shutDown(ctx)
	if p.hangUp != nil {
		p.hangUp()
		if p.err != nil {
			p.err = errors.Join(p.err, <-p.connected)
		}
	}
}

// refusals is how often a member may say that it cannot end now. One that has just begun to read its
// mail says so, and a lead asks again.
const refusals = 3

// shutDown asks the member to end, and waits until its process is gone.
func (p *player) shutDown(ctx context.Context) {
	if m, ok := p.st.s.Lead.ByInstance(p.instance); ok && m.Left != nil {
		return
	}
	for range refusals {
		p.do(func() error { return p.st.l.Shutdown(ctx, p.name, "the check is over", policy.RoleOperator) })
		gone := false
		p.wait(ctx, "it ends when it is asked to", func() (answered bool) {
			answered, gone = p.gone()
			return answered
		})
		if p.err != nil || gone {
			return
		}
		p.until(ctx, "it has ended its turn", func() (idle bool) {
			p.view(func(w *control.Worker) { idle = w.Turn() == nil })
			return idle
		})
	}
	m, _ := p.st.s.Lead.ByInstance(p.instance)
	p.fail("it refused to end: %s", m.Rejected)
}

// gone reports whether the member has answered that it is asked to end, and whether it has ended.
func (p *player) gone() (answered, gone bool) {
	m, ok := p.st.s.Lead.ByInstance(p.instance)
	switch {
	case !ok || m.Left == nil:
		return ok && m.Shutdown == nil, false
	case m.Process != nil && m.Backend != operator.BackendInProcess && m.Process.ID.PID != os.Getpid() && !operator.Gone(m.Process.ID):
		return false, false
	}
	return true, true
}
