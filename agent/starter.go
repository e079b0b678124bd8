package agent

// Starter is an Agent that begins turns by itself: a client that is not waiting for work wants to
// ask, or a person types into it.
type Starter interface {
	Agent
	// Starts sends when the agent wants a turn without work. As soon as the member is idle, Turn is
	// called with a Work that has neither a task nor mail; a turn with work that begins first serves
	// as well. The worker receives from it for as long as it runs.
	Starts() <-chan struct{}
}
