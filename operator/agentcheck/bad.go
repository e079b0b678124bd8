package agentcheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"waggle/control"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/policy"
	"waggle/spawn"
)

// unwanted is a command that leaves a line in a file of its own: it is denied.
func unwanted(name string) string { return "echo ran >>denied-" + name }

const (
	firstWords  = "the words for the first"
	secondWords = "the words for the second"
)

// bad are the scenes in which something is wrong, or is more than usual.
func (c *checker) bad() []scene {
	first, second := Act{Ask: &Asked{Text: "First way?", Options: []string{"North", "South"}}}, Act{Ask: &Asked{Text: "Second way?", Options: []string{"East", "West"}}}
	return []scene{
		{name: "pair", lines: []Line{TwoAsks}, acts: []Act{{Both: []Act{{Run: unwanted("pair")}, {Run: mark("pair")}}}}, play: c.asksTwice},
		{name: "curious", lines: []Line{TwoQuestions}, acts: []Act{{Both: []Act{first, second}}}, play: c.asksTwo},
		{name: "empty", lines: []Line{NoPlan}, acts: []Act{{Empty: true}, {Run: mark("empty")}}, plan: true, play: c.plansNothing},
		{name: "open", lines: []Line{HooksOff}, acts: []Act{{Run: mark("open")}}, play: c.asksAnyway},
		{name: "failing", lines: []Line{HookFails}, acts: []Act{{Run: mark("failing")}}, play: c.hookBroken(HookFails)},
		{name: "missing", lines: []Line{HookMissing}, acts: []Act{{Run: mark("missing")}}, play: c.hookBroken(HookMissing)},
		{name: "hanging", lines: []Line{HookHangs}, acts: []Act{{Run: mark("hanging")}}, play: c.hookBroken(HookHangs)},
		{name: "allowing", lines: []Line{UserHook}, acts: []Act{{Run: mark("allowing")}}, play: c.hookAllows},
		{name: "orphan", lines: []Line{BrokerDead}, acts: []Act{{Run: mark("orphan")}}, play: c.brokerDead},
		{name: "again", lines: []Line{Resumed}, acts: []Act{{Run: mark("again")}}, play: c.resumed},
		{name: "asleep", lines: []Line{Suspended}, acts: []Act{{Run: mark("asleep")}}, play: c.suspended},
	}
}

// asksTwice: two calls of one answer get a decision each.
func (c *checker) asksTwice(ctx context.Context, p *player, _ func(Line)) error {
	if err := p.begin(ctx); err != nil {
		return err
	}
	atOnce, err := p.both(ctx, policy.GateTool, func(r *control.Request) error {
		if strings.Contains(string(r.Ask.Input), "denied-") {
			return p.decide(ctx, r, false, deniedWords)
		}
		return p.decide(ctx, r, true, "")
	})
	if err != nil {
		return err
	}
	if err := p.restedAfter(ctx, 1, "one of two was allowed, and"); err != nil {
		return err
	}
	if !p.role.Foreign && readFile(p.cwd, "denied-"+p.sc.name) != "" {
		return errors.New("the denied one of two calls ran")
	}
	c.yes(TwoAsks, "one denied, one allowed, %s", atOnce)
	return nil
}

// asksTwo: two questions get an answer each.
func (c *checker) asksTwo(ctx context.Context, p *player, _ func(Line)) error {
	if err := p.begin(ctx); err != nil {
		return err
	}
	atOnce, err := p.both(ctx, policy.GateQuestion, func(r *control.Request) error {
		if strings.Contains(string(r.Ask.Input), "First way?") {
			return p.answer(ctx, r, firstWords)
		}
		return p.answer(ctx, r, secondWords)
	})
	if err != nil {
		return err
	}
	for _, words := range []string{firstWords, secondWords} {
		if err := p.hears(ctx, words); err != nil {
			return err
		}
	}
	c.yes(TwoQuestions, "each got its answer, %s", atOnce)
	return p.rested(ctx)
}

// both decides two requests of a kind, the later one first, and says whether they were open at once.
func (p *player) both(ctx context.Context, g policy.Gate, decide func(*control.Request) error) (atOnce string, err error) {
	atOnce = "one after the other"
	done := map[string]bool{}
	err = p.until(ctx, "it asks twice (kind "+string(g)+")", func() (bool, error) {
		var open []*control.Request
		for _, r := range p.st.s.Lead.Pending() {
			if r.Instance == p.instance && r.Gate() == g && !done[r.Handle] {
				open = append(open, r)
			}
		}
		if len(open) > 1 {
			atOnce = "both open at once"
		}
		if len(open) > 0 {
			r := open[len(open)-1]
			done[r.Handle] = true
			return false, decide(r)
		}
		if over, how := p.over(); over && len(done) < 2 {
			return false, fmt.Errorf("its turn ended after %d of two requests: %s", len(done), how)
		}
		return len(done) == 2, nil
	})
	return atOnce, err
}

