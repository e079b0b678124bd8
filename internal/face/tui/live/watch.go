package live

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"waggle/internal/backoff"
	"waggle/internal/face/tui"
	"waggle/mailbox"
	"waggle/operator/decide"
	"waggle/spawn"
	"waggle/task"
)

// watchEvery is how often the files and the processes are looked at when the system reports no change.
const watchEvery = 5 * time.Second

// beginEvery is that while a directory is not there yet, which the system does not watch, or a lease of a dead leader is held.
const beginEvery = 500 * time.Millisecond

// Watch returns two channels. The first gets a value soon after a journal, a task or a process has changed, or a team has
// come or gone; the second after a member has written output, too. Values that were not received are merged into one. Both are
// closed after ctx has ended.
func (l *Source) Watch(ctx context.Context) (changes, output <-chan struct{}) {
	c, o := make(chan struct{}, 1), make(chan struct{}, 1)
	go func() { // it ends with ctx; its readers wait for the channels to be closed
		defer close(c)
		defer close(o)
		defer l.Leave()
		for ctx.Err() == nil {
			l.watch(ctx, c, o)
		}
	}()
	return c, o
}

// watch reports changes until the directories to watch are others.
func (l *Source) watch(ctx context.Context, changes, output chan<- struct{}) {
	dirs := l.dirs()
	ctx, stop := context.WithCancel(ctx)
	every, late := watchEvery, l.unsettled()
	if late || slices.ContainsFunc(dirs, func(d string) bool { _, err := os.Stat(d); return err != nil }) {
		every = beginEvery
	}
	nudges, err := mailbox.Watch(ctx, mailbox.WatchOptions{Interval: every, Match: shown}, dirs...)
	if err != nil {
		stop()
		return
	}
	defer func() {
		stop()
		for range nudges { // until the watcher has ended
		}
	}()
	clock := l.op.Minter.Now
	seen, wrote := stamp(dirs)
	known := map[int]spawn.Identity{}
	lived, looked := l.living(known), clock()
	tui.Nudge(changes) // what changed before the watch began
	tui.Nudge(output)
	for {
		select {
		case <-l.poked:
			tui.Nudge(output)
			continue
		case _, ok := <-nudges:
			if !ok {
				return
			}
		}
		began := clock()
		now, nowWrote := stamp(dirs)
		lives := lived
		if began.Sub(looked) >= beginEvery || now != seen {
			lives, looked = l.living(known), began
		}
		switch {
		case now != seen || lives != lived || late || l.unsettled():
			seen, lived, wrote = now, lives, nowWrote
			tui.Nudge(changes)
			tui.Nudge(output)
			if late != l.unsettled() || !slices.Equal(dirs, l.dirs()) {
				return
			}
		case nowWrote != wrote:
			wrote = nowWrote
			tui.Nudge(output)
		}
		backoff.Pause(ctx, min(restful*clock().Sub(began), mostRest))
	}
}

// restful is how many times as long as a look the pause behind it is.
const restful = 10

// mostRest is the longest pause from one look at the files to the next one.
const mostRest = 100 * time.Millisecond

// unsettled reports whether Crew has to look again although nothing changed since.
func (l *Source) unsettled() bool {
	l.seen.Lock()
	defer l.seen.Unlock()
	return l.late
}

// dead reports whether a process is gone, or has ended and was not reaped yet.
func dead(pid int) bool {
	id, err := spawn.Identify(pid)
	if err != nil {
		return errors.Is(err, spawn.ErrGone)
	}
	return ended(id)
}

func ended(id spawn.Identity) bool {
	alive, err := id.Check()
	return err == nil && !alive
}

// living are the processes that Crew saw last, with those that have ended since. Their end changes no
// file when nobody leads. known are those that were looked at before.
func (l *Source) living(known map[int]spawn.Identity) string {
	l.seen.Lock()
	defer l.seen.Unlock()
	maps.DeleteFunc(known, func(pid int, _ spawn.Identity) bool { return !slices.Contains(l.pids, pid) })
	var b []byte
	for _, pid := range l.pids {
		if pid <= 0 {
			continue
		}
		id, ok := known[pid]
		if !ok {
			id, _ = spawn.Identify(pid) // of one that is gone there is nothing
			known[pid] = id
		}
		b = fmt.Appendln(b, pid, id.Start, id.PID == 0 || ended(id))
	}
	return string(b)
}

// dirs are the directories of the journals of every team and session, and those that have them. Of one that is not there
// yet it is the one in which it is made.
func (l *Source) dirs() []string {
	dirs := l.wanted()
	for i, d := range dirs {
		for _, above := range []string{l.op.Root.Path, l.op.Home.Path} {
			if _, err := os.Stat(d); errors.Is(err, fs.ErrNotExist) && filepath.Dir(d) == above {
				dirs[i] = above
			}
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

func (l *Source) wanted() []string {
	dirs := []string{filepath.Join(l.op.Root.Path, "teams"), filepath.Join(l.op.Home.Path, "sessions"), decide.Of(l.op).Proposals().Dir}
	names, err := l.names()
	if err != nil {
		return dirs
	}
	beside := []string{} // the records of worktrees: merges are in them
	for _, name := range names {
		known, _ := l.op.Home.Find(l.op.RootURL, name) // what cannot be read is shown by Requests
		for _, d := range known {
			dirs = append(dirs, d.Journals().Path)
			if _, err := os.Stat(d.Worktrees()); err == nil {
				beside = append(beside, d.Worktrees())
			}
		}
		dirs = append(dirs, l.op.Root.TasksDir(name))
	}
	for _, d := range slices.Clone(dirs[1:]) {
		entries, err := os.ReadDir(d)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.IsDir() && shown(e.Name()) {
				dirs = append(dirs, filepath.Join(d, e.Name()))
			}
		}
	}
	return append(dirs, beside...)
}

// shown reports whether a change of a file may change the screen. A member writes its task-status.json
// every ten seconds, whether anything has changed or not.
func shown(name string) bool {
	return !strings.HasPrefix(name, ".") && name != "task-status.json"
}

// stamp is what the files in some directories look like: their names, sizes and times. Those of members' output are apart.
func stamp(dirs []string) (files, output string) {
	var b, out []byte
	for _, d := range dirs {
		entries, err := os.ReadDir(d)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			b = fmt.Appendln(b, err)
		}
		b = append(append(b, d...), '\n')
		for _, e := range entries {
			if !shown(e.Name()) {
				continue
			}
			to := &b
			if strings.HasPrefix(e.Name(), task.LogName) {
				to = &out
			}
			*to = append(append(*to, e.Name()...), ' ')
			if !e.IsDir() {
				if info, err := e.Info(); err == nil {
					*to = strconv.AppendInt(append(strconv.AppendInt(*to, info.Size(), 10), ' '), info.ModTime().UnixNano(), 10)
				}
			}
			*to = append(*to, '\n')
		}
	}
	return string(b), string(out)
}
