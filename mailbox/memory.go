package mailbox

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"waggle/internal/fs/atomicfile"
	"waggle/protocol"
)

// NewMemory returns a Store in memory: the same bytes and the same rules as a Box, without a file.
func NewMemory(o Options) Store { return &memory{o: o} }

type memory struct {
	o Options

	mu   sync.Mutex
	data []byte // nil before the first append
	last *contents
}

func (m *memory) Append(ctx context.Context, entries ...protocol.Envelope) error {
	if len(entries) == 0 {
		return nil
	}
	all, err := newAddition(ctx, arrayFormat{}, entries)
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	return m.edit(ctx, "append", func(v memView) ([]atomicfile.Splice, error) {
		add, err := all.lacking(arrayFormat{}, v, m.last)
		if err != nil || len(add.entries) == 0 {
			return nil, err
		}
		if _, err := m.o.Limits.admit(arrayFormat{}, v, m.last, add.entries, add.enc, m.o.now()); err != nil {
			return nil, err
		}
		return arrayFormat{}.add(v, add.enc)
	})
}

func (m *memory) MarkRead(ctx context.Context, ids ...ID) error {
	return m.edit(ctx, "mark read", func(v memView) ([]atomicfile.Splice, error) {
		if v == nil || len(ids) == 0 {
			return nil, nil
		}
		return markSplices(arrayFormat{}, m.last, ids, m.o.Retention), nil
	})
}

func (m *memory) edit(ctx context.Context, op string, change func(memView) ([]atomicfile.Splice, error)) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	splices, err := change(m.data)
	if err != nil || len(splices) == 0 {
		return err
	}
	data := atomicfile.Apply(m.data, splices)
	if limit := cmp.Or(max(m.o.MaxSize, 0), atomicfile.DefaultMaxSize); int64(len(data)) > limit {
		return fmt.Errorf("%s: %w: %d bytes, at most %d are allowed", op, ErrTooLarge, len(data), limit)
	}
	a, err := arrayFormat{}.scan(data, m.last)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	m.data, m.last = data, parse(data, a, m.last, nil)
	return nil
}

func (m *memory) load(ctx context.Context) (*contents, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil {
		return &contents{}, nil
	}
	return m.last, nil
}

func (m *memory) Entries(ctx context.Context) ([]Entry, error) {
	c, err := m.load(ctx)
	if err != nil {
		return nil, err
	}
	return slices.Clone(c.entries), nil
}

func (m *memory) Unread(ctx context.Context) ([]Entry, error) {
	c, err := m.load(ctx)
	if err != nil {
		return nil, err
	}
	return c.unreads(), nil
}

// memView shows bytes in memory as a file.
type memView []byte

var _ atomicfile.View = memView(nil)

func (m memView) Size() int64            { return int64(len(m)) }
func (m memView) Exists() bool           { return m != nil }
func (m memView) Bytes() ([]byte, error) { return m, nil }

func (m memView) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(m).ReadAt(p, off)
}
