package atomicfile

import "os"

// Large files are not copied for every edit. The content that an edit displaced stays beside the
// file as ".<base>.shadow": it is the file as it was one edit before. The next edit writes only the
// bytes behind the first difference into it and exchanges it with the file. So an edit costs what
// it changes, not the size of the file.
//
// The displaced file may still be open in a process that reads it, and that process must not see a
// change. So it is written only under a write lease, which the kernel gives when no process has it
// open; a process that opens it then, by its old name, waits until the content is whole. Without
// the lease the file is copied. A shadow is used only if it and the file have exactly the
// identities that our last edit left; deleting or changing it costs only speed.

// shadowFrom is the size from which a file is worth it. Below, making a file and
// removing one costs little more than keeping one, and most files stay below.
const shadowFrom = 8 << 10

// shadowSuffix is that of the displaced content of such a file.
const shadowSuffix = "shadow"

// reuseLimit is how much is written into a shadow at most. Above it the kernel
// copies the file faster.
const reuseLimit = 1 << 20

func (l *lock) shadowPath() string { return l.sibling(shadowSuffix) }

// reuse makes the new content out of the shadow, or returns nil: then it is to be
// copied.
func (l *lock) reuse(v *view, splices []Splice, size int64) (*publication, error) {
	known, keep := l.rec.shadow, min(l.rec.same, splices[0].Offset)
	if known == (Identity{}) || !v.ours || v.Size() <= shadowFrom || size-keep > reuseLimit || l.o.Tier == TierRename {
		return nil, nil
	}
	l.rec.shadow, l.rec.same = Identity{}, 0
	f, err := OpenFile(l.shadowPath(), os.O_RDWR|openFlags, 0)
	if err != nil {
		return nil, nil
	}
	fi, err := f.Stat()
	if err != nil || identityOf(fi) != known || fi.Mode() != v.fi.Mode() || !writeLease(f) {
		f.Close()
		return nil, nil
	}
	l.o.hook("temp-created")
	err = rewriteFrom(f, v, splices, keep, size)
	endLease(f)
	l.o.hook("temp-written")
	if err == nil && l.o.Sync != SyncNone {
		err = syncData(f)
	}
	if err != nil {
		discard(f)
		return nil, err
	}
	l.o.hook("synced")
	return &publication{l, v, f, size, splices}, nil
}

// rewriteFrom makes f, which holds the first keep bytes of the new content, hold
// all of it.
func rewriteFrom(f *os.File, v *view, splices []Splice, keep, size int64) error {
	tail := make([]byte, 0, size-keep)
	old := func(from, to int64) error {
		if from == to { // at the end of a view, nothing is no end of it
			return nil
		}
		n := len(tail)
		tail = tail[:n+int(to-from)]
		if _, err := v.ReadAt(tail[n:], from); err != nil {
			return errShrunk
		}
		return nil
	}
	at := keep
	for _, s := range splices {
		if err := old(at, s.Offset); err != nil {
			return err
		}
		tail = append(tail, s.Insert...)
		at = s.Offset + s.Delete
	}
	if err := old(at, v.Size()); err != nil {
		return err
	}
	if err := Failing(OpWrite, f.Name()); err != nil {
		_, _ = f.WriteAt(tail[:len(tail)/2], keep)
		return err
	}
	if _, err := f.WriteAt(tail, keep); err != nil {
		return err
	}
	return Truncate(f, size)
}

// retire handles the displaced content at tmp: it becomes the shadow of the new file or is removed.
func (p *publication) retire(tmp string) {
	l, shadow := p.l, p.l.shadowPath()
	if l.flk == nil || l.o.Queue != "" || p.size <= shadowFrom || !canLease || !dirOf(l.path).fine() {
		_ = os.Remove(tmp)
		l.dropShadow()
		return
	}
	if tmp != shadow {
		if err := Rename(tmp, shadow); err != nil {
			_ = os.Remove(tmp)
			return
		}
	}
	if id, err := Identify(shadow); err == nil {
		l.rec.shadow, l.rec.same = id, p.same()
	}
}

// dropShadow removes a shadow that cannot be used any more: the old content of a mailbox must not
// stay on disk.
func (l *lock) dropShadow() {
	if l.flk != nil && canLease {
		_ = os.Remove(l.shadowPath())
		l.rec.shadow, l.rec.same = Identity{}, 0
	}
}
