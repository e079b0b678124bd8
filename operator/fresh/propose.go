package fresh

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/process"
	"waggle/operator/proposal"
	"waggle/operator/teamfile"
	"waggle/policy"
	"waggle/protocol"
	"waggle/spawn"
)

// SourceProposal is the kind of a Source that an agent has written, and the person has read and started.
const SourceProposal = "proposal"

// Propose puts a new member before the person, and starts nothing. It may be called from inside of an agent. Of the want
// it keeps what is in proposal.Asked.
func (o Operator) Propose(ctx context.Context, w Want, dir string) (*proposal.Proposal, error) {
	wants, err := o.whole([]Want{w})
	if err != nil {
		return nil, err
	}
	w = wants[0]
	if w.Agent == agentExec && len(w.Command) == 0 {
		return nil, &operator.Error{Kind: operator.Usage, Op: "propose", Msg: "the words of a proposal are no shell command: name another agent, or the program that reads them with --command"}
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	_, commits, err := o.checkout(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := o.placed(ctx, dir, commits, wants); err != nil {
		return nil, err
	}
	p := proposal.Proposal{Dir: dir, By: o.CalledBy(), Asked: proposal.Asked{Agent: w.Agent, Command: w.Command, Name: string(w.Name), Model: w.Model,
		Base: w.Begin.Base, Attempts: w.Attempts, Split: w.Split, Task: w.Task}}
	p, err = o.proposals().Put(ctx, p, o.Minter.Rand)
	var over *proposal.LimitError
	switch {
	case errors.As(err, &over) && !over.Full:
		return nil, &operator.Error{Kind: operator.Usage, Op: "propose", Msg: over.Why}
	case errors.As(err, &over):
		return nil, &operator.Error{Kind: operator.Refused, Op: "propose", Msg: over.Why, Next: operator.NextPendingList.With()}
	case err != nil:
		return nil, err
	}
	return &p, nil
}

func (o Operator) proposals() proposal.Store { return decide.Of(o.Operator).Proposals() }

// AwaitProposal waits until a proposal is answered or expired, or the time is over.
func (o Operator) AwaitProposal(ctx context.Context, id string, wait time.Duration) (p proposal.Proposal, err error) {
	process.Of(o.Operator).Await(ctx, wait, func() bool {
		if p, err = o.proposal(id); err != nil {
			return true
		}
		now := p.Now(o.Minter.Now())
		return now != proposal.Open && now != proposal.Starting
	})
	return p, errors.Join(err, ctx.Err())
}

func (o Operator) proposal(id string) (proposal.Proposal, error) {
	all, err := o.proposals().List()
	for _, p := range all {
		if p.ID == id {
			return p, nil
		}
	}
	return proposal.Proposal{}, errors.Join(&proposal.GoneError{ID: id}, err)
}

// Start starts what a proposal proposes, as New does, once: the person's command, for a digest that the person was
// shown. The agent gets the text quoted, as the words of whoever wrote it. A command that was killed meanwhile is
// finished by the next: it finds what was started.
func (o Operator) Start(ctx context.Context, id, digest string, opt Options) (*Started, error) {
	if err := o.Guard(ctx, nil, "approve"); err != nil {
		return nil, err
	}
	refused := func(format string, args ...any) error {
		return &operator.Error{Kind: operator.Refused, Op: "approve", Msg: fmt.Sprintf(format, args...)}
	}
	self, err := spawn.Identify(o.PID)
	if err != nil {
		return nil, err
	}
	store := o.proposals()
	p, err := store.Change(ctx, id, func(p *proposal.Proposal) error {
		switch now := p.Now(o.Minter.Now()); {
		case string(p.Digest()) != digest:
			return refused("%s does not say any more what was shown", p.Handle())
		case now == proposal.Started:
			return refused("%s was started: %s in team %s", p.Handle(), strings.Join(p.Members, ", "), p.Team)
		case now == proposal.Starting && !p.Starter.Ended():
			return refused("process %d starts %s at this moment", p.Starter.PID, p.Handle())
		case now != proposal.Open && now != proposal.Starting:
			return refused("%s is %s", p.Handle(), now)
		case now == proposal.Starting: // its starter was killed
			p.Team, p.Members = o.startedBy(ctx, p)
		}
		if p.Starter, p.State = self, proposal.Starting; len(p.Members) > 0 {
			p.State, p.Answered = proposal.Started, o.Minter.Now().UTC()
		}
		return nil
	})
	var gone *proposal.GoneError
	switch {
	case errors.As(err, &gone):
		return nil, &operator.Error{Kind: operator.NotFound, Op: "approve", Msg: err.Error(), Next: operator.NextPending.With(), Err: err}
	case err != nil:
		return nil, err
	case p.State == proposal.Started:
		return nil, refused("%s was started before its command was killed: %s in team %s", p.Handle(), strings.Join(p.Members, ", "), p.Team)
	}
	opt.Dir = p.Dir
	st, err := o.New(ctx, []Want{wantOf(p)}, opt)
	_, kept := store.Change(context.WithoutCancel(ctx), id, func(p *proposal.Proposal) error {
		if p.State, p.Starter = proposal.Open, (spawn.Identity{}); st == nil || len(st.Members) == 0 {
			return nil
		}
		p.State, p.Team, p.Answered = proposal.Started, string(st.Team), o.Minter.Now().UTC()
		for _, m := range st.Members {
			p.Members = append(p.Members, string(m.Name))
		}
		return nil
	})
	return st, errors.Join(err, kept)
}

// wantOf is the task that a proposal becomes.
func wantOf(p proposal.Proposal) Want {
	return Want{Agent: p.Agent, Command: p.Command, Name: protocol.MemberName(p.Name), Model: p.Model, Begin: teamfile.Begin{Base: p.Base}, Attempts: p.Attempts, Split: p.Split,
		Source: &Source{Kind: SourceProposal, ID: p.ID, Handle: p.Handle(), Author: p.By, Title: subject(p.Task), Body: p.Task}}
}

// startedBy are the members of any team that a killed command has given the text of a proposal. What an agent quotes
// begins with >, and so is never taken for it.
func (o Operator) startedBy(ctx context.Context, p *proposal.Proposal) (team string, members []string) {
	names, _ := o.Root.Names() // what cannot be read has started nothing lately
	mark := wantOf(*p).Source.named()
	for _, name := range names {
		s, err := o.Open(ctx, name, operator.Act)
		if err != nil {
			continue
		}
		for _, order := range s.Lead.Assignments() {
			t := order.Commanded.Task
			m, ok := s.Lead.ByInstance(order.Instance)
			if ok && order.Commanded.By == policy.RoleOperator && strings.Contains(t.Instructions, mark) {
				team, members = string(name), append(members, string(m.Name))
			}
		}
	}
	return team, members
}
