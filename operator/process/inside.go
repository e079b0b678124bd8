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

// ownAgents are the agents whose code is waggle's: the leader's process can end everything that
// they run.
var ownAgents = []string{"script", "llm"}

// Alone returns the backend of a member of a job without a person: with auto, waggle's own agents
// run in this process, where a start is cheap.
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

// exitOf returns the exit of a worker in this process in the form of a process's exit. It writes
// errors to out.
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
	if errors.Is(err, worker.ErrUnconfined) {
		return spawn.Exit{Code: worker.ExitUnconfined}
	}
	switch operator.KindOf(err) {
	case operator.None:
		return spawn.Exit{}
	case operator.Locked:
		return spawn.Exit{Code: worker.ExitRunning}
	}
	return spawn.Exit{Code: worker.ExitFailed}
}

// workInside runs a worker in this process from start to end.
func (o Operator) workInside(ctx context.Context, s *operator.State, i record.Instance, spec spawn.Spec, out io.Writer) (err error) {
	// As a subreaper this process becomes the parent of the programs that commands leave behind, by
	// which they are found.
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
	// deferred, so that the lease is released when Run panics
	defer func() {
		_, rerr := spawn.ReapOrphans()
		if errors.Is(rerr, errors.ErrUnsupported) {
			rerr = nil
		}
		err = errors.Join(err, rerr, w.Close())
	}()
	return w.Run(ctx)
}
