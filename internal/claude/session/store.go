package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"waggle/journal"
)

// Store is STATE/sessions: one directory a session.
type Store struct {
	Dir string
	Now func() time.Time
}

// At is the store below STATE.
func At(state string, now func() time.Time) Store {
	return Store{Dir: filepath.Join(state, "sessions"), Now: now}
}

// Prepare makes the store, and STATE with it, where they do not exist.
func (s Store) Prepare() error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	return nil
}

// troubleFile holds the last error of a hook, for doctor: a hook itself reports nothing.
const troubleFile = ".trouble"

// Trouble keeps what went wrong in a hook.
func (s Store) Trouble(what string) error {
	return quick(filepath.Join(s.Dir, troubleFile), []byte(s.Now().UTC().Format(time.RFC3339)+" "+oneLine(what)+"\n"))
}

// LastTrouble is the last error of a hook, "" when there was none.
func (s Store) LastTrouble() string {
	b, err := os.ReadFile(filepath.Join(s.Dir, troubleFile))
	if err != nil || len(b) > 4096 {
		return ""
	}
	return oneLine(string(b))
}

// journalName names the one journal in a session's directory.
const journalName journal.Name = "session"

// Session is one session's open journal and its fold. A Session is safe for
// concurrent use; fields of Fold are read under View.
type Session struct {
	ID  ID
	Dir string

	mu   sync.Mutex
	j    *journal.File
	fold *Fold
}

// Path is the directory of a session.
func (s Store) Path(id ID) string { return filepath.Join(s.Dir, string(id)) }

// IDs lists the sessions that have a directory. A store that does not exist is empty.
func (s Store) IDs() ([]ID, error) {
	ents, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	var ids []ID
	for _, e := range ents {
		if id, err := ParseID(e.Name()); err == nil && e.IsDir() {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Open opens the journal of a session and folds it; a session without one is empty. It creates
// nothing.
func (s Store) Open(id ID) (*Session, error) {
	fold := newFold(id)
	j, err := journal.Dir{Path: s.Path(id), UID: string(uidOf(id))}.Open(journalName, fold, journal.Options{Now: s.Now})
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	return &Session{ID: id, Dir: s.Path(id), j: j, fold: fold}, nil
}

// Make is Open for appending: it makes the directory, 0700.
func (s Store) Make(id ID) (*Session, error) {
	if err := os.MkdirAll(s.Path(id), 0o700); err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	return s.Open(id)
}

// put appends one record to a session's journal, whatever is in it.
func (s Store) put(ctx context.Context, w journal.Writer, id ID, d journal.Draft) error {
	one, err := s.Make(id)
	if err != nil {
		return err
	}
	return one.append(ctx, w, func(*Fold) ([]journal.Draft, error) { return []journal.Draft{d}, nil })
}

// View calls fn with the fold as it is. fn must not keep it.
func (s *Session) View(fn func(*Fold)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(s.fold)
}

// Refresh folds what others appended.
func (s *Session) Refresh(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.j.Refresh(ctx)
}

// append drafts against a current fold and appends, under the journal's lock.
func (s *Session) append(ctx context.Context, w journal.Writer, propose func(*Fold) ([]journal.Draft, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.j.Append(ctx, w, func() ([]journal.Draft, error) { return propose(s.fold) })
	return err
}

// Requests are copies of the session's requests, oldest first.
func (s *Session) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, 0, len(s.fold.Requests))
	for _, r := range s.fold.Requests {
		out = append(out, *r)
	}
	return out
}

// Process is the session's newest process on record; nil when none is, or when the
// session said that it ends.
func (s *Session) Process() *Opened {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fold.Process == nil || s.fold.Ended != nil {
		return nil
	}
	p := *s.fold.Process
	return &p
}

// All opens every session that has a directory. A session that cannot be read is left out and named
// in problems, so that it does not hide the others.
func (s Store) All() (open []*Session, problems []error) {
	ids, err := s.IDs()
	if err != nil {
		return nil, []error{err}
	}
	for _, id := range ids {
		one, err := s.Open(id)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		open = append(open, one)
	}
	return open, problems
}
