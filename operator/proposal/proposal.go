package proposal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonfile"
	"waggle/internal/json/jsonobj"
	"waggle/internal/pattern"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// Limits of proposals.
const (
	MaxTask  = 16 << 10       // bytes of a task
	MaxOpen  = 5              // open proposals of a directory
	MaxAll   = 50             // of all directories
	Lasts    = 72 * time.Hour // from its making until it cannot be started any more
	maxWords = 4 << 10        // bytes of everything else
	maxFile  = 128 << 10      // bytes of a file: every byte of a task may need six
)

// Kind is what stands for the kind of a request; no message on the wire has it.
const Kind = "proposal"

// handleLength is how many characters of its code name a proposal.
const handleLength = 4

// State is how far a proposal is.
type State string

// States of a Proposal.
const (
	Open     State = "open"
	Starting State = "starting" // the person's command starts it, or was killed
	Started  State = "started"
	Denied   State = "denied"
	Expired  State = "expired" // nobody answered in time; no file says it
)

// Asked is what is proposed: the words after waggle new.
type Asked struct {
	Agent    string   `json:"agent"`
	Command  []string `json:"command,omitempty"` // of agent exec: the program, which reads the task
	Name     string   `json:"name,omitempty"`
	Model    string   `json:"model,omitempty"`
	Base     string   `json:"base,omitempty"`
	Attempts int      `json:"attempts,omitempty"` // 0: one
	Split    bool     `json:"split,omitempty"`
	Task     string   `json:"task"`
}

// Proposal is a new member that somebody proposes.
type Proposal struct {
	ID  string    `json:"id"`
	At  time.Time `json:"at"`
	Dir string    `json:"dir"` // where its member would work
	By  string    `json:"by"`  // whose process wrote it, as far as that was known; "": it was not
	Asked
	State    State          `json:"state"`
	Starter  spawn.Identity `json:"starter,omitzero"` // of Starting: the person's command
	Team     string         `json:"team,omitempty"`   // of Started
	Members  []string       `json:"members,omitempty"`
	Reason   string         `json:"reason,omitempty"` // of Denied
	Answered time.Time      `json:"answered,omitzero"`
}

// Expires is when it cannot be started any more.
func (p *Proposal) Expires() time.Time { return p.At.Add(Lasts) }

// Now is its state at a time.
func (p *Proposal) Now(now time.Time) State {
	if (p.State == Open || p.State == Starting) && !now.Before(p.Expires()) {
		return Expired
	}
	return p.State
}

// Digest is that of everything that the person is shown of it.
func (p *Proposal) Digest() record.Digest {
	b, err := jsonobj.Marshal(struct {
		Dir string `json:"dir"`
		By  string `json:"by"`
		Asked
	}{p.Dir, p.By, p.Asked})
	if err != nil {
		return "" // structs of strings always marshal
	}
	return record.Digest(record.HashText(string(b)))
}

// Handle is what people type for it. It follows from what it says, so that no file can give it another's.
func (p *Proposal) Handle() string {
	return record.HandleCode(record.Key{Instance: Kind, Kind: Kind, ID: protocol.RequestID(p.ID)}, p.Digest())[:handleLength]
}

// Line is the command that it stands for, in one line: a quoted text cannot end it.
func (a Asked) Line() string {
	words := []string{"new", word(a.Agent)}
	add := func(flag, value string) {
		if value != "" {
			words = append(words, flag, word(value))
		}
	}
	for _, c := range a.Command {
		words = append(words, "--command", word(c))
	}
	add("--name", a.Name)
	add("--model", a.Model)
	add("--base", a.Base)
	if a.Attempts > 1 {
		add("--attempts", strconv.Itoa(a.Attempts))
	}
	if a.Split {
		words = append(words, "--split")
	}
	first, rest, _ := strings.Cut(a.Task, "\n")
	if strings.TrimSpace(rest) != "" {
		first += "…"
	}
	return strings.Join(append(words, strconv.Quote(first)), " ")
}

