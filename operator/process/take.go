package process

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/task"
)

// TakeOptions are the settings of Take.
type TakeOptions struct {
	Now bool // a call that runs is interrupted; otherwise it ends first
	// Waits is told, once, what the member lets end first; may be nil.
	Waits func(what string)
}

// Taken is the conversation of a member that this process has.
type Taken struct {
	Member protocol.MemberName
	// Command opens it in a terminal. The conversation is this process's for as long as it runs, so that
	// it becomes that command (exec): when the client ends, the member goes on.
	Command spawn.Command
	// Confined is how far the member's own commands are confined: those of this client are not.
	Confined record.HeldLevel

	// Return gives the conversation back at once, where the command was not started.
	Return func(ctx context.Context, why string) error
}

// Take has a member let its agent's conversation go between two calls, and returns the command with which a
// person opens it. The member takes no work meanwhile; its mail waits, and its turn stays open. It has the
// conversation back when this process has ended, whoever ends it, and goes on by itself then. When ctx ends
// before the member has let it go, nothing is taken.
func (o Operator) Take(ctx context.Context, name protocol.TeamName, member string, to TakeOptions) (*Taken, error) {
	s, err := o.Open(ctx, name, operator.Lead("take"))
	if err != nil {
		return nil, err
	}
	m, err := decide.Member(s, member)
	if err != nil {
		return nil, err
	}
	w := control.NewWorker(nil)
	own, err := s.Dir.OpenJournal(journal.Name(m.Instance), w, s.JournalOptions)
	if err != nil {
		return nil, err
	}
	command, err := o.opens(ctx, s, m, w)
	if err != nil {
		return nil, err
	}
	self, err := spawn.Identify(o.PID)
	if err != nil {
		return nil, err
	}
	recs, err := s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		return s.Lead.Borrow(m, record.Borrowed{By: self, Now: to.Now}, m.Borrowed != nil && m.Borrowed.By.Ended())
	})
	var other *control.BorrowedError
	switch {
	case errors.As(err, &other):
		return nil, &operator.Error{Kind: operator.Locked, Op: "take", Msg: fmt.Sprintf("%s: %v", m.Name, err), Advice: "it goes on when that client has ended", Err: err}
	case err != nil:
		return nil, err
	}
	seq := recs[len(recs)-1].Seq
	t := &Taken{Member: m.Name, Command: command, Confined: operator.HeldOf(m, w.Ready), Return: func(ctx context.Context, why string) error {
		_, err := s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) { return s.Lead.Return(m, seq, why), nil })
		return err
	}}
	if err := o.letGo(ctx, s, m, own, w, seq, to.Waits); err != nil {
		return nil, errors.Join(err, t.Return(context.WithoutCancel(ctx), "it was not taken after all"))
	}
	return t, nil
}

// silent is how long Take says nothing while a member does something that is no call.
const silent = 3 * time.Second

// letGo waits until the member has let its conversation go.
func (o Operator) letGo(ctx context.Context, s *operator.State, m *control.Member, own journal.Journal, w *control.Worker, seq journal.Seq, waits func(string)) error {
	nudges, end, err := operator.Watch(ctx, 100*time.Millisecond, s.Dir.LeaderJournal(), s.Dir.JournalOf(string(m.Instance)))
	if err != nil {
		return err
	}
	defer end()
	long := time.NewTimer(silent)
	defer long.Stop()
	for {
		if err := errors.Join(s.Journal.Refresh(ctx), own.Refresh(ctx)); err != nil {
			return err
		}
		switch calls := w.Running(); {
		case m.Left != nil:
			return &operator.Error{Kind: operator.Refused, Op: "take", Msg: fmt.Sprintf("%s has left: %s", m.Name, m.Left.How)}
		case w.Yielded == uint64(seq):
			return nil
		case m.Process == nil || m.Process.ID.Ended():
			return o.notRunning(s, m)
		case len(calls) > 0 && waits != nil:
			waits(decide.Brief(calls[0].Kind, calls[0].Run()))
			waits = nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-long.C:
			if waits != nil {
				waits("what it does now, such as its check")
				waits = nil
			}
		case <-nudges:
		}
	}
}

func (o Operator) notRunning(s *operator.State, m *control.Member) error {
	return &operator.Error{Kind: operator.Died, Op: "take", Msg: fmt.Sprintf("%s does not run, and cannot let its session go", m.Name),
		Next: operator.Next{Step: operator.NextResumeTeam, Team: s.Team}}
}

// opens is the command that opens the member's conversation, or an error that says why there is none.
func (o Operator) opens(ctx context.Context, s *operator.State, m *control.Member, w *control.Worker) (c spawn.Command, err error) {
	refused := func(step operator.Step, format string, args ...any) (spawn.Command, error) {
		return c, &operator.Error{Kind: operator.Refused, Op: "take", Msg: fmt.Sprintf("%s %s", m.Name, fmt.Sprintf(format, args...)),
			Next: operator.Next{Step: step, Team: s.Team, Member: m.Name}}
	}
	a, _ := agent.New(m.Agent, m.Spec) // a kind that this program does not know opens nothing
	b, ok := a.(agent.Borrowable)
	h, err := o.held(s, m.Name)
	switch {
	case err != nil:
		return c, err
	case !ok:
		return refused(operator.NextTell, "has no session that a client could open: its agent is %s", m.Agent)
	case h != nil && h.Place.Pane != nil:
		return refused(operator.NextTypePane, "shows its client in its pane already")
	case runtime.GOOS == "windows":
		return refused(operator.NextTell, "keeps its session: no process becomes another one on Windows")
	case m.Process == nil || m.Process.ID.Ended():
		return c, o.notRunning(s, m)
	case w.Conversation == nil:
		return refused(operator.NextTell, "has no session yet: its first turn begins one")
	case m.Trust == record.Enforced:
		return refused(operator.NextTell, "must run in a sandbox, and a client in this terminal would not")
	}
	talk := agent.Conversation(*w.Conversation)
	if talk.Dir == "" {
		talk.Dir = m.Cwd
	}
	if c, err = b.Opens(ctx, o.Environ, talk); err != nil {
		return c, &operator.Error{Kind: operator.Failed, Op: "take", Err: fmt.Errorf("%s: %w", m.Name, err)}
	}
	c.Env = append(c.Env, "WAGGLE_ARTIFACTS="+filepath.Join(o.Root.MemberDir(s.Team, m.Name), task.ArtifactsName))
	return c, nil
}
