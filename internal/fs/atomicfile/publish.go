package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// publication is a new content on its way to the file's name.
type publication struct {
	l       *lock
	v       *view // the content that the edit has read
	tmp     *os.File
	splices []Splice
}

// writerPatience is how long a foreign writer that has the file open is waited
// for. It may only be a program that never closes it.
const writerPatience = 100 * time.Millisecond

// prepare writes the new content into a temporary file and flushes it as the
// policy says.
func (l *lock) prepare(v *view, splices []Splice) (*publication, error) {
	perm := l.o.perm()
	if v.Exists() {
		perm = v.fi.Mode()
	}
	suffix := tmpSuffix
	if l.flk == nil {
		suffix = plainSuffix
	}
	at := placeOf(l.path)
	tmp, err := createTemp(at, suffix, perm)
	if err != nil {
		return nil, err
	}
	l.o.hook("temp-created")
	if v.Exists() {
		keepOwner(tmp, v.fi)
	}
	err = writeSpliced(tmp, v, splices)
	l.o.hook("temp-written")
	if err == nil && l.o.Sync != SyncNone {
		err = syncData(tmp)
	}
	if err != nil {
		at.discard(tmp)
		return nil, err
	}
	l.o.hook("synced")
	return &publication{l, v, tmp, splices}, nil
}

// publish gives the new content the file's name. Not done and no error: another
// program changed the file since it was read, and the attempt left no trace.
func (p *publication) publish() (done bool, err error) {
	l := p.l
	if err := l.check(); err != nil {
		return false, err
	}
	next, err := p.tmp.Stat()
	if err != nil {
		return false, fmt.Errorf("edit: %w", err)
	}
	if runtime.GOOS == "windows" {
		p.tmp.Close() // an open file cannot be renamed or replaced on Windows
		p.v.close()
	}
	if !p.v.Exists() {
		done, err = p.create()
	} else if p.changed() || p.beingWritten() {
		return false, nil
	} else {
		l.o.hook("checked")
		done, err = p.replace(identityOf(next))
	}
	if !done || err != nil {
		return false, err
	}
	removeShadow(l.path)
	if l.o.Sync == SyncFull {
		if err := syncDir(l.parent()); err != nil {
			return true, fmt.Errorf("edit: published, but the directory was not flushed: %w", err)
		}
	}
	p.remember(identityOf(next))
	return true, nil
}

// create publishes a file that did not exist; one that exists meanwhile stays.
func (p *publication) create() (bool, error) {
	p.l.o.hook("checked")
	err := renameNoReplace(p.tmp.Name(), p.l.path)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("edit: %w", err)
	}
	p.l.o.hook("published")
	return true, nil
}

// replace publishes over the file that was read.
func (p *publication) replace(next Identity) (bool, error) {
	d := dirOf(p.l.path)
	if d.tier(p.l.o.Tier) == TierExchange {
		done, err := p.exchange(next)
		if err == nil || !unsupported(err) {
			return done, err
		}
		if p.l.o.Tier == TierExchange {
			return false, fmt.Errorf("edit: the file system cannot exchange names: %w", err)
		}
		d.noExchange.Store(true)
	}
	if err := placeOf(p.l.path).replace(filepath.Base(p.tmp.Name())); err != nil {
		return false, fmt.Errorf("edit: %w", err)
	}
	p.l.o.hook("published")
	return true, nil
}

// exchange swaps the two names and then checks the displaced file. If that is not the file that was
// read, it undoes the swap at once: the path has the other program's file again, and the edit
// starts over from that.
func (p *publication) exchange(next Identity) (bool, error) {
	l, tmp := p.l, p.tmp.Name()
	l.rec.tmp, l.rec.base, l.rec.next = filepath.Base(tmp), p.v.id, next
	l.note(statePublishing)
	err := exchange(tmp, l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // the file was removed; the next attempt finds out
	}
	if err != nil {
		return false, err
	}
	l.o.hook("published")
	if p.displacedAsRead(tmp) {
		l.o.hook("compared")
		_ = os.Remove(tmp)
		l.rec.tmp = ""
		l.o.hook("unlinked")
		return true, nil
	}
	return false, p.undo(next)
}

// displacedAsRead reports whether the displaced file is the one that this edit read, and no process
// has it open for writing.
func (p *publication) displacedAsRead(tmp string) bool {
	// First the writers: what one wrote that has closed the file by now is in what is compared then,
	// and nobody opens the file by its new name.
	if p.hasWriter() && !p.l.out(p.l.patience) {
		return false
	}
	id, err := Identify(tmp)
	return err == nil && id.sameContent(p.v.id) && p.sameBytes()
}

