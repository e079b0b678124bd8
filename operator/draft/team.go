package draft

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/claude"
	"waggle/internal/fs/realpath"
	"waggle/operator"
	"waggle/operator/teamfile"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Team is the team file that a team that is up amounts to: its present members with their tasks,
// and the policy as it is now. What the accepted file says beside that stays as it is; without a word
// of it about worktrees and the check of a merge, the file has those that were accepted for new members
// last (record.Preparation). dir is the directory of the file.
func Team(s *operator.State, accepted *teamfile.File, dir string) (string, error) {
	old := yaml.MapSlice{}
	if accepted != nil {
		var err error
		if old, err = accepted.Mapping(); err != nil {
			return "", err
		}
	}
	w := writing{s: s, dir: dir, old: old, names: map[protocol.MemberName]bool{}}
	doc := yaml.MapSlice{{Key: "team", Value: string(s.Team)}}
	for _, key := range []string{"description", "metadata"} {
		doc = append(doc, w.kept(key)...)
	}
	doc = append(doc, yaml.MapItem{Key: "lead", Value: w.lead()}, yaml.MapItem{Key: "decide", Value: w.decide()}, yaml.MapItem{Key: "policy", Value: w.policy()})
	for _, key := range []string{"lead_policy", "deadline", "layout", "sandbox"} {
		doc = append(doc, w.kept(key)...)
	}
	doc = bounded(doc, w.budgets().Team)
	doc = append(doc, w.check()...)
	doc = append(doc, w.worktree()...)
	members, err := w.members()
	if err != nil {
		return "", err
	}
	doc = append(doc, yaml.MapItem{Key: "members", Value: members})
	tasks := w.tasks()
	doc = with(doc, "tasks", tasks, len(tasks) > 0)
	var b bytes.Buffer
	fmt.Fprintf(&b, "# What team %s amounts to.\n", s.Team)
	w.otherChecks(&b, value(doc, "check"))
	err = yaml.NewEncoder(&b, yaml.UseLiteralStyleIfMultiline(true), yaml.IndentSequence(true)).Encode(doc)
	return b.String(), err
}

// writing is one team file that is written.
type writing struct {
	s     *operator.State
	dir   string
	old   yaml.MapSlice
	names map[protocol.MemberName]bool // the members of the file
	all   *record.Preparation          // worktree: of the file where it is not the accepted file's; nil: none
}

// value is that of a key of a mapping, nil without it.
func value(m yaml.MapSlice, key string) any {
	i := slices.IndexFunc(m, func(i yaml.MapItem) bool { return i.Key == key })
	if i < 0 {
		return nil
	}
	return m[i].Value
}

// kept is a key of the accepted file as it stands there.
func (w *writing) kept(key string) yaml.MapSlice {
	v := value(w.old, key)
	return with(nil, key, v, v != nil)
}

// check is what must succeed before work is merged.
func (w *writing) check() yaml.MapSlice {
	if kept := w.kept("check"); kept != nil {
		return kept
	}
	p := w.preparation(func(p *record.Preparation) bool { return p.Check != "" })
	if p == nil {
		return nil
	}
	all := &record.Check{Command: p.Check, Returns: record.CheckReturns}
	for _, m := range w.s.Lead.Members {
		if k := m.Joined.Check; k != nil && m.Prepare == p {
			all = k
		}
	}
	return yaml.MapSlice{{Key: "check", Value: checkValue(all)}}
}

// otherChecks names the members whose work has another check than that of the file, which has one.
func (w *writing) otherChecks(to io.Writer, check any) {
	for _, m := range w.s.Lead.Live() {
		if m.Prepare != nil && m.Prepare.Check != "" && m.Prepare.Check != checkText(check) {
			fmt.Fprintf(to, "# The check of %s was another: %q\n", m.Name, m.Prepare.Check)
		}
	}
}

// worktree is what the worktrees of all members get. Members of the accepted file, which says nothing
// about it, stay without.
func (w *writing) worktree() yaml.MapSlice {
	if kept := w.kept("worktree"); kept != nil {
		return kept
	}
	if old, _ := value(w.old, "members").([]any); len(old) > 0 {
		return nil
	}
	w.all = w.preparation(func(p *record.Preparation) bool { return len(p.Copy)+len(p.Link)+len(p.Setup) > 0 })
	if w.all == nil {
		return nil
	}
	return yaml.MapSlice{{Key: "worktree", Value: mapping(w.all)}}
}

// preparation is the last one that was accepted from another file than the team's and that has
// something, also of a member that has left.
func (w *writing) preparation(has func(*record.Preparation) bool) *record.Preparation {
	for _, m := range slices.Backward(w.s.Lead.Members) {
		if p := m.Prepare; p != nil && p.File != "" && has(p) {
			return p
		}
	}
	return nil
}

// budgets are those of the team as they are now, without what was raised of them for a time.
func (w *writing) budgets() (b record.Budgets) {
	if set := w.s.Lead.Budgets(); set != nil {
		b = *set
	}
	return b
}

