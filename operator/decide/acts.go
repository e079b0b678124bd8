package decide

import (
	"cmp"
	"errors"
	"slices"

	"waggle/control"
	"waggle/journal"
	"waggle/operator"
	"waggle/policy"
	"waggle/record"
)

// act is what the leader's journal has of one command of the operator: its answers, the versions of the policy that it
// made, or the mode that it set.
type act struct {
	last     journal.Record // the newest record of it
	answers  []record.Key
	versions []*version // oldest first
	mode     *modeSet
}

// version is a version of the policy, the one before it, and the answer with which it was made.
type version struct {
	record.PolicySet
	r      journal.Record
	before *record.PolicySet
	with   record.Key // zero: none
}

// modeSet is a mode that the operator gave a member, and the one that it had of its own before; "": none.
type modeSet struct {
	record.Commanded
	before policy.Mode
}

// acts reads the acts of a team from the records of its leader's journal, in their order.
type acts struct {
	list   []*act
	byKey  map[record.Key]*act
	undone map[uint64]bool // versions of policies and modes that were taken back

	now    *act // to which the next record of the same append belongs
	last   journal.Record
	policy *record.PolicySet
	modes  map[record.Instance]policy.Mode
	failed error
}

// of is the act of a record: that of the record before it, where one append wrote both.
func (x *acts) of(r journal.Record) *act {
	together := x.now != nil && x.last.Seq+1 == r.Seq && x.last.Time.Equal(r.Time) && x.last.Writer == r.Writer
	if !together {
		x.now = &act{}
		x.list = append(x.list, x.now)
	}
	x.now.last = r
	return x.now
}

// Apply implements journal.Fold.
func (x *acts) Apply(r journal.Record) error {
	switch {
	case !r.Writer.Operator:
		x.now = nil
	case r.Kind == record.KindDecided:
		take(x, r, x.decided)
	case r.Kind == record.KindPolicy:
		take(x, r, x.version)
	case r.Kind == record.KindCommanded:
		take(x, r, x.commanded)
	}
	x.last = r
	return nil
}

// take reads the body of a record. What cannot be read fails the whole: the newest act is not known then.
func take[T any](x *acts, r journal.Record, fn func(journal.Record, T)) {
	b, err := record.Body[T](r)
	if err != nil {
		x.failed = errors.Join(x.failed, err)
		return
	}
	fn(r, b)
}

func (x *acts) decided(r journal.Record, b record.Decided) {
	if b.By != policy.RoleOperator {
		return
	}
	var a *act
	if b.First != nil {
		a = x.byKey[*b.First]
	}
	if a == nil {
		a = x.of(r)
	}
	x.now, a.last = a, r
	a.answers, x.byKey[b.Key] = append(a.answers, b.Key), a
}

func (x *acts) version(r journal.Record, b record.PolicySet) {
	a, v := x.of(r), &version{PolicySet: b, r: r, before: x.policy}
	if n := len(a.answers); n > 0 {
		v.with = a.answers[n-1]
	}
	a.versions, x.policy = append(a.versions, v), &v.PolicySet
	for _, n := range b.Undoes {
		x.undone[n] = true
	}
}

func (x *acts) commanded(r journal.Record, b record.Commanded) {
	if b.What != record.CommandMode {
		return // the news of a version go with it
	}
	m := &modeSet{b, x.modes[b.Instance]}
	x.modes[b.Instance] = b.Mode
	x.undone[b.Undoes] = true
	if b.By == policy.RoleOperator {
		x.of(r).mode = m
	}
}

// actsOf reads the acts of a team that were not taken back and have changed something, oldest first; with one, only the
// answer to that request and what was made with it.
func actsOf(s *operator.State, one *control.Request) ([]*act, error) {
	x := &acts{byKey: map[record.Key]*act{}, undone: map[uint64]bool{}, modes: map[record.Instance]policy.Mode{}}
	if _, err := s.Dir.OpenJournal(journal.Leader, x, s.JournalOptions); err != nil || x.failed != nil {
		return nil, errors.Join(err, x.failed)
	}
	for _, a := range x.list {
		a.answers = slices.DeleteFunc(a.answers, func(k record.Key) bool {
			r, ok := s.Lead.Request(k)
			return !ok || r.Order == nil || r.Order.TakenBack || one != nil && k != one.Key
		})
		a.versions = slices.DeleteFunc(a.versions, func(v *version) bool {
			return len(v.Undoes) > 0 || v.before == nil || x.undone[v.Policy.Version] || one != nil && v.with != one.Key || len(v.changes(s)) == 0
		})
		if m := a.mode; m != nil && (m.Undoes > 0 || x.undone[m.Version] || one != nil || len(m.changes(s)) == 0) {
			a.mode = nil
		}
	}
	list := slices.DeleteFunc(x.list, func(a *act) bool { return len(a.answers)+len(a.versions) == 0 && a.mode == nil })
	slices.SortStableFunc(list, func(a, b *act) int { return cmp.Compare(a.last.Seq, b.last.Seq) })
	return list, nil
}

// restored is the mode of the member without this one.
func (m *modeSet) restored(s *operator.State) policy.Mode {
	return ModeName(cmp.Or(m.before, s.Lead.Policy.Policy.Mode))
}

// changes says what a mode has changed; nothing, where the member is gone or has the same mode without it.
func (m *modeSet) changes(s *operator.State) []ActChange {
	member, ok := s.Lead.ByInstance(m.Instance)
	if is, was := ModeName(m.Mode), m.restored(s); ok && member.Left == nil && is != was {
		return []ActChange{{"mode " + string(is) + " for " + string(member.Name), true}, {"mode " + string(was) + " for " + string(member.Name), false}}
	}
	return nil
}

// changes says what a version of the policy has changed in rules, hosts and modes, other than what had ended.
func (v version) changes(s *operator.State) (cs []ActChange) {
	gone := func(i record.Instance) bool {
		m, ok := s.Lead.ByInstance(i)
		return ok && m.Left != nil
	}
	was, is := rulesOf(s, v.before.Pruned(gone, v.r.Time)), rulesOf(s, v.Pruned(gone, v.r.Time))
	for _, r := range is {
		if !slices.Contains(was, r) {
			cs = append(cs, ActChange{r, true})
		}
	}
	for _, r := range was {
		if !slices.Contains(is, r) {
			cs = append(cs, ActChange{r, false})
		}
	}
	return cs
}
