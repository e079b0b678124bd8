//go:build unix

package spawn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// patient is a process of a bubble: it takes a time to end by SIGTERM, and one to end by
// SIGKILL; a time below 0 is for ever.
type patient struct {
	byTerm, byKill time.Duration
	began          time.Time
	ends           time.Time
	signals        []string // with the time of each since the begin; repeated kills once
	killed         bool
}

func (p *patient) live() ([]stat, error) {
	if !p.ends.IsZero() && !time.Now().Before(p.ends) {
		return nil, nil
	}
	return []stat{{pid: 7}}, nil
}

func (p *patient) signal(_ []stat, kill bool) error {
	name, after := "term", p.byTerm
	if kill {
		name, after = "kill", p.byKill
	}
	if kill && p.killed {
		return nil
	}
	p.killed = kill
	p.signals = append(p.signals, fmt.Sprintf("%s %s", name, time.Since(p.began)))
	if at := time.Now().Add(after); after >= 0 && (p.ends.IsZero() || at.Before(p.ends)) {
		p.ends = at
	}
	return nil
}

// TestLadder: SIGTERM comes first, and SIGKILL only when the time for that is over, however
// long the process takes; the rung is the step that ended it. The clock is the bubble's, so
// that a busy machine changes nothing.
func TestLadder(t *testing.T) {
	const never = -time.Second
	g := Grace{Term: 5 * time.Second, Kill: 3 * time.Second}
	for name, c := range map[string]struct {
		p       patient
		rung    string
		signals []string
		took    time.Duration // at least, and at most a look more
		err     error
	}{
		"nobody":              {patient{ends: time.Unix(1, 0)}, RungGone, nil, 0, nil},
		"at once":             {patient{byTerm: 0, byKill: 0}, RungTerm, []string{"term 0s"}, 0, nil},
		"late":                {patient{byTerm: 4900 * time.Millisecond, byKill: 0}, RungTerm, []string{"term 0s"}, 4900 * time.Millisecond, nil},
		"at the last moment":  {patient{byTerm: 5 * time.Second, byKill: 0}, RungTerm, []string{"term 0s"}, 5 * time.Second, nil},
		"too late":            {patient{byTerm: 5100 * time.Millisecond, byKill: 0}, RungKill, []string{"term 0s", "kill 5s"}, 5 * time.Second, nil},
		"deaf":                {patient{byTerm: never, byKill: 0}, RungKill, []string{"term 0s", "kill 5s"}, 5 * time.Second, nil},
		"deaf, killed slowly": {patient{byTerm: never, byKill: 2900 * time.Millisecond}, RungKill, []string{"term 0s", "kill 5s"}, 7900 * time.Millisecond, nil},
		"held by the kernel":  {patient{byTerm: never, byKill: never}, "", []string{"term 0s", "kill 5s"}, 8 * time.Second, ErrStillAlive},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := c.p
				p.began = time.Now()
				rung, err := ladder(context.Background(), &p, g)
				took := time.Since(p.began)
				if rung != c.rung || !errors.Is(err, c.err) || !slices.Equal(p.signals, c.signals) {
					t.Errorf("%q by %q, %v; want %q by %q, %v", rung, p.signals, err, c.rung, c.signals, c.err)
				}
				if took < c.took || took > c.took+100*time.Millisecond { // the bubble's clock
					t.Errorf("it took %s, want %s", took, c.took)
				}
			})
		})
	}
}
