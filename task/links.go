package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"waggle/internal/fs/atomicfile"
	"waggle/protocol"
)

// Create adds a task with the next id (one more than any that was ever given)
// under the list's lock, and enters it in the blocks of those it is blocked by
// and the blockedBy of those it blocks. t.ID is ignored; an empty status is
// pending; an owner must be a valid member name. A *StateError refuses a blocker
// that is not there and a cycle. A process that is killed meanwhile leaves at
// most an id that is not used or links on one side; the side that counts,
// blockedBy, is written with the task.
func (l *List) Create(ctx context.Context, t Task) (Task, error) {
	if t.Status == "" {
		t.Status = Pending
	}
	if err := t.checkChange(&Task{}); err != nil {
		return Task{}, fmt.Errorf("task: create: %w", err)
	}
	t.ID = ""
	t.Blocks, t.BlockedBy = unique(t.Blocks), unique(t.BlockedBy)
	var created Task
	err := l.locked(ctx, "create", func() error {
		g, err := l.graph(ctx, len(t.Blocks) > 0 || len(t.BlockedBy) > 0)
		if err != nil {
			return fmt.Errorf("task: create: %w", err)
		}
		if err := g.link("", t.Blocks, t.BlockedBy); err != nil {
			return err
		}
		if created, err = l.place(ctx, t); err != nil {
			return fmt.Errorf("task: create: %w", err)
		}
		return l.mirror(ctx, created.ID, change{add: t.Blocks}, change{add: t.BlockedBy}, nil)
	})
	return created, err
}

// checkChange validates the fields of t that are new; invalid fields that the file had before may
// stay.
func (t *Task) checkChange(old *Task) error {
	if t.Status != old.Status {
		switch t.Status {
		case Pending, InProgress, Completed:
		default:
			return fmt.Errorf("status %.40q is not pending, in_progress or completed", string(t.Status))
		}
	}
	if t.Owner != "" && t.Owner != old.Owner {
		if _, err := protocol.ParseMember(t.Owner); err != nil {
			return fmt.Errorf("owner: %w", err)
		}
	}
	return t.checkMetadata()
}

var errTaken = errors.New("id is taken")

// place writes t under the next free id. The id is reserved first: one whose
// file was never written, or was removed by hand, is not given again.
func (l *List) place(ctx context.Context, t Task) (Task, error) {
	for {
		high, err := l.high()
		if err != nil {
			return Task{}, err
		}
		t.ID = ID(strconv.FormatInt(high+1, 10))
		if !t.ID.valid() {
			return Task{}, fmt.Errorf("no id after %d", high)
		}
		if err := l.setHigh(high + 1); err != nil {
			return Task{}, err
		}
		data := t.AppendJSON(nil)
		err = atomicfile.Edit(ctx, l.path(t.ID), l.options(atomicfile.RankTask), func(v atomicfile.View) ([]atomicfile.Splice, error) {
			if v.Exists() {
				return nil, errTaken
			}
			return []atomicfile.Splice{{Insert: data}}, nil
		})
		if errors.Is(err, errTaken) { // by a program that does not lock
			continue
		}
		if err != nil {
			return Task{}, err
		}
		t, _, err = l.parse(t.ID, data)
		return t, err
	}
}

// Update edits one task under its own lock, and under the list's lock when dependencies change;
// then the other side of each link follows. Update may call fn again, so fn must have no other
// effect; an error of fn is returned and nothing is written. When fn changes nothing, nothing is
// written. The id cannot be changed. A *StateError refuses a new blocker that does not exist and a
// cycle.
func (l *List) Update(ctx context.Context, id ID, fn func(*Task) error) (Task, error) {
	t, err := l.edit(ctx, "update", id, func(t *Task) error {
		blocks, blockedBy := slices.Clone(t.Blocks), slices.Clone(t.BlockedBy)
		if err := fn(t); err != nil {
			return err
		}
		if !slices.Equal(blocks, t.Blocks) || !slices.Equal(blockedBy, t.BlockedBy) {
			return errLinks
		}
		return nil
	})
	if !errors.Is(err, errLinks) {
		return t, err
	}
	err = l.locked(ctx, "update", func() error {
		t, err = l.relink(ctx, id, fn)
		return err
	})
	return t, err
}

var errLinks = errors.New("links changed")

// change is what becomes of one side of a task's links.
type change struct{ add, drop []ID }

func difference(before, after []ID) change {
	return change{add: without(after, before), drop: without(before, after)}
}

// without is ids without those of others.
func without(ids, others []ID) []ID {
	return slices.DeleteFunc(slices.Clone(ids), func(id ID) bool { return slices.Contains(others, id) })
}

