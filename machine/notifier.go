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

// Notify names the row of a transition, and notifies the observer of it or holds it back. A transition without a row is
// an error between Hold and Keep, where records are not written yet. On record it is a fact like any other: the tables
// describe what the folds do, and fail none of them.
func (n *Notifier) Notify(o Observation) error {
	if !n.holding && (n.Observe == nil || o.Seq <= n.past) {
		return nil
	}
	row, ok := rows[move{o.Machine, o.From, o.On, o.To}]
	if n.holding && !ok {
		return &TransitionError{Machine: o.Machine + " " + o.Member, From: o.From, To: o.To, On: o.On}
	}
	o.Row = row
	if n.holding {
		if n.Observe != nil {
			n.held = append(n.held, o)
		}
		return nil
	}
	n.last = o.Seq
	n.Observe(o)
	return nil
}

// Hold holds back what Notify is told from now on.
func (n *Notifier) Hold() { n.holding = true }

// Keep tells what was held back: it is on disk.
func (n *Notifier) Keep() {
	held := n.held
	n.holding, n.held = false, nil
	for _, o := range held {
		_ = n.Notify(o) // it has a row
	}
}

// Reset forgets what is not on disk.
func (n *Notifier) Reset() { n.holding, n.held, n.past = false, nil, max(n.past, n.last) }
