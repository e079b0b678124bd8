package operator

import (
	"context"

	"waggle/control"
	"waggle/journal"
	"waggle/record"
)

// WorkerFolds keeps the folds of members' journals, so that only new records are read. Its zero value is empty. It is used
// by one goroutine: a fold that State.Worker has returned changes with a later call for the same member.
type WorkerFolds struct {
	of map[string]workerFold // by the directory of the journal
}

type workerFold struct {
	fold *control.Worker
	file *journal.File
}

// Worker is State.Worker. A journal that cannot be read is folded anew the next time.
func (c *WorkerFolds) Worker(s *State, i record.Instance) (*control.Worker, error) {
	dir := s.Dir.JournalOf(string(i))
	if kept, ok := c.of[dir]; ok && kept.file.Refresh(context.Background()) == nil {
		return kept.fold, nil
	}
	delete(c.of, dir)
	w := control.NewWorker(nil)
	file, err := s.Dir.OpenJournal(journal.Name(i), w, s.JournalOptions)
	if err == nil {
		if c.of == nil {
			c.of = map[string]workerFold{}
		}
		c.of[dir] = workerFold{w, file}
	}
	return w, err
}
