package task

import "slices"

// Branch is a task at its place in the forest of dependencies.
type Branch struct {
	Task    Task
	Waits   []ID   // its open blockers
	Last    []bool // one for each level below the roots: whether that level ends here
	Cyclic  bool   // its blockers wait for it: such a file was written by another program
	Missing []ID   // blockers that do not exist any more, which count as done
}

// Forest arranges tasks for people: each once, below the blocker with the highest id, so that a
// task is mostly below the tasks that it waits for. Tasks without blockers are roots, in order of
// id. Deleted tasks are left out.
func Forest(all []Task) []Branch {
	f := forest{at: map[ID]Task{}, below: map[ID][]ID{}, drawn: map[ID]bool{}}
	for _, t := range all {
		if t.Status != Deleted {
			f.at[t.ID] = t
			f.all = append(f.all, t)
		}
	}
	var roots []ID
	for _, t := range f.all {
		if p := f.parent(t); p != "" {
			f.below[p] = append(f.below[p], t.ID)
		} else {
			roots = append(roots, t.ID)
		}
	}
	for _, id := range roots {
		f.draw(id, nil, false)
	}
	for _, t := range f.all { // the rest are tasks in a cycle
		if !f.drawn[t.ID] {
			f.draw(t.ID, nil, true)
		}
	}
	return f.out
}

type forest struct {
	all   []Task
	at    map[ID]Task
	below map[ID][]ID
	drawn map[ID]bool
	out   []Branch
}

// parent is the blocker of t with the highest id, "" when there is none.
func (f *forest) parent(t Task) ID {
	var p ID
	for _, b := range t.BlockedBy {
		if _, there := f.at[b]; there && b != t.ID && b.number() > p.number() {
			p = b
		}
	}
	return p
}

func (f *forest) draw(id ID, last []bool, cyclic bool) {
	f.drawn[id] = true
	t := f.at[id]
	b := Branch{Task: t, Waits: Blocked(t, f.all), Last: last, Cyclic: cyclic}
	for _, by := range t.BlockedBy {
		if _, there := f.at[by]; !there && !slices.Contains(b.Missing, by) {
			b.Missing = append(b.Missing, by)
		}
	}
	f.out = append(f.out, b)
	below := slices.DeleteFunc(slices.Clone(f.below[id]), func(c ID) bool { return f.drawn[c] })
	for i, c := range below {
		f.draw(c, append(slices.Clone(last), i == len(below)-1), false)
	}
}
