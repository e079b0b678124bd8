package worker

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"waggle/control"
	"waggle/internal/caught"
	"waggle/journal"
	"waggle/poll"
	"waggle/protocol"
	"waggle/task"
)

// beatEvery is the interval of the heartbeat of a running turn.
const beatEvery = 2 * time.Second

// bulletin writes task-status.json at each change. The file is for people; this package does not
// read it.
type bulletin struct {
	write func(task.State) error // nil: no status file

	mu    sync.Mutex
	s     task.State
	turns int           // turns that have ended in this process
	took  time.Duration // their total time
	began time.Time     // start of the present turn
	wrote time.Time
}

func newBulletin(p Parts) *bulletin {
	b := &bulletin{write: p.Status, s: task.State{AgentID: protocol.NewAgentID(p.Fold.Name, p.Fold.Team),
		StartedAt: protocol.FormatTime(p.Minter.Now()), Metrics: &task.Metrics{}}}
	for _, t := range p.Fold.Tasks {
		if t.Taken && t.Ended && !t.Failed {
			b.s.Metrics.TasksCompleted++
		}
	}
	return b
}

// set writes a new status; note is the last error.
func (b *bulletin) set(now time.Time, status, note string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case status == task.MemberRunning:
		b.began = now
	case b.s.Status == task.MemberRunning:
		b.turns++
		b.took += now.Sub(b.began)
		b.s.Metrics.AvgResponseTime = (b.took / time.Duration(b.turns)).Seconds()
	}
	b.s.Status, b.s.ErrorMessage = status, note
	if status == task.MemberComplete {
		b.s.CompletedAt = protocol.FormatTime(now)
	}
	return b.put(now)
}

// beat writes the heartbeat of a running turn when it is due.
func (b *bulletin) beat(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.s.Status != task.MemberRunning || now.Sub(b.wrote) < beatEvery {
		return nil
	}
	return b.put(now)
}

// completed counts a task; the next set shows it.
func (b *bulletin) completed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.Metrics.TasksCompleted++
}

// put writes the file. The caller holds mu.
func (b *bulletin) put(now time.Time) error {
	b.s.LastActiveAt, b.wrote = protocol.FormatTime(now), now
	if b.write == nil {
		return nil
	}
	return b.write(b.s)
}

func (w *Worker) status(status, note string) {
	w.trouble.Note("status", w.bulletin.set(w.p.Minter.Now(), status, note), "task-status.json is not current")
}

func (w *Worker) beat() {
	w.trouble.Note("status", w.bulletin.beat(w.p.Minter.Now()), "task-status.json is not current")
}

// ended writes how this process ended, unless a later process has the file.
func (w *Worker) ended(err error) {
	var stale *journal.StaleError
	switch {
	case err == nil, errors.Is(err, control.ErrSuperseded), errors.Is(err, ErrLeft), errors.As(err, &stale):
	case errors.Is(err, context.Canceled):
		w.status(task.MemberError, "the process was asked to end")
	case poll.Final(err) || errors.Is(err, context.DeadlineExceeded) || caught.Of(err) != nil:
		w.status(task.MemberError, tidy(err.Error()))
	}
}

// most is the most files of a turn that its task_completed names.
const most = 50

// files returns the artifacts of the member's directory.
func (w *Worker) files() []task.Artifact {
	if w.p.Files == nil {
		return nil
	}
	all, err := w.p.Files()
	w.trouble.Note("artifacts", err, "artifacts cannot be listed")
	return slices.DeleteFunc(all, func(a task.Artifact) bool { return a.Kind != task.KindArtifact })
}

// made lists the artifacts that a turn has made or changed.
func (w *Worker) made(t *turn) []string {
	names := []string{}
	for _, a := range w.files() {
		if !t.before[a] && len(names) < most {
			names = append(names, strings.ToValidUTF8(a.Path, "\uFFFD"))
		}
	}
	return names
}