// undo swaps back. Should yet another program have replaced our content in these
// microseconds, its content is the newest and stays; the older one is kept beside.
func (p *publication) undo(next Identity) error {
	l, tmp := p.l, p.tmp.Name()
	if err := exchange(tmp, l.path); err != nil {
		l.keep(tmp)
		return fmt.Errorf("edit: another program changed the file: %w", err)
	}
	if id, err := Identify(tmp); err == nil && id.ino != next.ino {
		if err := exchange(tmp, l.path); err == nil {
			l.keep(tmp)
		}
	} else if err == nil {
		p.keepForeign(tmp, next)
	}
	l.rec.tmp = ""
	return nil
}

// keepForeign keeps what other programs wrote into our content while it had the file's name: lines that
// were added at its end are added to the file, anything else is kept beside it.
func (p *publication) keepForeign(tmp string, next Identity) {
	f, err := os.Open(tmp)
	if err != nil {
		p.l.keep(tmp)
		return
	}
	defer f.Close()
	p.tmp.Close() // it would count as a writer
	for began := time.Now(); dirOf(tmp).asksForWriters() && hasWriter(f) && time.Since(began) < writerPatience; {
		time.Sleep(time.Millisecond) // real clock: another program closes the file
	}
	fi, err := f.Stat()
	if err == nil && identityOf(fi).sameContent(next) {
		return
	}
	if added, ok := p.added(f); !ok || addTo(p.l.path, added) != nil {
		p.l.keep(tmp)
	}
}

// added is what f has behind our content; not ok where it does not begin with that, or where that does
// not end with a whole line.
func (p *publication) added(f *os.File) (added []byte, ok bool) {
	old, err := p.v.Bytes()
	if err != nil || int64(len(old)) < p.v.Size() {
		return nil, false
	}
	ours := Apply(old, p.splices)
	all, err := io.ReadAll(io.LimitReader(f, p.l.o.maxSize()+1))
	if err != nil || int64(len(all)) > p.l.o.maxSize() || !bytes.HasPrefix(all, ours) || !bytes.HasSuffix(ours, []byte("\n")) && len(ours) > 0 {
		return nil, false
	}
	return all[len(ours):], true
}

// addTo adds data at the end of a file in one write, as a program does that takes no lock.
func addTo(path string, data []byte) error {
	f, err := OpenFile(path, os.O_WRONLY|os.O_APPEND|openFlags, 0)
	if err != nil {
		return err
	}
	_, err = Write(f, data)
	return errors.Join(err, f.Close())
}

// changed reports whether the name leads to something else than what was read.
func (p *publication) changed() bool {
	id, err := Identify(p.l.path)
	return err != nil || id != p.v.id || !p.sameBytes()
}

// same reports that a file can be read and has what it held. It compares a piece at a time.
func same(f io.ReaderAt, was []byte) bool {
	piece := make([]byte, min(len(was)+1, 64<<10))
	for at := 0; ; {
		n, err := f.ReadAt(piece, int64(at))
		if at+n > len(was) || !bytes.Equal(piece[:n], was[at:at+n]) {
			return false
		}
		if at += n; err != nil {
			return err == io.EOF && at == len(was)
		}
	}
}

// sameBytes compares the content again where times cannot be trusted.
func (p *publication) sameBytes() bool { return !p.v.doubt || same(p.v.f, p.v.data) }

// beingWritten reports that a program has the file open for writing, unless it
// has had it open for too long already.
func (p *publication) beingWritten() bool {
	if !p.hasWriter() {
		return false
	}
	if p.l.patience.IsZero() {
		p.l.patience = time.Now()
	}
	if !p.l.out(p.l.patience) {
		return true
	}
	dirOf(p.l.path).stayed.Add(1)
	return false
}

func (p *publication) hasWriter() bool {
	return dirOf(p.l.path).asksForWriters() && hasWriter(p.v.f)
}

// out reports that patience with a writer that began at t is at its end.
func (l *lock) out(t time.Time) bool { return !t.IsZero() && time.Since(t) > writerPatience }

// remember notes the file as this edit left it, if it still is that.
func (p *publication) remember(next Identity) {
	fi, err := p.tmp.Stat()
	p.l.rec.last = Identity{}
	if err != nil || !dirOf(p.l.path).fine() {
		return
	}
	if id := identityOf(fi); id.sameContent(next) {
		p.l.rec.last = id
	}
}
