package journal

import (
	"context"
	"errors"
	"maps"
)

// Preview returns a Journal whose appends are folded into the fold of j and written
// nowhere: what would be so if they were. It begins where j stands. The next Refresh or
// Append of j makes the fold again from what is on disk, and ends the use of the Preview. A
// fold that is not Tentative cannot be made again: then the Preview refuses every append.
func (j *File) Preview() Journal {
	at := j.at.chain
	at.epochs = maps.Clone(at.epochs)
	return &preview{of: j, at: at}
}

type preview struct {
	of *File
	at chain
}

var _ Journal = (*preview)(nil)

var errPreview = errors.New("journal: a preview needs a fold that can be made again")

// Refresh implements Journal: a preview stays what it was when it began.
func (p *preview) Refresh(ctx context.Context) error { return ctx.Err() }

// Append implements Journal. After an error the preview cannot be used any more.
func (p *preview) Append(ctx context.Context, w Writer, propose func() ([]Draft, error)) ([]Record, error) {
	fold := p.of.tentative()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case p.of.sticky != nil:
		return nil, p.of.sticky
	case fold == nil:
		return nil, errPreview
	}
	if err := p.at.stale(w); err != nil {
		return nil, err
	}
	drafts, err := propose()
	if err != nil || len(drafts) == 0 {
		return nil, err
	}
	lines, _, err := p.at.draw(p.of.o.Now(), w, drafts, func(b []byte) (Ref, error) { return refOf(b), nil })
	if err != nil {
		return nil, err
	}
	var recs []Record
	for _, l := range lines {
		recs = append(recs, l.Record)
	}
	p.of.previewed = true
	if err := try(fold, recs); err != nil {
		return nil, err
	}
	for _, l := range lines {
		p.at.pass(l)
		p.at.count(l.Record)
	}
	return recs, nil
}

// unpreview makes the fold fresh when it holds what a Preview folded: the read that follows
// makes it again.
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
