package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"waggle/internal/fs/atomicfile"
)

// snapshot is the second line of a snapshot file. The first line is the SHA-256 of the rest, in
// hex; the third line and the rest are the state that the fold saved.
type snapshot struct {
	Fold    string `json:"fold"`
	Journal Name   `json:"journal"`
	Genesis string `json:"genesis"`
	Seq     Seq    `json:"seq"`
	Head    string `json:"head"`
	Segment int    `json:"segment"`
	Line    int    `json:"line"`  // number of the line in its segment
	Start   int64  `json:"start"` // of the line
	End     int64  `json:"end"`   // behind it
	Epochs  epochs `json:"epochs,omitempty"`
}

var errSnapshot = errors.New("the snapshot does not fit")

func (j *File) snapshotter() (s Snapshotter, path string, ok bool) {
	s, ok = j.fold.(Snapshotter)
	if !ok || j.o.SnapshotAfter < 0 {
		return nil, "", false
	}
	return s, filepath.Join(j.dir, "snapshot-"+hexSum([]byte(s.FoldVersion()))[:16]), true
}

// restore restores the fold from a snapshot that fits the journal. A snapshot that does not fit is
// removed, and every line is read.
func (j *File) restore() {
	s, path, ok := j.snapshotter()
	if !ok || len(j.aside.skip) > 0 { // it may contain a record that must be left out
		return
	}
	if j.o.Whole && j.saved == "" {
		return
	}
	b, err := atomicfile.ReadFile(path, atomicfile.Options{})
	if err != nil || j.o.Whole && !bytes.HasPrefix(b, []byte(j.saved)) {
		return
	}
	if err := j.restoreFrom(s, path, b); err != nil && !j.o.ReadOnly {
		_ = os.Remove(path) // best effort: it is not used, and replaced later
	}
}

// parseSnapshot reads a snapshot file and checks its sum.
func parseSnapshot(path string, b []byte) (h snapshot, state []byte, err error) {
	sum, b, _ := bytes.Cut(b, []byte("\n"))
	if string(sum) != hexSum(b) {
		return h, nil, fmt.Errorf("%s does not have its sum: it was changed", filepath.Base(path))
	}
	head, state, _ := bytes.Cut(b, []byte("\n"))
	if err := json.Unmarshal(head, &h); err != nil {
		return h, nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return h, state, nil
}

func (j *File) restoreFrom(s Snapshotter, path string, b []byte) error {
	h, state, err := parseSnapshot(path, b)
	if err != nil {
		return err
	}
	if h.Fold != s.FoldVersion() || h.Journal != j.at.name || h.Genesis != j.at.genesis {
		return errSnapshot
	}
	last, err := j.checkLine(h)
	if err != nil {
		return err
	}
	if err := s.Restore(state); err != nil {
		return err
	}
	if h.Epochs != nil {
		j.at.epochs = h.Epochs
	}
	j.at.chain.pass(last)
	j.at.seg, j.at.off, j.at.start, j.at.line = h.Segment, h.End, h.Start, h.Line
	return nil
}

// checkLine checks that the line behind which a snapshot was taken is in its place and ends an
// append. It returns the line.
func (j *File) checkLine(h snapshot) (line, error) {
	n := h.End - h.Start
	if h.Start < 0 || n <= 0 || n > int64(maxLine) {
		return line{}, errSnapshot
	}
	f, err := atomicfile.OpenFile(j.segPath(h.Segment), os.O_RDONLY|openFlags, 0)
	if err != nil {
		return line{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return line{}, err
	}
	if err := j.trust(st); err != nil {
		return line{}, err
	}
	raw := make([]byte, n)
	if _, err := f.ReadAt(raw, h.Start); err != nil {
		return line{}, err
	}
	l, err := decodeLine(raw)
	if err != nil {
		return line{}, err
	}
	if l.more || l.Journal != h.Journal || l.Seq != h.Seq || l.hash != h.Head {
		return line{}, errSnapshot
	}
	return l, nil
}

// save writes the fold's state when many lines had to be read for it. A failure is not reported:
// the snapshot is only a cache.
func (j *File) save() {
	s, path, ok := j.snapshotter()
	if !ok || j.o.ReadOnly || j.folded < j.o.SnapshotAfter || len(j.unnamed()) > 0 {
		return
	}
	state, err := s.Snapshot()
	if err != nil {
		return
	}
	head, err := marshal(snapshot{Fold: s.FoldVersion(), Journal: j.at.name, Genesis: j.at.genesis, Seq: j.at.seq, Head: j.at.head,
		Segment: j.at.seg, Line: j.at.line, Start: j.at.start, End: j.at.off, Epochs: j.at.epochs})
	if err != nil {
		return
	}
	b := bytes.Join([][]byte{head, state}, []byte("\n"))
	sum := hexSum(b)
	b = append([]byte(sum+"\n"), b...)
	if atomicfile.WriteFile(path, b, atomicfile.Options{}) == nil {
		j.saved = sum
	}
}

// CheckSnapshot folds a journal from its first line and compares the saved snapshot of such a fold
// with the fold's state at that line. there is false when no snapshot exists.
func (d Dir) CheckSnapshot(name Name, fold Snapshotter, o Options) (there bool, err error) {
	o.SnapshotAfter = -1
	j := &File{dir: filepath.Join(d.Path, string(name)), fold: fold, o: Options{}.withDefaults(), at: position{chain: newChain(d.UID, name), seg: 1}}
	_, path, _ := j.snapshotter()
	b, err := atomicfile.ReadFile(path, atomicfile.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	h, state, err := parseSnapshot(path, b)
	if err != nil {
		return true, err
	}
	w := &watched{Snapshotter: fold, at: h.Seq}
	f, err := d.Open(name, w, o)
	switch {
	case w.state == nil && err != nil:
		return true, nil // errors of the journal itself are reported elsewhere
	case w.state == nil:
		return true, fmt.Errorf("%s is of seq %d, and the journal ends at %d", filepath.Base(path), h.Seq, f.Seq())
	case !bytes.Equal(w.state, state):
		return true, fmt.Errorf("%s is not what the journal folds to at seq %d", filepath.Base(path), h.Seq)
	}
	return true, nil
}

// watched is a fold that keeps its state at one record.
type watched struct {
	Snapshotter
	at    Seq
	state []byte
}

func (w *watched) Apply(r Record) error {
	err := w.Snapshotter.Apply(r)
	if err == nil && r.Seq == w.at {
		w.state, err = w.Snapshot()
	}
	return err
}

// These methods implement Tentative when the fold does.
func (w *watched) Reset() {
	w.state = nil
	if t, ok := w.Snapshotter.(Tentative); ok {
		t.Reset()
	}
}
func (w *watched) Hold() {}
func (w *watched) Keep() {}
func (w *watched) MaySetAside(kind string) bool {
	t, ok := w.Snapshotter.(Tentative)
	return ok && t.MaySetAside(kind)
}
