package sandbox

import (
	"context"

	"waggle/internal/sandbox/relay"
)

// NewTestKit is NewKit with a relay that is not copied and may be linked dynamically:
// the test binary is, under the race detector.
func NewTestKit(dir, program string) (Kit, error) {
	return Kit{Dir: dir, Relay: program}.complete()
}

var (
	Advise    = advise
	Barred    = barred
	Delegated = delegated
	Environ   = environ
	MacArgv   = Profile.macArgv
)

// DetectWith is Detect with the settings of another system.
func (k Kit) DetectWith(ctx context.Context, setting func(name string) string, uid int) Support {
	return k.detect(ctx, setting, uid)
}

// UsedOf is the usage of a call with one group.
func UsedOf(dir string) Usage {
	var u Used
	u.begin(group{dir})
	return u.Look()
}

// MakeGroup makes a group and returns its directories.
func (g Groups) MakeGroup(l relay.Limits) ([]string, error) { return g.make(l) }

// Checked are the mounts of a profile that the relay checks.
func (p Profile) Checked(m Machine) ([]relay.Mounted, error) {
	mounts, err := p.mounts(m)
	return swappable(m, mounts), err
}

// String is one line for people.
func (s Support) String() string {
	text := string(s.Level)
	if s.Why != "" {
		text += ": " + s.Why
	}
	if s.Fix != "" {
		text += "; to permit more: " + s.Fix
	}
	return text
}
