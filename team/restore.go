package team

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"waggle/internal/fs/atomicfile"
	"waggle/protocol"
)

// Restore makes a team named as of an unpacked backup, as whose config edit may be
// changed; edit may be nil. The team appears whole or not at all, its tasks before
// it. It fails with ErrExists when a team of that name, in any case, is there, or a
// task list that is neither empty nor the one of the backup, file by file. The directories and files that it makes are private.
func (u *Unpacked) Restore(ctx context.Context, as protocol.TeamName, edit func(*Config), o Options) (*Team, error) {
	if _, err := protocol.ParseTeam(string(as)); err != nil {
		return nil, fmt.Errorf("team: restore: %w", err)
	}
	t := newTeam(u.root, as, o)
	if err := u.restore(ctx, t, edit); err != nil {
		return nil, fmt.Errorf("team: restore %s: %w", as, err)
	}
	return t, nil
}

func (u *Unpacked) restore(ctx context.Context, t *Team, edit func(*Config)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := u.Config()
	if err != nil {
		return err
	}
	c.rename(u.Header.Team, t.name)
	if edit != nil {
		edit(c)
	}
	config := filepath.Join(u.part("team"), configName)
	if err := atomicfile.WriteFile(config, c.AppendJSON(nil), t.o); err != nil {
		return err
	}
	for _, dir := range []string{t.root.teams(), t.root.tasks()} {
		sweep(dir, t.name, t.now())
	}
	if err := t.free(); err != nil {
		return err
	}
	tasks := t.root.TasksDir(t.name)
	there, err := u.tasksThere(tasks)
	if err != nil {
		return err
	}
	for _, dir := range []string{t.root.tasks(), u.part("tasks")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	t.step("unpacked")
	if !there {
		if err := os.Rename(u.part("tasks"), tasks); err != nil {
			return err
		}
	}
	t.step("tasks placed")
	if err := os.Rename(u.part("team"), t.root.TeamDir(t.name)); err != nil {
		if !there { // without the team they belong to nobody
			err = errors.Join(err, os.Rename(tasks, u.part("tasks")))
		}
		if exists(t.root.TeamDir(t.name)) {
			return ErrExists
		}
		return err
	}
	t.step("team placed")
	return nil
}

// tasksThere makes room for the task list: it removes an empty one, and reports
// one that is already what the backup has, which a killed restore or a deletion
// that kept it has left.
func (u *Unpacked) tasksThere(dir string) (bool, error) {
	if !exists(dir) {
		return false, nil
	}
	empty, err := u.tasksFit(dir)
	if empty && err == nil {
		return false, os.RemoveAll(dir)
	}
	return err == nil, err
}

// tasksFit reports by its error a task list that is neither empty nor the one of the backup.
func (u *Unpacked) tasksFit(dir string) (empty bool, err error) {
	have, err := readTree(dir)
	if err != nil || len(have) == 0 {
		return err == nil, err
	}
	want, err := readTree(u.part("tasks"))
	if err == nil && !maps.Equal(have, want) {
		err = fmt.Errorf("%w: its task list %s, and it is not that of the backup", ErrExists, dir)
	}
	return false, err
}

// Fits reports by its error, ErrExists, that Restore would fail in a tree because of what is there. It changes
// nothing.
func (u *Unpacked) Fits(r Root, as protocol.TeamName) error {
	if err := newTeam(r, as, Options{}).free(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("team: restore %s: %w", as, err)
	}
	tasks := r.TasksDir(as)
	if !exists(tasks) {
		return nil
	}
	if _, err := u.tasksFit(tasks); err != nil {
		return fmt.Errorf("team: restore %s: %w", as, err)
	}
	return nil
}

// readTree returns the sums of the files below dir, by name, but those of locks.
func readTree(dir string) (map[string][sha256.Size]byte, error) {
	sums := map[string][sha256.Size]byte{}
	return sums, filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() || transient(d) || d.Name() == ".lock":
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file", at)
		}
		data, err := atomicfile.ReadFile(at, atomicfile.Options{MaxSize: maxEntry})
		if err != nil {
			return err
		}
		below, err := filepath.Rel(dir, at)
		sums[filepath.ToSlash(below)] = sha256.Sum256(data)
		return err
	})
}

// rename gives a config another team's name, where it holds the old one.
func (c *Config) rename(from, to protocol.TeamName) {
	c.Name = to
	moved := func(id protocol.AgentID) protocol.AgentID {
		if name, ok := strings.CutSuffix(string(id), "@"+string(from)); ok {
			return protocol.AgentID(name + "@" + string(to))
		}
		return id
	}
	c.LeadAgentID = moved(c.LeadAgentID)
	for i := range c.Members {
		c.Members[i].AgentID = moved(c.Members[i].AgentID)
	}
}

// KeepState moves the part of the backup that was the team's STATE to dir, which must not exist,
// for people to read; false when the backup has none.
func (u *Unpacked) KeepState(dir string) (kept bool, err error) {
	if !isDir(u.part(stateName)) {
		return false, nil
	}
	err = moveDir(u.dir, stateName, dir)
	return err == nil, err
}
