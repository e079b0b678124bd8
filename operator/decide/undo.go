package decide

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle"
	"waggle/control"
	"waggle/internal/jsonobj"
	"waggle/internal/session"
	"waggle/journal"
	"waggle/operator"
	"waggle/policy"
	"waggle/record"
)

// Act is what one command of the operator decided in a team: answers, changes of its policy, or an answer with the
// rule that was made with it.
type Act struct {
	Team waggle.TeamName // SessionTeam: a rule for sessions, or an answer to one
	At   time.Time
	// Answers are the requests that it answered and that were not taken back since.
	Answers []ActAnswer
	// Changes are what it changed in the policy: "allow Bash(npm test)".
	Changes []ActChange
	// Ran are calls that a rule of it allowed and that have started: nothing undoes them.
	Ran []string
	// Late are the reasons why an answer of it cannot be taken back.
	Late []string

	of       string // the handle that a person named; "": the newest
	mode     *modeSet
	keys     []record.Key
	versions []*version // of its changes, oldest first
	rules    []session.Rule
}

// ActAnswer is an answer of an Act.
type ActAnswer struct {
	Handle   string
	Member   string
	Decision string
	What     string
}

// ActChange is a rule, an answer about a host, or a setting that an Act has made or removed.
type ActChange struct {
	Rule  string
	Added bool // false: it was removed, and holds again
}

// Spent reports that nothing of an act can be taken back.
func (a *Act) Spent() bool { return len(a.Answers)+len(a.Changes) == 0 }

// LastAct finds the newest decision of the operator in these teams and, with sessions, about sessions, that was not
// taken back; with of, the answer to the request with this handle. It changes nothing. The error is a NotFound where
// there is none.
func (o Operator) LastAct(ctx context.Context, names []waggle.TeamName, sessions bool, of string) (last *Act, err error) {
	for _, name := range names {
		s, err := o.State(ctx, name)
		if s == nil && err == nil {
			continue // another program leads it: nothing is decided there
		}
		if operator.Broken(err) {
			return nil, operator.Unreadable("undo", name, err)
		}
		if err != nil {
			return nil, err
		}
		a, err := lastAct(s, of)
		if err != nil {
			return nil, err
		}
		if a != nil && (last == nil || a.At.After(last.At)) {
			last = a
		}
	}
	if sessions && of == "" {
		a, err := o.lastOfSessions()
		if err != nil {
			return nil, err
		}
		if a != nil && (last == nil || a.At.After(last.At)) {
			last = a
		}
	}
	if last == nil && of != "" {
		return nil, &control.UnknownRequestError{ID: waggle.RequestID(of)}
	}
	if last == nil {
		return nil, &operator.Error{Kind: operator.NotFound, Op: "undo", Msg: "there is no answer and no rule of yours that was not taken back"}
	}
	return last, nil
}

// decision is a record of an answer of the operator.
type decision struct {
	record.Decided
	r journal.Record
}

// version is a record of a policy, and the policy before it; nil: it is the first.
type version struct {
	record.PolicySet
	r      journal.Record
	before *record.PolicySet
}

// modeSet is a record of a mode that the operator gave a member, and the one that it had of its own before; "": none.
type modeSet struct {
	record.Commanded
	r      journal.Record
	before policy.Mode
}

// together reports whether two records were written by one append, the second right after the first.
func together(a, b journal.Record) bool {
	return a.Seq+1 == b.Seq && a.Time.Equal(b.Time) && a.Writer == b.Writer
}

