package home

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonfile"
	"waggle/journal"
	"waggle/protocol"
	"waggle/record"
)

// BrokenError reports a team's directory whose owner cannot be read any more, or whose
// journal cannot be looked for. Such a directory is an error and is never treated as
// absent.
type BrokenError struct {
	Path string
	Err  error
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("the records in %s cannot be read: %v", e.Path, e.Err)
}

func (e *BrokenError) Unwrap() error { return e.Err }

// maker is the content of Identity: whose a directory is, apart from its journals.
type maker struct {
	V    int               `json:"v"`
	Team protocol.TeamName `json:"team"`
	Root string            `json:"root"`
	UID  record.TeamUID    `json:"uid"`
}

// maxIdentity is the size up to which that file is read.
const maxIdentity = 64 << 10

// Identity is the file that says whose the directory is.
func (d Dir) Identity() string { return filepath.Join(d.Path, "team.json") }

// identify writes that file when it is not there.
func (d Dir) identify(root string, team protocol.TeamName) error {
	if _, err := os.Lstat(d.Identity()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return jsonfile.WriteLine(d.Identity(), maker{V: 1, Team: team, Root: root, UID: d.UID}, atomicfile.Options{Sync: atomicfile.SyncData})
}

// whose returns the team of a directory and the beginning of its leader's journal; nil without an
// error when no leader has written there. The claims are checked against the directory's name;
// opening the journal checks its chain.
func (h Home) whose(dir string) (*opened, error) {
	broken := func(err error) (*opened, error) { return nil, &BrokenError{dir, err} }
	leader := Dir{Path: dir}.aside().LeaderJournal()
	o, err := first(leader)
	if o != nil && h.fits(dir, o) {
		return o, nil
	}
	if starved(err) {
		return broken(err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if (Dir{Path: dir}).Unmade() || h.foreign(dir) != nil || !members(dir) && !written(leader) {
			return nil, nil
		}
		if (Dir{Path: dir}).begun() || written(leader) { // opening the leader's journal reports that it is lost
			if known := h.claimed(dir); known != nil {
				return known, nil
			}
		}
		return broken(fmt.Errorf("%s is not there", filepath.Join(leader, firstSegment)))
	}
	if (Dir{Path: dir}).Unmade() {
		return nil, nil // its maker was stopped in the middle of the first record
	}
	if known := h.claimed(dir); known != nil {
		return known, nil // opening the leader's journal reports the damage
	}
	if o != nil {
		return nil, nil // a directory that was moved and claims what it is not
	}
	return broken(err)
}

// foreign is the first record of what was done in the team of another program; nil when
// the directory is none of those.
func (h Home) foreign(dir string) *opened {
	d := Dir{Path: dir}
	if segments(d.LeaderJournal()) > 0 || d.aside().Aside {
		return nil
	}
	if o, err := first(d.JournalOf(string(Operator))); err == nil && h.fits(dir, o) {
		return o
	}
	return nil
}

// fits reports a claim that gives the directory's own name.
func (h Home) fits(dir string, o *opened) bool {
	return h.Dir(o.Body.Root, o.Body.Team, o.Body.UID).Path == dir
}

// starved reports an error that is about a missing resource and not about the file.
func starved(err error) bool {
	return errors.As(err, new(*fs.PathError)) && !errors.Is(err, fs.ErrNotExist)
}

// claimed is the team of a directory as something else in it than the leader's journal says; nil when nothing says so.
func (h Home) claimed(dir string) *opened {
	var m maker
	if err := jsonfile.Read(Dir{Path: dir}.Identity(), &m, maxIdentity); err == nil {
		o := &opened{Body: record.Opened{Root: m.Root, Team: m.Team, UID: m.UID}}
		if h.fits(dir, o) {
			return o
		}
	}
	journals := Dir{Path: dir}.aside().Journals().Path
	entries, _ := os.ReadDir(journals)
	for _, e := range entries {
		if e.Name() == string(journal.Leader) {
			continue
		}
		if o, err := first(filepath.Join(journals, e.Name())); err == nil && h.fits(dir, o) {
			return o
		}
	}
	return nil
}

// members reports journals of members.
func members(dir string) bool {
	entries, _ := os.ReadDir(filepath.Join(dir, "journal"))
	for _, e := range entries {
		if len(e.Name()) == 32 && written(filepath.Join(dir, "journal", e.Name())) {
			return true
		}
	}
	return false
}

// written reports a journal that has a segment, or had one: certain.json says so.
func written(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, journal.CertainName))
	return err == nil || segments(dir) > 0
}

// segments counts those of a journal.
func segments(dir string) int {
	found, _ := filepath.Glob(filepath.Join(dir, "*.jsonl")) // the pattern is well-formed
	return len(found)
}

const firstSegment = "00000001.jsonl"

type opened struct {
	Time string        `json:"time"`
	Body record.Opened `json:"body"`
}

// maxFirst is the longest first line that is read.
const maxFirst = 1 << 20

// first reads the first record of a journal.
func first(dir string) (*opened, error) {
	path := filepath.Join(dir, firstSegment)
	if _, err := atomicfile.Identify(path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line := bufio.NewScanner(f)
	line.Buffer(make([]byte, 0, 8<<10), maxFirst)
	if !line.Scan() || strings.TrimSpace(line.Text()) == "" {
		return nil, errors.Join(fmt.Errorf("%s has no first line", path), line.Err())
	}
	var o opened
	if err := json.Unmarshal(line.Bytes(), &o); err != nil {
		return nil, fmt.Errorf("%s, line 1: %w", path, err)
	}
	return &o, nil
}

// Claims lists the directories of teams of this name whose leader's journal is lost, and
// of which something else in them says that they are of this root.
func (h Home) Claims(root string, team protocol.TeamName) (ds []Dir) {
	ks, _ := h.glob(string(team)) // a directory that cannot be listed has no claim
	for _, k := range ks {
		if k.Broken == nil {
			continue
		}
		if o := h.claimed(k.Dir.Path); o != nil && o.Body.Root == root && o.Body.Team == team {
			ds = append(ds, h.Dir(root, team, o.Body.UID))
		}
	}
	return ds
}
