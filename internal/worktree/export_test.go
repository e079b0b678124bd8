package worktree

// Stop has a Store call fn between its steps.
func (s Store) Stop(fn func(step string)) Store { s.step = fn; return s }

// Component and UsualBranch are how names are spelled.
var (
	Component   = component
	UsualBranch = usualBranch
)
