package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Suffixes of temporary files, behind ".<base>.<8 hex>.".
const (
	tmpSuffix   = "tmp" // an edit under the flock: its writer is dead once we hold the flock
	plainSuffix = "alt" // an edit under the lock directory alone
	newSuffix   = "new" // WriteFile
)

// recover clears up after a writer that was killed. It runs under the lock.
func (l *lock) recover() {
	if l.rec.tmp != "" {
		l.settle(l.parent() + l.rec.tmp)
		l.rec.tmp, l.rec.base, l.rec.next = "", Identity{}, Identity{}
		l.note(l.rec.state)
	}
	if l.flk != nil {
		removeTemps(placeOf(l.path), tmpSuffix, time.Time{})
	}
	removeTemps(placeOf(l.path), plainSuffix, l.o.now().Add(-l.o.stale()))
}

// settle ends an exchange whose writer was killed around it. Only a content that
// came from neither our last read nor that writer is kept: it is the work of a
// program that does not lock.
func (l *lock) settle(tmp string) {
	left, err := Identify(tmp)
	if err != nil {
		return
	}
	if left.ino == l.rec.next.ino || left.sameContent(l.rec.base) {
		_ = os.Remove(tmp)
		return
	}
	if now, err := Identify(l.path); err == nil && now.sameContent(l.rec.next) && exchange(tmp, l.path) == nil {
		_ = os.Remove(tmp) // the edit of the dead writer, which was not acknowledged
		return
	}
	l.keep(tmp)
}

// keep moves a foreign content that cannot be merged beside the file.
func (l *lock) keep(tmp string) {
	stamp := l.path + ".displaced-" + l.o.now().UTC().Format(stampForm)
	for n := 1; n < 100; n++ {
		to := stamp
		if n > 1 {
			to = fmt.Sprintf("%s-%d", stamp, n)
		}
		err := renameNoReplace(tmp, to)
		if err == nil && l.o.Kept != nil {
			l.o.Kept(to)
		}
		if !errors.Is(err, fs.ErrExist) {
			return
		}
	}
}

// removeTemps removes temporary files of a place with this suffix; with a time, only
// those last written before it.
func removeTemps(p place, suffix string, before time.Time) {
	entries, err := p.list()
	if err != nil {
		return
	}
	for _, e := range entries {
		if isTemp(e, p.name, suffix, before) {
			p.remove(e.Name())
		}
	}
}

// isTemp reports a temporary file of base with this suffix; with a time, only one last written before it.
func isTemp(e fs.DirEntry, base, suffix string, before time.Time) bool {
	hex, ours := strings.CutPrefix(e.Name(), "."+base+".")
	hex, temp := strings.CutSuffix(hex, "."+suffix)
	if !ours || !temp || len(hex) != 8 || strings.Trim(hex, "0123456789abcdef") != "" {
		return false
	}
	fi, err := e.Info()
	return err == nil && fi.Mode().IsRegular() && (before.IsZero() || fi.ModTime().Before(before))
}

// removeShadow removes what an older waggle left beside a large file: the content of one edit before. The old content of
// a mailbox must not stay on disk.
func removeShadow(path string) { _ = os.Remove(sibling(path, "shadow")) }

// sibling names a dot file beside a file. Its name does not end in .json, so that no
// program reads it as an inbox.
func sibling(path, suffix string) string {
	dir, base := filepath.Split(path)
	return dir + "." + base + "." + suffix
}
