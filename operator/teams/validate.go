package teams

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonobj"
	"waggle/mailbox"
	"waggle/protocol"
	"waggle/task"
	"waggle/team"
)

// Problem is one violation of a format that Validate found.
type Problem = team.Problem

// Validate checks every file of a team in the wire tree against its format: the registry, the
// mailboxes of both layouts, the tasks and the members' status, and that nothing else is where a lock
// belongs, or was. It changes nothing and takes no
// lock; a file that is being written in place is read again. An empty list means that all of them
// are valid.
func (o Operator) Validate(ctx context.Context, name protocol.TeamName) ([]Problem, error) {
	reg, err := team.Open(o.Root, name, team.Options{})
	if err != nil {
		return nil, err
	}
	found, err := reg.Validate(ctx)
	if err != nil {
		return nil, err
	}
	v := &validation{ctx: ctx, problems: append([]Problem{}, found...)}
	array, lines := reg.InboxesDir(), filepath.Join(o.Root.TeamDir(name), "mailbox")
	if err := errors.Join(v.mailboxes(array, ".json", faults(mailbox.Validate)), v.mailboxes(lines, ".jsonl", faults(mailbox.ValidateLines))); err != nil {
		return nil, err
	}
	v.mixed(array, lines)
	for _, odd := range o.Oddities(name, nil) {
		if odd.Held == 0 {
			v.add(odd.Path, "", "%s", odd.What)
		}
	}
	return v.problems, v.tasks(o.Root.TasksDir(name), name)
}

// validation is one check in progress.
type validation struct {
	ctx      context.Context
	problems []Problem
}

func (v *validation) add(path, pointer, format string, args ...any) {
	v.problems = append(v.problems, Problem{Path: path, Pointer: pointer, Message: fmt.Sprintf(format, args...)})
}

// errFaults reports an invalid file. A program that writes in place causes it for a moment.
var errFaults = errors.New("faults")

// faults converts the problems of one package's check to Problem.
func faults[P ~struct{ Pointer, Message string }](check func([]byte) []P) func([]byte) []jsonobj.Fault {
	return func(data []byte) (list []jsonobj.Fault) {
		for _, p := range check(data) {
			list = append(list, jsonobj.Fault(p))
		}
		return list
	}
}

// file checks one file. A file that cannot be read is a problem too.
func (v *validation) file(path string, check func([]byte) []jsonobj.Fault) error {
	var faults []jsonobj.Fault
	err := atomicfile.Settle(v.ctx, func(err error) bool { return errors.Is(err, errFaults) }, func() error {
		data, err := atomicfile.ReadFile(path, atomicfile.Options{})
		if err != nil {
			return err
		}
		if faults = check(data); len(faults) > 0 {
			return errFaults
		}
		return nil
	})
	switch {
	case v.ctx.Err() != nil:
		return v.ctx.Err()
	case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		return nil
	case err != nil && !errors.Is(err, errFaults):
		v.add(path, "", "%v", err)
		return nil
	}
	for _, f := range faults {
		v.add(path, f.Pointer, "%s", f.Message)
	}
	return nil
}

// mailboxes checks the mailboxes of one layout.
func (v *validation) mailboxes(dir, extension string, check func([]byte) []jsonobj.Fault) error {
	entries, err := v.entries(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), extension)
		if !ok || strings.HasPrefix(e.Name(), ".") {
			continue // locks, and files that were set aside
		}
		path := filepath.Join(dir, e.Name())
		if _, err := protocol.ParseMember(stem); err != nil {
			v.add(path, "", "the name of the file: %v", err)
		}
		if err := v.file(path, check); err != nil {
			return err
		}
	}
	return nil
}

// entries lists a directory that may be missing.
func (v *validation) entries(dir string) ([]fs.DirEntry, error) {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.IsDir() {
		v.add(dir, "", "is not a directory")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return os.ReadDir(dir)
}

// mixed reports members that have a mailbox in both layouts: writers would use different ones.
func (v *validation) mixed(array, lines string) {
	entries, _ := os.ReadDir(lines)
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), ".jsonl")
		if !ok {
			continue
		}
		if _, err := os.Lstat(filepath.Join(array, stem+".json")); err == nil {
			v.add(filepath.Join(lines, e.Name()), "", "%s has a mailbox in both layouts", stem)
		}
	}
}

// tasks checks the task list and the members' files beside it.
func (v *validation) tasks(dir string, name protocol.TeamName) error {
	entries, err := v.entries(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch stem, isJSON := strings.CutSuffix(e.Name(), ".json"); {
		case e.Name() == ".highwatermark":
			err = v.file(path, faults(task.ValidateHigh))
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			err = v.file(filepath.Join(path, "task-status.json"), faults(task.ValidateStatus))
		case !isJSON:
		case stem == "" || strings.Trim(stem, "0123456789") != "":
			v.add(path, "", "the name of the file is not a task id")
		default:
			err = v.file(path, faults(func(data []byte) []task.Problem { return task.Validate(data, task.ID(stem)) }))
		}
		if err != nil {
			return err
		}
	}
	board, err := task.Open(dir, name, task.Options{})
	if err != nil {
		return nil // it is missing, or no directory, which another check reports
	}
	all, _, err := board.All(v.ctx)
	for _, id := range task.Circles(all) {
		v.add(filepath.Join(dir, string(id)+".json"), "/blockedBy", "leads back to the task itself: it never becomes free")
	}
	return err
}
