package mailbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"waggle/internal/fs/atomicfile"
)

// Withdrawer is a Store that can remove unread entries.
type Withdrawer interface {
	// Withdraw removes the unread ones of the entries with these ids, whatever the retention, and
	// returns the ids of those that it removed. An entry that is read or removed stays as it is.
	// Equal entries behind a removed one get a lower occurrence number, so only an entry with a
	// msg_id of its own should be withdrawn. Errors as of MarkRead.
	Withdraw(ctx context.Context, ids ...ID) ([]ID, error)
}

var (
	_ Withdrawer = (*Box)(nil)
	_ Withdrawer = (*Located)(nil)
	_ Withdrawer = (*memory)(nil)
)

// Withdraw implements Withdrawer.
func (b *Box) Withdraw(ctx context.Context, ids ...ID) (gone []ID, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if _, err := atomicfile.Identify(b.path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	err = b.edit(ctx, func(v atomicfile.View) ([]atomicfile.Splice, error) {
		gone = nil
		if !v.Exists() {
			return nil, nil
		}
		last, _ := b.cached(atomicfile.Identity{})
		c, err := contentsOf(b.format, v, last, needIDs(last, ids))
		if err != nil {
			return nil, err
		}
		var remove []bool
		remove, gone = c.unreadOf(ids)
		return b.format.without(c, remove, nil), nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("withdraw: %w", err)
	}
	return gone, nil
}

// Withdraw implements Withdrawer.
func (m *memory) Withdraw(ctx context.Context, ids ...ID) (gone []ID, err error) {
	err = m.edit(ctx, "withdraw", func(v memView) ([]atomicfile.Splice, error) {
		if v == nil {
			return nil, nil
		}
		var remove []bool
		remove, gone = m.last.unreadOf(ids)
		return arrayFormat{}.without(m.last, remove, nil), nil
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}

// unreadOf finds the unread ones among the entries with these ids.
func (c *contents) unreadOf(ids []ID) (remove []bool, found []ID) {
	wanted := set(ids)
	remove = make([]bool, len(c.entries))
	for i, e := range c.entries {
		if wanted[e.ID] && c.array.elems[i].read != readTrue {
			remove[i], found = true, append(found, e.ID)
		}
	}
	return remove, found
}

// Withdraw is Box.Withdraw.
func (l *Located) Withdraw(ctx context.Context, ids ...ID) ([]ID, error) {
	box, err := l.find()
	if err != nil {
		return nil, err
	}
	return box.Withdraw(ctx, ids...)
}
