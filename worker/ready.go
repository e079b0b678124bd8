package worker

import (
	"context"
	"os"
	"path/filepath"

	"waggle/agent"
	"waggle/journal"
	"waggle/machine"
	"waggle/record"
)

// ready records, once, the properties of this process; from then on it takes work. It waits until
// its modes and policies are applied.
func (w *Worker) ready(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.p.Fold.Ready != nil || w.p.Fold.State() == machine.Terminated {
		return nil
	}
	for _, o := range w.p.Lead.Unclosed(w.p.Fold.Instance) {
		if c := o.Commanded; c != nil && (c.What == record.CommandMode || c.What == record.CommandPolicy) && w.p.Fold.Wants(o) {
			return nil
		}
	}
	r := record.Ready{Epoch: w.p.Writer.Epoch, Mode: w.p.Lead.ModeOf(w.p.Fold.Instance), Policy: w.p.Lead.Policy.Policy.Version, Cwd: w.p.Cwd, Backend: w.p.Backend, Sandbox: w.p.Held}
	if m, ok := w.p.Lead.ByInstance(w.p.Fold.Instance); ok {
		r.Agent = m.Agent
	}
	if a, ok := w.p.Agent.(agent.Modeled); ok {
		r.Model = a.Model()
	}
	if w.p.Where != nil {
		p, err := w.p.Where(ctx)
		if err != nil {
			return err
		}
		r.Cwd, r.Top = p.Cwd, p.Top
	}
	return w.append(ctx, func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: record.KindReady, Must: true, Body: r}}, nil
	})
}

// Location is the directory in which a worker runs, without links.
type Location struct {
	Cwd string // working directory, links resolved
	Top string // top level of the member's git worktree; "" when it has none
}

// resolved is a directory without links in its path.
func resolved(dir string) (string, error) {
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return "", err
		}
	}
	return filepath.EvalSymlinks(dir)
}
