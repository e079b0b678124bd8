package atomicfile

import "io/fs"

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
