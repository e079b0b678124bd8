package home

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonfile"
	"waggle/journal"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// Started is what the newest process of a member, or the one that leads, has written of
// itself beside the journal: a team can be ended when its journal cannot be read.
type Started struct {
	Team     protocol.TeamName   `json:"team"`
	Root     string              `json:"root"`
	Instance record.Instance     `json:"instance"` // "" of the process that leads
	Name     protocol.MemberName `json:"name"`
	ID       spawn.Identity      `json:"id"`
}

// maxStarted is the size up to which a record is read.
const maxStarted = 64 << 10

// started is the directory of these records, one file each.
func (d Dir) started() string { return filepath.Join(d.Path, "started") }

// NoteStarted writes s in the place of what an earlier process has written.
func (d Dir) NoteStarted(s Started) error {
	if err := os.MkdirAll(d.started(), 0o700); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	path := d.leading()
	if s.Instance != "" {
		path = filepath.Join(d.started(), string(s.Instance)+".json")
	}
	return jsonfile.WriteLine(path, s, atomicfile.Options{Aside: d.Quarantine()})
}

// Started lists the records that the processes of a team have written of themselves. A record that
// cannot be read is left out.
func (d Dir) Started() (all []Started, err error) {
	ents, err := os.ReadDir(d.started())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range ents {
		var s Started
		if strings.HasSuffix(e.Name(), ".json") && jsonfile.Read(filepath.Join(d.started(), e.Name()), &s, maxStarted) == nil && s.ID.PID > 0 {
			all = append(all, s)
		}
	}
	return all, err
}

// begun reports that a process of the team has run.
func (d Dir) begun() bool {
	all, _ := d.Started() // records that cannot be read are unknown
	return len(all) > 0
}

// Kept is where journals are kept, as they were, of which the operator acknowledged a
// break: a directory each.
func (d Dir) Kept() string { return filepath.Join(d.Path, "journal-kept") }

// asideName is the directory for the journals of a team that was ended although they could not be
// read.
const asideName = "journal-aside"

// SetAside moves a team's journals, whole, to where they are only looked at: its name is
// free then. It returns where that is.
func (d Dir) SetAside() (string, error) {
	to := filepath.Join(d.Path, asideName)
	if err := os.Rename(filepath.Join(d.Path, "journal"), to); err != nil {
		return "", fmt.Errorf("state: %w", err)
	}
	return to, nil
}

// aside is the directory when its journals were set aside, else as it is.
func (d Dir) aside() Dir {
	_, err := os.Lstat(filepath.Join(d.Path, "journal", string(journal.Leader)))
	if _, aerr := os.Lstat(filepath.Join(d.Path, asideName)); aerr == nil && errors.Is(err, fs.ErrNotExist) {
		d.Aside = true
	}
	return d
}

// Running lists the processes of teams here that run, leaders and members, of all wire
// trees, by team.
func (h Home) Running() ([]Started, error) {
	dirs, err := h.dirs("*")
	if err != nil {
		return nil, err
	}
	var all []Started
	for _, path := range dirs {
		started, err := Dir{Path: path}.Started()
		if err != nil {
			return nil, err
		}
		for _, s := range started {
			if s.ID.Alive() {
				all = append(all, s)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Started) int {
		return cmp.Or(cmp.Compare(a.Team, b.Team), cmp.Compare(a.Root, b.Root), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}
