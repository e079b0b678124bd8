package team

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"waggle/internal/fs/atomicfile"
	"waggle/protocol"
)

// Leftovers lists, sorted, the directories that have a team's name and no registry. A
// message that was written after the team's end makes one, and so does the removal of
// a registry.
func (r Root) Leftovers() ([]protocol.TeamName, error) {
	l, err := r.list()
	return slices.DeleteFunc(l.left, func(n protocol.TeamName) bool { return isFile(r.ConfigPath(n)) }), err // of Kept it is elsewhere
}

// Leftover opens such a directory, to move it away. A team with a registry, and a name without a
// directory, are a *NotFoundError.
func Leftover(r Root, name protocol.TeamName, o Options) (*Team, error) {
	if _, err := protocol.ParseTeam(string(name)); err != nil {
		return nil, fmt.Errorf("team: open: %w", err)
	}
	t := newTeam(r, name, o)
	if !isDir(r.TeamDir(name)) || isFile(r.ConfigPath(name)) {
		return nil, t.notFound()
	}
	return t, nil
}

// Rebuild writes config.json anew when the existing one cannot be read: the broken file is moved to
// kept, and its new path is returned. A registry that can be read stays as it is, and so does a
// team whose directory does not exist.
func Rebuild(ctx context.Context, r Root, c Config, kept string, o Options) (place string, changed bool, err error) {
	t := newTeam(r, c.Name, o)
	if !isDir(r.TeamDir(c.Name)) {
		return "", false, t.notFound()
	}
	release, err := atomicfile.Lock(ctx, t.path(), t.o)
	var locked *atomicfile.LockedError
	switch {
	case errors.As(err, &locked) || ctx.Err() != nil:
		return "", false, t.failed("rebuild", err)
	case err != nil: // there is no file that could be locked
		release = func() error { return nil }
	}
	place, changed, err = t.rebuild(&c, kept)
	return place, changed, t.failed("rebuild", errors.Join(err, release()))
}

func (t *Team) rebuild(c *Config, kept string) (place string, changed bool, err error) {
	data, err := atomicfile.ReadFile(t.path(), t.o)
	switch {
	case err == nil:
		if _, err := t.parse(data); err == nil {
			return "", false, nil
		}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, atomicfile.ErrNotRegular), errors.Is(err, atomicfile.ErrTooLarge):
	default:
		return "", false, err // it may pass
	}
	if exists(t.path()) {
		if place, err = atomicfile.SetAside(t.path(), kept, t.now()); err != nil {
			return "", false, err
		}
	}
	return place, true, atomicfile.WriteFile(t.path(), c.AppendJSON(nil), t.o)
}
