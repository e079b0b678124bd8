package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A broken journal is read again from its first line after a pause, which grows from the first of
// these to the second. A break is undone when the original bytes are back in place.
const (
	mendFirst = 250 * time.Millisecond
	mendMost  = 4 * time.Second
)

// mend returns the error that ended the use of this File. For a break it returns nil when the
// journal is whole again; the fold is then fresh and must be folded up to where it was. While the
// journal is broken the fold does not change.
func (j *File) mend(ctx context.Context) error {
	b, ok := errors.AsType[*BrokenError](j.sticky)
	if !ok || j.tentative() == nil {
		return j.sticky
	}
	now := j.o.Now()
	if !j.mending.Due(now) {
		return j.sticky
	}
	if err := j.whole(ctx); err != nil {
		j.mending.Fail(now)
		still := *b
		still.Gone = j.gone()
		j.sticky = &still
		return j.sticky
	}
	j.sticky, j.aside = nil, asides{}
	j.fresh()
	return nil
}

// whole reads the journal from its first line and checks that it contains every line that this File
// has folded. It folds nothing.
func (j *File) whole(ctx context.Context) error {
	was := j.at
	if j.least.seq > was.seq {
		was = j.least
	}
	w := &witness{at: was}
	n := &File{dir: j.dir, fold: w, o: j.o, at: position{chain: j.at.first(), seg: 1}}
	if err := n.checkDir(); err != nil {
		return err
	}
	if err := n.Refresh(ctx); err != nil {
		return err
	}
	if n.at.seq < was.seq || n.at.seq == was.seq && n.at.head != was.head {
		return fmt.Errorf("journal %s lacks lines that were read before", j.at.name)
	}
	return nil
}

// witness is a fold that makes sure that a line which was folded is still in the chain.
type witness struct{ at position }

func (w *witness) Apply(r Record) error {
	if r.Seq == w.at.seq+1 && r.Prev != w.at.head {
		return errors.New("the line before was replaced by another")
	}
	return nil
}

// gone reports that the directory of the team's journals does not exist any more.
func (j *File) gone() bool {
	_, err := os.Lstat(filepath.Dir(j.dir))
	return errors.Is(err, fs.ErrNotExist)
}
