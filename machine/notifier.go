package machine

// Notifier notifies an observer: of each transition once, and of none before it is on disk. It is not
// safe for concurrent use.
type Notifier struct {
	Observe Observer // nil: nobody is notified
	holding bool
	held    []Observation
	last    uint64 // seq of what was told last
	past    uint64 // transitions up to here were notified before
}

// Notify tells of a transition, or holds it back.
func (n *Notifier) Notify(o Observation) {
	switch {
	case n.Observe == nil || o.Seq <= n.past:
	case n.holding:
		n.held = append(n.held, o)
	default:
		n.last = o.Seq
		n.Observe(o)
	}
}

// Hold holds back what Notify is told from now on.
func (n *Notifier) Hold() { n.holding = true }

// Keep tells what was held back: it is on disk.
func (n *Notifier) Keep() {
	held := n.held
	n.holding, n.held = false, nil
	for _, o := range held {
		n.Notify(o)
	}
}

// Reset forgets what is not on disk.
func (n *Notifier) Reset() { n.holding, n.held, n.past = false, nil, max(n.past, n.last) }
