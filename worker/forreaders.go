package worker

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"waggle/control"
	"waggle/internal/fs/atomicfile"
	"waggle/internal/fs/logfile"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// Parts of messages for programs that read the files. No decision depends on them.

// keepPlan writes a plan into the member's directory, under a name that the text
// gives, and returns its absolute path. The same plan is the same file.
func keepPlan(dir, plan string) (string, error) {
	name := record.HashText(plan)[:8] + ".md"
	path, err := filepath.Abs(filepath.Join(dir, "plans", name))
	if err != nil {
		return "", err
	}
	plans, err := logfile.MakeDir(dir, "plans", 0o700) // what is there may be a link of the member's commands
	if err != nil {
		return "", err
	}
	defer plans.Close()
	f, err := logfile.OpenPlain(plans, name, os.O_RDONLY)
	switch {
	case err == nil:
		have, err := io.ReadAll(io.LimitReader(f, int64(len(plan))+1))
		if err := errors.Join(err, f.Close()); err != nil {
			return "", err
		}
		if string(have) == plan {
			return path, nil
		}
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	return path, atomicfile.WriteWithin(plans, name, []byte(plan), atomicfile.Options{Perm: 0o600})
}

// shownAt returns the pane of this member in the registry; empty when the registry cannot be read.
func shownAt(ctx context.Context, o Options, name protocol.MemberName) control.Shown {
	m, err := (&Foreign{o.Root, o.Team, name}).entry(ctx, team.Options{})
	if err != nil || m == nil {
		return control.Shown{}
	}
	return control.Shown{Pane: m.TmuxPaneID, Backend: m.BackendType}
}