// plansNothing: a plan without words is proposed to nobody, and opens nothing.
func (c *checker) plansNothing(ctx context.Context, p *player, _ func(Line)) error {
	if err := p.begin(ctx); err != nil {
		return err
	}
	err := p.until(ctx, "its turn is over", func() (bool, error) {
		for _, r := range p.st.s.Lead.Pending() {
			if r.Instance == p.instance {
				return false, fmt.Errorf("somebody was asked (kind %s)", r.Gate())
			}
		}
		over, _ := p.over()
		return over, nil
	})
	if err != nil {
		return err
	}
	if err := p.ran(0); err != nil {
		return fmt.Errorf("without a plan %w", err)
	}
	c.yes(NoPlan, "nobody was asked, and nothing ran")
	return nil
}

// asksAnyway: the user's settings allow everything and switch hooks off, and it asks.
func (c *checker) asksAnyway(ctx context.Context, p *player, _ func(Line)) error {
	req, err := p.begins(ctx, policy.GateTool)
	if err != nil {
		return err
	}
	if err := p.denies(ctx, req); err != nil {
		return err
	}
	c.yes(HooksOff, "it asked although the user's and the project's settings allow all, without hooks")
	return nil
}

// hookBroken: with a broken second check the call is blocked or asked about, and does not run.
func (c *checker) hookBroken(l Line) func(context.Context, *player, func(Line)) error {
	return func(ctx context.Context, p *player, _ func(Line)) (err error) {
		if p.role.Break == nil {
			return errors.New("its driver cannot break its second check")
		}
		if _, err := p.ready(ctx); err != nil {
			return err
		}
		if err := p.conversing(ctx); err != nil {
			return err
		}
		mend, err := p.role.Break(l, p.cwd)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, mend()) }()
		if err := p.give(ctx); err != nil {
			return err
		}
		how := "the call was blocked"
		err = p.until(ctx, "its turn is over", func() (bool, error) {
			if r := p.open(policy.GateTool); r != nil {
				how = "a person was asked"
				return false, p.decide(ctx, r, false, deniedWords)
			}
			over, _ := p.over()
			return over, nil
		})
		if err != nil {
			return err
		}
		if err := p.ran(0); err != nil {
			return fmt.Errorf("nobody allowed it, and %w", err)
		}
		c.yes(l, "%s", how)
		return nil
	}
}

// allowedFor is how long a request is left to a hook that allows it.
const allowedFor = 3 * time.Second

// hookAllows: a hook that allows every request answers none, before the team or beside it.
func (c *checker) hookAllows(ctx context.Context, p *player, _ func(Line)) (err error) {
	if p.role.Break == nil {
		return errors.New("its driver cannot add a hook")
	}
	if _, err := p.ready(ctx); err != nil {
		return err
	}
	mend, err := p.role.Break(UserHook, p.cwd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mend()) }()
	if err := p.give(ctx); err != nil {
		return err
	}
	req, err := p.asked(ctx, policy.GateTool)
	if err != nil {
		return err
	}
	if err := p.st.lead(ctx, allowedFor); err != nil {
		return err
	}
	if err := p.denies(ctx, req); err != nil {
		return err
	}
	c.yes(UserHook, "it waited for the team, which denied")
	return nil
}

// brokerDead: its worker is killed while it asks. What is decided afterwards runs nothing.
func (c *checker) brokerDead(ctx context.Context, p *player, _ func(Line)) error {
	req, err := p.killed(ctx)
	if err != nil {
		return err
	}
	_ = p.decide(ctx, req, true, "") // may be refused
	if err := p.st.until(ctx, "its processes are gone", func() (bool, error) { return p.alone() }); err != nil {
		return err
	}
	if err := p.ran(0); err != nil {
		return fmt.Errorf("its worker was dead, and %w", err)
	}
	c.yes(BrokerDead, "allowed afterwards, and nothing ran")
	return nil
}

// resumed: it is started again and goes on with its task. The call runs when it is allowed, once.
func (c *checker) resumed(ctx context.Context, p *player, _ func(Line)) error {
	if _, err := p.killed(ctx); err != nil {
		return err
	}
	if err := p.ran(0); err != nil {
		return fmt.Errorf("its worker was dead, and %w", err)
	}
	m, _ := p.st.s.Lead.ByInstance(p.instance)
	if err := process.Of(p.st.op).EndTools(ctx, p.st.s, m); err != nil {
		return err
	}
	if _, err := process.Of(p.st.op).StartWorker(ctx, p.st.l, p.st.s, p.instance, p.name, p.cwd, p.output()); err != nil {
		return err
	}
	p.dead = false
	epoch := m.Died
	if err := p.st.until(ctx, "it comes up again", func() (ok bool, _ error) {
		p.st.view(p.instance, func(w *control.Worker) { ok = epoch == nil || w.Epoch > epoch.Epoch && w.Ready != nil })
		return ok, nil
	}); err != nil {
		return err
	}
	var req *control.Request
	var call string
	err := p.st.until(ctx, "the call runs after it was allowed", func() (done bool, err error) {
		if req = p.open(policy.GateTool); req != nil {
			if err := p.ran(0); err != nil {
				return false, fmt.Errorf("before the decision %w", err)
			}
			return false, p.decide(ctx, req, true, "")
		}
		p.st.view(p.instance, func(w *control.Worker) {
			for _, one := range w.Calls {
				if one.Finished != nil {
					done, call = true, one.Ask.Tool
				}
			}
		})
		return done, nil
	})
	if err != nil {
		return err
	}
	if err := p.restedAfter(ctx, 1, "allowed once,"); err != nil {
		return err
	}
	c.yes(Resumed, "%s ran once, after its worker was started again", call)
	return nil
}

