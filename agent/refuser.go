package agent

import "context"

// Refuser is a Host that says what its rules deny, without asking anybody and without a record: a
// second line for an agent that runs its calls itself. What it does not refuse is not allowed by
// that.
type Refuser interface {
	// Refuses says why a call may not run now; "" when no rule, no mode, no plan that is owed and no
	// shutdown is against it.
	Refuses(ctx context.Context, c Call) (reason string)
}