// plain is a word that needs no quotes.
var plain = pattern.New(`^[A-Za-z0-9_./:@%+=-]+$`)

func word(s string) string {
	if plain().MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}

// Store is the directory of the proposals.
type Store struct {
	Dir string
	Now func() time.Time
}

// At is the store of a STATE.
func At(state string, now func() time.Time) Store {
	return Store{Dir: filepath.Join(state, "proposals"), Now: now}
}

// LimitError refuses a proposal.
type LimitError struct {
	Why  string
	Full bool // it is not the proposal: too many wait
}

func (e *LimitError) Error() string { return e.Why }

// GoneError: there is no proposal of this id.
type GoneError struct{ ID string }

func (e *GoneError) Error() string { return "there is no proposal " + e.ID }

const suffix = ".json"

// idForm is the form of ids, and so of the names of files.
var idForm = pattern.New(`^prop-[0-9a-f]{16}$`)

// IsID reports the form of an id.
func IsID(s string) bool { return idForm().MatchString(s) }

func (s Store) path(id string) string { return filepath.Join(s.Dir, id+suffix) }

// List returns the proposals that can be read, oldest first, answered and expired ones too. It changes nothing. The
// error names what is no proposal.
func (s Store) List() ([]Proposal, error) { return s.load(false) }

// load is List. With sweep, for which the caller holds the lock, it sets damaged files aside and removes what ended or
// expired long ago.
func (s Store) load(sweep bool) (all []Proposal, err error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	var errs []error
	now := s.Now()
	for _, id := range names {
		p, err := s.read(id)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case err != nil && !sweep:
			errs = append(errs, fmt.Errorf("proposal %s: %w", s.path(id), err))
		case err != nil:
			if _, err := atomicfile.SetAside(s.path(id), filepath.Join(s.Dir, "set-aside"), now); err != nil {
				errs = append(errs, fmt.Errorf("proposals: %w", err))
			}
		case sweep && now.After(p.At.Add(2*Lasts)):
			if err := os.Remove(s.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, fmt.Errorf("proposals: %w", err))
			}
		default:
			all = append(all, *p)
		}
	}
	slices.SortStableFunc(all, func(a, b Proposal) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return all, errors.Join(errs...)
}

// maxNames is how many files are looked at: more are no work of waggle.
const maxNames = 10 * MaxAll

