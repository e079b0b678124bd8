package team

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/protocol"
)

// Team is an open registry. Methods may be used from several goroutines and
// processes.
type Team struct {
	root Root
	name protocol.TeamName
	o    atomicfile.Options
	kept string // where old mail goes; "" is <team>/archive
}

// maxConfig is the largest config.json that is read: room for a thousand members with
// long prompts.
const maxConfig = 16 << 20

func newTeam(r Root, name protocol.TeamName, o Options) *Team {
	return &Team{root: r, name: name, o: o.file(r.Queue(name))}
}

// Open finds a team; *NotFoundError when it has no config.json. A team directory
// or a config.json that is a symbolic link, or not what its name says, is
// refused. o is for every file operation of the team.
func Open(r Root, name protocol.TeamName, o Options) (*Team, error) {
	if _, err := protocol.ParseTeam(string(name)); err != nil {
		return nil, fmt.Errorf("team: open: %w", err)
	}
	t := newTeam(r, name, o)
	info, err := os.Lstat(r.TeamDir(name))
	if err == nil {
		if !info.IsDir() {
			return nil, fmt.Errorf("team: open: %s is not a directory: %w", r.TeamDir(name), atomicfile.ErrNotRegular)
		}
		info, err = os.Lstat(r.ConfigPath(name))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, t.notFound()
	case err != nil:
		return nil, fmt.Errorf("team: open: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("team: open: %s: %w", r.ConfigPath(name), atomicfile.ErrNotRegular)
	}
	return t, nil
}

func (t *Team) notFound() error {
	names, _ := t.root.Names()
	return &NotFoundError{What: "team", Name: string(t.name), Near: Near(string(t.name), protocol.Strings(names))}
}

// Name is the team's name: that of its directory.
func (t *Team) Name() protocol.TeamName { return t.name }

// Root is the wire tree the team is in.
func (t *Team) Root() Root { return t.root }

func (t *Team) path() string { return t.root.ConfigPath(t.name) }

func (t *Team) now() time.Time {
	if t.o.Now != nil {
		return t.o.Now()
	}
	return time.Now()
}

// InboxesDir is the directory of the team's mailboxes. It is
// teams/<team>/inboxes, except for a team of 2.1.150 whose name was not all
// lower case: there the mailboxes are under the name in its old spelling (protocol
// §9.2 row 56).
func (t *Team) InboxesDir() string {
	own := t.root.InboxesDir(t.name)
	if isDir(own) {
		return own
	}
	if other, ok := t.spelledInboxes(); ok {
		return other
	}
	return own
}

// spelledInboxes is the directory of the mailboxes under the name's old spelling,
// when there is one.
func (t *Team) spelledInboxes() (dir string, ok bool) {
	data, err := atomicfile.ReadFile(t.path(), t.o)
	if err != nil {
		return "", false
	}
	raw := rawName(data)
	spelled, err := protocol.ParseTeam(strings.Map(sanitise, raw))
	if err != nil || spelled == t.name || !strings.EqualFold(string(spelled), string(t.name)) {
		return "", false
	}
	dir = t.root.InboxesDir(spelled)
	return dir, isDir(dir) && !isFile(t.root.ConfigPath(spelled))
}

// sanitise is what Claude Code does to a name to make a path of it (protocol §2.5).
func sanitise(r rune) rune {
	if r < 0x80 && (r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z') {
		return r
	}
	return '-'
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// torn reports an error that another program's write in place explains.
func torn(err error) bool {
	return errors.As(err, new(*CorruptError))
}

// Load reads the config without a lock, retrying a torn foreign write for about 100 ms and at last
// under the lock. It fails with a *CorruptError that names the path and the byte offset, with a
// *NotFoundError when the team does not exist, and with a *LockedError when another process holds
// the lock of a broken file. Config.Name is the name of the team's directory, whatever the file
// says; Config.Problems lists other errors in the file.
func (t *Team) Load(ctx context.Context) (*Config, error) {
	var c *Config
	err := atomicfile.Settle(ctx, torn, func() error {
		data, err := atomicfile.ReadFile(t.path(), t.o)
		if err != nil {
			return t.failed("load", err)
		}
		c, err = t.parse(data)
		if torn(err) && t.o.Hook != nil {
			t.o.Hook("torn")
		}
		return err
	})
	if !torn(err) {
		return c, err
	}
	looked := atomicfile.Edit(ctx, t.path(), t.o, func(v atomicfile.View) ([]atomicfile.Splice, error) {
		data, err := v.Bytes()
		if err != nil {
			return nil, err
		}
		c, err = t.parse(data)
		return nil, err
	})
	if looked == nil || torn(looked) || errors.As(looked, new(*atomicfile.LockedError)) {
		return c, t.failed("load", looked)
	}
	return nil, err
}

func (t *Team) parse(data []byte) (*Config, error) {
	c, _, err := ParseConfig(data)
	if bad, ok := errors.AsType[*CorruptError](err); ok {
		bad.Path = t.path()
	}
	if err != nil {
		return nil, err
	}
	if c.Name != t.name {
		if raw := rawName(data); !clientSpelled(raw) || !strings.EqualFold(strings.Map(sanitise, raw), string(t.name)) {
			c.kept.problems = append(c.kept.problems, fmt.Sprintf("name %s is not that of the directory, %s", show(raw), t.name))
		}
		c.Name, c.kept.read.Name = t.name, t.name
	}
	return c, nil
}

// failed gives an error its operation, or turns it into a *NotFoundError.
func (t *Team) failed(op string, err error) error {
	switch {
	case err == nil || torn(err) || errors.As(err, new(*NotFoundError)):
		return err
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(t.path()); errors.Is(err, fs.ErrNotExist) {
			return t.notFound()
		}
	}
	return fmt.Errorf("team: %s %s: %w", op, t.name, err)
}

// Update edits the config under its lock and replaces the file whole; its mode is kept. Update may
// call fn again, so fn must have no other effect. When fn changes nothing, nothing is written, not
// even to correct another layout. An error from fn is returned and nothing is written. fn cannot
// rename the team, and members it adds or renames need valid names that no other present member
// has.
func (t *Team) Update(ctx context.Context, fn func(*Config) error) error {
	return t.update(ctx, "update", fn)
}

func (t *Team) update(ctx context.Context, op string, fn func(*Config) error) error {
	edit := func(v atomicfile.View) ([]atomicfile.Splice, error) {
		if !v.Exists() {
			return nil, t.notFound()
		}
		data, err := v.Bytes()
		if err != nil {
			return nil, err
		}
		c, err := t.parse(data)
		if err != nil {
			return nil, err
		}
		if err := c.changeable(); err != nil {
			return nil, err
		}
		before := c.AppendJSON(nil)
		if err := fn(c); err != nil {
			return nil, err
		}
		if err := t.checkEdit(c); err != nil {
			return nil, err
		}
		after := c.AppendJSON(nil)
		if bytes.Equal(before, after) {
			return nil, nil
		}
		return []atomicfile.Splice{{Delete: v.Size(), Insert: after}}, nil
	}
	err := atomicfile.Settle(ctx, torn, func() error {
		if !isDir(filepath.Dir(t.path())) {
			return t.notFound()
		}
		return atomicfile.Edit(ctx, t.path(), t.o, edit)
	})
	return t.failed(op, err)
}

// Hold takes config.json's lock and returns its release, for an operation that must exclude other
// changes of the team. A team that does not exist is a *NotFoundError.
func (t *Team) Hold(ctx context.Context) (release func() error, err error) {
	release, err = atomicfile.Lock(ctx, t.path(), t.o)
	return release, t.failed("hold", err)
}

// checkEdit validates the fields that a caller changed; invalid fields that the file had before may
// stay.
func (t *Team) checkEdit(c *Config) error {
	if c.Name != t.name {
		return fmt.Errorf("the team cannot be renamed to %s", show(string(c.Name)))
	}
	for i, m := range c.Members {
		if m.kept != nil && m.kept.read.Name == m.Name {
			continue
		}
		if _, err := protocol.ParseMember(string(m.Name)); err != nil {
			return err
		}
		for j, other := range c.Members {
			if i != j && !m.Gone() && !other.Gone() && protocol.SameName(m.Name, other.Name) {
				return fmt.Errorf("member %s: %w", show(string(m.Name)), ErrTaken)
			}
		}
	}
	return nil
}

// Options are the settings of an open registry. The zero value works.
type Options struct {
	Deadline time.Duration    // of one operation, with the wait for its lock; 0: 5 s
	Stale    time.Duration    // age of another program's lock that counts as abandoned; 0: 10 s
	Now      func() time.Time // nil: time.Now
	// Hook is called with a step's name between the file operations of an edit, and with "torn" when a
	// read found the file broken; for tests that stop or kill the process there.
	Hook func(step string)
}

// LockedError reports a registry that another process holds (exit code 8).
type LockedError = atomicfile.LockedError

// Errors of a registry's file.
var (
	// ErrNotRegular refuses a link, a FIFO, a device or a directory where a file is expected.
	ErrNotRegular = atomicfile.ErrNotRegular
	// ErrTooLarge refuses a config.json of more than 16 MiB.
	ErrTooLarge = atomicfile.ErrTooLarge
)

// file is how a team's config.json is edited.
func (o Options) file(queue string) atomicfile.Options {
	return atomicfile.Options{Rank: atomicfile.RankConfig, Deadline: o.Deadline, Stale: o.Stale, MaxSize: maxConfig, Perm: 0o600,
		Queue: queue, Now: o.Now, Hook: o.Hook}
}
