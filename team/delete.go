package team

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/protocol"
)

// Delete removes the team's directory, and its tasks when tasks is set. It does not check whether
// members run: the caller must. Tasks are removed first, so that after a kill the team is still
// there and can be deleted again; each directory is renamed under its lock before it is removed, so
// that no process sees half of it. Only directories of this name below teams/ and tasks/ are
// touched, and the mailboxes of a team of 2.1.150 under its name's old spelling (see InboxesDir). A
// symbolic link in their place and a directory that belongs to another user are refused, and no
// link inside them is followed. A team that does not exist is a *NotFoundError.
func (t *Team) Delete(ctx context.Context, tasks bool) error {
	return t.failed("delete", t.dispose(ctx, tasks, false, func(root *os.Root, name, _ string) (func() error, error) {
		doomed := leaving(t.name) + suffix()
		if err := root.Rename(name, doomed); err != nil {
			doomed = name // a platform that does not rename a directory in use
		}
		return func() error { return root.RemoveAll(doomed) }, nil
	}))
}

// MoveTo is Delete that keeps the team's files: as dir/team, dir/tasks and, if there are any under
// an old spelling, dir/inboxes. dir must exist; it may be on another file system, to which
// everything is copied before it is removed. MoveTo also finishes the move of a process that was
// killed while it copied. It waits for the locks until the deadline and then goes on without them: nothing
// is lost, and what holds the lock of a team that has ended must not keep its name.
func (t *Team) MoveTo(ctx context.Context, dir string, tasks bool) error {
	return t.failed("move", t.dispose(ctx, tasks, true, func(root *os.Root, name, what string) (func() error, error) {
		source, to := filepath.Join(root.Name(), name), filepath.Join(dir, what)
		if err := os.Rename(source, to); err == nil || !foreignDevice(err) {
			return func() error {
				removeLocks(to)
				return t.finishMoves(root, dir, what)
			}, err
		}
		// The new name hides the directory from other processes, and sweep does not remove it.
		if err := root.Rename(name, moving(t.name)+suffix()); err != nil {
			return nil, err
		}
		return func() error { return t.finishMoves(root, dir, what) }, nil
	}))
}

// disposal moves the directory name below root, which is the given part of the team, to a place
// where no process looks. It is called under the directory's lock; the function that it returns is
// called after the lock is released.
type disposal func(root *os.Root, name, what string) (after func() error, err error)

// dispose passes the team's directories one by one to away, as a name below root with the part that
// it is. despite: also one whose lock another program holds.
func (t *Team) dispose(ctx context.Context, tasks, despite bool, away disposal) error {
	if info, err := os.Lstat(t.root.TeamDir(t.name)); err == nil {
		if err := owned(t.root.TeamDir(t.name), info); err != nil {
			return err // before the tasks are removed
		}
	}
	if tasks {
		err := t.remove(ctx, t.root.tasks(), ".lock", "tasks", atomicfile.RankTasks, despite, away)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := t.removeSpelled(away); err != nil {
		return err
	}
	err := t.remove(ctx, t.root.teams(), configName, "team", atomicfile.RankConfig, despite, away)
	if errors.Is(err, fs.ErrNotExist) {
		return t.notFound()
	}
	return err
}

// removeSpelled disposes of mailboxes under the name's old spelling.
func (t *Team) removeSpelled(away disposal) error {
	inboxes := t.InboxesDir()
	home := filepath.Dir(inboxes)
	if home == t.root.TeamDir(t.name) {
		return nil
	}
	info, err := os.Lstat(home)
	if err == nil {
		err = owned(home, info)
	}
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer root.Close()
	after, err := away(root, inboxesName, inboxesName)
	if err == nil {
		err = after()
	}
	if err != nil {
		return err
	}
	_ = os.Remove(home) // unless something else is in it
	return nil
}

// owned refuses what is not a directory of this user.
func owned(path string, info fs.FileInfo) error {
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory and stays", path)
	}
	if uid, other := atomicfile.ForeignOwner(info); other {
		return fmt.Errorf("%s belongs to user %d and stays", path, uid)
	}
	return nil
}

