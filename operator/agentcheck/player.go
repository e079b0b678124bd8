package agentcheck

import (
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

// leave ends the member, and what the scene has started beside it.
func (p *player) leave(ctx context.Context) error {
	switch {
	case p.hangUp == nil && !p.dead:
		if p.task != "" {
			if err := p.rested(ctx); err != nil {
				return err
			}
		}
		return p.shutDown(ctx)
	case p.hangUp == nil:
		return nil
	case p.dead:
		p.hangUp()
		<-p.connected
		return nil
	}
	if err := p.shutDown(ctx); err != nil {
		p.hangUp()
		return errors.Join(err, <-p.connected)
	}
	p.hangUp()
	return nil
}

// trace is what the member wrote last, for a row that is a no.
func (p *player) trace() string {
	const most = 600
	s := strings.TrimSpace(readFile(filepath.Dir(p.output()), filepath.Base(p.output())))
	if s == "" {
		return ""
	}
	if len(s) > most {
		s = strings.ToValidUTF8(s[len(s)-most:], "")
	}
	return "\nits output ends: " + s
}

func (p *player) until(ctx context.Context, what string, cond func() (bool, error)) error {
	return p.st.until(ctx, what, func() (bool, error) {
		m, ok := p.st.s.Lead.ByInstance(p.instance)
		switch {
		case !ok:
			return false, errors.New("the member is not on record")
		case m.Died != nil:
			return false, fmt.Errorf("its process ended while the check waited: %s (%s)", what, m.How())
		}
		if p.connected != nil {
			select {
			case err := <-p.connected:
				p.connected <- nil
				if err != nil {
					return false, fmt.Errorf("its client ended while the check waited: %s: %w", what, err)
				}
			default:
			}
		}
		return cond()
	})
}

// ready waits until the member takes work.
func (p *player) ready(ctx context.Context) (took time.Duration, err error) {
	err = p.until(ctx, "it is ready", func() (ok bool, _ error) {
		p.st.view(p.instance, func(w *control.Worker) {
			if ok = w.Ready != nil; ok {
				took = w.ReadyAt.Sub(p.began)
			}
		})
		return ok, nil
	})
	return took, err
}

// give gives the member its task.
func (p *player) give(ctx context.Context) error {
	r, err := board.Of(p.st.op).AddTask(ctx, p.st.team, board.NewTask{Subject: "check " + p.sc.name, Description: p.role.Instructions, Owner: p.name})
	if err != nil {
		return err
	}
	p.task, p.given = string(r.Task.ID), p.st.op.Minter.Now()
	return p.until(ctx, "it takes its task", func() (ok bool, _ error) {
		p.see(func(t *control.TaskState) { ok = t.Taken })
		return ok, nil
	})
}

// begin waits until the member is ready, and gives it its task.
func (p *player) begin(ctx context.Context) error {
	if _, err := p.ready(ctx); err != nil {
		return err
	}
	return p.give(ctx)
}

// begins has the member begin its task, and waits for its first request, of a kind.
func (p *player) begins(ctx context.Context, g policy.Gate) (*control.Request, error) {
	if err := p.begin(ctx); err != nil {
		return nil, err
	}
	return p.asked(ctx, g)
}

// see looks at the task that the member was given last.
func (p *player) see(fn func(*control.TaskState)) {
	p.st.view(p.instance, func(w *control.Worker) {
		for _, t := range w.Tasks {
			if t.ID == p.task {
				fn(t)
			}
		}
	})
}

// open is the member's open request of a kind, nil for none.
func (p *player) open(g policy.Gate) *control.Request {
	for _, r := range p.st.s.Lead.Pending() {
		if r.Instance == p.instance && r.Gate() == g {
			return r
		}
	}
	return nil
}

// asked waits for a request of a kind.
func (p *player) asked(ctx context.Context, g policy.Gate) (r *control.Request, err error) {
	err = p.until(ctx, "it asks (kind "+string(g)+")", func() (bool, error) {
		if r = p.open(g); r != nil {
			return true, nil
		}
		over, how := p.over()
		if over {
			return false, fmt.Errorf("its turn ended without asking (kind %s): %s", g, how)
		}
		return false, nil
	})
	return r, err
}

// again waits until a rejected request was asked anew: in the same turn, or in one for the same task.
func (p *player) again(ctx context.Context, g policy.Gate, old *control.Request) (r *control.Request, err error) {
	given := false
	err = p.until(ctx, "it asks again (kind "+string(g)+")", func() (bool, error) {
		if r = p.open(g); r != nil && r.Key != old.Key {
			return true, nil
		}
		if over, _ := p.over(); over && !given {
			given = true
			return false, p.give(ctx)
		}
		return false, nil
	})
	return r, err
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

// unasked reports a request of the member.
func (p *player) unasked() error {
	if r := p.open(policy.GateTool); r != nil {
		return fmt.Errorf("somebody was asked for %s", decide.Describe(r.Kind, r.Ask))
	}
	return nil
}

// decide answers a request as the person.
func (p *player) decide(ctx context.Context, r *control.Request, allow bool, reason string) error {
	_, err := p.st.decider().DecideOpen(ctx, p.st.s, decide.Answer{ID: string(r.ID), Digest: string(r.Digest), Allow: allow, Reason: reason, Via: "doctor"})
	return err
}

// answer answers a question in words.
func (p *player) answer(ctx context.Context, r *control.Request, typed string) error {
	_, err := p.st.decider().DecideOpen(ctx, p.st.s, decide.Answer{ID: string(r.ID), Digest: string(r.Digest), Allow: true, Words: []string{typed}, Via: "doctor"})
	return err
}

// allows allows a call that has not run, and waits until it has run once; when begins the error of another number.
func (p *player) allows(ctx context.Context, r *control.Request, when string) (call string, err error) {
	if err := p.ran(0); err != nil {
		return "", fmt.Errorf("before the decision %w", err)
	}
	if err := p.decide(ctx, r, true, ""); err != nil {
		return "", err
	}
	if call, err = p.ended(ctx, r); err != nil {
		return "", err
	}
	if err := p.ran(1); err != nil {
		return "", fmt.Errorf("%s %w", when, err)
	}
	return call, nil
}

// denies denies a call, and waits until the turn is over without it.
func (p *player) denies(ctx context.Context, r *control.Request) error {
	if err := p.decide(ctx, r, false, deniedWords); err != nil {
		return err
	}
	return p.restedAfter(ctx, 0, "denied,")
}

// ended waits until the end of an allowed call is on record, and says what was called.
func (p *player) ended(ctx context.Context, r *control.Request) (call string, err error) {
	err = p.until(ctx, "the end of the call is on record", func() (done bool, err error) {
		p.st.view(p.instance, func(w *control.Worker) {
			c, ok := w.Call(r.Key)
			if !ok {
				return
			}
			switch done = c.Finished != nil; {
			case c.Unknown:
				err = errors.New("the end of the call is unknown")
			case done && c.Finished.Error != "":
				err = fmt.Errorf("the call failed: %s", c.Finished.Error)
			}
			call = c.Ask.Tool
		})
		return done, err
	})
	return call, err
}

// ran checks how often the member's command ran, by the file that it leaves, and by the record.
func (p *player) ran(times int) error {
	started := 0
	p.st.view(p.instance, func(w *control.Worker) {
		for _, c := range w.Calls {
			if c.Started && !reads(c.Ask) {
				started++
			}
		}
	})
	if started != times {
		return fmt.Errorf("%d calls are on record as started, want %d", started, times)
	}
	if p.role.Foreign {
		return nil
	}
	if got := strings.Count(readFile(p.cwd, "mark-"+p.sc.name), "ran"); got != times {
		return fmt.Errorf("its command ran %d times, want %d", got, times)
	}
	return nil
}

// reads reports a call that the rules let run because it plainly reads in the working directory.
func reads(a record.Ask) bool {
	area, ok := policy.AreaOf(policy.Call{Tool: a.Tool, Input: json.RawMessage(a.Input), Cwd: a.Cwd})
	return ok && area == policy.AreaReadInside
}

// rested waits until the turn of its task is over.
func (p *player) rested(ctx context.Context) error {
	return p.until(ctx, "its turn is over", func() (bool, error) {
		over, _ := p.over()
		return over, nil
	})
}

// restedAfter waits until the turn is over, in which the command ran so often; when begins the error of another number.
func (p *player) restedAfter(ctx context.Context, times int, when string) error {
	if err := p.rested(ctx); err != nil {
		return err
	}
	if err := p.ran(times); err != nil {
		return fmt.Errorf("%s %w", when, err)
	}
	return nil
}

// reported waits until the lead has heard how the task ended.
func (p *player) reported(ctx context.Context) (how string, err error) {
	err = p.until(ctx, "the lead knows the end of the task", func() (bool, error) {
		m, _ := p.st.s.Lead.ByInstance(p.instance)
		if m.Done[p.task] != nil {
			how = "completed"
			return true, nil
		}
		if over, words := p.over(); over && m.Turns[p.task] != nil && strings.HasPrefix(words, "failed") {
			return false, fmt.Errorf("the task %s", words)
		}
		return false, nil
	})
	return how, err
}

// idle waits until the member has said after its task that it is idle.
func (p *player) idle(ctx context.Context) error {
	return p.until(ctx, "it says that it is idle", func() (bool, error) {
		m, _ := p.st.s.Lead.ByInstance(p.instance)
		return m.LastIdle != nil && !m.IdleAt.Before(p.given), nil
	})
}

// send puts words into the member's mailbox.
func (p *player) send(ctx context.Context, words string) error {
	to, err := protocol.ParseAddress(string(p.name))
	if err != nil {
		return err
	}
	sent, err := mail.Of(p.st.op).Send(ctx, p.st.team, mail.Message{To: to, Text: words})
	if err != nil {
		return err
	}
	return sent[0].Err()
}

// heardMail waits until nothing in the member's mailbox is unread, and the turn of it is over.
func (p *player) heardMail(ctx context.Context) error {
	box, err := p.st.op.ReadBox(&team.Config{Name: p.st.team}, p.name, nil)
	if err != nil {
		return err
	}
	return p.until(ctx, "it takes the words that were sent in its turn", func() (bool, error) {
		entries, err := box.Entries(ctx)
		if err != nil {
			return false, err
		}
		rests := false
		p.st.view(p.instance, func(w *control.Worker) { rests = w.State() == machine.Idle })
		return rests && !slices.ContainsFunc(entries, func(e mailbox.Entry) bool { return !e.Envelope.Read }), nil
	})
}

// hears waits until the agent was told something, as far as its driver knows what it is told.
func (p *player) hears(ctx context.Context, words string) error {
	heard := p.role.Heard
	if heard == nil {
		heard = func() string { return readFile(filepath.Dir(p.output()), filepath.Base(p.output())) }
	}
	return p.until(ctx, fmt.Sprintf("the agent is told %q", words), func() (bool, error) { return strings.Contains(heard(), words), nil })
}

// mode sets the member's mode, and waits until its worker has it.
func (p *player) mode(ctx context.Context, mode policy.Mode) error {
	if err := p.st.l.SetMode(ctx, p.name, mode); err != nil {
		return err
	}
	return p.until(ctx, "the mode "+string(mode)+" holds", func() (ok bool, _ error) {
		p.st.view(p.instance, func(w *control.Worker) {
			m, _ := p.st.s.Lead.ByInstance(p.instance)
			ok = m.Mode == mode && w.Effective(p.st.s.Lead, p.st.op.Minter.Now()).Mode == mode
		})
		return ok, nil
	})
}

// refusals is how often a member may say that it cannot end now. One that has just begun to read its
// mail says so, and a lead asks again.
const refusals = 3

// shutDown asks the member to end, and waits until its process is gone.
func (p *player) shutDown(ctx context.Context) error {
	if m, ok := p.st.s.Lead.ByInstance(p.instance); ok && m.Left != nil {
		return nil
	}
	for range refusals {
		if err := p.st.l.Shutdown(ctx, p.name, "the check is over", policy.RoleOperator); err != nil {
			return err
		}
		gone := false
		if err := p.st.until(ctx, "it ends when it is asked to", func() (answered bool, _ error) {
			answered, gone = p.gone()
			return answered, nil
		}); err != nil || gone {
			return err
		}
		if err := p.until(ctx, "it has ended its turn", func() (idle bool, _ error) {
			p.st.view(p.instance, func(w *control.Worker) { idle = w.Turn() == nil })
			return idle, nil
		}); err != nil {
			return err
		}
	}
	m, _ := p.st.s.Lead.ByInstance(p.instance)
	return fmt.Errorf("it refused to end: %s", m.Rejected)
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
