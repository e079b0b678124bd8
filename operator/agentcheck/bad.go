package agentcheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waggle/control"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/policy"
	"waggle/record"
	"waggle/spawn"
)

// unwanted is a command that leaves a line in a file of its own: it is denied.
func unwanted(name string) string { return "echo ran >>denied-" + name }

const (
	firstWords  = "the words for the first"
	secondWords = "the words for the second"
)

// bad are the scenes in which something is wrong, or is more than usual.
func bad() []scene {
	first, second := Act{Ask: &Asked{Text: "First way?", Options: []string{"North", "South"}}}, Act{Ask: &Asked{Text: "Second way?", Options: []string{"East", "West"}}}
	return []scene{
		{name: "pair", lines: []Line{TwoAsks}, acts: []Act{{Both: []Act{{Run: unwanted("pair")}, {Run: mark("pair")}}}}, play: asksTwice},
		{name: "curious", lines: []Line{TwoQuestions}, acts: []Act{{Both: []Act{first, second}}}, play: asksTwo},
		{name: "empty", lines: []Line{NoPlan}, acts: []Act{{Empty: true}, {Run: mark("empty")}}, plan: true, play: plansNothing},
		{name: "open", lines: []Line{HooksOff}, acts: []Act{{Run: mark("open")}}, play: asksAnyway},
		{name: "failing", lines: []Line{HookFails}, acts: []Act{{Run: mark("failing")}}, play: hookBroken},
		{name: "missing", lines: []Line{HookMissing}, acts: []Act{{Run: mark("missing")}}, play: hookBroken},
		{name: "hanging", lines: []Line{HookHangs}, acts: []Act{{Run: mark("hanging")}}, play: hookBroken},
		{name: "allowing", lines: []Line{UserHook}, acts: []Act{{Run: mark("allowing")}}, play: hookAllows},
		{name: "orphan", lines: []Line{BrokerDead}, acts: []Act{{Run: mark("orphan")}}, play: brokerDead},
		{name: "again", lines: []Line{Resumed}, acts: []Act{{Run: mark("again")}}, play: resumed},
		{name: "asleep", lines: []Line{Suspended}, acts: []Act{{Run: mark("asleep")}}, play: suspended},
	}
}

// asksTwice: two calls of one answer get a decision each.
func asksTwice(ctx context.Context, p *player) {
	p.begin(ctx)
	atOnce := p.both(ctx, policy.GateTool, func(r *control.Request) {
		if strings.Contains(string(r.Ask.Input), "denied-") {
			p.decide(ctx, r, false, deniedWords)
		} else {
			p.decide(ctx, r, true, "")
		}
	})
	p.restedAfter(ctx, 1, "one of two was allowed, and")
	if !p.role.Foreign && readFile(filepath.Join(p.cwd, "denied-"+p.sc.name)) != "" {
		p.fail("the denied one of two calls ran")
	}
	p.yes(TwoAsks, "one denied, one allowed, %s", atOnce)
}

// asksTwo: two questions get an answer each.
func asksTwo(ctx context.Context, p *player) {
	p.begin(ctx)
	atOnce := p.both(ctx, policy.GateQuestion, func(r *control.Request) {
		if strings.Contains(string(r.Ask.Input), "First way?") {
			p.answer(ctx, r, firstWords)
		} else {
			p.answer(ctx, r, secondWords)
		}
	})
	p.hears(ctx, firstWords)
	p.hears(ctx, secondWords)
	p.yes(TwoQuestions, "each got its answer, %s", atOnce)
	p.rested(ctx)
}

// both decides two requests of a kind, the later one first, and says whether they were open at once.
func (p *player) both(ctx context.Context, g policy.Gate, decide func(*control.Request)) (atOnce string) {
	atOnce = "one after the other"
	done := map[string]bool{}
	p.until(ctx, "it asks twice (kind "+string(g)+")", func() bool {
		open := slices.DeleteFunc(p.pending(), func(r *control.Request) bool { return r.Gate() != g || done[r.Handle] })
		if len(open) > 1 {
			atOnce = "both open at once"
		}
		if len(open) > 0 {
			r := open[len(open)-1]
			done[r.Handle] = true
			decide(r)
			return false
		}
		if over, how := p.over(); over && len(done) < 2 {
			p.fail("its turn ended after %d of two requests: %s", len(done), how)
		}
		return len(done) == 2
	})
	return atOnce
}