// remove disposes of the team's directory below parent while holding the lock of
// one of its files, or, despite, although another program holds it.
func (t *Team) remove(ctx context.Context, parent, lock, what string, rank atomicfile.Rank, despite bool, away disposal) error {
	root, err := os.OpenRoot(parent)
	if err != nil {
		return err
	}
	defer root.Close()
	sweep(parent, t.name, t.now())
	name := string(t.name)
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if err := owned(filepath.Join(parent, name), info); err != nil {
		return err
	}
	release := func() error { return nil }
	if target := filepath.Join(parent, name, lock); isFile(target) {
		o := t.o
		o.Rank = rank
		switch held, err := atomicfile.Lock(ctx, target, o); {
		case err == nil:
			release = held
		case !despite || ctx.Err() != nil || !errors.As(err, new(*LockedError)):
			return err
		}
	}
	t.step("disposing " + what)
	after, err := away(root, name, what)
	t.step("out of sight " + what)
	_ = release() // the lock went with the directory
	if err != nil {
		return err
	}
	return after()
}

// step reports to a test which step an operation has reached.
func (t *Team) step(name string) {
	if t.o.Hook != nil {
		t.o.Hook(name)
	}
}

// finishMoves copies what waits below root for a place on another file system,
// and then removes it: as dir/what, and what a killed process left beside it.
func (t *Team) finishMoves(root *os.Root, dir, what string) error {
	entries, err := os.ReadDir(root.Name())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), moving(t.name)) {
			continue
		}
		to := freePath(filepath.Join(dir, what), "")
		removeLocks(filepath.Join(root.Name(), e.Name()))
		if err := copyTree(root, e.Name(), to); err != nil {
			return err
		}
		t.step("copied " + what)
		doomed := leaving(t.name) + suffix()
		if err := root.Rename(e.Name(), doomed); err != nil {
			return err
		}
		if err := root.RemoveAll(doomed); err != nil {
			return err
		}
	}
	return nil
}

// removeLocks removes the locks under which a directory was taken away.
func removeLocks(dir string) {
	for _, file := range []string{configName, ".lock"} {
		if lock := filepath.Join(dir, file+".lock"); isDir(lock) {
			_ = os.Remove(lock)
		}
	}
}

// moveDir moves a directory, or a link, perhaps to another file system: it is never in neither.
func moveDir(parent, name, to string) error {
	from := filepath.Join(parent, name)
	if err := os.Rename(from, to); err == nil || !foreignDevice(err) {
		return err
	}
	if !isDir(from) {
		return fmt.Errorf("%s is not a directory: move it away", from)
	}
	root, err := os.OpenRoot(parent)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := copyTree(root, name, to); err != nil {
		return err
	}
	return root.RemoveAll(name)
}

// copyTree copies a directory below root, whole or not at all.
func copyTree(root *os.Root, from, to string) error {
	part := to + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	inside, err := root.OpenRoot(from)
	if err != nil {
		return err
	}
	defer inside.Close()
	if err := os.CopyFS(part, inside.FS()); err != nil {
		return errors.Join(fmt.Errorf("copy %s: %w", filepath.Join(root.Name(), from), err), os.RemoveAll(part))
	}
	return os.Rename(part, to)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// freePath is the path of a stem and an ending, or the first one with a number between them where nothing is.
func freePath(stem, ending string) string {
	path := stem + ending
	for n := 2; exists(path); n++ {
		path = fmt.Sprintf("%s-%d%s", stem, n, ending)
	}
	return path
}

func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// staging, leaving and moving begin the names of directories that are being made,
// removed, and moved to another file system. No team name begins with a dot.
func staging(name protocol.TeamName) string { return "." + string(name) + ".new-" }
func moving(name protocol.TeamName) string  { return "." + string(name) + ".moving-" }
func leaving(name protocol.TeamName) string { return "." + string(name) + ".deleted-" }

// sweep removes what a process that was killed left of this team: directories it
// was removing, and those it was making an hour ago.
func sweep(parent string, name protocol.TeamName, now time.Time) {
	sweepDirs(parent, now, func(dir string, old bool) bool {
		return strings.HasPrefix(dir, leaving(name)) || old && strings.HasPrefix(dir, staging(name))
	})
}

// sweepDirs removes the directories below parent that are left, by their name and whether they are an hour old.
func sweepDirs(parent string, now time.Time, left func(name string, old bool) bool) {
	root, err := os.OpenRoot(parent)
	if err != nil {
		return
	}
	defer root.Close()
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && left(e.Name(), now.Sub(info.ModTime()) > time.Hour) {
			_ = root.RemoveAll(e.Name())
		}
	}
}