func (s Store) names() (ids []string, err error) {
	d, err := os.Open(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("proposals: %w", err)
	}
	defer func() { _ = d.Close() }()
	list, err := d.ReadDir(maxNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("proposals: %w", err)
	}
	for _, e := range list {
		if id, ok := strings.CutSuffix(e.Name(), suffix); ok && !strings.HasPrefix(id, ".") {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// read reads one file: whatever it says is checked as if anybody had written it.
func (s Store) read(id string) (*Proposal, error) {
	b, err := atomicfile.ReadFile(s.path(id), atomicfile.Options{MaxSize: maxFile})
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	p := &Proposal{}
	if err := dec.Decode(p); err != nil {
		return nil, err
	}
	switch {
	case !IsID(p.ID) || p.ID != id:
		return nil, errors.New("its name and its id differ")
	case !slices.Contains([]State{Open, Starting, Started, Denied}, p.State):
		return nil, fmt.Errorf("state %q", p.State)
	case p.At.After(s.Now().Add(time.Hour)):
		return nil, errors.New("it is from a time to come")
	}
	return p, p.check()
}

// check refuses what is too large or no text.
func (p *Proposal) check() error {
	words := slices.Concat([]string{p.Dir, p.By, p.Agent, p.Name, p.Model, p.Base, p.Reason, p.Team}, p.Command, p.Members)
	size := 0
	for _, w := range append(words, p.Task) {
		if size += len(w) + 1; !utf8.ValidString(w) {
			return &LimitError{Why: "a proposal is text in UTF-8"}
		}
	}
	switch {
	case strings.TrimSpace(p.Task) == "":
		return &LimitError{Why: "the task is empty"}
	case len(p.Task) > MaxTask:
		return &LimitError{Why: fmt.Sprintf("the task has %d bytes, and a proposal at most %d: put the rest in a file of the repository", len(p.Task), MaxTask)}
	case size-len(p.Task) > maxWords:
		return &LimitError{Why: fmt.Sprintf("the words beside the task have %d bytes, and a proposal at most %d", size-len(p.Task), maxWords)}
	case p.Attempts < 0 || !filepath.IsAbs(p.Dir) || p.Agent == "":
		return &LimitError{Why: "it has no directory, no agent or no number of attempts"}
	case !p.named():
		return &LimitError{Why: fmt.Sprintf("%.40q is no member and no session", p.By)}
	}
	if p.Name != "" {
		if _, err := protocol.ParseNewMember(p.Name); err != nil {
			return &LimitError{Why: err.Error()}
		}
	}
	return nil
}

// bySession is how a session is named in By.
var bySession = pattern.New(`^session [A-Za-z0-9][A-Za-z0-9_-]{0,7}$`)

// named reports that By is a name and no sentence: the member is told it outside of what is quoted.
func (p *Proposal) named() bool {
	_, _, err := protocol.AgentID(p.By).Parse()
	return p.By == "" || bySession().MatchString(p.By) || err == nil
}

// Put keeps a new proposal: its id comes from random, its time is now. A *LimitError says why it is refused.
func (s Store) Put(ctx context.Context, p Proposal, random io.Reader) (Proposal, error) {
	p.At, p.State = s.Now().UTC(), Open
	if err := p.check(); err != nil {
		return p, err
	}
	err := s.under(ctx, func(all []Proposal) error {
		here, open := 0, 0
		taken := map[string]bool{}
		for _, o := range all {
			if taken[o.Handle()] = true; o.Now(p.At) != Open {
				continue
			}
			if open++; o.Dir == p.Dir {
				here++
			}
		}
		if here >= MaxOpen || open >= MaxAll {
			return &LimitError{Why: fmt.Sprintf("%d proposals wait for the person here, and %d in all: more are taken when some are answered", here, open), Full: true}
		}
		for p.ID == "" || taken[p.Handle()] {
			var b [8]byte
			if _, err := io.ReadFull(random, b[:]); err != nil {
				return fmt.Errorf("proposal: %w", err)
			}
			p.ID = "prop-" + hex.EncodeToString(b[:])
		}
		return s.write(p)
	})
	return p, err
}

// Change changes a proposal under the lock. With an error of change nothing is written.
func (s Store) Change(ctx context.Context, id string, change func(*Proposal) error) (p Proposal, err error) {
	if _, err := os.Lstat(s.path(id)); !IsID(id) || errors.Is(err, fs.ErrNotExist) {
		return p, &GoneError{id}
	}
	err = s.under(ctx, func([]Proposal) error {
		is, err := s.read(id)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return &GoneError{id}
		case err != nil:
			return err
		}
		err = change(is)
		if p = *is; err != nil {
			return err
		}
		return s.write(p)
	})
	return p, err
}

// under makes the store where it is not there, and calls do with all proposals, under the lock.
func (s Store) under(ctx context.Context, do func(all []Proposal) error) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("proposals: %w", err)
	}
	release, err := atomicfile.Flock(ctx, filepath.Join(s.Dir, ".lock"), atomicfile.Options{})
	if err != nil {
		return fmt.Errorf("proposals: %w", err)
	}
	defer func() { _ = release() }()
	all, err := s.load(true)
	if err != nil {
		return err
	}
	return do(all)
}

func (s Store) write(p Proposal) error {
	if err := jsonfile.WriteIndent(s.path(p.ID), p, atomicfile.Options{Perm: 0o600, Sync: atomicfile.SyncFull}); err != nil {
		return fmt.Errorf("proposals: %w", err)
	}
	return nil
}
