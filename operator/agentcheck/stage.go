package agentcheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"waggle/leader"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/teams"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// stage is a scratch team that this process leads: it passes while a check waits for something.
type stage struct {
	c      *checker
	op     operator.Operator
	team   protocol.TeamName
	s      *operator.State
	l      *leader.Leader
	stop   func()
	nudges <-chan struct{}
}

// newStage makes a team whose every call asks a person, who is the check.
func newStage(ctx context.Context, c *checker, name string, deadline time.Duration) (*stage, error) {
	st := &stage{c: c, op: c.op, team: protocol.TeamName(name)}
	set := record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault}, Deadline: deadline.Milliseconds()}
	var err error
	if st.s, err = teams.Of(c.op).Create(ctx, st.team, "an agent is checked", set); err != nil {
		return nil, err
	}
	lead := process.Of(c.op).LeaderOptions(st.s, true)
	lead.Dismiss = false // a member whose worker is killed is started again
	if st.l, err = process.Of(c.op).LeadAs(ctx, st.s, lead); err != nil {
		return nil, err
	}
	st.nudges, st.stop, err = operator.Watch(context.WithoutCancel(ctx), 100*time.Millisecond, append(c.op.Boxes(st.team).Dirs(), st.s.Dir.LeaderJournal())...)
	if err != nil {
		return nil, errors.Join(err, st.l.Close())
	}
	return st, nil
}

// endGrace is how long members may take to end by handshake before they are ended.
const endGrace = 5 * time.Second

func (st *stage) close(ctx context.Context) error {
	err := process.Of(st.op).EndTeam(ctx, st.l, st.s, process.TeamEnd{Reason: "the check is over", Grace: endGrace}, func() {})
	err = errors.Join(err, process.Of(st.op).CloseTerminals(ctx, st.s, process.AllRead)) // also panes of members that were killed
	st.stop()
	return errors.Join(err, st.l.Close())
}

// until leads until cond holds, for as long as one thing may take.
func (st *stage) until(ctx context.Context, what string, cond func() (bool, error)) error {
	held, err := st.within(ctx, st.c.o.Patience, cond)
	if err == nil && !held {
		err = fmt.Errorf("%s: not within %s", what, st.c.o.Patience)
	}
	return err
}

// lead leads for a time.
func (st *stage) lead(ctx context.Context, d time.Duration) error {
	_, err := st.within(ctx, d, func() (bool, error) { return false, nil })
	return err
}

// within leads until cond holds, or for a time.
func (st *stage) within(ctx context.Context, d time.Duration, cond func() (bool, error)) (held bool, err error) {
	over := time.NewTimer(d)
	defer over.Stop()
	for {
		if err := st.l.Pass(ctx); err != nil {
			return false, err
		}
		if err := st.s.Journal.Refresh(ctx); err != nil {
			return false, err
		}
		if held, err := cond(); held || err != nil {
			return held, err
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-over.C:
			return false, nil
		case <-st.nudges:
		}
	}
}

// enter makes a scene's member, and starts it.
func (st *stage) enter(ctx context.Context, sc scene) (*player, error) {
	p := &player{st: st, sc: sc, name: protocol.MemberName(sc.name), cwd: st.c.cwd(string(st.team), sc), began: st.op.Minter.Now()}
	if err := os.MkdirAll(p.cwd, 0o700); err != nil {
		return p, err
	}
	var err error
	if p.role, err = st.c.d.Cast(ctx, p.name, sc.acts); err != nil {
		return p, err
	}
	m := st.c.o.Member
	m.Name, m.Cwd, m.Spec, m.PlanRequired, m.Mode, m.Restart, m.Worktree, m.Sandbox = p.name, p.cwd, p.role.Spec, sc.plan, "", nil, false, nil
	if m.Backend = st.c.o.Backend; p.role.Connect != nil {
		m.Backend = operator.BackendMCP
	}
	if _, p.instance, err = teams.Of(st.op).Join(ctx, st.s, m); err != nil {
		return p, err
	}
	if err := st.l.Refresh(ctx); err != nil {
		return p, err
	}
	if p.role.Connect != nil {
		p.connect(ctx)
		return p, nil
	}
	_, err = process.Of(st.op).StartWorker(ctx, st.l, st.s, p.instance, p.name, p.cwd, p.output())
	return p, err
}
