package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle/control"
	"waggle/internal/claude/session"
	"waggle/internal/json/jsonobj"
	"waggle/journal"
	"waggle/operator"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Act is what one command of the operator decided in a team: answers, changes of its policy, or an answer with the
// rule that was made with it.
type Act struct {
	Team protocol.TeamName `json:"team"` // SessionTeam: a rule for sessions, or an answer to one
	At   time.Time         `json:"at"`
	// Answers are the requests that it answered and that were not taken back since.
	Answers []ActAnswer `json:"answers"`
	// Changes are what it changed in the policy: "allow Bash(npm test)".
	Changes []ActChange `json:"changes"`
	// Late are the reasons why an answer of it cannot be taken back.
	Late []string `json:"late"`
	// Ran are calls that a rule of it allowed and that have started: nothing undoes them.
	Ran []string `json:"ran"`

	of   string       // the handle that a person named; "": the newest
	act  *act         // of a team, with the answers that can be taken back
	rule session.Rule // for sessions
}

// ActAnswer is an answer of an Act.
type ActAnswer struct {
	Handle   string `json:"handle"`
	Member   string `json:"member"`
	Decision string `json:"decision"`
	What     string `json:"what"`
}

// ActChange is a rule, an answer about a host, or a setting that an Act has made or removed.
type ActChange struct {
	Rule  string `json:"rule"`
	Added bool   `json:"added"` // false: it was removed, and holds again
}

// Spent reports that nothing of an act can be taken back.
func (a *Act) Spent() bool { return len(a.Answers)+len(a.Changes) == 0 }

// LastAct finds the newest decision of the operator in these teams and, with sessions, about sessions, that was not
// taken back; with of, the answer to the request with this handle. It changes nothing. The error is a NotFound where
// there is none.
func (o Operator) LastAct(ctx context.Context, names []protocol.TeamName, sessions bool, of string) (last *Act, err error) {
	newer := func(a *Act) {
		if a != nil && (last == nil || a.At.After(last.At)) {
			last = a
		}
	}
	for _, name := range names {
		s, err := o.Open(ctx, name, operator.Act)
		if operator.Unled(err) {
			continue // another program leads it: nothing is decided there
		}
		if err != nil {
			return nil, err
		}
		a, err := lastAct(s, of)
		if err != nil {
			return nil, err
		}
		newer(a)
	}
	if sessions && of == "" {
		a, err := o.lastOfSessions()
		if err != nil {
			return nil, err
		}
		newer(a)
	}
	if last == nil && of != "" {
		return nil, unknown(of)
	}
	if last == nil {
		return nil, &operator.Error{Kind: operator.NotFound, Op: "undo", Msg: "there is no answer and no rule of yours that was not taken back"}
	}
	return last, nil
}

// lastAct is LastAct of one team; nil: there is none.
func lastAct(s *operator.State, of string) (*Act, error) {
	var one *control.Request
	if of != "" {
		var err error
		if one, err = findRequest(s.Lead, of, ""); err != nil {
			return nil, nil // of another team, if of any
		}
	}
	list, err := actsOf(s, one)
	if len(list) == 0 || err != nil {
		return nil, err
	}
	newest := list[len(list)-1]
	a := &Act{Team: s.Team, At: newest.last.Time, of: of, act: newest}
	for _, v := range newest.versions {
		a.Changes = append(a.Changes, v.changes(s)...)
	}
	if newest.mode != nil {
		a.Changes = newest.mode.changes(s)
	}
	return a, a.look(s)
}

// look fills in which answers of an act can be taken back, and what its rules have let run.
func (a *Act) look(s *operator.State) error {
	var open []record.Key
	for _, k := range a.act.answers {
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
	a.act.answers = open
	if len(a.act.versions) == 0 {
		return nil
	}
	for _, m := range s.Lead.Members {
		w, err := s.Worker(m.Instance)
		if err != nil {
			continue // what it ran is not known: its journal is broken
		}
		for _, c := range w.Calls {
			if a.let(c) {
				a.Ran = append(a.Ran, fmt.Sprintf("%s: %s", m.Name, Brief(c.Kind, c.Run())))
			}
		}
	}
	return nil
}

// let reports whether a rule that an act has made let a call run.
func (a *Act) let(c *control.Call) bool {
	return c.Started && c.Answer.By == policy.RoleRules && c.Answer.Policy >= a.act.versions[0].Policy.Version &&
		slices.ContainsFunc(a.Changes, func(ch ActChange) bool { return ch.Added && strings.HasPrefix(ch.Rule+" ", c.Answer.Rule+" ") })
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
			a = &Act{Team: SessionTeam, At: r.At, Changes: []ActChange{{effectOf(r.Deny) + " " + r.Rule.String(), true}}, rule: r}
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
		_, err := o.RemoveSessionRule(ctx, a.rule.Rule, a.rule.Deny)
		return a, err
	}
	s, err := o.Open(ctx, a.Team, operator.Lead("undo"))
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
	switch {
	case now.act.mode != nil:
		was := now.act.mode
		if _, err := o.OrderMode(ctx, s, was.Instance, was.restored(s), was.Version); err != nil {
			return now, err
		}
		_, err = o.heard(ctx, s, true)
		return now, err
	case len(now.act.versions) == 0:
		return now, nil
	}
	_, err = o.changeOpen(ctx, s, func(_ *operator.State, p *record.PolicySet) error {
		for _, v := range slices.Backward(now.act.versions) {
			p.Undoes = append(p.Undoes, v.Policy.Version)
			inverse(p, *v.before, v.PolicySet)
		}
		return nil
	})
	return now, err
}

// takeBack takes the answers of an act back. What a member started before it could know that is Late.
func (o Operator) takeBack(ctx context.Context, s *operator.State, a *Act) error {
	var answers []ActAnswer
	for i, k := range a.act.answers {
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
	for _, r := range allRules(p) {
		rules = append(rules, ruleName(r)+of(r.Instance, r.Until))
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