// asleepFor is how long its processes are stopped.
const asleepFor = 5 * time.Second

// suspended: its processes are stopped while it asks, as those of a machine that sleeps. What was decided
// meanwhile holds when they go on, once.
func (c *checker) suspended(ctx context.Context, p *player, _ func(Line)) (err error) {
	req, err := p.begins(ctx, policy.GateTool)
	if err != nil {
		return err
	}
	tree, err := p.processes()
	if err != nil {
		return err
	}
	signal := func(stop bool) (err error) {
		for _, id := range tree {
			err = errors.Join(err, spawn.Suspend(id, stop))
		}
		return err
	}
	defer func() { err = errors.Join(err, signal(false)) }()
	if err := signal(true); err != nil {
		return err
	}
	if err := p.st.until(ctx, "its processes stand still", func() (bool, error) { return still(tree) }); err != nil {
		return err
	}
	if err := p.decide(ctx, req, true, ""); err != nil {
		return err
	}
	if err := p.st.lead(ctx, asleepFor); err != nil {
		return err
	}
	if err := p.ran(0); err != nil {
		return fmt.Errorf("stopped, %w", err)
	}
	if err := signal(false); err != nil {
		return err
	}
	if err := p.restedAfter(ctx, 1, "allowed once,"); err != nil {
		return err
	}
	c.yes(Suspended, "%d processes stopped for %s: the call ran once, when they went on", len(tree), asleepFor)
	return nil
}

// still reports that processes are stopped, or gone.
func still(tree []spawn.Identity) (bool, error) {
	for _, id := range tree {
		if s, err := id.State(); err != nil || s == spawn.Running {
			return false, err
		}
	}
	return true, nil
}

// processes are the member's, its worker first, beside the holder of its terminal.
func (p *player) processes() (list []spawn.Identity, err error) {
	m, ok := p.st.s.Lead.ByInstance(p.instance)
	if !ok || m.Process == nil {
		return nil, errors.New("its process is not on record")
	}
	all, err := spawn.AllMarked()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	list = append(list, m.Process.ID)
	for _, one := range all {
		if p.owns(one) && one.ID.PID != m.Process.ID.PID {
			list = append(list, one.ID)
		}
	}
	return list, nil
}

// owns reports whether a process is the member's, and not the holder of its terminal.
func (p *player) owns(m spawn.Marked) bool {
	return strings.HasSuffix(m.Owner, "/"+string(p.instance)) && (len(m.Argv) < 2 || m.Argv[1] != "hold")
}

// killed gives it its task, and kills its worker while it asks.
func (p *player) killed(ctx context.Context) (*control.Request, error) {
	req, err := p.begins(ctx, policy.GateTool)
	if err != nil {
		return nil, err
	}
	m, ok := p.st.s.Lead.ByInstance(p.instance)
	if !ok || m.Process == nil {
		return nil, errors.New("its process is not on record")
	}
	id := m.Process.ID
	if alive, err := id.Check(); err != nil || !alive {
		return nil, fmt.Errorf("its process %d is gone: %w", id.PID, err)
	}
	proc, err := os.FindProcess(id.PID)
	if err != nil {
		return nil, err
	}
	if err := proc.Kill(); err != nil {
		return nil, err
	}
	p.dead = true
	return req, p.st.until(ctx, "its worker is gone", func() (bool, error) {
		m, ok := p.st.s.Lead.ByInstance(p.instance)
		return operator.Gone(id) && (!ok || m.Died != nil || p.role.Connect != nil), nil
	})
}

// alone reports that no process of the member runs any more, beside the holder of its terminal.
// Where processes carry no marks it is true.
func (p *player) alone() (bool, error) {
	all, err := spawn.AllMarked()
	if errors.Is(err, errors.ErrUnsupported) {
		return true, nil
	}
	return !slices.ContainsFunc(all, p.owns), err
}

func (p *player) inPane() bool { return teamfile.InPane(p.st.c.o.Backend) }

// conversing waits until the client of a member in a pane has begun its session.
func (p *player) conversing(ctx context.Context) error {
	if !p.inPane() {
		return nil
	}
	return p.until(ctx, "its client has begun", func() (ok bool, _ error) {
		p.st.view(p.instance, func(w *control.Worker) { ok = w.Conversation != nil })
		return ok, nil
	})
}
