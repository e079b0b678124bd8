// Package home says where a team's private files lie: STATE/teams/<team>-<id8>
// with its journals, leases and accepted team file (FORMAT, "The tree").
// The directory outlives the team's own.
package home

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"waggle/internal/fs/atomicfile"
	"waggle/journal"
	"waggle/protocol"
	"waggle/record"
	"waggle/transport"
)

// Home is STATE: $XDG_STATE_HOME/waggle unless told otherwise.
type Home struct{ Path string }

// Dir is one team's directory in it.
type Dir struct {
	Path  string
	UID   record.TeamUID
	Aside bool // its journals were set aside: the team has ended, and they are only looked at
}

// id8 is the first 8 hex digits of SHA-256(root URL, team uid) (trust §2).
func id8(root string, uid record.TeamUID) string {
	h := sha256.New()
	var n [8]byte
	for _, p := range []string{root, string(uid)} {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))[:8]
}

// Dir names a team's directory; it need not exist.
func (h Home) Dir(root string, team protocol.TeamName, uid record.TeamUID) Dir {
	return Dir{Path: filepath.Join(h.Path, "teams", string(team)+"-"+id8(root, uid)), UID: uid}
}

// Create makes a team's directory. STATE is private: wider permissions of existing directories are
// removed.
func (h Home) Create(root string, team protocol.TeamName, uid record.TeamUID) (Dir, error) {
	d := h.Dir(root, team, uid)
	for _, p := range []string{filepath.Join(d.Path, "journal"), filepath.Join(d.Path, "processes"), filepath.Join(d.Path, "archive")} {
		if err := os.MkdirAll(p, 0o700); err != nil {
			return Dir{}, fmt.Errorf("state: %w", err)
		}
	}
	if err := os.Chmod(h.Path, 0o700); err != nil {
		return Dir{}, fmt.Errorf("state: %w", err)
	}
	if err := d.identify(root, team); err != nil {
		return Dir{}, fmt.Errorf("state: %w", err)
	}
	return d, nil
}

// Find lists the directories of every team of this name that ever was in this root,
// oldest first. Their journals say which of them is alive. A *BrokenError reports a
// directory of this name whose owner cannot be read; the others are listed all the
// same.
func (h Home) Find(root string, team protocol.TeamName) ([]Dir, error) {
	ks, err := h.glob(string(team))
	if err != nil {
		return nil, err
	}
	var ds []Dir
	for _, k := range ks {
		switch {
		case k.Broken != nil:
			err = errors.Join(err, k.Broken)
		case k.Root == root && k.Team == team && !k.Dir.Aside:
			ds = append(ds, k.Dir)
		}
	}
	return ds, err
}

// Known is one team that ever was, in whichever wire tree.
type Known struct {
	Dir    Dir
	Team   protocol.TeamName
	Root   string // URL of its wire tree; "" when it is unknown
	Opened string // when, as its first record says; "" when that cannot be read
	// Foreign says that another program led it: its journal is the operator's own, not the leader's.
	Foreign bool
	// Broken says that the team of the directory is unknown; nil otherwise.
	Broken *BrokenError
}

// ID names the directory: <team>-<id8>.
func (k Known) ID() string { return filepath.Base(k.Dir.Path) }

// List lists every team that waggle ever led, oldest first, also those that have
// ended, those of other wire trees, and those whose owner cannot be read.
func (h Home) List() ([]Known, error) { return h.glob("*") }

// Foreign lists the teams that another program led and in which something was done from
// here, oldest first.
func (h Home) Foreign() ([]Known, error) {
	matches, err := h.dirs("*")
	var ks []Known
	for _, p := range matches {
		if o := h.foreign(p); o != nil {
			k := known(h, o)
			k.Foreign = true
			ks = append(ks, k)
		}
	}
	sort.SliceStable(ks, func(i, j int) bool { return ks[i].Opened < ks[j].Opened })
	return ks, err
}

func known(h Home, o *opened) Known {
	return Known{Dir: h.Dir(o.Body.Root, o.Body.Team, o.Body.UID).aside(), Team: o.Body.Team, Root: o.Body.Root, Opened: o.Time}
}

