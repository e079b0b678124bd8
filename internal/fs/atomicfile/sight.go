package atomicfile

import (
	"bytes"
	"cmp"
	"fmt"
	"time"
)

// A sight is a lock directory of another program, and when it was first seen as it is now: the time is of the system's
// monotonic clock, which no setting of the clock changes. By its modification time a lock is abandoned only where
// that lies in the past. One that lies in the future, because a clock was set back or a program wrote it, says nothing;
// then the lock is abandoned when it was not renewed for the stale time while we looked.
//
// It is kept in the flock file behind the record, so that processes which each wait for a shorter time than the stale
// time go on where the last one ended. It is written under the flock only.
type sight struct {
	boot  string
	dir   dirStat
	since time.Duration
}

const (
	sightMagic  = "waggle-sight-1"
	sightSize   = 160
	sightOffset = recordOffset + recordSize
)

// unchanged returns for how long a lock directory has not changed while it was looked at.
func (l *lock) unchanged(d dirStat) time.Duration {
	now, shared := monotonic()
	if l.seen == nil || !l.seen.of(d) {
		l.seen = &sight{boot: bootID(), dir: d, since: now}
		if was, ok := l.lastSight(); shared && ok && was.boot == l.seen.boot && was.of(d) && was.since <= now {
			l.seen = &was
		} else if shared && l.file != nil {
			_, _ = l.file.WriteAt(l.seen.encode(), sightOffset) // without it the next process looks from the beginning
		}
	}
	return now - l.seen.since
}

// of reports whether a sight is of a lock directory, and of this state of it.
func (s *sight) of(d dirStat) bool { return s.dir.same(d) && s.dir.mtime == d.mtime }

func (s *sight) encode() []byte {
	b := fmt.Appendf(nil, "%s %s %d %d %d %d", sightMagic, cmp.Or(s.boot, "-"), s.dir.ino, s.dir.btime, s.dir.mtime, s.since)
	return append(append(b, bytes.Repeat([]byte{' '}, max(0, sightSize-1-len(b)))...), '\n')
}

// lastSight reads the sight in the flock file. ok is false where there is none.
func (l *lock) lastSight() (s sight, ok bool) {
	if l.file == nil {
		return s, false
	}
	var b [sightSize]byte
	n, _ := l.file.ReadAt(b[:], sightOffset)
	return decodeSight(b[:n])
}

func decodeSight(b []byte) (s sight, ok bool) {
	var magic string
	n, err := fmt.Sscanf(string(b), "%s %s %d %d %d %d\n", &magic, &s.boot, &s.dir.ino, &s.dir.btime, &s.dir.mtime, &s.since)
	return s, err == nil && n == 6 && magic == sightMagic && len(b) == sightSize && b[sightSize-1] == '\n'
}
