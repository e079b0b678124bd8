package task

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/protocol"
)

// Assign sets the owner and returns the task_assignment that the owner's mailbox should get. It is
// nil when that member was the owner already, or for the owner "", which makes the task pending
// without an owner. Blocked tasks can be assigned. A completed one is a *StateError,
// already_resolved.
func (l *List) Assign(ctx context.Context, id ID, owner, by protocol.MemberName, now time.Time) (Task, *protocol.TaskAssignment, error) {
	return l.assign(ctx, id, owner, by, now, nil)
}

// Handover is Assign for a caller that has looked at the task: when its status or
// owner are not those of seen any more, it is a *StateError, changed_meanwhile.
func (l *List) Handover(ctx context.Context, seen Task, owner, by protocol.MemberName, now time.Time) (Task, *protocol.TaskAssignment, error) {
	return l.assign(ctx, seen.ID, owner, by, now, &seen)
}

func (l *List) assign(ctx context.Context, id ID, owner, by protocol.MemberName, now time.Time, seen *Task) (Task, *protocol.TaskAssignment, error) {
	if _, err := protocol.ParseMember(string(by)); err != nil {
		return Task{}, nil, fmt.Errorf("task: assign %.20q: by: %w", string(id), err)
	}
	news := false
	t, err := l.edit(ctx, "assign", id, func(t *Task) error {
		news = !t.ownedBy(owner)
		switch {
		case seen != nil && (t.Status != seen.Status || t.Owner != seen.Owner):
			return t.refuse(Changed)
		case t.Status == Deleted:
			return &NotFoundError{id}
		case t.Status == Completed && news:
			return t.refuse(AlreadyResolved)
		case owner == "":
			t.release()
		case news:
			t.own(owner)
		}
		return nil
	})
	if err != nil || !news || owner == "" {
		return t, nil, err
	}
	return t, &protocol.TaskAssignment{
		TaskID:      string(t.ID),
		Subject:     t.Subject,
		Description: t.Description,
		AssignedBy:  string(by),
		Timestamp:   protocol.FormatTime(now),
	}, nil
}

func (t *Task) ownedBy(owner protocol.MemberName) bool {
	return protocol.SameName(protocol.MemberName(t.Owner), owner)
}

// own gives t an owner, and forgets who had it before.
func (t *Task) own(owner protocol.MemberName) {
	t.Owner = string(owner)
	if _, ok := t.Metadata[MetaReleased]; ok {
		t.Metadata = maps.Clone(t.Metadata)
		delete(t.Metadata, MetaReleased)
	}
}

func (t *Task) release() {
	t.Owner = ""
	if t.Status == InProgress {
		t.Status = Pending
	}
}

// refuse reports that t's state does not allow a step.
func (t *Task) refuse(why string, tasks ...ID) error {
	return &StateError{ID: t.ID, Status: t.Status, Owner: t.Owner, Why: why, Tasks: tasks}
}

// Start sets in_progress; owner must be the task's owner. It is idempotent. A
// *StateError refuses a task that is not there, is not the owner's, is blocked,
// or is completed.
func (l *List) Start(ctx context.Context, id ID, owner protocol.MemberName) (Task, error) {
	return l.step(ctx, "start", id, func(t *Task) error {
		if err := t.workedBy(owner); err != nil {
			return err
		}
		return l.begin(ctx, t)
	})
}

// Complete sets completed; owner must be the task's owner. It is idempotent.
// A *StateError refuses a task that is not there, is not the owner's, is
// blocked, or was completed by another.
func (l *List) Complete(ctx context.Context, id ID, owner protocol.MemberName) (Task, error) {
	return l.step(ctx, "complete", id, func(t *Task) error {
		if t.Status == Completed && t.ownedBy(owner) {
			return nil
		}
		if err := t.workedBy(owner); err != nil {
			return err
		}
		if err := l.begin(ctx, t); err != nil {
			return err
		}
		t.Status = Completed
		return nil
	})
}

// Pause sets a task that its owner does not work on any more back to pending; it
// stays the owner's. It is idempotent. A *StateError refuses a task that is not
// there, is not the owner's, or is completed.
func (l *List) Pause(ctx context.Context, id ID, owner protocol.MemberName) (Task, error) {
	return l.step(ctx, "pause", id, func(t *Task) error {
		if err := t.workedBy(owner); err != nil {
			return err
		}
		if t.Status == InProgress {
			t.Status = Pending
		}
		return nil
	})
}

// workedBy refuses a task that is not owner's to work on.
func (t *Task) workedBy(owner protocol.MemberName) error {
	switch {
	case t.Status == Completed:
		return t.refuse(AlreadyResolved)
	case t.Owner == "":
		return t.refuse(NotOwner)
	case !t.ownedBy(owner):
		return t.refuse(AlreadyClaimed)
	}
	return nil
}

