package agentcheck

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"waggle/agent"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
)

// checker is one check in progress.
type checker struct {
	op   operator.Operator
	o    Options
	d    *Driver
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

// scene is one member's part of the check.
type scene struct {
	name  string
	lines []Line // that it decides, in order
	acts  []Act
	plan  bool // the member owes a plan
	// play finds out; the line that it is at when it fails is a no.
	play func(ctx context.Context, p *player)
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
	if c.d.Unsupported[Question] == "" {
		silence = append(silence, which())
	}
	return []act{
		{"check", 0, []scene{
			{name: "worker", lines: []Line{Start, Receive, Ask, Report, Idle, MidTurn, ShutDown}, acts: []Act{{Run: mark("worker")}}, play: works},
			{name: "denied", lines: []Line{Denied}, acts: []Act{{Run: mark("denied")}}, play: isDenied},
			{name: "planner", lines: []Line{Plan}, acts: []Act{{Plan: "First the mark, then nothing."}, {Run: mark("planner")}}, plan: true, play: plans},
			{name: "modes", lines: []Line{Mode}, acts: []Act{{Run: mark("modes")}}, play: obeys},
			{name: "asker", lines: []Line{Question, FreeText}, acts: []Act{which()}, play: asks},
		}},
		{"silence", silenceLasts, []scene{{name: "silence", lines: []Line{Denied, Unanswered}, acts: silence, play: unheard}}},
		{"bad", 0, bad()},
	}
}

// all plays everything, after the driver was told where.
func (c *checker) all(ctx context.Context) error {
	acts := c.acts()
	var dirs []string
	for _, a := range acts {
		for _, sc := range a.scenes {
			dirs = append(dirs, c.cwd(a.team, sc))
		}
	}
	if err := c.d.Prepare(dirs); err != nil {
		return err
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
	return c.d.Unsupported[l]
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
	p, err := s.enter(ctx, sc)
	p.at = lines[0]
	if err == nil {
		sc.play(ctx, p)
		err, p.err = p.err, nil
		p.leave(context.WithoutCancel(ctx))
		err = errors.Join(err, p.err)
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		return nil
	}
	c.say(Row{Line: p.at, Verdict: No, Detail: visible(err.Error() + p.trace())})
	for _, l := range lines {
		if _, known := c.rows[l]; !known {
			c.say(Row{Line: l, Verdict: No, Detail: "not reached: " + string(p.at) + " failed"})
		}
	}
	return nil
}

// visible is an error as one line.
func visible(s string) string { return operator.Visible(strings.ReplaceAll(s, "\n", "; ")) }

// works: a task, a call that is allowed, words in between, the report, and the end.
func works(ctx context.Context, p *player) {
	took := p.ready(ctx)
	p.yes(Start, "ready after %s", took.Round(time.Millisecond))
	p.reach(Receive)
	p.give(ctx)
	p.yes(Receive, "it took its task")
	p.reach(Ask)
	req := p.asked(ctx, policy.GateTool)
	p.send(ctx, "words for you")
	call := p.allows(ctx, req, "allowed once,")
	p.yes(Ask, "%s waited for its decision, then ran once", call)
	p.reach(Report)
	p.reported(ctx)
	p.yes(Report, "the task is completed")
	p.reach(Idle)
	p.idle(ctx)
	p.yes(Idle, "it said so to the lead")
	p.reach(MidTurn)
	p.heardMail(ctx)
	p.yes(MidTurn, "taken after the turn in which they were sent")
	p.reach(ShutDown)
	p.shutDown(ctx)
	p.yes(ShutDown, "asked, approved, and its process is gone")
}

// isDenied: what is denied does not run, and the member is there afterwards.
func isDenied(ctx context.Context, p *player) {
	p.denies(ctx, p.begins(ctx, policy.GateTool))
	if heard := p.role.Heard; heard != nil && !strings.Contains(heard(), deniedWords) {
		p.fail("the agent was not told why: %s", heard())
	}
	p.yes(Denied, "nothing ran, and it went on")
}

// plans: nothing runs before the plan is approved, and a rejected one is none.
func plans(ctx context.Context, p *player) {
	req := p.begins(ctx, policy.GatePlan)
	p.decide(ctx, req, false, "say how to take it back")
	req = p.again(ctx, policy.GatePlan, req)
	p.ran(0, "before its plan was approved")
	p.decide(ctx, req, true, "")
	p.allows(ctx, p.asked(ctx, policy.GateTool), "after its plan was approved")
	p.yes(Plan, "rejected once, approved once; nothing ran before")
}

// obeys: in plan mode its call does not run and nobody is asked; in the mode default it asks again.
func obeys(ctx context.Context, p *player) {
	p.ready(ctx)
	p.mode(ctx, policy.ModePlan)
	p.give(ctx)
	p.restedAfter(ctx, 0, "in plan mode")
	if r := p.open(policy.GateTool); r != nil {
		p.fail("in plan mode somebody was asked for %s", decide.Describe(r.Kind, r.Ask))
	}
	p.mode(ctx, policy.ModeDefault)
	p.give(ctx)
	p.allows(ctx, p.asked(ctx, policy.GateTool), "in the mode default")
	p.yes(Mode, "plan: nothing ran and nobody was asked; default: it asked")
}

// asks: the answer that it gets is the one that was given, by number and in words.
func asks(ctx context.Context, p *player) {
	p.ready(ctx)
	answered := func(typed, want string) {
		p.give(ctx)
		p.answer(ctx, p.asked(ctx, policy.GateQuestion), typed)
		p.hears(ctx, want)
		p.rested(ctx)
	}
	answered("2", right)
	p.yes(Question, "answered by number")
	p.reach(FreeText)
	answered(freeWords, freeWords)
	p.yes(FreeText, "it was told the words")
}

// unheard: nobody answers. Nothing runs, and silence is told as silence.
func unheard(ctx context.Context, p *player) {
	p.reach(Denied)
	p.begin(ctx)
	p.restedAfter(ctx, 0, "nobody answered, and")
	p.reach(Unanswered)
	if len(p.sc.acts) == 1 {
		p.yes(Unanswered, "the call did not run")
		return
	}
	p.hears(ctx, agent.NoAnswer)
	p.yes(Unanswered, "the call did not run, and the question: %s", agent.NoAnswer)
}

// readFile is the content of a file, as far as it can be read.
func readFile(path string) string {
	data, _ := os.ReadFile(path) // "" of one that is not there
	return string(data)
}
