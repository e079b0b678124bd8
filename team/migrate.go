package team

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// SchemaVersion is the version of a team's files after every step of a migration. A registry names
// its version in schemaVersion; for a registry without one, every step is tried.
var SchemaVersion = steps[len(steps)-1].version

// step is one numbered change of a team's files. It checks what it changes, so that it may be
// repeated. Each step has a file and a test of its own and is never changed after its release: a
// later change is a new step.
type step struct {
	version string // that the files have after it
	what    string
	// config changes the registry and says what it changed. It may be nil.
	config func(t *Team, c *Config) []string
	// files changes other files, or with dry only says what it would change. It is
	// called before the registry is written, without a lock. It may be nil.
	files func(ctx context.Context, t *Team, dry bool) ([]string, error)
}

// steps are all of them, in order.
var steps = []step{
	step001, // the version itself
	step002, // mailboxes in one place
	step003, // a lead
	step004, // backends by their present name
	step005, // old mail where it outlives the team
}

// StepDone is one step as a migration did it, or would.
type StepDone struct {
	Number  int      `json:"number"`
	Version string   `json:"version"`
	What    string   `json:"what"`
	Changes []string `json:"changes"` // empty: only the version changed
}

// Migration is what Migrate did.
type Migration struct {
	From  string     `json:"from"` // "" when the registry did not say
	To    string     `json:"to"`
	Steps []StepDone `json:"steps"`
}

// VersionError reports a schemaVersion that this program cannot migrate from, or does
// not write to.
type VersionError struct{ Version, Why string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("team: schemaVersion %s %s", show(e.Version), e.Why)
}

// changeable refuses a registry of a newer version. This program reads what it understands of such
// a file and never writes it.
func (c *Config) changeable() error {
	have, err := parseVersion(c.SchemaVersion)
	if err != nil {
		return nil // it is treated as a file without a version
	}
	if newer(have) {
		return &VersionError{c.SchemaVersion, "is newer than " + SchemaVersion + ", the newest that this program knows: the registry is read-only; use a newer waggle"}
	}
	return nil
}

// newer reports a version that this program does not know.
func newer(have [3]int) bool {
	newest, _ := parseVersion(SchemaVersion)
	return slices.Compare(newest[:], have[:]) < 0
}

// Migrate brings a team's files to SchemaVersion, step by step: a step changes its files, then the
// registry with the version, in one edit. After a kill some of the steps are done, and the next
// call does the rest. With dry nothing is changed. A newer version, and an invalid one, is a
// *VersionError. Members may run during a migration. A session's team is not migrated, because it
// belongs to another program with its own versions.
func (t *Team) Migrate(ctx context.Context, dry bool) (*Migration, error) {
	c, err := t.Load(ctx)
	if err != nil {
		return nil, err
	}
	if c.Dialect() == DialectSession {
		return nil, &VersionError{c.SchemaVersion, "is not ours to change: the team belongs to a session of Claude Code"}
	}
	m := &Migration{From: c.SchemaVersion, To: SchemaVersion, Steps: []StepDone{}}
	have, err := parseVersion(c.SchemaVersion)
	if err != nil {
		return nil, err
	}
	if newer(have) {
		return nil, &VersionError{c.SchemaVersion, "is newer than " + SchemaVersion + ", the newest that this program knows"}
	}
	for i, s := range steps {
		if version, _ := parseVersion(s.version); slices.Compare(have[:], version[:]) >= 0 {
			continue
		}
		done, err := t.doStep(ctx, s, c, dry)
		if err != nil {
			return nil, t.failed("migrate", fmt.Errorf("step %d (%s): %w", i+1, s.what, err))
		}
		m.Steps = append(m.Steps, StepDone{Number: i + 1, Version: s.version, What: s.what, Changes: done})
	}
	return m, nil
}

// doStep does one step. c is the registry as it was read, for a dry run.
func (t *Team) doStep(ctx context.Context, s step, c *Config, dry bool) ([]string, error) {
	changes := []string{}
	if s.files != nil {
		done, err := s.files(ctx, t, dry)
		if err != nil {
			return nil, err
		}
		changes = append(changes, done...)
	}
	edit := func(c *Config) []string {
		var done []string
		if s.config != nil {
			done = s.config(t, c)
		}
		c.SchemaVersion = s.version
		return done
	}
	if dry {
		return append(changes, edit(c)...), nil
	}
	var done []string
	if err := t.update(ctx, "migrate", func(c *Config) error { done = edit(c); return nil }); err != nil {
		return nil, err
	}
	t.step("step " + s.version)
	return append(changes, done...), nil
}

// parseVersion reads major.minor.patch; "" is before all.
func parseVersion(s string) (v [3]int, err error) {
	if s == "" {
		return v, nil
	}
	parts := strings.Split(s, ".")
	if len(parts) != len(v) {
		return v, &VersionError{s, "is not a version like 1.0.0"}
	}
	for i, p := range parts {
		if v[i], err = strconv.Atoi(p); err != nil || v[i] < 0 || strconv.Itoa(v[i]) != p {
			return v, &VersionError{s, "is not a version like 1.0.0"}
		}
	}
	return v, nil
}