// lastAct is LastAct of one team; nil: there is none.
func lastAct(s *operator.State, of string) (*Act, error) {
	var answers []decision
	var versions []*version
	var modes []*modeSet
	own := map[record.Instance]policy.Mode{}
	undone := map[uint64]bool{}
	var failed error
	take := func(r journal.Record) {
		switch r.Kind {
		case record.KindDecided:
			d := decision{r: r}
			failed = errors.Join(failed, json.Unmarshal(r.Body, &d.Decided))
			if d.By == policy.RoleOperator && r.Writer.Operator && !s.Lead.TakenBack(d.Key) {
				answers = append(answers, d)
			}
		case record.KindCommanded:
			m := &modeSet{r: r}
			failed = errors.Join(failed, json.Unmarshal(r.Body, &m.Commanded))
			if m.What == record.CommandMode {
				m.before, own[m.Instance] = own[m.Instance], m.Mode
				modes, undone[m.Undoes] = append(modes, m), true
			}
		case record.KindPolicy:
			v := &version{r: r}
			failed = errors.Join(failed, json.Unmarshal(r.Body, &v.PolicySet))
			if n := len(versions); n > 0 {
				v.before = &versions[n-1].PolicySet
			}
			versions = append(versions, v)
			for _, of := range v.Undoes {
				undone[of] = true
			}
		}
	}
	if _, err := s.Dir.OpenJournal(journal.Leader, operator.Recorder(take), s.JournalOptions); err != nil || failed != nil {
		return nil, errors.Join(err, failed)
	}
	answers = slices.DeleteFunc(answers, func(d decision) bool { // of one id, the one that counts
		r, ok := s.Lead.Request(d.Key)
		return !ok || r.Order == nil || r.Order.Seq != d.r.Seq
	})
	versions = slices.DeleteFunc(versions, func(v *version) bool {
		return len(v.Undoes) > 0 || v.before == nil || undone[v.Policy.Version] || len(v.changes(s)) == 0
	})
	modes = slices.DeleteFunc(modes, func(m *modeSet) bool {
		member, ok := s.Lead.ByInstance(m.Instance)
		return m.Undoes > 0 || undone[m.Version] || m.By != policy.RoleOperator || !m.r.Writer.Operator || !ok || member.Left != nil
	})
	if of != "" {
		req, err := findRequest(s.Lead, of, "")
		answers = slices.DeleteFunc(answers, func(d decision) bool { return err != nil || d.Key != req.Key })
		if modes = nil; len(answers) == 0 {
			return nil, nil
		}
	}
	with := func(v *version) *decision { // the answer that it was made with
		for i := range answers {
			if together(answers[i].r, v.r) {
				return &answers[i]
			}
		}
		return nil
	}
	a := &Act{Team: s.Team, of: of}
	var answer *decision
	if n := len(answers); n > 0 {
		answer = &answers[n-1]
	}
	if n := len(versions); n > 0 && of == "" && (answer == nil || versions[n-1].r.Seq > answer.r.Seq) {
		if answer = with(versions[n-1]); answer == nil {
			a.versions = versions[n-1:]
		}
	}
	if n := len(modes); n > 0 && (answer == nil || modes[n-1].r.Seq > answer.r.Seq) && (a.versions == nil || modes[n-1].r.Seq > a.versions[0].r.Seq) {
		a.mode, a.versions = modes[n-1], nil
		a.At = a.mode.r.Time
		a.Changes = a.mode.changes(s)
		return a, nil
	}
	switch {
	case answer == nil && a.versions == nil:
		return nil, nil
	case answer != nil:
		a.At = answer.r.Time
		batch := batchOf(answers, *answer)
		for _, d := range batch {
			a.keys = append(a.keys, d.Key)
		}
		a.versions = slices.DeleteFunc(versions, func(v *version) bool {
			d := with(v)
			return d == nil || !slices.ContainsFunc(batch, func(b decision) bool { return b.Key == d.Key })
		})
	default:
		a.At = a.versions[0].r.Time
	}
	for _, v := range a.versions {
		a.Changes = append(a.Changes, v.changes(s)...)
	}
	return a, a.look(s)
}

// batchOf are the answers that one command gave with this one: those that name the same first one, and those that it
// decided with them in one append.
func batchOf(all []decision, of decision) (batch []decision) {
	first := of.Key
	if of.First != nil {
		first = *of.First
	}
	for i, d := range all {
		same := d.Key == of.Key || d.Key == first || d.First != nil && *d.First == first
		same = same || i+1 < len(all) && together(d.r, all[i+1].r) && (all[i+1].Key == of.Key || all[i+1].Key == first)
		same = same || i > 0 && together(all[i-1].r, d.r) && slices.ContainsFunc(batch, func(b decision) bool { return b.Key == all[i-1].Key })
		if same {
			batch = append(batch, d)
		}
	}
	return batch
}