// relink is Update with changed dependencies. The caller holds the list's lock,
// so that no program that locks changes other links meanwhile.
func (l *List) relink(ctx context.Context, id ID, fn func(*Task) error) (Task, error) {
	g, err := l.graph(ctx, true)
	if err != nil {
		return Task{}, fmt.Errorf("task: update: %w", err)
	}
	now, err := l.Get(ctx, id)
	if err != nil {
		return Task{}, err
	}
	want := now
	want.Blocks, want.BlockedBy = slices.Clone(now.Blocks), slices.Clone(now.BlockedBy)
	if err := fn(&want); err != nil {
		return Task{}, err
	}
	blocks := difference(now.Blocks, unique(want.Blocks))
	blockedBy := difference(now.BlockedBy, unique(want.BlockedBy))
	if err := g.unlink(id, blocks.drop, blockedBy.drop).link(id, blocks.add, blockedBy.add); err != nil {
		return Task{}, err
	}
	var after Task
	err = l.mirror(ctx, id, blocks, blockedBy, func() (err error) {
		after, err = l.edit(ctx, "update", id, func(t *Task) error {
			had := *t
			had.Blocks, had.BlockedBy = slices.Clone(t.Blocks), slices.Clone(t.BlockedBy)
			if err := fn(t); err != nil {
				return err
			}
			t.Blocks = blocks.apply(had.Blocks)
			t.BlockedBy = blockedBy.apply(had.BlockedBy)
			return nil
		})
		return err
	})
	return after, err
}

func (c change) apply(ids []ID) []ID {
	return unique(append(without(ids, c.drop), c.add...))
}

func unique(ids []ID) []ID {
	var out []ID
	for _, id := range ids {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// mirror writes the other side of id's links, one file at a time: first the blockedBy of others,
// which decides what is blocked, then own, then the blocks of others. A deleted task has no other
// side.
func (l *List) mirror(ctx context.Context, id ID, blocks, blockedBy change, own func() error) error {
	each := func(others, drop []ID, at func(*Task) *[]ID) error {
		for _, other := range append(slices.Clone(others), drop...) {
			c := change{add: []ID{id}}
			if slices.Contains(drop, other) {
				c = change{drop: []ID{id}}
			}
			_, err := l.edit(ctx, "link", other, func(t *Task) error {
				if had := slices.Contains(*at(t), id); had != (len(c.add) > 0) {
					*at(t) = c.apply(*at(t))
				}
				return nil
			})
			if err != nil && !errors.As(err, new(*NotFoundError)) {
				return err
			}
		}
		return nil
	}
	if err := each(blocks.add, blocks.drop, func(t *Task) *[]ID { return &t.BlockedBy }); err != nil {
		return err
	}
	if own != nil {
		if err := own(); err != nil {
			return err
		}
	}
	return each(blockedBy.add, blockedBy.drop, func(t *Task) *[]ID { return &t.Blocks })
}

// graph is who waits for whom: the tasks that are there, each with its blockers.
type graph map[ID][]ID

// graph reads the links of the list's tasks. Without need it is empty. A file that cannot be read
// is left out: its links are unknown, and no new link to it is possible.
func (l *List) graph(ctx context.Context, need bool) (graph, error) {
	g := graph{}
	if !need {
		return g, nil
	}
	tasks, _, err := l.All(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		if t.Status != Deleted {
			g[t.ID] = append(g[t.ID], t.BlockedBy...)
		}
	}
	for _, t := range tasks {
		for _, other := range t.Blocks {
			if _, there := g[other]; there && t.Status != Deleted && !slices.Contains(g[other], t.ID) {
				g[other] = append(g[other], t.ID)
			}
		}
	}
	return g, nil
}

func (g graph) unlink(id ID, blocks, blockedBy []ID) graph {
	for _, other := range blocks {
		g[other] = without(g[other], []ID{id})
	}
	g[id] = without(g[id], blockedBy)
	return g
}

// link adds links, or refuses with a *StateError. An empty id is the new task.
func (g graph) link(id ID, blocks, blockedBy []ID) error {
	var unknown []ID
	for _, other := range slices.Concat(blocks, blockedBy) {
		if _, there := g[other]; !there && other != id {
			unknown = append(unknown, other)
		}
	}
	if len(unknown) > 0 {
		return &StateError{ID: id, Why: UnknownBlocker, Tasks: unique(unknown)}
	}
	add := func(from, blocker ID) error {
		if way := g.path(blocker, from); way != nil {
			return &StateError{ID: id, Why: Cycle, Tasks: slices.DeleteFunc(way, func(id ID) bool { return id == "" })}
		}
		g[from] = append(g[from], blocker)
		return nil
	}
	for _, other := range blocks {
		if err := add(other, id); err != nil {
			return err
		}
	}
	for _, other := range blockedBy {
		if err := add(id, other); err != nil {
			return err
		}
	}
	return nil
}

// path returns the tasks on a way from one to another along blockers, both
// included; nil when there is none.
func (g graph) path(from, to ID) []ID {
	came := map[ID]ID{from: from}
	queue := []ID{from}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at == to {
			way := []ID{at}
			for at != from {
				at = came[at]
				way = append(way, at)
			}
			slices.Reverse(way)
			return way
		}
		for _, next := range g[at] {
			if _, seen := came[next]; !seen {
				came[next] = at
				queue = append(queue, next)
			}
		}
	}
	return nil
}