// Leaders lists the directories of the journals of all teams that ever were, in whichever wire tree and
// state. None of them is opened.
func (h Home) Leaders() ([]journal.Dir, error) {
	paths, err := h.dirs("*")
	var all []journal.Dir
	for _, p := range paths {
		all = append(all, Dir{Path: p}.aside().Journals())
	}
	return all, err
}

func (h Home) dirs(team string) ([]string, error) {
	if _, err := os.ReadDir(filepath.Join(h.Path, "teams")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("state: %w", err) // Glob would find nothing
	}
	matches, err := filepath.Glob(filepath.Join(h.Path, "teams", team+"-????????"))
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	return matches, nil
}

func (h Home) glob(team string) ([]Known, error) {
	matches, err := h.dirs(team)
	if err != nil {
		return nil, err
	}
	var ks []Known
	for _, p := range matches {
		o, err := h.whose(p)
		var broken *BrokenError
		switch {
		case errors.As(err, &broken):
			base := filepath.Base(p)
			k := Known{Dir: Dir{Path: p}.aside(), Team: protocol.TeamName(base[:len(base)-len("-12345678")])}
			if !k.Dir.Aside { // that team has ended, so its name is free
				k.Broken = broken
			}
			ks = append(ks, k)
		case o != nil:
			ks = append(ks, known(h, o))
		}
	}
	sort.SliceStable(ks, func(i, j int) bool { return ks[i].Opened < ks[j].Opened })
	return ks, nil
}

// Operator is the operator's journal of a team that another program leads: its registered members,
// and the operator's words.
const Operator journal.Name = "operator"

// Journals are the team's journals.
func (d Dir) Journals() journal.Dir {
	if d.Aside {
		return journal.Dir{Path: filepath.Join(d.Path, asideName), UID: string(d.UID)}
	}
	return journal.Dir{Path: filepath.Join(d.Path, "journal"), UID: string(d.UID)}
}

// OpenJournal opens a journal of the team and folds it: the one way for all that read or append. The
// leader's journal is broken, too, when nothing is in it and processes of the team have run.
func (d Dir) OpenJournal(n journal.Name, fold journal.Fold, o journal.Options) (*journal.File, error) {
	j, err := d.Journals().Open(n, fold, o)
	if err == nil && n == journal.Leader && j.Seq() == 0 && d.begun() {
		err = &journal.BrokenError{Journal: n, File: firstSegment, Line: 1, Seq: 1, Why: "nothing is in it, and the team's processes have run"}
	}
	return j, err
}

// LeaderJournal is the directory that changes when the leader's journal grows.
func (d Dir) LeaderJournal() string { return d.JournalOf(string(journal.Leader)) }

// JournalOf is the directory of one journal.
func (d Dir) JournalOf(name string) string { return filepath.Join(d.Journals().Path, name) }

// LeaderLease is the file whose lock makes a process the leader.
func (d Dir) LeaderLease() string { return filepath.Join(d.Path, "leader.lock") }

// ProcessLease is the file whose lock makes a process an instance's.
func (d Dir) ProcessLease(i record.Instance) string {
	return filepath.Join(d.Path, "processes", string(i)+".lock")
}

// Tools has a record of each command that a member's process runs.
func (d Dir) Tools() string { return filepath.Join(d.Path, "tools") }

// Processes is the directory of the records of the members' processes.
func (d Dir) Processes() string { return filepath.Join(d.Path, "processes") }

// Bridges is the directory of the mailboxes of editors.
func (d Dir) Bridges() string { return filepath.Join(d.Path, "bridges") }

// BridgeEndpoint is the file with the address for editors and their token.
func (d Dir) BridgeEndpoint() string { return filepath.Join(d.Path, "bridge.json") }

// BridgeLease is the file whose lock makes a process the bridge of the team.
func (d Dir) BridgeLease() string { return filepath.Join(d.Path, "bridge.lock") }

// ObserverCursor is the file with the place in the journals up to which observers have had the
// transitions.
func (d Dir) ObserverCursor() string { return filepath.Join(d.Path, "told.json") }