// plansNothing: a plan without words is proposed to nobody, and opens nothing.
func plansNothing(ctx context.Context, p *player) {
	p.begin(ctx)
	p.until(ctx, "its turn is over", func() bool {
		for _, r := range p.pending() {
			p.fail("somebody was asked (kind %s)", r.Gate())
		}
		over, _ := p.over()
		return over
	})
	p.ran(0, "without a plan")
	p.yes(NoPlan, "nobody was asked, and nothing ran")
}

// asksAnyway: the user's settings allow everything and switch hooks off, and it asks.
func asksAnyway(ctx context.Context, p *player) {
	p.denies(ctx, p.begins(ctx, policy.GateTool))
	p.yes(HooksOff, "it asked although the user's and the project's settings allow all, without hooks")
}

// breaks has the member begin its task while its second check is broken, or its settings have a hook, as the line of
// the scene says. play goes on until that is mended; cannot is why a driver without a way to it fails.
func (p *player) breaks(ctx context.Context, cannot string, play func()) {
	if p.role.Break == nil {
		p.fail("%s", cannot)
		return
	}
	p.ready(ctx)
	if p.at != UserHook { // a hook is read as a session begins; what is broken later is broken in one that runs
		p.conversing(ctx)
	}
	var mend func() error
	p.do(func() (err error) { mend, err = p.role.Break(p.at, p.cwd); return err })
	if p.err != nil {
		return
	}
	p.give(ctx)
	play()
	p.err = errors.Join(p.err, mend())
}

// hookBroken: with a broken second check the call is blocked or asked about, and does not run.
func hookBroken(ctx context.Context, p *player) {
	p.breaks(ctx, "its driver cannot break its second check", func() {
		how := "the call was blocked"
		p.until(ctx, "its turn is over", func() bool {
			if r := p.open(policy.GateTool); r != nil {
				how = "a person was asked"
				p.decide(ctx, r, false, deniedWords)
				return false
			}
			over, _ := p.over()
			return over
		})
		p.ran(0, "nobody allowed it, and")
		p.yes(p.at, "%s", how)
	})
}

// allowedFor is how long a request is left to a hook that allows it.
const allowedFor = 3 * time.Second

// hookAllows: a hook that allows every request answers none, before the team or beside it.
func hookAllows(ctx context.Context, p *player) {
	p.breaks(ctx, "its driver cannot add a hook", func() {
		req := p.asked(ctx, policy.GateTool)
		p.do(func() error { return p.st.lead(ctx, allowedFor) })
		p.denies(ctx, req)
		p.yes(UserHook, "it waited for the team, which denied")
	})
}

// brokerDead: its worker is killed while it asks. What is decided afterwards runs nothing.
func brokerDead(ctx context.Context, p *player) {
	req := p.killed(ctx)
	p.do(func() error {
		_ = p.decided(ctx, req, decide.Answer{Allow: true}) // may be refused
		return nil
	})
	p.wait(ctx, "its processes are gone", p.alone)
	p.ran(0, "its worker was dead, and")
	p.yes(BrokerDead, "allowed afterwards, and nothing ran")
}

// resumed: it is started again and goes on with its task. The call runs when it is allowed, once.
func resumed(ctx context.Context, p *player) {
	p.killed(ctx)
	p.ran(0, "its worker was dead, and")
	var died *record.Died
	p.do(func() error {
		m, _ := p.st.s.Lead.ByInstance(p.instance)
		if err := process.Of(p.st.op).EndTools(ctx, p.st.s, m); err != nil {
			return err
		}
		_, err := process.Of(p.st.op).StartWorker(ctx, p.st.l, p.st.s, p.instance, p.name, p.cwd, p.output())
		p.dead, died = err != nil, m.Died
		return err
	})
	p.wait(ctx, "it comes up again", func() (ok bool) {
		p.view(func(w *control.Worker) { ok = died == nil || w.Epoch > died.Epoch && w.Ready != nil })
		return ok
	})
	var call string
	p.wait(ctx, "the call runs after it was allowed", func() (done bool) {
		if req := p.open(policy.GateTool); req != nil {
			p.ran(0, "before the decision")
			p.decide(ctx, req, true, "")
			return false
		}
		p.view(func(w *control.Worker) {
			for _, one := range w.Calls {
				if one.Finished != nil {
					done, call = true, one.Ask.Tool
				}
			}
		})
		return done
	})
	p.restedAfter(ctx, 1, "allowed once,")
	p.yes(Resumed, "%s ran once, after its worker was started again", call)
}

