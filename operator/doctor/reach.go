package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/protocol"
	"waggle/record"
)

// reached lists what commands of members without an enforced sandbox can reach on this machine: a finding for all that
// reach the same.
func (d *doctor) reached(ctx context.Context, n protocol.TeamName) (out []Finding) {
	s, err := d.op.Open(ctx, n, operator.Act)
	if err != nil {
		return nil
	}
	type group struct{ members, things []string }
	var groups [2]group // off or not known, files only
	from := inspect.Reacher{Env: d.o.Env, Environ: d.op.Environ, ClaudeDir: d.o.ClaudeDir}
	for _, m := range s.Lead.Live() {
		level := record.HeldOff
		if w, err := s.Worker(m.Instance); err == nil {
			level = record.LevelOf(w.Ready)
		}
		things := from.InReach(ctx, m, level)
		if len(things) == 0 {
			continue
		}
		g := &groups[0]
		if level == record.HeldFilesOnly {
			g = &groups[1]
		}
		g.members = append(g.members, string(m.Name))
		for _, t := range things {
			if !slices.Contains(g.things, t) {
				g.things = append(g.things, t)
			}
		}
	}
	for _, g := range groups {
		if len(g.members) > 0 {
			out = append(out, todo(teamWhat(n), Note, fmt.Sprintf("not confined: %s; in reach of %s: %s", strings.Join(g.members, ", "), it(len(g.members)), strings.Join(g.things, ", ")),
				operator.NextSandboxTest.With()))
		}
	}
	return out
}

func it(n int) string {
	if n == 1 {
		return "its commands"
	}
	return "their commands"
}
