package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonfile"
	"waggle/policy"
)

// Rules are the user's learned rules for sessions. They have no effect until the user turns them
// on.
type Rules struct {
	On    bool   `json:"on"`
	Rules []Rule `json:"rules"`
}

// Rule is one learned rule.
type Rule struct {
	Rule  policy.Rule `json:"rule"`
	Deny  bool        `json:"deny,omitempty"`
	Until *time.Time  `json:"expires_at,omitempty"`
	At    time.Time   `json:"at"`
}

// rulesFile is beside the sessions: its name is no session id.
const (
	rulesFile = ".rules.json"
	maxRules  = 1 << 20
)

// Rules reads the rules; without a file there are none and they are off. A file that cannot be read
// is an error: then no rule answers.
func (s Store) Rules() (Rules, error) {
	r := Rules{Rules: []Rule{}}
	b, err := atomicfile.ReadFile(filepath.Join(s.Dir, rulesFile), atomicfile.Options{MaxSize: maxRules})
	if err == nil && len(b) > 0 {
		err = json.Unmarshal(b, &r)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Rules{}, fmt.Errorf("rules for sessions: %w", err)
	}
	return r, nil
}

// EditRules changes the rules under the file's lock; changed is what change returns. It makes the store: a user may give
// rules before the first session is seen.
func (s Store) EditRules(ctx context.Context, change func(*Rules) bool) (r Rules, changed bool, err error) {
	err = s.edit(ctx, rulesFile, func(path string) error {
		if r, err = s.Rules(); err != nil {
			return err
		}
		changed = change(&r)
		if err := jsonfile.WriteIndent(path, r, atomicfile.Options{Perm: 0o600}); err != nil {
			return fmt.Errorf("rules for sessions: %w", err)
		}
		return nil
	})
	return r, changed && err == nil, err
}

// Add adds a rule or moves its end; it reports whether anything changed.
func (r *Rules) Add(n Rule) bool {
	for i, old := range r.Rules {
		if old.Rule == n.Rule && old.Deny == n.Deny {
			r.Rules[i].Until = n.Until
			return !sameTime(old.Until, n.Until)
		}
	}
	r.Rules = append(r.Rules, n)
	return true
}

// Remove removes a rule; it reports whether it was there.
func (r *Rules) Remove(rule policy.Rule, deny bool) bool {
	before := len(r.Rules)
	r.Rules = slices.DeleteFunc(r.Rules, func(o Rule) bool { return o.Rule == rule && o.Deny == deny })
	return len(r.Rules) < before
}

// Policy is what the rules say at a time, in mode default; nil when they are off.
func (r Rules) Policy(now time.Time) *policy.Policy {
	if !r.On {
		return nil
	}
	p := policy.Policy{Mode: policy.ModeDefault}
	for _, o := range r.Rules {
		switch {
		case o.Until != nil && !now.Before(*o.Until):
		case o.Deny:
			p.Deny = append(p.Deny, o.Rule)
		default:
			p.Allow = append(p.Allow, o.Rule)
		}
	}
	return &p
}
