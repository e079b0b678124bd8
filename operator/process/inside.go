package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"waggle/internal/caught"
	"waggle/operator"
	"waggle/operator/teamfile"
	"waggle/record"
	"waggle/spawn"
	"waggle/worker"
)

// ownAgents are the agents whose code is waggle's: what runs in the leader's process
// can end all of it.
var ownAgents = []string{"script", "llm"}

// Alone is the backend of a member of a job that nobody attends: with auto, agents of
// our own work in this process, where starting one costs next to nothing.
func Alone(m teamfile.FileMember) string {
	if m.Backend == operator.BackendAuto && slices.Contains(ownAgents, m.Agent) {
		return operator.BackendInProcess
	}
	return m.Backend
}

// inside is the backend in-process: a member's worker in this process.
func (o Operator) inside(s *operator.State, i record.Instance) spawn.Backend {
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
		return spawn.Exit{Code: worker.ExitFailed}
	}
	if err != nil {
		fmt.Fprintln(out, "waggle:", err)
	}
	switch operator.KindOf(err) {
	case operator.None:
		return spawn.Exit{}
	case operator.Locked:
		return spawn.Exit{Code: worker.ExitRunning}
	}
	return spawn.Exit{Code: worker.ExitFailed}
}

// workInside is a worker's whole life in this process.
func (o Operator) workInside(ctx context.Context, s *operator.State, i record.Instance, spec spawn.Spec, out io.Writer) (err error) {
	// What its commands leave behind stays below this process, by which it is known.
	if err := spawn.Subreaper(); err != nil {
		return err
	}
	wo := o.Worker(s, i)
	wo.Root, wo.Environ, wo.Output, wo.Backend, wo.Inside = o.Root, spec.Env, out, operator.BackendInProcess, true
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
