package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonfile"
	"waggle/spawn"
)

// States of an Intent.
const (
	merging  = "merging"  // nothing of the target was touched
	moving   = "moving"   // the target and its checkouts are being moved
	settling = "settling" // the target has the work; worktree and branch are being removed
)

// Intent is a merge that was begun and has not ended. It is written before the first change, so that
// a merge whose process was killed is finished (Continue) or taken back (Abort). It has a file of its
// own in Records, which outlives the record of the worktree, that the merge removes.
type Intent struct {
	V       int            `json:"v"`
	State   string         `json:"state"`
	By      spawn.Identity `json:"by"` // the process that merges
	At      time.Time      `json:"at"`
	Member  string         `json:"member"`
	Tree    Tree           `json:"tree"`
	Into    string         `json:"into"` // a branch
	How     How            `json:"how"`
	Keep    bool           `json:"keep,omitempty"`
	Text    string         `json:"text,omitempty"`    // the message that the person gave
	Commit  string         `json:"commit,omitempty"`  // of all work, once it was made
	Head    string         `json:"head,omitempty"`    // where a checkout with a git directory of its own was then
	Files   string         `json:"files,omitempty"`   // the tree of Commit
	From    string         `json:"from,omitempty"`    // where the target was
	Result  string         `json:"result,omitempty"`  // where it is to be
	Back    bool           `json:"back,omitempty"`    // Abort takes a target back that had moved: From has the work
	Mark    string         `json:"mark,omitempty"`    // what the locks of the checkouts hold
	Targets []string       `json:"targets,omitempty"` // the checkouts that are moved
}

// Open reports a merge whose process is gone.
func (i *Intent) Open() bool { return !i.By.Alive() }

// Settling reports a merge whose target has the work.
func (i *Intent) Settling() bool { return i.State == settling }

// Tip is the work that was committed.
func (i *Intent) Tip() Tip { return Tip{Commit: i.Commit, head: i.Head, tree: i.Files} }

// OpenError: a merge of a worktree's branch was begun and has not ended.
type OpenError struct{ Intent *Intent }

func (e *OpenError) Error() string {
	what := "was interrupted"
	if !e.Intent.Open() {
		what = fmt.Sprintf("is in progress in process %d", e.Intent.By.PID)
	}
	return fmt.Sprintf("a merge of %s into %s %s", e.Intent.Tree.Branch, e.Intent.Into, what)
}

// ErrNoMerge: there is no merge to continue or to abort.
var ErrNoMerge = errors.New("no merge was interrupted")

// intents is the directory of the intents.
func (s Store) intents() string { return filepath.Join(s.Records, "merging") }

func (s Store) intentFile(t Tree) string {
	return filepath.Join(s.intents(), filepath.Base(t.Path)+".json")
}

// Intents lists the merges that were begun and have not ended, in the order of the names. One that
// cannot be read is an error.
func (s Store) Intents() ([]*Intent, error) {
	return recordsIn(s.intents(), func(name string) (i *Intent, found bool, err error) {
		i, err = readIntent(filepath.Join(s.intents(), name+".json"))
		return i, i != nil, err
	})
}

// Intent is the merge of a worktree's branch that was begun and has not ended; nil: there is none.
func (s Store) Intent(t Tree) (*Intent, error) { return readIntent(s.intentFile(t)) }

// begun is Intent of a worktree that must have one.
func (s Store) begun(t Tree) (*Intent, error) {
	i, err := s.Intent(t)
	if err == nil && i == nil {
		err = ErrNoMerge
	}
	return i, err
}

func readIntent(path string) (*Intent, error) {
	i := &Intent{}
	if err := readRecord(path, i, &i.V); err != nil {
		return nil, ignoreMissing(err)
	}
	return i, nil
}

// putIntent writes an intent.
func (s Store) putIntent(i *Intent) error {
	err := os.MkdirAll(s.intents(), 0o700)
	if err == nil {
		err = jsonfile.WriteIndent(s.intentFile(i.Tree), i, atomicfile.Options{Sync: atomicfile.SyncFull})
	}
	if err != nil {
		return fmt.Errorf("worktree: the intent of a merge: %w", noSpace(err))
	}
	return nil
}

// Settled ends a merge: nothing of it is to be done any more.
func (s Store) Settled(ctx context.Context, t Tree) error {
	s.at("settled")
	if err := s.Git.Drop(ctx, t); err != nil {
		return err
	}
	if err := ignoreMissing(os.Remove(s.intentFile(t))); err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	_ = os.Remove(s.intents()) // if it was the last one
	return nil
}

// mergeWait is how long another merge of the team is waited for: its check may take long.
const mergeWait = time.Hour

// HoldMerges takes the lock under which one merge of a team at a time works, for all of it. waits is
// called when another process has it; may be nil.
func (s Store) HoldMerges(ctx context.Context, waits func()) (release func() error, err error) {
	if err := os.MkdirAll(s.Records, 0o700); err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	lock, o := filepath.Join(s.Records, "merge.lock"), atomicfile.Options{Deadline: mergeWait, Aside: s.Records}
	release, held, err := atomicfile.TryFlock(lock, o)
	if err != nil || held {
		return release, err
	}
	if waits != nil {
		waits()
	}
	return atomicfile.Flock(ctx, lock, o)
}
