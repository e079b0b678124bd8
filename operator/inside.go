package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"waggle/control"
	"waggle/internal/caught"
	"waggle/spawn"
	"waggle/worker"
)

// ownAgents are the agents whose code is waggle's: what runs in the leader's process
// can end all of it.
var ownAgents = []string{"script", "llm"}

// alone is the backend of a member of a job that nobody attends: with auto, agents of
// our own work in this process, where starting one costs next to nothing.
func alone(m FileMember) string {
	if m.Backend == BackendAuto && slices.Contains(ownAgents, m.Agent) {
		return BackendInProcess
	}
	return m.Backend
}

// inside is the backend in-process: a member's worker in this process.
func (o Operator) inside(s *State, i control.Instance) spawn.Backend {
	return spawn.InProcess(func(ctx context.Context, spec spawn.Spec, out io.Writer) spawn.Exit {
		return exitOf(o.workInside(ctx, s, i, spec, out), out)
	})
}

// exitOf is how a worker in this process has ended, as it would have as a process. out
// is told of what went wrong.
func exitOf(err error, out io.Writer) spawn.Exit {
	if p := caught.Of(err); p != nil {
		return spawn.Exit{Code: -1, Panic: p.Error()} // the worker has logged its stack
	}
	if errors.Is(err, context.Canceled) {
		return spawn.Exit{Code: CodeFailed}
	}
	if err != nil {
		fmt.Fprintln(out, "waggle:", err)
	}
	return spawn.Exit{Code: Code(err)}
}

// workInside is a worker's whole life in this process.
func (o Operator) workInside(ctx context.Context, s *State, i control.Instance, spec spawn.Spec, out io.Writer) (err error) {
	// What its commands leave behind stays below this process, by which it is known.
	if err := spawn.Subreaper(); err != nil {
		return err
	}
	wo := o.Worker(s, i)
	wo.Root, wo.Environ, wo.Output, wo.Backend, wo.Inside = o.Root, spec.Env, out, BackendInProcess, true
	wo.Log = slog.New(slog.NewTextHandler(out, nil))
	w, err := worker.Open(ctx, wo)
	if err != nil {
		return err
	}
	// Deferred, so that the lease is given back when Run panics.
	defer func() {
		_, rerr := spawn.ReapOrphans()
		if errors.Is(rerr, errors.ErrUnsupported) {
			rerr = nil
		}
		err = errors.Join(err, rerr, w.Close())
	}()
	return w.Run(ctx)
}

// callers lists the members from inside whose process this one was called, the
// nearest: none, one, or all that live in a leader's process, which cannot be told
// apart (TRUST 8).
func (o Operator) callers(s *State) ([]*control.Member, error) {
	if o.Ancestors == nil {
		return nil, nil
	}
	ids, err := o.Ancestors(o.PID)
	if err != nil {
		return nil, fmt.Errorf("cannot tell who is asking: %w", err)
	}
	for _, id := range ids {
		var here, live []*control.Member
		for _, m := range s.Lead.Members {
			if m.Process == nil || !sameProcess(id, m.Process.ID) {
				continue
			}
			if here = append(here, m); m.Left == nil {
				live = append(live, m)
			}
		}
		switch {
		case len(live) > 0:
			return live, nil
		case len(here) > 0:
			return here, nil
		}
	}
	return nil, nil
}

// sameProcess compares what identifies a process, whether or not more lives in it.
func sameProcess(a, b spawn.Identity) bool {
	return a.PID == b.PID && a.Start == b.Start && a.Boot == b.Boot
}

// names lists members for people.
func names(ms []*control.Member) string {
	var s []string
	for _, m := range ms {
		s = append(s, string(m.Name))
	}
	if len(s) > 1 {
		return "of members " + strings.Join(s, ", ") + ", who share a process"
	}
	return "member " + s[0]
}