// look fills in what of an act can be taken back, and what it has started.
func (a *Act) look(s *operator.State) error {
	var open []record.Key
	for _, k := range a.keys {
		r, _ := s.Lead.Request(k)
		m, _ := s.Lead.ByInstance(k.Instance)
		w, err := s.Worker(k.Instance)
		if err != nil {
			return fmt.Errorf("journal of %s: %w", m.Name, err)
		}
		if _, err := s.Lead.TakeBack(r, w); err != nil {
			a.Late = append(a.Late, err.Error())
			continue
		}
		open = append(open, k)
		a.Answers = append(a.Answers, ActAnswer{Handle: r.Handle, Member: string(m.Name), Decision: r.Decided.Decision, What: Brief(r.Kind, r.Ask)})
	}
	a.keys = open
	for _, c := range a.Changes { // of versions
		if !c.Added {
			continue
		}
		for _, m := range s.Lead.Members {
			w, err := s.Worker(m.Instance)
			if err != nil {
				continue // what it ran is not known: its journal is broken
			}
			for _, call := range w.Calls {
				if call.Started && call.Answer.By == policy.RoleRules && call.Answer.Policy >= a.versions[0].Policy.Version && strings.HasPrefix(c.Rule+" ", call.Answer.Rule+" ") {
					a.Ran = append(a.Ran, fmt.Sprintf("%s: %s", m.Name, Brief(call.Kind, call.Run())))
				}
			}
		}
	}
	return nil
}

// lastOfSessions is the newest rule for sessions, or answer to one; nil: there is none.
func (o Operator) lastOfSessions() (*Act, error) {
	var a *Act
	rules, err := o.sessionStore().Rules()
	if err != nil {
		return nil, err
	}
	for _, r := range rules.Rules {
		if a == nil || !r.At.Before(a.At) {
			a = &Act{Team: SessionTeam, At: r.At, Changes: []ActChange{{effectOf(r.Deny) + " " + r.Rule.String(), true}}, rules: []session.Rule{r}}
		}
	}
	all, problems := o.sessionStore().All()
	for _, s := range all {
		for _, q := range s.Requests() {
			if d := q.Decided; d != nil && d.By == policy.RoleOperator && (a == nil || q.DecAt.After(a.At)) {
				a = &Act{Team: SessionTeam, At: q.DecAt, Late: []string{fmt.Sprintf("too late: the session has the answer to %s", q.Handle)}}
			}
		}
	}
	return a, errors.Join(problems...)
}

// Undo takes an act back that LastAct has found, as far as nothing has started by it: what started meanwhile is then
// in Late, and not taken back.
func (o Operator) Undo(ctx context.Context, a *Act) (*Act, error) {
	if a.Team == SessionTeam {
		for _, r := range a.rules {
			if _, err := o.RemoveSessionRule(ctx, r.Rule, r.Deny); err != nil {
				return nil, err
			}
		}
		return a, nil
	}
	s, err := o.OpenToAct(ctx, a.Team, "undo")
	if err != nil {
		return nil, err
	}
	now, err := lastAct(s, a.of)
	if err != nil {
		return nil, err
	}
	if now == nil || !now.At.Equal(a.At) {
		return nil, &operator.Error{Kind: operator.Refused, Op: "undo", Msg: "something else was decided meanwhile", Next: operator.NextUndoPlan.With()}
	}
	if err := o.takeBack(ctx, s, now); err != nil {
		return nil, err
	}
	if now.mode != nil {
		return now, o.undoMode(ctx, s, now.mode)
	}
	if len(now.versions) == 0 {
		return now, nil
	}
	_, err = o.changeOpen(ctx, s, func(_ *operator.State, p *record.PolicySet) error {
		for _, v := range slices.Backward(now.versions) {
			p.Undoes = append(p.Undoes, v.Policy.Version)
			inverse(p, *v.before, v.PolicySet)
		}
		return nil
	})
	return now, err
}

// undoMode gives a member the mode that it had before, of its own or else the team's.
func (o Operator) undoMode(ctx context.Context, s *operator.State, was *modeSet) error {
	mint, err := o.Minter.Mint()
	if err != nil {
		return err
	}
	_, err = s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		m, _ := s.Lead.ByInstance(was.Instance)
		ds, err := s.Lead.SetMode(m, was.restored(s), policy.RoleOperator, o.Writer(), mint)
		for i := range ds {
			if b, ok := ds[i].Body.(record.Commanded); ok {
				b.Undoes = was.Version
				ds[i].Body = b
			}
		}
		return ds, err
	})
	if err != nil {
		return err
	}
	_, err = o.heard(ctx, s, true)
	return err
}