// asleepFor is how long its processes are stopped.
const asleepFor = 5 * time.Second

// suspended: its processes are stopped while it asks, as those of a machine that sleeps. What was decided
// meanwhile holds when they go on, once.
func suspended(ctx context.Context, p *player) {
	req := p.begins(ctx, policy.GateTool)
	tree := p.processes()
	signal := func(stop bool) (err error) {
		for _, id := range tree {
			err = errors.Join(err, spawn.Suspend(id, stop))
		}
		return err
	}
	defer func() { p.err = errors.Join(p.err, signal(false)) }()
	p.do(func() error { return signal(true) })
	p.wait(ctx, "its processes stand still", func() bool { return p.still(tree) })
	p.decide(ctx, req, true, "")
	p.do(func() error { return p.st.lead(ctx, asleepFor) })
	p.ran(0, "stopped,")
	p.do(func() error { return signal(false) })
	p.restedAfter(ctx, 1, "allowed once,")
	p.yes(Suspended, "%d processes stopped for %s: the call ran once, when they went on", len(tree), asleepFor)
}

// still reports that processes are stopped, or gone.
func (p *player) still(tree []spawn.Identity) bool {
	return !slices.ContainsFunc(tree, func(id spawn.Identity) bool {
		state, err := id.State()
		p.failed(err)
		return err != nil || state == spawn.Running
	})
}

// process is the member's, as it is on record.
func (p *player) process() (id spawn.Identity) {
	p.do(func() error {
		m, ok := p.st.s.Lead.ByInstance(p.instance)
		if !ok || m.Process == nil {
			return errors.New("its process is not on record")
		}
		id = m.Process.ID
		return nil
	})
	return id
}

// processes are the member's, its worker first, beside the holder of its terminal.
func (p *player) processes() (list []spawn.Identity) {
	worker := p.process()
	p.do(func() error {
		all, err := spawn.AllMarked()
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		list = append(list, worker)
		for _, one := range all {
			if p.owns(one) && one.ID.PID != worker.PID {
				list = append(list, one.ID)
			}
		}
		return nil
	})
	return list
}

// owns reports whether a process is the member's, and not the holder of its terminal.
func (p *player) owns(m spawn.Marked) bool {
	return strings.HasSuffix(m.Owner, "/"+string(p.instance)) && (len(m.Argv) < 2 || m.Argv[1] != "hold")
}

// killed gives it its task, and kills its worker while it asks.
func (p *player) killed(ctx context.Context) *control.Request {
	req := p.begins(ctx, policy.GateTool)
	id := p.process()
	p.do(func() error {
		if alive, err := id.Check(); err != nil || !alive {
			return fmt.Errorf("its process %d is gone: %w", id.PID, err)
		}
		proc, err := os.FindProcess(id.PID)
		if err == nil {
			err = proc.Kill()
		}
		p.dead = err == nil
		return err
	})
	p.wait(ctx, "its worker is gone", func() bool {
		m, ok := p.st.s.Lead.ByInstance(p.instance)
		return operator.Gone(id) && (!ok || m.Died != nil || p.role.Connect != nil)
	})
	return req
}

// alone reports that no process of the member runs any more, beside the holder of its terminal.
// Where processes carry no marks it is true.
func (p *player) alone() bool {
	all, err := spawn.AllMarked()
	if errors.Is(err, errors.ErrUnsupported) {
		return true
	}
	p.failed(err)
	return !slices.ContainsFunc(all, p.owns)
}

// conversing waits until the client of a member in a pane has begun its session.
func (p *player) conversing(ctx context.Context) {
	if !teamfile.InPane(p.st.c.o.Backend) {
		return
	}
	p.until(ctx, "its client has begun", func() (ok bool) {
		p.view(func(w *control.Worker) { ok = w.Conversation != nil })
		return ok
	})
}
