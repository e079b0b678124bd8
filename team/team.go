// Package team is the registry of a team: teams/<team>/config.json with its members, colours and
// identity, as Claude Code writes and reads it (protocol §3). It has no authority: the journal says
// who leads, which process belongs to a member, and what is trusted (trust §1).
//
//	t, err := team.Create(ctx, root, team.Config{Name: "api"}, team.Options{})
//	m, _, err := t.Add(ctx, team.Member{Name: "tester"}, true)
//	c, err := t.Load(ctx)
//
// Guarantees: a rewrite changes only the fields that were changed; key order, unknown keys, entries
// that cannot be read and the form of times stay as they were. Writers take config.json.lock, which
// Claude Code processes take too, and replace the file whole. A file that cannot be read is
// reported and left as it is.
//
// The package reads both eras of Claude Code and the schema of the file format document (seed 002).
// It validates names from disk like any other: an invalid name never becomes a path.
package team

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"waggle/protocol"
)

// Root is the wire tree: the directory that holds teams/ and tasks/.
type Root struct {
	Path string
	// Locks is the directory of this user and machine for the lock files of teams that another
	// program leads, so that their tree has none of our files; "": each lock file is beside the
	// file that it locks.
	Locks string
	// Led says which teams waggle leads; nil: all but those of a session.
	Led Led
	// Kept are the directories of one team that are outside of the tree, as an archive has them. The
	// zero value: every team is in the tree.
	Kept Kept
}

// Kept are the directories of a team outside of the tree.
type Kept struct {
	Team  protocol.TeamName
	Dir   string // in place of teams/<team>
	Tasks string // in place of tasks/<team>
}

// Led reports which teams waggle leads.
type Led interface{ Leads(protocol.TeamName) bool }

// Queue is the directory for the queue files of a team's locks: Locks for a team that another
// program leads; "": they are beside the locked files.
func (r Root) Queue(t protocol.TeamName) string {
	if r.Locks != "" && (DialectOf(t) == DialectSession || r.Led != nil && !r.Led.Leads(t)) {
		return r.Locks
	}
	return ""
}

// TeamDir is teams/<team>, or the directory of Kept.
func (r Root) TeamDir(t protocol.TeamName) string {
	if r.Kept.Dir != "" && t == r.Kept.Team {
		return r.Kept.Dir
	}
	return filepath.Join(r.teams(), string(t))
}

// InboxesDir is teams/<team>/inboxes. Team.InboxesDir finds the one that is in
// use, which for teams of 2.1.150 can be another.
func (r Root) InboxesDir(t protocol.TeamName) string { return filepath.Join(r.TeamDir(t), "inboxes") }

// MailboxDir is teams/<team>/mailbox, of teams with the layout of lines.
func (r Root) MailboxDir(t protocol.TeamName) string { return filepath.Join(r.TeamDir(t), mailboxName) }

// ConfigPath is teams/<team>/config.json.
func (r Root) ConfigPath(t protocol.TeamName) string { return filepath.Join(r.TeamDir(t), configName) }

// TasksDir is tasks/<team>, or the directory of Kept.
func (r Root) TasksDir(t protocol.TeamName) string {
	if r.Kept.Tasks != "" && t == r.Kept.Team {
		return r.Kept.Tasks
	}
	return filepath.Join(r.tasks(), string(t))
}

// MemberDir is tasks/<team>/<member>: output.log, task-status.json, artifacts/.
func (r Root) MemberDir(t protocol.TeamName, m protocol.MemberName) string {
	return filepath.Join(r.TasksDir(t), string(m))
}

func (r Root) teams() string { return filepath.Join(r.Path, "teams") }
func (r Root) tasks() string { return filepath.Join(r.Path, "tasks") }

const (
	configName  = "config.json"
	inboxesName = "inboxes"
	mailboxName = "mailbox"
	archiveName = "archive"
)

// Names lists the teams that have a config.json, sorted. Directories whose name
// is not a valid team name, and symbolic links, are left out. No teams directory
// means no teams.
func (r Root) Names() ([]protocol.TeamName, error) {
	l, err := r.list()
	return l.names, err
}

// Unnamed lists what is wrong with the names of directories that have a config.json and are no team for
// waggle because of their names, sorted by these.
func (r Root) Unnamed() ([]error, error) {
	l, err := r.list()
	return l.unnamed, err
}

// listing is what the tree has below teams.
type listing struct {
	names   []protocol.TeamName // of directories with a registry
	left    []protocol.TeamName // of those without one
	unnamed []error             // why the names of directories with a registry are no teams' names
}

func (r Root) list() (l listing, err error) {
	entries, err := os.ReadDir(r.teams()) // sorted
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, fmt.Errorf("team: list: %w", err)
	}
	for _, e := range entries {
		name, bad := protocol.ParseTeam(e.Name())
		switch registry := isFile(filepath.Join(r.teams(), e.Name(), configName)); {
		case !e.IsDir():
		case bad == nil && registry:
			l.names = append(l.names, name)
		case bad == nil:
			l.left = append(l.left, name)
		case registry:
			l.unnamed = append(l.unnamed, bad)
		}
	}
	return l, nil
}

// Dialect is the family of the wire tree to which a team belongs.
type Dialect string

const (
	DialectNamed   Dialect = "named"   // read messages kept
	DialectSession Dialect = "session" // session-<8 hex>; delivered messages pruned
)

// DialectOf returns the dialect of a team by its name.
func DialectOf(name protocol.TeamName) Dialect {
	if name.OfSession() {
		return DialectSession
	}
	return DialectNamed
}

// NotFoundError reports a team or a member that is not there, with near names
// (exit code 9).
type NotFoundError struct {
	What string // "team", "member"
	Name string
	Near []string // names that the caller may have meant, best first; at most three
}

func (e *NotFoundError) Error() string {
	s := fmt.Sprintf("no %s %s", e.What, show(e.Name))
	if len(e.Near) > 0 {
		s += "; near: " + strings.Join(e.Near, ", ")
	}
	return s
}

// CorruptError reports a config.json that is not a JSON object. The file is left
// as it is.
type CorruptError struct {
	Path   string
	Offset int64 // of the first byte that is wrong
	Why    string
}

func (e *CorruptError) Error() string {
	s := fmt.Sprintf("byte %d: %s", e.Offset, e.Why)
	if e.Path != "" {
		s = e.Path + ": " + s
	}
	return "team: " + s
}

var (
	// ErrExists reports a team that is already there.
	ErrExists = errors.New("team exists")
	// ErrTaken reports a member name that a present member has.
	ErrTaken = errors.New("name is taken")
	// ErrLead reports an attempt to remove the lead.
	ErrLead = errors.New("the lead cannot be removed")
)

// show quotes a name that may hold anything, cut to a readable length.
func show(name string) string {
	if r := []rune(name); len(r) > 64 {
		name = string(r[:64]) + "…"
	}
	return fmt.Sprintf("%+q", name)
}
