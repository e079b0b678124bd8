// Package statedir says where a team's private files lie: STATE/teams/<team>-<id8>
// with its journals, leases and accepted team file (DESIGN, "Where things live").
// The directory outlives the team's own.
package statedir

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"waggle"
	"waggle/control"
	"waggle/journal"
	"waggle/transport"
)

// Home is STATE: $XDG_STATE_HOME/waggle unless told otherwise.
type Home struct{ Path string }

// Dir is one team's directory in it.
type Dir struct {
	Path string
	UID  control.TeamUID
}

// id8 is the first 8 hex digits of SHA-256(root URL, team uid) (TRUST 2).
func id8(root string, uid control.TeamUID) string {
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
func (h Home) Dir(root string, team waggle.TeamName, uid control.TeamUID) Dir {
	return Dir{Path: filepath.Join(h.Path, "teams", string(team)+"-"+id8(root, uid)), UID: uid}
}

// Create makes a team's directory. STATE is private: what is already there with
// other rights is tightened.
func (h Home) Create(root string, team waggle.TeamName, uid control.TeamUID) (Dir, error) {
	d := h.Dir(root, team, uid)
	for _, p := range []string{filepath.Join(d.Path, "journal"), filepath.Join(d.Path, "processes"), filepath.Join(d.Path, "archive")} {
		if err := os.MkdirAll(p, 0o700); err != nil {
			return Dir{}, fmt.Errorf("state: %w", err)
		}
	}
	if err := os.Chmod(h.Path, 0o700); err != nil {
		return Dir{}, fmt.Errorf("state: %w", err)
	}
	return d, nil
}

// Find lists the directories of every team of this name that ever was in this
// root, oldest first: which of them lives is in their journals.
func (h Home) Find(root string, team waggle.TeamName) ([]Dir, error) {
	matches, err := filepath.Glob(filepath.Join(h.Path, "teams", string(team)+"-????????"))
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	type found struct {
		dir  Dir
		time string
	}
	var fs []found
	for _, p := range matches {
		rec, err := first(p)
		if err != nil || rec == nil {
			continue // not a team's directory, or nothing was ever written
		}
		d := h.Dir(root, team, rec.Body.UID)
		if rec.Body.Root == root && rec.Body.Team == team && d.Path == p {
			fs = append(fs, found{d, rec.Time})
		}
	}
	sort.Slice(fs, func(i, j int) bool { return fs[i].time < fs[j].time })
	var ds []Dir
	for _, f := range fs {
		ds = append(ds, f.dir)
	}
	return ds, nil
}

// Known is one team that ever was, in whichever wire tree.
type Known struct {
	Dir    Dir
	Team   waggle.TeamName
	Root   string // URL of its wire tree
	Opened string // when, as its first record says
}

// ID names the directory: <team>-<id8>.
func (k Known) ID() string { return filepath.Base(k.Dir.Path) }

// List lists every team that ever was, oldest first, also those that have ended
// and those of other wire trees.
func (h Home) List() ([]Known, error) {
	matches, err := filepath.Glob(filepath.Join(h.Path, "teams", "*-????????"))
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	var ks []Known
	for _, p := range matches {
		rec, err := first(p)
		if err != nil || rec == nil {
			continue // not a team's directory, or nothing was ever written
		}
		if d := h.Dir(rec.Body.Root, rec.Body.Team, rec.Body.UID); d.Path == p {
			ks = append(ks, Known{d, rec.Body.Team, rec.Body.Root, rec.Time})
		}
	}
	sort.SliceStable(ks, func(i, j int) bool { return ks[i].Opened < ks[j].Opened })
	return ks, nil
}

type opened struct {
	Time string         `json:"time"`
	Body control.Opened `json:"body"`
}

// first reads the first record of a leader's journal, nil when there is none.
// The record's claims are checked against the directory's name by the caller and
// against the chain by whoever opens the journal.
func first(dir string) (*opened, error) {
	f, err := os.Open(filepath.Join(dir, "journal", string(journal.Leader), "00000001.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line, err := bufio.NewReaderSize(f, 64<<10).ReadString('\n')
	if err != nil || !strings.HasSuffix(line, "\n") {
		return nil, nil
	}
	var o opened
	if err := json.Unmarshal([]byte(line), &o); err != nil {
		return nil, err
	}
	return &o, nil
}

// Journals are the team's journals.
func (d Dir) Journals() journal.Dir {
	return journal.Dir{Path: filepath.Join(d.Path, "journal"), UID: string(d.UID)}
}

// LeaderJournal is the directory that changes when the leader's journal grows.
func (d Dir) LeaderJournal() string { return d.JournalOf(string(journal.Leader)) }

// JournalOf is the directory of one journal.
func (d Dir) JournalOf(name string) string { return filepath.Join(d.Path, "journal", name) }

// LeaderLease is the file whose lock makes a process the leader.
func (d Dir) LeaderLease() string { return filepath.Join(d.Path, "leader.lock") }

// ProcessLease is the file whose lock makes a process an instance's.
func (d Dir) ProcessLease(i control.Instance) string {
	return filepath.Join(d.Path, "processes", string(i)+".lock")
}

// Tools has a record of each command that a member's process runs.
func (d Dir) Tools() string { return filepath.Join(d.Path, "tools") }

// Processes is where what is known of the members' processes lies.
func (d Dir) Processes() string { return filepath.Join(d.Path, "processes") }

// Bridges is where the mailboxes of editors lie.
func (d Dir) Bridges() string { return filepath.Join(d.Path, "bridges") }

// BridgeEndpoint is the file that says where editors connect and what they must
// know.
func (d Dir) BridgeEndpoint() string { return filepath.Join(d.Path, "bridge.json") }

// BridgeLease is the file whose lock makes a process the bridge of the team.
func (d Dir) BridgeLease() string { return filepath.Join(d.Path, "bridge.lock") }

// Told is the file that says how far observers were told of the team's transitions.
func (d Dir) Told() string { return filepath.Join(d.Path, "told.json") }

// Archive is where what the team leaves behind is kept.
func (d Dir) Archive() string { return filepath.Join(d.Path, "archive") }

// Worktrees is where it is on record which worktrees were made.
func (d Dir) Worktrees() string { return filepath.Join(d.Path, "worktrees") }

// Tokens is where the tokens lie with which somebody may join.
func (d Dir) Tokens() string { return filepath.Join(d.Path, "tokens") }

// Sockets is where the team's sockets lie: below RUN, their leases and keys here.
func (d Dir) Sockets(run string) transport.Place {
	return transport.Place{Dir: filepath.Join(run, filepath.Base(d.Path)), Keys: filepath.Join(d.Path, "sockets")}
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
func (h Home) NameLease(root string, team waggle.TeamName) string {
	name := strings.ToLower(string(team))
	return filepath.Join(h.Path, "names", name+"-"+id8(root, control.TeamUID(name))+".lock")
}

// Making is the file that is there while the team is being made: until the first
// record, nothing else says that what lies in the wire tree is ours.
func (d Dir) Making() string { return filepath.Join(d.Path, "making") }

// TeamFile is the accepted copy of the team file.
func (d Dir) TeamFile() string { return filepath.Join(d.Path, "team.yaml") }
