// Package cgroup keeps the processes of a member together in a control group of Linux
// (version 2), so that those which nothing else tells from strangers can be ended: they
// cleared their environment, left their process group, and their parent has died.
//
//	parent, err := cgroup.Here("/proc")            // where this process may make one
//	g, err := cgroup.Make(parent, "waggle-api-1")  // and where there is none, there is none
//	err = g.enter(os.Getpid())                     // what it starts from now on is in it
//	err = g.End(ctx, ancestors)                    // by another process, later
package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"waggle/internal/backoff"
)

// Group is one control group. A path may be used again, its ID is not, as long as the
// machine runs.
type Group struct {
	Path string `json:"path"`
	ID   uint64 `json:"id"`
}

// ErrNone reports that this process may make no control group.
var ErrNone = errors.New("no control group of version 2 is delegated to this process")

// Here finds the directory of the control group of version 2 that this process is in. proc is /proc. It may turn out
// not to be writable.
func Here(proc string) (dir string, err error) {
	own, err := Own(proc)
	if dir = own[""]; dir == "" {
		err = errors.Join(ErrNone, err)
	}
	return dir, err
}

// Own finds the directories of the control groups that this process is in, below the mount points of their
// hierarchies: for each controller of version 1, and under "" that of version 2. It reads cgroup(7)'s
// /proc/PID/cgroup and proc(5)'s mountinfo.
func Own(proc string) (map[string]string, error) {
	own, err := os.ReadFile(filepath.Join(proc, "self", "cgroup"))
	if err != nil {
		return nil, err
	}
	mounts, err := os.ReadFile(filepath.Join(proc, "self", "mountinfo"))
	if err != nil {
		return nil, err
	}
	paths := map[string]string{}
	for line := range strings.Lines(string(own)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) < 3 || !strings.HasPrefix(f[2], "/") || strings.HasSuffix(f[2], " (deleted)") {
			continue
		}
		for c := range strings.SplitSeq(f[1], ",") {
			paths[c] = f[2]
		}
	}
	dirs := map[string]string{}
	for line := range strings.Lines(string(mounts)) {
		front, back, _ := strings.Cut(line, " - ")
		f, kind := strings.Fields(front), strings.Fields(back)
		var names []string
		switch {
		case len(f) < 5 || len(kind) < 1:
		case kind[0] == "cgroup2":
			names = []string{""}
		case kind[0] == "cgroup" && len(kind) > 2:
			names = strings.Split(kind[2], ",")
		}
		for _, name := range names {
			at, in := paths[name]
			rest, below := strings.CutPrefix(at, strings.TrimSuffix(unescape(f[3]), "/"))
			if _, found := dirs[name]; in && !found && below && (rest == "" || rest[0] == '/') {
				dirs[name] = filepath.Join(unescape(f[4]), rest)
			}
		}
	}
	return dirs, nil
}

// unescape undoes the octal escapes of mountinfo.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// Make makes a control group below parent, or takes the one of that name.
func Make(parent, name string) (Group, error) {
	path := filepath.Join(parent, name)
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return Group{}, fmt.Errorf("%w: %w", ErrNone, err)
	}
	id, err := identify(path)
	if err != nil {
		return Group{}, err
	}
	return Group{Path: path, ID: id}, nil
}

// enter puts a process into the group; what it starts from then on is in it too.
func (g Group) enter(pid int) error {
	return os.WriteFile(filepath.Join(g.Path, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o600)
}

// There reports that the group is the one that was made.
func (g Group) There() bool {
	id, err := identify(g.Path)
	return err == nil && g.ID != 0 && id == g.ID
}

// Processes lists what is in the group and in those below it. A group that is removed
// meanwhile has no processes. The error matches fs.ErrNotExist when g itself is gone.
func (g Group) Processes() (pids []int, err error) {
	err = filepath.WalkDir(g.Path, func(path string, d fs.DirEntry, err error) error {
		switch {
		case gone(err) && path != g.Path:
			return nil
		case err != nil || d.Name() != "cgroup.procs":
			return err
		}
		b, err := os.ReadFile(path)
		for word := range strings.FieldsSeq(string(b)) {
			if pid, perr := strconv.Atoi(word); perr == nil {
				pids = append(pids, pid)
			}
		}
		if gone(err) {
			return nil
		}
		return err
	})
	if err == nil {
		_, err = os.Lstat(g.Path)
	}
	return pids, err
}

// gone reports that a group was removed before or while a file of it was read: the kernel
// answers the read of an open file of a removed group with ENODEV.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV)
}

// End kills everything in the group, waits until it is empty, and removes it. One that
// is gone has ended. It refuses, and kills nothing, when another group lies there, or
// when one of spare is in it.
func (g Group) End(ctx context.Context, spare []int) error {
	pids, err := g.Processes()
	switch {
	case errors.Is(err, fs.ErrNotExist) && !g.There():
		return nil
	case !g.There():
		return fmt.Errorf("control group %s is not the one that was made", g.Path)
	case err != nil:
		return fmt.Errorf("control group: %w", err)
	}
	for _, pid := range pids {
		if slices.Contains(spare, pid) {
			return fmt.Errorf("control group %s has process %d in it, which is not to be ended: it is left alone", g.Path, pid)
		}
	}
	if len(pids) > 0 {
		if err := os.WriteFile(filepath.Join(g.Path, "cgroup.kill"), []byte("1"), 0o600); err != nil && g.There() {
			return fmt.Errorf("control group: %w", err)
		}
	}
	for {
		if err := g.Drop(); err == nil || ctx.Err() != nil {
			return err
		}
		backoff.Pause(ctx, 10*time.Millisecond)
	}
}

// Drop removes the group and those below it; with a process in one it is an error, and
// that one stays.
func (g Group) Drop() error {
	var dirs []string
	err := filepath.WalkDir(g.Path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil && !gone(err) {
		return err
	}
	for _, dir := range slices.Backward(dirs) {
		if err := os.Remove(dir); err != nil && !gone(err) {
			return err
		}
	}
	return nil
}
