package journal_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"waggle/journal"
)

// TestNameLimits: a journal's name is not a path: Open and Salvage refuse names that leave the
// directory. The longest name has 64 bytes.
func TestNameLimits(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	_, err := d.Open("member-1", nil, quick)
	must(t, err)
	look := func(r journal.Record) { t.Errorf("read %+v", r) }
	for _, name := range []string{"", "../member-1", "-a", "A", "a/b", "a.b", strings.Repeat("a", 65)} {
		if err := d.Salvage(journal.Name(name), look); err == nil || !strings.Contains(err.Error(), "is not a journal name") {
			t.Errorf("Salvage of %q: %v", name, err)
		}
		if _, err := d.Open(journal.Name(name), nil, quick); err == nil || !strings.Contains(err.Error(), "is not a journal name") {
			t.Errorf("Open of %q: %v", name, err)
		}
	}
	long := journal.Name(strings.Repeat("a", 64))
	if err := d.Salvage(long, look); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a name of 64 bytes: %v", err)
	}
	if _, err := d.Open(long, nil, quick); err != nil {
		t.Errorf("a name of 64 bytes: %v", err)
	}
}
