package worktree

import "context"

// Act and Run are how git is run.
func (g Git) Act(ctx context.Context, dir string) error           { return g.act(ctx, dir, "all") }
func (g Git) Run(ctx context.Context, dir string) (string, error) { return g.run(ctx, dir, "all") }

// Stop has a Store call fn between its steps.
func (s Store) Stop(fn func(step string)) Store { s.step = fn; return s }

// Component and UsualBranch are how names are spelled.
var (
	Component   = component
	UsualBranch = usualBranch
)
