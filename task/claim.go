package task

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"waggle/internal/json/jsonobj"
	"waggle/protocol"
)

// Claim makes owner the owner of a task without an owner and sets in_progress, in one step under
// the list's lock: when many claim a task, one gets it. It is idempotent for that owner. A
// *StateError gives the reason of a refusal: task_not_found, already_claimed, already_resolved,
// blocked (protocol §4).
func (l *List) Claim(ctx context.Context, id ID, owner protocol.MemberName) (Task, error) {
	return l.claim(ctx, id, owner, false)
}

// ClaimIdle is Claim for an owner that does one task at a time: agent_busy when
// another one is in progress under that name.
func (l *List) ClaimIdle(ctx context.Context, id ID, owner protocol.MemberName) (Task, error) {
	return l.claim(ctx, id, owner, true)
}

func (l *List) claim(ctx context.Context, id ID, owner protocol.MemberName, idle bool) (t Task, err error) {
	if _, err := protocol.ParseMember(string(owner)); err != nil {
		return Task{}, fmt.Errorf("task: claim %.20q: %w", string(id), err)
	}
	// The task is read without the lock first: a claim that is too late need not wait for the lock.
	// The answer was true at some time during this call.
	if t, err := l.Get(ctx, id); err == nil && t.claimable(owner) != nil && t.Status != Deleted {
		return Task{}, t.claimable(owner)
	}
	err = l.locked(ctx, "claim", func() error {
		if idle {
			if err := l.idle(ctx, id, owner); err != nil {
				return err
			}
		}
		t, err = l.take(ctx, id, owner)
		return err
	})
	return t, err
}

// claimable returns why owner may not claim t, leaving its blockers aside.
func (t *Task) claimable(owner protocol.MemberName) error {
	switch {
	case t.Status == Completed:
		return t.refuse(AlreadyResolved)
	case t.Owner != "" && !t.ownedBy(owner):
		return t.refuse(AlreadyClaimed)
	}
	return nil
}

// take makes the claim. The caller holds the list's lock.
func (l *List) take(ctx context.Context, id ID, owner protocol.MemberName) (Task, error) {
	return l.step(ctx, "claim", id, func(t *Task) error {
		if err := t.claimable(owner); err != nil {
			return err
		}
		if err := l.begin(ctx, t); err != nil {
			return err
		}
		if t.Owner == "" {
			t.own(owner)
		}
		return nil
	})
}

// idle refuses an owner that has another task in progress. The caller holds the
// list's lock.
func (l *List) idle(ctx context.Context, id ID, owner protocol.MemberName) error {
	all, _, err := l.All(ctx)
	if err != nil {
		return err
	}
	return busy(all, id, owner)
}

func busy(all []Task, id ID, owner protocol.MemberName) error {
	var has []ID
	for _, t := range all {
		switch {
		case t.Status != InProgress || !t.ownedBy(owner) || t.Internal():
		case t.ID == id:
			return nil // it is the one that is asked for
		default:
			has = append(has, t.ID)
		}
	}
	if len(has) > 0 {
		return &StateError{ID: id, Why: AgentBusy, Tasks: has}
	}
	return nil
}

// ClaimNext claims the task with the lowest id that is pending, without an owner and not blocked,
// for an owner that has none in progress (protocol §4). A *StateError refuses with agent_busy, or
// nothing_to_claim when there is no such task. Tasks of Claude Code itself (metadata _internal) are
// never claimed.
func (l *List) ClaimNext(ctx context.Context, owner protocol.MemberName) (t Task, err error) {
	if _, err := protocol.ParseMember(string(owner)); err != nil {
		return Task{}, fmt.Errorf("task: claim: %w", err)
	}
	err = l.locked(ctx, "claim", func() error {
		all, _, err := l.All(ctx)
		if err != nil {
			return err
		}
		if err := busy(all, "", owner); err != nil {
			return err
		}
		for _, c := range all {
			if c.Status != Pending || c.Owner != "" || c.Internal() || len(Blocked(c, all)) > 0 {
				continue
			}
			t, err = l.take(ctx, c.ID, owner)
			if !errors.As(err, new(*StateError)) { // by a program that does not lock
				return err
			}
		}
		return &StateError{Why: NothingToClaim}
	})
	return t, err
}

// Internal reports a task of Claude Code's own harness, which it marks with
// metadata _internal and does not show (protocol §4).
func (t Task) Internal() bool {
	return string(bytes.TrimSpace(t.Metadata["_internal"])) == "true"
}

// MetaReleased is the metadata key under which a task says that its owner ended
// before it was done.
const MetaReleased = "released"

// Released records the member whose task was released, and the reason.
type Released struct {
	From protocol.MemberName `json:"from"`
	Why  string              `json:"why"`
	At   string              `json:"at"` // RFC 3339
}

// NewReleased makes the note that ReleaseNoted leaves.
func NewReleased(from protocol.MemberName, why string, at time.Time) *Released {
	return &Released{From: from, Why: why, At: protocol.FormatTime(at)}
}

// Released is the note that ReleaseNoted left, false when there is none.
func (t Task) Released() (Released, bool) {
	raw, ok := t.Metadata[MetaReleased]
	if !ok {
		return Released{}, false
	}
	object, err := jsonobj.Parse(raw)
	if err != nil {
		return Released{}, false
	}
	r := Released{From: protocol.MemberName(object.Text("from")), Why: object.Text("why"), At: object.Text("at")}
	return r, r.From != ""
}

func (t *Task) note(r *Released) error {
	if r == nil {
		return nil
	}
	raw, err := jsonobj.Marshal(r)
	if err != nil {
		return err
	}
	m := maps.Clone(t.Metadata)
	if m == nil {
		m = map[string]json.RawMessage{}
	}
	m[MetaReleased] = raw
	t.Metadata = m
	return nil
}