// restored is the mode of the member without this one.
func (m *modeSet) restored(s *operator.State) policy.Mode {
	return ModeName(cmp.Or(m.before, s.Lead.Policy.Policy.Mode))
}

// changes says what a mode has changed.
func (m *modeSet) changes(s *operator.State) []ActChange {
	of := " for " + scopeName(s, m.Instance)
	return []ActChange{{"mode " + string(ModeName(m.Mode)) + of, true}, {"mode " + string(m.restored(s)) + of, false}}
}

// takeBack takes the answers of an act back. What a member started before it could know that is Late.
func (o Operator) takeBack(ctx context.Context, s *operator.State, a *Act) error {
	var answers []ActAnswer
	for i, k := range a.keys {
		_, err := s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
			r, _ := s.Lead.Request(k)
			w, err := s.Worker(k.Instance)
			if err != nil {
				return nil, err
			}
			return s.Lead.TakeBack(r, w)
		})
		if late, ok := errors.AsType[*control.RefusedError](err); ok {
			a.Late = append(a.Late, late.Why)
			continue
		}
		if err != nil {
			return err
		}
		r, _ := s.Lead.Request(k)
		w, err := s.Worker(k.Instance) // read after the record: a member reads that before it starts anything
		if err != nil {
			return err
		}
		if why := control.SpentBy(r, w); why != "" {
			a.Late = append(a.Late, "too late: "+why)
			continue
		}
		answers = append(answers, a.Answers[i])
	}
	a.Answers = answers
	_, err := o.Pass(ctx, s)
	return err
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

// rulesOf spells everything in a policy that a person sets.
func rulesOf(s *operator.State, p record.PolicySet) (rules []string) {
	of := func(i record.Instance, until *time.Time) (text string) {
		if i != "" {
			text = " for " + scopeName(s, i)
		}
		if until != nil {
			text += " until " + until.UTC().Format(time.RFC3339)
		}
		return text
	}
	for _, r := range p.Policy.Allow {
		rules = append(rules, "allow "+r.String())
	}
	for _, r := range p.Policy.Deny {
		rules = append(rules, "deny "+r.String())
	}
	for _, r := range p.Rules {
		rules = append(rules, effectOf(r.Deny)+" "+r.Rule.String()+of(r.Instance, r.Until))
	}
	for _, g := range p.Hosts {
		rules = append(rules, effectOf(g.Deny)+" "+g.String()+of(g.Instance, g.Until))
	}
	if p.Sandboxed {
		rules = append(rules, "sandboxed allow")
	}
	return append(rules, "mode "+string(ModeName(p.Policy.Mode)))
}

// inverse takes out of a policy what the step from before to after has put in, and puts back what that has taken out.
func inverse(p *record.PolicySet, before, after record.PolicySet) {
	p.Policy.Allow = inverseList(p.Policy.Allow, before.Policy.Allow, after.Policy.Allow)
	p.Policy.Deny = inverseList(p.Policy.Deny, before.Policy.Deny, after.Policy.Deny)
	p.Rules = inverseList(p.Rules, before.Rules, after.Rules)
	p.Hosts = inverseList(p.Hosts, before.Hosts, after.Hosts)
	if before.Sandboxed != after.Sandboxed && p.Sandboxed == after.Sandboxed {
		p.Sandboxed = before.Sandboxed
	}
	if before.Policy.Mode != after.Policy.Mode && p.Policy.Mode == after.Policy.Mode {
		p.Policy.Mode = before.Policy.Mode
	}
}

// inverseList is inverse of one list.
func inverseList[T any](now, before, after []T) []T {
	in := func(list []T, x T) bool {
		return slices.ContainsFunc(list, func(y T) bool { return sameText(x, y) })
	}
	out := slices.DeleteFunc(slices.Clone(now), func(x T) bool { return in(after, x) && !in(before, x) })
	for _, x := range before {
		if !in(after, x) && !in(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// sameText reports whether two parts of a policy are recorded in the same way.
func sameText[T any](x, y T) bool {
	a, aerr := jsonobj.Marshal(x)
	b, berr := jsonobj.Marshal(y)
	return aerr == nil && berr == nil && string(a) == string(b)
}
