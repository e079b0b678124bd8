package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"waggle/journal"
)

// TestFileInTheWay: a file where the journals of a team should be is an error of every call, and no
// journal that is empty or broken.
func TestFileInTheWay(t *testing.T) {
	way := filepath.Join(t.TempDir(), "journal")
	write(t, way, nil)
	d := journal.Dir{Path: way, UID: uid}
	_, names := d.Names()
	_, opened := d.Open(journal.Leader, nil, quick)
	_, found := d.FindBreak(journal.Leader, &redo{}, quick)
	_, checked := d.CheckSnapshot(journal.Leader, &tally{}, quick)
	for what, err := range map[string]error{"Names": names, "Open": opened, "FindBreak": found, "CheckSnapshot": checked,
		"Salvage": d.Salvage(journal.Leader, func(journal.Record) {})} {
		if err == nil || errors.As(err, new(*journal.BrokenError)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestUnreadable: a directory that cannot be listed is an error, and not a break.
func TestUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	d := newDir(t)
	open(t, d, quick)
	dir := filepath.Join(d.Path, "leader")
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.Chmod(dir, 0o300))
	defer os.Chmod(dir, 0o700)
	if _, err := d.Open(journal.Leader, nil, quick); !errors.Is(err, os.ErrPermission) || errors.As(err, new(*journal.BrokenError)) {
		t.Error(err)
	}
}