// Quarantine is where what lay in the way of the team's files is kept, as it was. It is
// never emptied.
func (d Dir) Quarantine() string { return filepath.Join(d.Path, "set-aside") }

// Archive is where what the team leaves behind is kept.
func (d Dir) Archive() string { return filepath.Join(d.Path, "archive") }

// Worktrees is the directory with the records of the worktrees that were made.
func (d Dir) Worktrees() string { return filepath.Join(d.Path, "worktrees") }

// Tokens is the directory with the join tokens.
func (d Dir) Tokens() string { return filepath.Join(d.Path, "tokens") }

// Sockets are the directories of the team's sockets: the sockets are below RUN, their leases and
// keys here.
func (d Dir) Sockets(run string) transport.SocketDirs {
	return transport.SocketDirs{Dir: filepath.Join(run, filepath.Base(d.Path)), Keys: filepath.Join(d.Path, "sockets")}
}

// Leftover is where what was written under a team's name when there was no such team is
// kept, if no team of that name ever was ours.
func (h Home) Leftover(root string, team protocol.TeamName) string {
	return filepath.Join(h.Path, "leftover", string(team)+"-"+id8(root, ""))
}

// SocketKeys lists the directories with the keys of every team's sockets.
func (h Home) SocketKeys() []string {
	dirs, _ := filepath.Glob(filepath.Join(h.Path, "teams", "*", "sockets")) // the pattern is well-formed
	return dirs
}

// Endpoint is the file that says where messages are taken by HTTP, and with which
// token.
func (h Home) Endpoint() string { return filepath.Join(h.Path, "serve", "endpoint.json") }

// EndpointLease is the file whose lock makes a process the endpoint.
func (h Home) EndpointLease() string { return filepath.Join(h.Path, "serve", "endpoint.lock") }

// Run is RUN when the system has no place for it.
func (h Home) Run() string { return filepath.Join(h.Path, "run") }

// NameLease is the file whose lock makes a process the only one that makes a team of
// this name in this root, in whichever case it is written.
func (h Home) NameLease(root string, team protocol.TeamName) string {
	name := strings.ToLower(string(team))
	return filepath.Join(h.Path, "names", name+"-"+id8(root, record.TeamUID(name))+".lock")
}

// Making is a file that exists while the team is being made: until the first record, only this file
// says that the team's directory in the wire tree is ours.
func (d Dir) Making() string { return filepath.Join(d.Path, "making") }

// Unmade reports whether the file exists: then, without a record, the team is not made.
func (d Dir) Unmade() bool {
	_, err := os.Lstat(d.Making())
	return err == nil
}

// Made removes that file: the first record is written. From now on Moved knows the directory.
func (d Dir) Made() error {
	if err := os.MkdirAll(filepath.Dir(d.led()), 0o700); err != nil {
		return err
	}
	if err := atomicfile.WriteFile(d.led(), nil, atomicfile.Options{}); err != nil {
		return err
	}
	if err := os.Remove(d.Making()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// led is a file beside the directory which says that a team was led with its records.
func (d Dir) led() string {
	return filepath.Join(filepath.Dir(filepath.Dir(d.Path)), "names", filepath.Base(d.Path)+".led")
}

// Moved reports a directory that had the records of a team which waggle leads, and is gone.
func (d Dir) Moved() bool {
	if _, err := os.Lstat(d.Path); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, err := os.Lstat(d.led())
	return err == nil
}

// Moved reports that one of the directories of a team's name is gone that had the records of a team which waggle leads.
func (h Home) Moved(team protocol.TeamName) bool {
	led, _ := filepath.Glob(filepath.Join(h.Path, "names", string(team)+"-????????.led"))
	return slices.ContainsFunc(led, func(path string) bool {
		return Dir{Path: filepath.Join(h.Path, "teams", strings.TrimSuffix(filepath.Base(path), ".led"))}.Moved()
	})
}

// TeamFile is the accepted copy of the team file.
func (d Dir) TeamFile() string { return filepath.Join(d.Path, "team.yaml") }

// Notified says which requests the operator was told of.
func (d Dir) Notified() string { return filepath.Join(d.Path, "notified.json") }
