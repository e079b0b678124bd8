package operator

import (
	"cmp"
	"context"
	"time"

	"waggle/mailbox"
	"waggle/spawn"
)

// Waits are the times that a command waits for other processes. The zero value has the usual ones.
type Waits struct {
	Deliver time.Duration // for a running leader to deliver, and for members to apply an order; 0: 2 s
	Term    time.Duration // for a process of a member to end by SIGTERM; 0: 2 s
	Kill    time.Duration // for it to be gone after SIGKILL; 0: 1.5 s
	Answer  time.Duration // for the process that leads to answer a question about itself; 0: 10 s
}

// Delivery returns how long a command waits for a delivery.
func (w Waits) Delivery() time.Duration { return cmp.Or(w.Deliver, 2*time.Second) }

// Answering returns how long the process that leads may take to answer.
func (w Waits) Answering() time.Duration { return cmp.Or(w.Answer, 10*time.Second) }

// Ladder returns the steps in which the processes of a member are ended, in all less than ten seconds.
func (w Waits) Ladder() spawn.Grace {
	return spawn.Grace{InputWait: 500 * time.Millisecond, Term: cmp.Or(w.Term, 2*time.Second), Kill: cmp.Or(w.Kill, 1500*time.Millisecond)}
}

// Watch watches directories until end, which returns when the watcher has ended.
func Watch(ctx context.Context, every time.Duration, dirs ...string) (nudges <-chan struct{}, end func(), err error) {
	watch, cancel := context.WithCancel(ctx)
	nudges, err = mailbox.Watch(watch, mailbox.WatchOptions{Interval: every}, dirs...)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return nudges, func() {
		cancel()
		for range nudges {
		}
	}, nil
}
