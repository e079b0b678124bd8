package journal

import (
	"context"
	"errors"
	"maps"
)

// Preview returns a Journal whose appends are folded into the fold of j and not written: it shows
// what an append would change. It begins at the last record that j has folded. The next Refresh or
// Append of j makes the fold again from the disk and ends the use of the Preview. A fold that is
// not Tentative cannot be reset: then the Preview refuses every append.
func (j *File) Preview() *Preview {
	at := j.at.chain
	at.epochs = maps.Clone(at.epochs)
	return &Preview{of: j, at: at}
}

// Preview is a Journal in memory that continues a File (File.Preview).
type Preview struct {
	of   *File
	at   chain
	recs []Record
}

var _ Journal = (*Preview)(nil)

var errPreview = errors.New("journal: a preview needs a fold that can be made again")

// Records are the records that were appended to the preview. They are in no journal.
func (p *Preview) Records() []Record { return p.recs }

// Refresh implements Journal. It does nothing: a preview does not read records that others append.
func (p *Preview) Refresh(ctx context.Context) error { return ctx.Err() }

// Append implements Journal. After an error the preview cannot be used any more.
func (p *Preview) Append(ctx context.Context, w Writer, propose func() ([]Draft, error)) ([]Record, error) {
	fold := p.of.tentative()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case p.of.sticky != nil:
		return nil, p.of.sticky
	case fold == nil:
		return nil, errPreview
	}
	recs, after, err := p.at.drawn(p.of.o.Now(), w, propose)
	if err != nil || len(recs) == 0 {
		return nil, err
	}
	p.of.previewed = true
	if err := try(fold, recs); err != nil {
		return nil, err
	}
	p.at = after
	for _, r := range recs {
		after.count(r)
	}
	p.recs = append(p.recs, recs...)
	return recs, nil
}

// unpreview resets the fold when it holds records of a Preview; the read that follows makes it
// again.
func (j *File) unpreview() {
	if !j.previewed {
		return
	}
	j.previewed = false
	if j.sticky == nil {
		j.fresh()
		j.restore()
	}
}
