package spawn

import "time"

// Subreaper makes the kernel give orphaned descendants to this process (Linux; elsewhere it does
// nothing), so that they stay recognisable as ours: a daemonised child of a member keeps the member
// among its [Ancestors]. It lasts until this process ends, is not inherited by children, and can be
// called again.
//
// An orphan that ends stays a zombie of this process until [ReapOrphans].
func Subreaper() error { return failed(subreaper(), "become a subreaper") }

// ReapOrphans removes the zombies among the orphans that this process was given, and returns how
// many. It never takes the status of a process that was started through os or os/exec, by this
// package or any other, and that may still be waited for; a child started by a bare system call
// counts as an orphan. A subreaper calls it every few seconds; it does not block and may be called
// from several goroutines. Where the system cannot distinguish the two (Linux before 5.4) it
// removes nothing and the error matches errors.ErrUnsupported. On other systems it does nothing.
func ReapOrphans() (int, error) {
	n, err := reapOrphans()
	return n, failed(err, "reap orphans")
}

// reapEvery is how often Reap looks.
const reapEvery = 2 * time.Second

// Reap waits for the descendants that lost their parents: as a Subreaper this process is
// their parent now. report is told what goes wrong. stop ends it and waits for it.
func Reap(report func(error)) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(reapEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if _, err := ReapOrphans(); err != nil {
					report(err)
				}
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
