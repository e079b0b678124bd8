package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"waggle"
	"waggle/control"
	"waggle/internal/atomicfile"
	"waggle/team"
)

// Parts of messages for programs that read the files. No decision depends on them.

// keepPlan writes a plan into the member's directory, under a name that the text
// gives, and returns its absolute path. The same plan is the same file.
func keepPlan(dir, plan string) (string, error) {
	sum := sha256.Sum256([]byte(plan))
	path, err := filepath.Abs(filepath.Join(dir, "plans", hex.EncodeToString(sum[:4])+".md"))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	have, err := atomicfile.ReadFile(path, atomicfile.Options{})
	if err == nil && string(have) == plan {
		return path, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return path, atomicfile.WriteFile(path, []byte(plan), atomicfile.Options{Perm: 0o600})
}

// shownAt is where the registry says that this member is shown; empty when the registry cannot be
// read.
func shownAt(ctx context.Context, o Options, name waggle.MemberName) control.Shown {
	reg, err := team.Open(o.Root, o.Team, team.Options{})
	if err != nil {
		return control.Shown{}
	}
	cfg, err := reg.Load(ctx)
	if err != nil {
		return control.Shown{}
	}
	m, ok := cfg.Member(name)
	if !ok || m.Gone() {
		return control.Shown{}
	}
	return control.Shown{Pane: m.TmuxPaneID, Backend: m.BackendType}
}