// ofMember is a member with its budget.
func (w *writing) ofMember(m yaml.MapSlice, name protocol.MemberName) yaml.MapSlice {
	if l, ok := w.budgets().Members[name]; ok {
		return bounded(m, &l)
	}
	return bounded(m, nil)
}

// bounded is a mapping with a budget in place of its own; nil: without one.
func bounded(y yaml.MapSlice, l *record.Limit) yaml.MapSlice {
	y = slices.Clone(y)
	at := slices.IndexFunc(y, func(i yaml.MapItem) bool { return i.Key == "budget" })
	switch {
	case l == nil && at < 0:
		return y
	case l == nil:
		return slices.Delete(y, at, at+1)
	case at < 0:
		at, y = len(y), append(y, yaml.MapItem{Key: "budget"})
	}
	part := l.CostMicros%1e6 != 0
	b := with(yaml.MapSlice{}, "usd", float64(l.CostMicros)/1e6, part)
	b = with(b, "usd", l.CostMicros/1e6, !part && l.CostMicros > 0)
	b = with(b, "tokens", l.Tokens, l.Tokens > 0)
	y[at].Value = with(b, "turns", l.Turns, l.Turns > 0)
	return y
}

// with is a mapping with a further key, where that says something.
func with(y yaml.MapSlice, key string, v any, says bool) yaml.MapSlice {
	if !says {
		return y
	}
	return append(y, yaml.MapItem{Key: key, Value: v})
}

func (w *writing) lead() any {
	switch v := value(w.old, "lead").(type) {
	case nil:
		return "operator"
	case yaml.MapSlice:
		return w.ofMember(v, protocol.Lead)
	default:
		return v
	}
}

func (w *writing) decide() yaml.MapSlice {
	d := yaml.MapSlice{}
	for _, g := range []policy.Gate{policy.GateTool, policy.GatePlan, policy.GateNetwork, policy.GateQuestion} {
		by := w.s.Lead.Policy.Decide[g]
		d = with(d, string(g), string(by), by != "")
	}
	return d
}

func (w *writing) policy() yaml.MapSlice {
	now := w.s.Lead.Policy
	p := yaml.MapSlice{{Key: "mode", Value: string(now.Policy.Mode)}}
	for _, l := range []struct {
		key   string
		rules []policy.Rule
	}{{"allow", now.Policy.Allow}, {"deny", now.Policy.Deny}} {
		var texts []string
		for _, r := range l.rules {
			texts = append(texts, r.String())
		}
		p = with(p, l.key, texts, len(texts) > 0)
	}
	return with(p, "sandboxed", "allow", now.Sandboxed)
}

// members are those of the accepted file that are present or lead, as they stand there, and those
// that came later.
func (w *writing) members() ([]any, error) {
	list := []any{}
	old, _ := value(w.old, "members").([]any)
	for _, v := range old {
		m, ok := v.(yaml.MapSlice)
		if !ok {
			continue
		}
		name, _ := value(m, "name").(string)
		present, ok := w.s.Lead.Member(protocol.MemberName(name))
		if ok && present.Left == nil || name == w.lead() {
			list, w.names[protocol.MemberName(name)] = append(list, w.ofMember(m, protocol.MemberName(name))), true
		}
	}
	for _, m := range w.s.Lead.Live() {
		if w.names[m.Name] || m.Leads() || m.Trust == record.FileTrust || m.Provenance == record.ByToken {
			continue
		}
		one, err := w.member(m)
		if err != nil {
			return nil, err
		}
		list, w.names[m.Name] = append(list, w.ofMember(one, m.Name)), true
	}
	return list, nil
}

// member is one that was started beside the file.
func (w *writing) member(m *control.Member) (yaml.MapSlice, error) {
	y := yaml.MapSlice{{Key: "name", Value: string(m.Name)}, {Key: "agent", Value: m.Agent}}
	add := func(key string, v any, says bool) { y = with(y, key, v, says) }
	cwd := m.Cwd
	if m.Worktree != nil {
		below, err := filepath.Rel(m.Worktree.Path, m.Cwd)
		if err != nil {
			return nil, err
		}
		cwd = filepath.Join(m.Worktree.Repo, below)
	}
	if rel, ok := realpath.Below(w.dir, cwd); ok {
		cwd = rel
	}
	add("cwd", cwd, cwd != ".")
	add("worktree", w.worktreeOf(m), m.Worktree != nil)
	add("plan", "required", m.PlanRequired)
	add("check", checkValue(m.Joined.Check), w.hasOwnCheck(m))
	add("model", m.Model, m.Model != "")
	add("mode", string(m.Joined.Mode), m.Joined.Mode != "")
	switch m.Agent {
	case "exec":
		var s agent.ExecSpec
		if err := unmarshal(m, &s); err != nil {
			return nil, err
		}
		add("command", s.Command, len(s.Command) > 0)
	case claude.Kind:
		var s claude.Spec
		if err := unmarshal(m, &s); err != nil {
			return nil, err
		}
		add("program", s.Program, s.Program != "")
		add("args", s.Args, len(s.Args) > 0)
		add("prompt", s.Prompt, s.Prompt != "")
	}
	return y, nil
}