// begin sets in_progress unless t is blocked. A task in progress stays so.
func (l *List) begin(ctx context.Context, t *Task) error {
	switch t.Status {
	case InProgress:
		return nil
	case Pending:
	default:
		return t.refuse(BadStatus)
	}
	// The lock of t is held: its blockers are read without theirs.
	open, err := l.blockers(ctx, t)
	if err != nil {
		return err
	}
	if len(open) > 0 {
		return t.refuse(IsBlocked, open...)
	}
	t.Status = InProgress
	return nil
}

// Blockers returns the tasks for which a task waits: its blockers that exist and are not completed.
// A blocker that cannot be read counts as open.
func (l *List) Blockers(ctx context.Context, id ID) ([]ID, error) {
	t, err := l.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.blockers(ctx, &t)
}

func (l *List) blockers(ctx context.Context, t *Task) (open []ID, err error) {
	for _, id := range t.BlockedBy {
		b, _, err := l.read(ctx, id, false)
		switch {
		case errors.As(err, new(*NotFoundError)), slices.Contains(open, id):
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil || b.open():
			open = append(open, id)
		}
	}
	return open, nil
}

// step is edit for a change of state: a task that does not exist is a *StateError.
func (l *List) step(ctx context.Context, op string, id ID, fn func(*Task) error) (Task, error) {
	t, err := l.edit(ctx, op, id, func(t *Task) error {
		if t.Status == Deleted {
			return &NotFoundError{id}
		}
		return fn(t)
	})
	if errors.As(err, new(*NotFoundError)) {
		return Task{}, &StateError{ID: id, Why: TaskNotFound}
	}
	return t, err
}

// ReleaseNoted gives back every unfinished task of a member that has ended: owner "",
// pending (protocol §9 row 29). It returns the ids, ascending. Tasks that cannot be
// read or written do not stop the others; their errors are joined. The tasks get the note: their metadata has the key
// MetaReleased, until they have an owner again. A nil note leaves none.
func (l *List) ReleaseNoted(ctx context.Context, owner protocol.MemberName, note *Released) ([]ID, error) {
	if _, err := protocol.ParseMember(string(owner)); err != nil {
		return nil, fmt.Errorf("task: release: %w", err)
	}
	ids, _, err := l.ids()
	if err != nil {
		return nil, fmt.Errorf("task: release: %w", err)
	}
	var released []ID
	var failed []error
	for _, id := range ids {
		if t, err := l.Get(ctx, id); err == nil && (!t.ownedBy(owner) || !t.open()) {
			continue
		}
		mine := false
		_, err := l.edit(ctx, "release", id, func(t *Task) error {
			if mine = t.ownedBy(owner) && t.open(); mine {
				t.release()
				return t.note(note)
			}
			return nil
		})
		switch {
		case errors.As(err, new(*NotFoundError)):
		case err != nil:
			failed = append(failed, err)
		case mine:
			released = append(released, id)
		}
	}
	return released, errors.Join(failed...)
}

// Delete removes a task as Claude Code does (protocol §4): .highwatermark is written, so that the
// id is not given again, the id is removed from the blocks of the others, their blockedBy stays (a
// blocker that does not exist counts as done), and the file is removed. A *NotFoundError when there
// is no such task.
func (l *List) Delete(ctx context.Context, id ID) error {
	return l.locked(ctx, "delete", func() error {
		if !id.valid() {
			return &NotFoundError{id}
		}
		if _, err := os.Lstat(l.path(id)); err != nil {
			return l.failed("delete", id, err)
		}
		high, err := l.high()
		if err != nil {
			return l.failed("delete", id, err)
		}
		if err := l.setHigh(high); err != nil {
			return l.failed("delete", id, err)
		}
		others, _, err := l.All(ctx)
		if err != nil {
			return err
		}
		var blockers []ID
		for _, t := range others {
			if t.ID != id && slices.Contains(t.Blocks, id) {
				blockers = append(blockers, t.ID)
			}
		}
		if err := l.mirror(ctx, id, change{}, change{drop: blockers}, nil); err != nil {
			return err
		}
		return l.unlink(ctx, id)
	})
}

// unlink removes the task's file under its lock.
func (l *List) unlink(ctx context.Context, id ID) error {
	release, err := atomicfile.Lock(ctx, l.path(id), l.options(atomicfile.RankTask))
	if err != nil {
		return l.failed("delete", id, err)
	}
	err = os.Remove(l.path(id))
	_ = release() // the locked file does not exist any more
	return l.failed("delete", id, err)
}
