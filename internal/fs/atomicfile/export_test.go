package atomicfile

import (
	"io/fs"
	"time"
)

// Names for tests of unexported code.
var (
	DecodeRecord = func(b []byte) []byte { r := decodeRecord(b); return r.encode() }
	FineTimes    = fineTimes
	HasWriter    = hasWriter
	StatDir      = func(path string) (fs.FileMode, error) { d, err := statDir(path); return d.mode, err }
)

// Steps are the hook steps of an edit of an existing file, in order.
func Steps(t Tier) []string {
	s := []string{
		"queued", "flocked", "announced", "lock-made", "locked", "read", "temp-created",
		"temp-written", "synced", "checked", "published",
	}
	if t == TierExchange {
		s = append(s, "compared", "unlinked")
	}
	return append(s, "unlocking", "lock-removed", "unlocked")
}

// MakeCoarse treats the directory of path as one whose file times are coarse.
func MakeCoarse(dir string) {
	directories.Store(dir, &directory{fine: func() bool { return false }})
}

// SameDir compares two lock directories by inode, time of birth (0: unknown) and of change.
func SameDir(a, b [3]int64) bool {
	of := func(d [3]int64) dirStat { return dirStat{ino: uint64(d[0]), btime: d[1], mtime: d[2]} }
	return of(a).same(of(b))
}

// EncodeSight encodes inode, birth, time of change and the moment of a sight; DecodeSight decodes it.
func EncodeSight(n [4]int64) []byte {
	s := sight{boot: "boot", dir: dirStat{ino: uint64(n[0]), btime: n[1], mtime: n[2]}, since: time.Duration(n[3])}
	return s.encode()
}

func DecodeSight(b []byte) ([4]int64, bool) {
	s, ok := decodeSight(b)
	return [4]int64{int64(s.dir.ino), s.dir.btime, s.dir.mtime, int64(s.since)}, ok && s.boot == "boot"
}
