package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"waggle/internal/fs/atomicfile"
)

// Owner is the process that a group was made for: one start of a member. Two starts
// never share a group, so that the end of one does not meet the other.
type Owner struct {
	Member string // its instance
	PID    int
	Start  string // opaque: another process of that pid has another one
	Boot   string // the run of the machine, opaque
}

func (o Owner) key() string { return fmt.Sprintf("%s.%d.%s", o.Member, o.PID, o.Start) }

// name is what the group of a process is called: by the team's directory in the state,
// whose name no other team has, and the process.
func (o Owner) name(dir string) string { return namePrefix + filepath.Base(dir) + "-" + o.key() }

const namePrefix = "waggle-"

// Record is a group as it is on record in the private state of its team: the boot in
// which it was made, its id and its path, a line each, in a file with the name of its
// owner. It is there until the group has been removed.
type Record struct {
	Group
	Owner
	file string
}

func recordsDir(dir string) string { return filepath.Join(dir, "cgroups") }

func (r *Record) save(dir string) error {
	r.file = filepath.Join(recordsDir(dir), r.key())
	if err := os.MkdirAll(recordsDir(dir), 0o700); err != nil {
		return err
	}
	if strings.ContainsAny(r.Boot+r.Path, "\n") {
		return fmt.Errorf("control group %q cannot be recorded", r.Path)
	}
	return atomicfile.WriteFile(r.file, fmt.Appendf(nil, "%s\n%d\n%s\n", r.Boot, r.ID, r.Path), atomicfile.Options{Perm: 0o600})
}

// Records lists the groups of a member below a team's directory of the state. Those
// whose path is not what their name calls for are errors beside the others, each a
// *atomicfile.RecordError.
func Records(dir, member string) (all []Record, err error) {
	ents, err := os.ReadDir(recordsDir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range ents {
		if !strings.HasPrefix(e.Name(), member+".") {
			continue
		}
		r, rerr := load(dir, e.Name())
		if errors.Is(rerr, fs.ErrNotExist) {
			continue // somebody has ended it meanwhile
		}
		if rerr != nil {
			err = errors.Join(err, rerr)
			continue
		}
		all = append(all, r)
	}
	return all, err
}

func load(dir, name string) (r Record, err error) {
	r.file = filepath.Join(recordsDir(dir), name)
	data, err := atomicfile.ReadRecord(r.file, atomicfile.Options{MaxSize: 16 << 10})
	if err != nil {
		return r, err
	}
	none := &atomicfile.RecordError{Path: r.file, Err: errors.New("it is no record of a control group")}
	f, who := strings.Split(string(data), "\n"), strings.Split(name, ".")
	if len(f) != 4 || len(who) != 3 || !filepath.IsAbs(f[2]) {
		return r, none
	}
	pid, err := strconv.Atoi(who[1])
	if err != nil || pid < 1 {
		return r, none
	}
	r.Owner = Owner{Member: who[0], PID: pid, Start: who[2], Boot: f[0]}
	r.Path = f[2]
	if r.ID, err = strconv.ParseUint(f[1], 10, 64); err != nil || filepath.Base(r.Path) != r.name(dir) {
		return r, none
	}
	return r, nil
}

// Forget removes the record of a group that is gone.
func (r Record) Forget() error {
	if err := os.Remove(r.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Join puts the owner, this process, into a group of its own, which it makes and
// records first. Without a delegated hierarchy the error matches ErrNone.
func Join(proc, dir string, who Owner) error {
	parent, err := Here(proc)
	if err != nil {
		return err
	}
	g, err := Make(parent, who.name(dir))
	if err != nil {
		return err
	}
	r := Record{Group: g, Owner: who}
	if err := r.save(dir); err != nil {
		return errors.Join(err, os.Remove(g.Path))
	}
	if err := g.enter(who.PID); err != nil {
		return errors.Join(ErrNone, err, os.Remove(g.Path), r.Forget())
	}
	return nil
}
