package team

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"waggle"
	"waggle/internal/atomicfile"
)

// Add registers a member: a free name (see waggle.Unique when dedupe is set,
// else a taken one is ErrTaken), a colour from the palette when it has none, its
// agent id, the time it joined when that is zero, and an empty mailbox. An entry
// of a member of that name that has left is replaced; its mailbox, unless empty,
// is moved to <team>/archive/<name>-<UTC time>.json first and its new place is
// returned, also when registering fails after that. Order: mailbox, then entry,
// both under the config's lock.
func (t *Team) Add(ctx context.Context, m Member, dedupe bool) (added Member, archived string, err error) {
	if _, err := waggle.ParseNewMember(string(m.Name)); err != nil {
		return Member{}, "", fmt.Errorf("team: add: %w", err)
	}
	// The edit may be tried again; a mailbox that was made ready stays so, for
	// as long as the lock keeps others from taking the name.
	ready := map[waggle.MemberName]bool{}
	err = t.update(ctx, "add", func(c *Config) error {
		added, err = c.add(t.name, m, dedupe, t.now())
		if err != nil || ready[added.Name] {
			return err
		}
		archived, err = t.freshInbox(ctx, added.Name)
		ready[added.Name] = err == nil
		return err
	})
	if err != nil {
		return Member{}, archived, err
	}
	return added, archived, nil
}

// add appends a member to c and returns it as it is registered.
func (c *Config) add(team waggle.TeamName, m Member, dedupe bool, now time.Time) (Member, error) {
	present := c.Present()
	if dedupe {
		m.Name = waggle.Unique(m.Name, present)
	}
	if slices.ContainsFunc(present, func(n waggle.MemberName) bool { return waggle.SameName(n, m.Name) }) {
		return Member{}, fmt.Errorf("member %s: %w", show(string(m.Name)), ErrTaken)
	}
	if err := m.check(); err != nil {
		return Member{}, err
	}
	c.Members = slices.DeleteFunc(slices.Clone(c.Members), func(old Member) bool {
		return old.Gone() && waggle.SameName(old.Name, m.Name)
	})
	if len(c.Members) >= MaxMembers {
		return Member{}, &LimitError{fmt.Sprintf("member %s:", show(string(m.Name))), fmt.Sprintf("the registry has %d entries, and no more are allowed", len(c.Members))}
	}
	m.AgentID = waggle.NewAgentID(m.Name, team)
	if m.JoinedAt.IsZero() {
		m.JoinedAt = now
	}
	if m.AgentType == "" {
		m.AgentType = "general-purpose"
	}
	if m.Color == "" {
		m.Color = c.Color()
	}
	m.ShutdownAt = time.Time{}
	m.JoinedAt = m.JoinedAt.UTC().Truncate(time.Millisecond)
	c.Members = append(c.Members, m)
	return m, nil
}

// Remove takes a member out: removed in a session team, kept with shutdownAt and
// isActive false in a named one (WIRE §9 row 23). A zero at means now. Removing
// one that has left changes nothing; an unknown one is a *NotFoundError, the
// lead is ErrLead. The mailbox stays.
func (t *Team) Remove(ctx context.Context, name waggle.MemberName, at time.Time) error {
	if at.IsZero() {
		at = t.now()
	}
	return t.update(ctx, "remove", func(c *Config) error {
		m, ok := c.Member(name)
		switch {
		case !ok:
			return &NotFoundError{What: "member", Name: string(name), Near: c.Near(string(name))}
		case m.IsLead():
			return ErrLead
		case c.Dialect() == DialectSession:
			c.Members = slices.DeleteFunc(c.Members, func(m Member) bool { return waggle.SameName(m.Name, name) })
		case !m.Gone():
			m.IsActive = new(false)
			m.ShutdownAt = at
		}
		return nil
	})
}

var emptyInbox = []byte("[]")

// freshInbox makes an empty mailbox. What is in one of that name is moved aside.
func (t *Team) freshInbox(ctx context.Context, name waggle.MemberName) (archived string, err error) {
	dir := t.InboxesDir()
	home, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return "", err
	}
	defer home.Close()
	if err := home.Mkdir(inboxesName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	file := filepath.Join(inboxesName, string(name)+".json")
	if err := createInbox(home, file); !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	info, err := home.Lstat(file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("mailbox %s is not a regular file", filepath.Join(dir, string(name)+".json"))
	}
	o := t.o
	o.Rank = atomicfile.RankInbox
	path := filepath.Join(home.Name(), file)
	release, err := atomicfile.Lock(ctx, path, o)
	if err != nil {
		return "", err
	}
	archived, err = t.moveAside(home, file, name)
	return archived, errors.Join(err, release())
}

// moveAside puts a mailbox with content into the archive and an empty one in its
// place. The caller holds its lock.
func (t *Team) moveAside(home *os.Root, file string, name waggle.MemberName) (archived string, err error) {
	if info, err := home.Lstat(file); err != nil || info.Size() <= 16 {
		data, err := home.ReadFile(file)
		if err == nil && (len(data) == 0 || bytes.Equal(bytes.TrimSpace(data), emptyInbox)) {
			return "", nil
		}
	}
	if err := home.Mkdir(archiveName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	stem := fmt.Sprintf("%s-%s", name, t.now().UTC().Format("20060102T150405.000Z"))
	target := filepath.Join(archiveName, stem+".json")
	for n := 2; ; n++ {
		if _, err := home.Lstat(target); errors.Is(err, fs.ErrNotExist) {
			break
		}
		target = filepath.Join(archiveName, fmt.Sprintf("%s-%d.json", stem, n))
	}
	if err := home.Rename(file, target); err != nil {
		return "", err
	}
	archived = filepath.Join(home.Name(), target)
	if err := createInbox(home, file); err != nil && !errors.Is(err, fs.ErrExist) {
		return archived, err
	}
	return archived, nil
}

// createInbox makes file exclusively, with an empty array.
func createInbox(home *os.Root, file string) error {
	f, err := home.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(emptyInbox)
	return errors.Join(err, f.Close())
}
