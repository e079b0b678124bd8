package spawn

import "time"

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
