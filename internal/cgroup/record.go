package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"waggle/internal/atomicfile"
)

// Record is a member's group as it is on record in the private state of its team: the
// boot in which it was made, its id and its path, a line each. It stays when the group
// has ended: what the member's processes started was in it.
type Record struct {
	Group
	Boot string
}

func recordPath(dir, member string) string { return filepath.Join(dir, "cgroups", member) }

// Save writes a record below a team's directory of the state.
func (r Record) Save(dir, member string) error {
	path := recordPath(dir, member)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if strings.ContainsAny(r.Boot+r.Path, "\n") {
		return fmt.Errorf("control group %q cannot be recorded", r.Path)
	}
	return atomicfile.WriteFile(path, fmt.Appendf(nil, "%s\n%d\n%s\n", r.Boot, r.ID, r.Path), atomicfile.Options{Perm: 0o600})
}

// Load reads a member's record; the error matches fs.ErrNotExist when there is none.
func Load(dir, member string) (Record, error) {
	path := recordPath(dir, member)
	data, err := atomicfile.ReadFile(path, atomicfile.Options{MaxSize: 16 << 10})
	if err != nil {
		return Record{}, err
	}
	f := strings.Split(string(data), "\n")
	if len(f) != 4 || !filepath.IsAbs(f[2]) {
		return Record{}, fmt.Errorf("%s is no record of a control group", path)
	}
	id, err := strconv.ParseUint(f[1], 10, 64)
	return Record{Group: Group{Path: f[2], ID: id}, Boot: f[0]}, err
}

// Name is what the group of a member is called: by the team's directory in the state,
// whose name no other team has, and the member's instance.
func Name(dir, member string) string { return "waggle-" + filepath.Base(dir) + "-" + member }

// Join puts this process into the group of a member, which it makes and records first.
// Without a delegated hierarchy the error matches ErrNone.
func Join(proc, dir, member, boot string) error {
	parent, err := Here(proc)
	if err != nil {
		return err
	}
	if old, err := Load(dir, member); err == nil && old.Boot == boot && old.There() {
		return old.Enter(os.Getpid()) // of a process of this member that has died
	}
	g, err := Make(parent, Name(dir, member))
	if err != nil {
		return err
	}
	if err := (Record{g, boot}).Save(dir, member); err != nil {
		return errors.Join(err, os.Remove(g.Path))
	}
	if err := g.Enter(os.Getpid()); err != nil {
		return errors.Join(ErrNone, err, os.Remove(g.Path), os.Remove(recordPath(dir, member)))
	}
	return nil
}
