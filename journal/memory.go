package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Memory is a journal in memory, for in-process members and tests. Open returns a handle with a
// fold of its own; handles share the records.
type Memory struct {
	now func() time.Time

	mu   sync.Mutex
	at   chain
	recs []Record
}

// NewMemory returns an empty journal. A nil now means time.Now.
func NewMemory(uid string, name Name, now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	return &Memory{now: now, at: newChain(uid, name)}
}

// Open returns a handle that folds into fold.
func (m *Memory) Open(fold Fold) *Handle { return &Handle{m: m, fold: fold} }

// Records returns a copy of what was appended.
func (m *Memory) Records() []Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.recs)
}

// Handle is a Journal on a Memory.
type Handle struct {
	m      *Memory
	fold   Fold
	n      int
	sticky error
}

var _ Journal = (*Handle)(nil)

// Refresh implements Journal.
func (h *Handle) Refresh(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return h.catchUp()
}

func (h *Handle) catchUp() error {
	for h.sticky == nil && h.n < len(h.m.recs) {
		h.sticky = apply(h.fold, h.m.recs[h.n])
		h.n++
	}
	return h.sticky
}

// apply folds a record and returns the fold's error.
func apply(fold Fold, r Record) error {
	if fold == nil {
		return nil
	}
	if err := fold.Apply(r); err != nil {
		return fmt.Errorf("journal %s, seq %d: %w", r.Journal, r.Seq, err)
	}
	return nil
}

// Append implements Journal.
func (h *Handle) Append(ctx context.Context, w Writer, propose func() ([]Draft, error)) ([]Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if err := h.catchUp(); err != nil {
		return nil, err
	}
	recs, after, err := h.m.at.drawn(h.m.now(), w, propose)
	if err != nil {
		return nil, err
	}
	first, ok := h.fold.(Tentative)
	if ok {
		if err := try(first, recs); err != nil {
			first.Reset()
			h.n = 0
			return nil, errors.Join(err, h.catchUp())
		}
		h.n += len(recs)
	}
	h.m.at = after
	for _, r := range recs {
		after.count(r)
	}
	h.m.recs = append(h.m.recs, recs...)
	if ok {
		first.Keep()
	}
	if err := h.catchUp(); err != nil {
		return nil, err
	}
	return recs, nil
}
