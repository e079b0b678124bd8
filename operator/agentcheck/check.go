package agentcheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"waggle/agent"
	"waggle/operator"
	"waggle/policy"
)

// checker is one check in progress.
type checker struct {
	op   operator.Operator
	o    Options
	d    Driver
	rows map[Line]Row
}

// say records what was found of a line; the first no stays.
func (c *checker) say(r Row) {
	if old, ok := c.rows[r.Line]; ok && (old.Verdict == No || r.Verdict != No) {
		return
	}
	c.rows[r.Line] = r
	if c.o.Tell != nil {
		c.o.Tell(r)
	}
}

func (c *checker) yes(l Line, format string, args ...any) {
	c.say(Row{Line: l, Verdict: Yes, Detail: fmt.Sprintf(format, args...)})
}

// scene is one member's part of the check.
type scene struct {
	name  string
	lines []Line // that it decides, in order
	acts  []Act
	plan  bool // the member owes a plan
	// play finds out; the line that it is at when it fails is a no.
	play func(ctx context.Context, p *player, at func(Line)) error
}

// silenceLasts is how long a question waits that nobody answers.
const silenceLasts = 3 * time.Second

const (
	left, right = "Left", "Right"
	freeWords   = "neither of them, the one below"
	deniedWords = "not in this check"
)

func which() Act {
	return Act{Ask: &Asked{Text: "Which way?", Options: []string{left, right}}}
}

// mark is a command that leaves a line in the file of its member each time that it runs.
func mark(name string) string { return "echo ran >>mark-" + name }

// act is a team of its own with its scenes.
type act struct {
	team     string
	deadline time.Duration // of requests; 0: none
	scenes   []scene
}

func (c *checker) acts() []act {
	silence := []Act{{Run: mark("silence")}}
	if c.d.Unsupported(Question) == "" {
		silence = append(silence, which())
	}
	return []act{
		{"check", 0, []scene{
			{name: "worker", lines: []Line{Start, Receive, Ask, Report, Idle, MidTurn, ShutDown}, acts: []Act{{Run: mark("worker")}}, play: c.works},
			{name: "denied", lines: []Line{Denied}, acts: []Act{{Run: mark("denied")}}, play: c.isDenied},
			{name: "planner", lines: []Line{Plan}, acts: []Act{{Plan: "First the mark, then nothing."}, {Run: mark("planner")}}, plan: true, play: c.plans},
			{name: "modes", lines: []Line{Mode}, acts: []Act{{Run: mark("modes")}}, play: c.obeys},
			{name: "asker", lines: []Line{Question, FreeText}, acts: []Act{which()}, play: c.asks},
		}},
		{"silence", silenceLasts, []scene{{name: "silence", lines: []Line{Denied, Unanswered}, acts: silence, play: c.unheard}}},
		{"bad", 0, c.bad()},
	}
}

// all plays everything, after the driver was told where.
func (c *checker) all(ctx context.Context) error {
	acts := c.acts()
	if d, ok := c.d.(Preparer); ok {
		var dirs []string
		for _, a := range acts {
			for _, sc := range a.scenes {
				dirs = append(dirs, c.cwd(a.team, sc))
			}
		}
		if err := d.Prepare(dirs); err != nil {
			return err
		}
	}
	for _, a := range acts {
		if err := c.team(ctx, a.team, a.deadline, a.scenes); err != nil {
			return err
		}
	}
	return nil
}

// cwd is where the member of a scene works.
func (c *checker) cwd(team string, sc scene) string { return filepath.Join(c.o.Dir, team, sc.name) }

// team plays scenes on a team of their own.
func (c *checker) team(ctx context.Context, name string, deadline time.Duration, scenes []scene) (err error) {
	s, err := newStage(ctx, c, name, deadline)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(context.WithoutCancel(ctx))) }()
	for _, sc := range scenes {
		if err := c.scene(ctx, s, sc); err != nil {
			return err
		}
	}
	return nil
}

// unsupported says why a line cannot be checked of this agent where it runs.
func (c *checker) unsupported(l Line) string {
	if c.o.Backend == operator.BackendInProcess && (l == BrokerDead || l == Resumed || l == Suspended) {
		return "its worker is in this process, which would be killed or stopped (backend " + operator.BackendInProcess + ", docs/design/members.md)"
	}
	if l == Suspended && runtime.GOOS == "windows" {
		return "Windows has no signal that stops a process"
	}
	return c.d.Unsupported(l)
}

// scene plays one of them. Only the end of ctx is an error of the check.
func (c *checker) scene(ctx context.Context, s *stage, sc scene) error {
	var lines []Line
	for _, l := range sc.lines {
		if source := c.unsupported(l); source == "" {
			lines = append(lines, l)
		} else if needed[l] {
			c.say(Row{Line: l, Verdict: No, Detail: "every agent must: " + source})
		} else {
			c.say(Row{Line: l, Verdict: Unsupported, Source: source})
		}
	}
	if len(lines) == 0 {
		return nil
	}
	now := lines[0]
	p, err := s.enter(ctx, sc)
	if err == nil {
		err = sc.play(ctx, p, func(l Line) { now = l })
		err = errors.Join(err, p.leave(context.WithoutCancel(ctx)))
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		return nil
	}
	c.say(Row{Line: now, Verdict: No, Detail: visible(err.Error() + p.trace())})
	for _, l := range lines {
		if _, known := c.rows[l]; !known {
			c.say(Row{Line: l, Verdict: No, Detail: "not reached: " + string(now) + " failed"})
		}
	}
	return nil
}

// visible is an error as one line.
func visible(s string) string { return operator.Visible(strings.ReplaceAll(s, "\n", "; ")) }

