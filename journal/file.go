package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waggle/internal/backoff"
	"waggle/internal/fs/atomicfile"
)

// Dir is a team's journals on disk.
type Dir struct {
	Path string
	UID  string // the team's uid; it is part of every chain's genesis
}

// LockedError reports a journal whose lock another process has held for longer than
// Options.Deadline (exit code 8).
type LockedError = atomicfile.LockedError

// Options are a journal's settings. The zero value works.
type Options struct {
	Now      func() time.Time // nil means time.Now
	Deadline time.Duration    // for the lock; 0 means 5 s
	Segment  int64            // size at which a segment rolls; 0 means 8 MiB
	// SnapshotAfter is how many records Open folds before it saves a snapshot of
	// a fold that is a Snapshotter; 0 means 1000. Negative: snapshots are neither
	// used nor saved, every line is read.
	SnapshotAfter int
	// ReadOnly makes Open write nothing: it uses a snapshot, and neither saves nor removes one.
	ReadOnly bool
	// Whole makes Open read every line and ignore a snapshot, for a process that acts on the
	// journal. The File may later use a snapshot that it saved itself.
	Whole bool
	// FlushWait is how long Append retries a flush that fails while the lines are in the segment; 0
	// means 5 s, negative: until its context ends. A process that acts on its own records needs a
	// long wait: records of an append that it gave up count all the same.
	FlushWait time.Duration
	// Write, Sync and Truncate replace the file operations of an append, for
	// tests that make them fail. Nil in production.
	Write    func(f *os.File, p []byte) (int, error)
	Sync     func(f *os.File) error
	Truncate func(f *os.File, size int64) error
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Segment <= 0 {
		o.Segment = maxSegment
	}
	if o.SnapshotAfter == 0 {
		o.SnapshotAfter = 1000
	}
	if o.Write == nil {
		o.Write = atomicfile.Write
	}
	if o.Sync == nil {
		o.Sync = atomicfile.Flush
	}
	if o.Truncate == nil {
		o.Truncate = atomicfile.Truncate
	}
	return o
}

// File is a Journal on disk.
type File struct {
	dir     string
	fold    Fold
	o       Options
	at      position
	id      fileID          // of the segment, to notice a replaced one
	size    int64           // of the segment when it was last read
	mod     time.Time       // modification time of the segment at that size; zero: read it again
	checked time.Time       // modification time of the directory when the earlier segments were there; zero: check
	doubt   bool            // compare the last line, whatever the modification time is
	folded  int             // records, by this File
	cut     []Ref           // bodies of cuts that no record names yet
	sticky  error           // BrokenError, FutureError, or what the fold said
	mending backoff.Backoff // when sticky is a BrokenError
	aside   asides          // records that are not folded
	saved   string          // sum of the snapshot that this File has saved
	least   position        // that a fold which is made again must reach
	owed    *unflushed
	// certain is what certain.json said when it was read last, in the state of certainID.
	certain   certain
	certainID atomicfile.Identity
	// previewed: the fold holds what a Preview folded.
	previewed bool
}

var _ Journal = (*File)(nil)

// position is a chain and where in which segment it ends.
type position struct {
	chain
	seg   int   // from 1
	off   int64 // behind the last line
	start int64 // of the last line
	line  int   // lines before off
}

// pass moves the position behind a line.
func (p *position) pass(l line) {
	p.chain.pass(l)
	p.start, p.off, p.line = p.off, p.off+int64(l.size), p.line+1
}

// next is the beginning of the next segment.
func (p position) next() position {
	p.seg, p.off, p.start, p.line = p.seg+1, 0, 0, 0
	return p
}

// Open opens a journal and folds its records. A journal that does not exist is empty; the first
// Append creates it. Open returns the File with an error too: the records that were folded before
// the error can be read from the fold.
func (d Dir) Open(name Name, fold Fold, o Options) (*File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	j := &File{dir: filepath.Join(d.Path, string(name)), fold: fold, o: o.withDefaults(),
		at: position{chain: newChain(d.UID, name), seg: 1}, mending: backoff.Backoff{First: mendFirst, Most: mendMost}}
	if err := j.checkDir(); err != nil {
		return j, err
	}
	j.restore()
	if err := j.Refresh(context.Background()); err != nil {
		return j, err
	}
	j.save()
	return j, nil
}

// Names lists the journals of the team.
func (d Dir) Names() ([]Name, error) {
	ents, err := os.ReadDir(d.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	var names []Name
	for _, e := range ents {
		if e.IsDir() && checkName(Name(e.Name())) == nil {
			names = append(names, Name(e.Name()))
		}
	}
	return names, nil
}

// checkName keeps a journal's name one harmless path component.
func checkName(n Name) error {
	if n == "" || len(n) > 64 || strings.Trim(string(n), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || n[0] == '-' {
		return fmt.Errorf("journal: %q is not a journal name", string(n))
	}
	return nil
}

// checkDir checks the journal's directory: its owner and permissions, and that its segments are
// numbered without gaps. A gap would look like the end of the journal.
func (j *File) checkDir() error {
	st, err := os.Lstat(j.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return j.failed(err)
	}
	if !st.IsDir() || othersWrite(st) {
		return j.broken(&breach{file: ".", why: fmt.Sprintf("not a directory that only its owner can write (%v)", st.Mode())})
	}
	ents, err := os.ReadDir(j.dir)
	if err != nil {
		return j.failed(err)
	}
	next := 1
	for _, e := range ents { // in order of name
		n, ok := segmentNumber(e.Name())
		for ; ok && next < n; next++ {
			// The list need not show what is made while it is read.
			if _, err := os.Lstat(j.segPath(next)); errors.Is(err, fs.ErrNotExist) {
				return j.broken(&breach{file: segmentName(next), seq: j.at.seq + 1, why: "the segment is missing: there is " + e.Name()})
			} else if err != nil {
				return j.failed(err)
			}
		}
		if ok {
			next = n + 1
		}
	}
	return nil
}

func segmentName(n int) string { return fmt.Sprintf("%08d.jsonl", n) }

func segmentNumber(name string) (n int, ok bool) {
	_, err := fmt.Sscanf(name, "%08d.jsonl", &n)
	return n, err == nil && segmentName(n) == name
}

func (j *File) segPath(n int) string { return filepath.Join(j.dir, segmentName(n)) }

// Seq is the number of the last record that was folded.
func (j *File) Seq() Seq { return j.at.seq }

// Head is the hash of the last line that was folded.
func (j *File) Head() string { return j.at.head }

func (j *File) failed(err error) error { return fmt.Errorf("journal %s: %w", j.at.name, err) }

// breach is a break that one reading found. A second reading must find it too.
type breach struct {
	file string
	line int
	seq  Seq
	why  string
	raw  []byte // the line

	err    error        // of the fold
	future *FutureError // no break, but the end of what can be read
}

func (b *breach) Error() string { return b.why }

func (b *breach) same(o *breach) bool {
	return b.file == o.file && b.line == o.line && b.why == o.why && slices.Equal(b.raw, o.raw)
}

// broken ends the use of this File, until the break is undone (mend).
func (j *File) broken(b *breach) error {
	if b.future != nil {
		j.sticky = j.failed(b.future)
		return j.sticky
	}
	j.sticky = &BrokenError{Journal: j.at.name, File: b.file, Line: b.line, Seq: max(b.seq, 1), Why: b.why, Err: b.err, Gone: j.gone()}
	j.mending.Fail(j.o.Now())
	return j.sticky
}