// hasOwnCheck reports a member whose tasks have another check than that of the file.
func (w *writing) hasOwnCheck(m *control.Member) bool {
	k := m.Joined.Check
	if k == nil || m.Prepare != nil && m.Prepare.Check == k.Command {
		return false
	}
	return checkText(value(w.old, "check")) != k.Command
}

// checkText is the command of a check as a file has it, "" without one.
func checkText(v any) string {
	if y, ok := v.(yaml.MapSlice); ok {
		v = value(y, "run")
	}
	text, _ := v.(string)
	return strings.TrimSpace(text)
}

// checkValue is a check as a file has it, nil without one.
func checkValue(k *record.Check) any {
	if k == nil {
		return nil
	}
	if k.Returns == record.CheckReturns && k.TimeoutMS == 0 {
		return k.Command
	}
	return yaml.MapSlice{{Key: "run", Value: k.Command}, {Key: "returns", Value: k.Returns}, {Key: "timeout", Value: k.Timeout().String()}}
}

// worktreeOf is a member's worktree as the file has it: what it got is its own where it is not what
// the file says for all. A member that nothing is started for has no setup.
func (w *writing) worktreeOf(m *control.Member) any {
	p := m.Prepare
	if p == nil || p.Equal(w.all) || p.File == "" && w.all == nil {
		return true
	}
	if m.Agent == agent.KindMCP {
		return mapping(&record.Preparation{Copy: p.Copy, Link: p.Link})
	}
	return mapping(p)
}

// mapping is {copy, link, setup} of a preparation.
func mapping(p *record.Preparation) yaml.MapSlice {
	y := with(yaml.MapSlice{}, "copy", p.Copy, len(p.Copy) > 0)
	y = with(y, "link", p.Link, len(p.Link) > 0)
	return with(y, "setup", p.Setup, len(p.Setup) > 0)
}

// unmarshal reads the settings of a member's agent, which may be empty.
func unmarshal(m *control.Member, to any) error {
	if len(m.Spec) == 0 {
		return nil
	}
	if err := json.Unmarshal(m.Spec, to); err != nil {
		return fmt.Errorf("the settings of %s: %w", m.Name, err)
	}
	return nil
}

// tasks are those of the accepted file whose owner is a member, and those that were assigned later.
func (w *writing) tasks() (list []any) {
	subjects := map[string]bool{}
	old, _ := value(w.old, "tasks").([]any)
	for _, v := range old {
		t, _ := v.(yaml.MapSlice)
		subject, _ := value(t, "subject").(string)
		owner, _ := value(t, "owner").(string)
		if !w.names[protocol.MemberName(owner)] {
			continue
		}
		list, subjects[subject] = append(list, w.without(t, subjects)), true
	}
	for _, order := range w.s.Lead.Assignments() {
		m, ok := w.s.Lead.ByInstance(order.Instance)
		t := order.Commanded.Task
		if !ok || m.Left != nil || !w.names[m.Name] {
			continue
		}
		subject := t.Subject
		if subjects[subject] {
			if w.inFile(old, subject, string(m.Name)) {
				continue
			}
			subject = fmt.Sprintf("%s (%s)", subject, m.Name)
		}
		if subjects[subject] {
			continue
		}
		subjects[subject] = true
		y := yaml.MapSlice{{Key: "subject", Value: subject}, {Key: "owner", Value: string(m.Name)}}
		y = with(y, "instructions", strings.TrimRight(t.Instructions, "\n"), t.Instructions != "")
		y = with(y, "timeout", (time.Duration(t.TimeoutMS) * time.Millisecond).String(), t.TimeoutMS > 0)
		y = with(y, "cwd", t.Cwd, t.Cwd != "")
		list = append(list, with(y, "check", checkValue(t.Check), t.Check != nil))
	}
	return list
}

// without is a task of the accepted file that waits only for tasks that are left.
func (w *writing) without(t yaml.MapSlice, subjects map[string]bool) yaml.MapSlice {
	after, _ := value(t, "after").([]any)
	left := slices.DeleteFunc(slices.Clone(after), func(v any) bool { s, _ := v.(string); return !subjects[s] })
	if len(left) == len(after) {
		return t
	}
	t = slices.DeleteFunc(slices.Clone(t), func(i yaml.MapItem) bool { return i.Key == "after" })
	if len(left) > 0 {
		t = append(t, yaml.MapItem{Key: "after", Value: left})
	}
	return t
}

// inFile reports a task of the accepted file with this owner.
func (w *writing) inFile(old []any, subject, owner string) bool {
	return slices.ContainsFunc(old, func(v any) bool {
		t, _ := v.(yaml.MapSlice)
		return value(t, "subject") == subject && value(t, "owner") == owner
	})
}