// works: a task, a call that is allowed, words in between, the report, and the end.
func (c *checker) works(ctx context.Context, p *player, at func(Line)) error {
	took, err := p.ready(ctx)
	if err != nil {
		return err
	}
	c.yes(Start, "ready after %s", took.Round(time.Millisecond))
	at(Receive)
	if err := p.give(ctx); err != nil {
		return err
	}
	c.yes(Receive, "it took its task")
	at(Ask)
	req, err := p.asked(ctx, policy.GateTool)
	if err != nil {
		return err
	}
	if err := p.send(ctx, "words for you"); err != nil {
		return err
	}
	call, err := p.allows(ctx, req, "allowed once,")
	if err != nil {
		return err
	}
	c.yes(Ask, "%s waited for its decision, then ran once", call)
	at(Report)
	how, err := p.reported(ctx)
	if err != nil {
		return err
	}
	c.yes(Report, "the task is %s", how)
	at(Idle)
	if err := p.idle(ctx); err != nil {
		return err
	}
	c.yes(Idle, "it said so to the lead")
	at(MidTurn)
	if err := p.heardMail(ctx); err != nil {
		return err
	}
	c.yes(MidTurn, "taken after the turn in which they were sent")
	at(ShutDown)
	if err := p.shutDown(ctx); err != nil {
		return err
	}
	c.yes(ShutDown, "asked, approved, and its process is gone")
	return nil
}

// isDenied: what is denied does not run, and the member is there afterwards.
func (c *checker) isDenied(ctx context.Context, p *player, _ func(Line)) error {
	req, err := p.begins(ctx, policy.GateTool)
	if err != nil {
		return err
	}
	if err := p.denies(ctx, req); err != nil {
		return err
	}
	if p.role.Heard != nil && !strings.Contains(p.role.Heard(), deniedWords) {
		return fmt.Errorf("the agent was not told why: %s", p.role.Heard())
	}
	c.yes(Denied, "nothing ran, and it went on")
	return nil
}

// plans: nothing runs before the plan is approved, and a rejected one is none.
func (c *checker) plans(ctx context.Context, p *player, _ func(Line)) error {
	req, err := p.begins(ctx, policy.GatePlan)
	if err != nil {
		return err
	}
	if err := p.decide(ctx, req, false, "say how to take it back"); err != nil {
		return err
	}
	if req, err = p.again(ctx, policy.GatePlan, req); err != nil {
		return err
	}
	if err := p.ran(0); err != nil {
		return fmt.Errorf("before its plan was approved %w", err)
	}
	if err := p.decide(ctx, req, true, ""); err != nil {
		return err
	}
	if req, err = p.asked(ctx, policy.GateTool); err != nil {
		return err
	}
	if _, err := p.allows(ctx, req, "after its plan was approved"); err != nil {
		return err
	}
	c.yes(Plan, "rejected once, approved once; nothing ran before")
	return nil
}

// obeys: in plan mode its call does not run and nobody is asked; in the mode default it asks again.
func (c *checker) obeys(ctx context.Context, p *player, _ func(Line)) error {
	if _, err := p.ready(ctx); err != nil {
		return err
	}
	if err := p.mode(ctx, policy.ModePlan); err != nil {
		return err
	}
	if err := p.give(ctx); err != nil {
		return err
	}
	if err := p.rested(ctx); err != nil {
		return err
	}
	if err := errors.Join(p.ran(0), p.unasked()); err != nil {
		return fmt.Errorf("in plan mode %w", err)
	}
	if err := p.mode(ctx, policy.ModeDefault); err != nil {
		return err
	}
	if err := p.give(ctx); err != nil {
		return err
	}
	req, err := p.asked(ctx, policy.GateTool)
	if err != nil {
		return err
	}
	if _, err := p.allows(ctx, req, "in the mode default"); err != nil {
		return err
	}
	c.yes(Mode, "plan: nothing ran and nobody was asked; default: it asked")
	return nil
}

// asks: the answer that it gets is the one that was given, by number and in words.
func (c *checker) asks(ctx context.Context, p *player, at func(Line)) error {
	if err := p.begin(ctx); err != nil {
		return err
	}
	for i, one := range []struct{ typed, want string }{{"2", right}, {freeWords, freeWords}} {
		if i > 0 {
			c.yes(Question, "answered by number")
			at(FreeText)
			if err := p.give(ctx); err != nil {
				return err
			}
		}
		req, err := p.asked(ctx, policy.GateQuestion)
		if err != nil {
			return err
		}
		if err := p.answer(ctx, req, one.typed); err != nil {
			return err
		}
		if err := p.hears(ctx, one.want); err != nil {
			return err
		}
		if err := p.rested(ctx); err != nil {
			return err
		}
	}
	c.yes(FreeText, "it was told the words")
	return nil
}

// unheard: nobody answers. Nothing runs, and silence is told as silence.
func (c *checker) unheard(ctx context.Context, p *player, at func(Line)) error {
	at(Denied)
	if err := p.begin(ctx); err != nil {
		return err
	}
	if err := p.restedAfter(ctx, 0, "nobody answered, and"); err != nil {
		return err
	}
	at(Unanswered)
	if len(p.sc.acts) == 1 {
		c.yes(Unanswered, "the call did not run")
		return nil
	}
	if err := p.hears(ctx, agent.NoAnswer); err != nil {
		return err
	}
	c.yes(Unanswered, "the call did not run, and the question: %s", agent.NoAnswer)
	return nil
}

// readFile is the content of a file, "" for none.
func readFile(dir, name string) string {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return string(data)
}
