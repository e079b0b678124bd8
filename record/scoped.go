package record

import (
	"net"
	"slices"
	"strings"
	"time"

	"waggle/policy"
	"waggle/protocol"
)

// Scoped is a rule beside the policy's own: for one member, for a time, or both. An answer with a
// scope makes such a rule (trust §3: a separate act with its own authority), which is part of a
// version of the policy like any other rule.
type Scoped struct {
	Rule     policy.Rule `json:"rule"`
	Deny     bool        `json:"deny,omitempty"`
	Instance Instance    `json:"instance,omitempty"`   // whom it is for; "": every member
	Until    *time.Time  `json:"expires_at,omitempty"` // nil: until it is taken back
	From     *Key        `json:"from,omitempty"`       // the request whose answer taught it
	// Task is the task of the board during which it holds, for the member that has it; "": it holds always.
	Task string `json:"task,omitempty"`
}

// HostGrant is a standing answer to questions about one host: what an enforcer of
// network access consumes. An answer for one time is no grant: it is the decision
// of its request.
type HostGrant struct {
	Host     string     `json:"host"`           // a name or IPv4 address in lower case; *.HOST: the hosts below it
	Port     string     `json:"port,omitempty"` // "": every port, and requests that name none
	Deny     bool       `json:"deny,omitempty"`
	Instance Instance   `json:"instance,omitempty"`   // "": every member
	Until    *time.Time `json:"expires_at,omitempty"` // nil: as long as the member
	From     *Key       `json:"from,omitempty"`
	By       Grantor    `json:"by,omitempty"`
}

// Grantor is who gave an answer that stands.
type Grantor string

// The grantors. A record without one was written before there was this field.
const (
	ByOperator Grantor = "operator"
	ByTeamFile Grantor = "team file" // sandbox.network, which the operator accepted
)

// String is the grant as a rule is shown: "net db.internal:5432".
func (g HostGrant) String() string {
	if g.Port == "" {
		return "net " + g.Host
	}
	return "net " + net.JoinHostPort(g.Host, g.Port)
}

// Past reports whether a time has come. An expired rule does not come back: the next version of the
// policy leaves it out.
func Past(until *time.Time, now time.Time) bool { return until != nil && !now.Before(*until) }

func concerns(of, i Instance) bool { return of == "" || of == i }

// During is the set as it holds while a member works on a task; "": on none. For alone leaves out the rules that
// hold during a task.
func (p PolicySet) During(task string) PolicySet {
	if !p.minds(task) {
		return p
	}
	p.Rules = slices.Clone(p.Rules)
	for i := range p.Rules {
		if s := &p.Rules[i]; s.Task != "" && s.Task == task {
			s.Task = ""
		}
	}
	return p
}

// minds reports whether a rule holds during a task.
func (p PolicySet) minds(task string) bool {
	return task != "" && slices.ContainsFunc(p.Rules, func(s Scoped) bool { return s.Task == task })
}

// Judged is what a record of a verdict says of the judge, for a member in a mode that works on a task.
func (p PolicySet) Judged(mode policy.Mode, task string) Judged {
	j := Judged{Judge: policy.JudgeVersion, Mode: mode}
	if p.minds(task) {
		j.Task = task
	}
	return j
}

// For is the policy that the rules make for one member at a time under the ceiling, "" for the
// rules of every member. Worker.Effective adds a member's own mode.
func (p PolicySet) For(i Instance, now time.Time) policy.Policy {
	out := p.Policy
	out.Sandboxed = p.Sandboxed
	out.Allow, out.Deny = slices.Clip(out.Allow), slices.Clip(out.Deny)
	for _, s := range p.Rules {
		switch {
		case !concerns(s.Instance, i) || Past(s.Until, now) || s.Task != "":
		case s.Deny:
			out.Deny = append(out.Deny, s.Rule)
		default:
			out.Allow = append(out.Allow, s.Rule)
		}
	}
	return p.Ceiling.Bound(out)
}

// HostsFor are the standing answers that hold for one member at a time.
func (p PolicySet) HostsFor(i Instance, now time.Time) []HostGrant {
	return slices.DeleteFunc(slices.Clone(p.Hosts), func(g HostGrant) bool { return !concerns(g.Instance, i) || Past(g.Until, now) })
}

// HostDenial is a rule, or the mode, that closes hosts to a member whatever grant opens them.
type HostDenial struct {
	Host string // as of a HostGrant, with the hosts below it; "": every host
	Rule string // as Verdict.Rule: "deny WebFetch(domain:x.org)", "mode locked-down"
}

// Closes reports whether all that a grant opens is closed, or else a part of it, which is Host.
func (d HostDenial) Closes(g HostGrant) (all, part bool) {
	below, wild := strings.CutPrefix(g.Host, "*.")
	name := strings.TrimPrefix(d.Host, "*.")
	all = d.Host == "" || below == name || strings.HasSuffix(below, "."+name)
	return all, !all && wild && strings.HasSuffix(name, "."+below)
}

// HostsDenied are the deny rules for hosts that hold for one member in a mode, those of the ceiling too, and the mode
// where it denies every host. A mode that asks closes nothing that stands: it was asked for.
func (p PolicySet) HostsDenied(i Instance, mode policy.Mode, now time.Time) (list []HostDenial) {
	own := p.For(i, now)
	own.Mode = p.Ceiling.Meet(mode)
	if v := judgeHost(own, []HostGrant{{Host: anyBelow}}, Target{Host: anyBelow}); v.Decision == policy.Deny {
		list = append(list, HostDenial{Rule: v.Rule})
	}
	for _, r := range own.Deny {
		if name, ok := strings.CutPrefix(r.Pattern, "domain:"); ok && r.Tool == "WebFetch" {
			if host, err := policy.ParseHost(name); err == nil {
				list = append(list, HostDenial{Host: host, Rule: "deny " + r.String()})
			}
		}
	}
	return list
}

// Stands reports whether answers for this member alone allow each host that a request asks for as long as the member is
// there.
func (p PolicySet) Stands(i Instance, a Ask) bool {
	return !slices.ContainsFunc(a.Targets(), func(t Target) bool {
		return !slices.ContainsFunc(p.Hosts, func(g HostGrant) bool {
			return !g.Deny && g.Instance == i && g.Until == nil && (g.Port == "" || g.Port == t.Port) &&
				(g.Host == t.Host || policy.HostAllowed([]string{g.Host}, t.one()))
		})
	})
}

// Judge is the verdict of the rules on a member's request. There are none for plans. mode is the
// member's mode.
func (p PolicySet) Judge(i Instance, mode policy.Mode, kind protocol.Kind, a Ask, now time.Time) policy.Verdict {
	own := p.For(i, now)
	own.Mode = p.Ceiling.Meet(mode)
	switch kind {
	case protocol.KindPermissionRequest:
		return p.JudgeCall(i, mode, p.Call(a), now)
	case protocol.KindSandboxPermissionRequest:
		return judgeHosts(own, p.HostsFor(i, now), a)
	}
	return policy.Verdict{Decision: policy.Ask}
}

// JudgeCall is the verdict of the rules on a member's call of a tool, the one by which the gate decides.
func (p PolicySet) JudgeCall(i Instance, mode policy.Mode, c policy.Call, now time.Time) policy.Verdict {
	own := p.For(i, now)
	own.Mode = p.Ceiling.Meet(mode)
	return p.Ceiling.hold(own.Judge(c), own.Mode, c)
}

// judgeHosts judges all hosts of a request as a whole: one that is denied denies it, and it is allowed when each is.
func judgeHosts(p policy.Policy, grants []HostGrant, a Ask) policy.Verdict {
	if a.Refused != "" {
		return policy.Verdict{Decision: policy.Ask, Rule: "input", Why: "Nobody can be asked about it."}
	}
	var all policy.Verdict
	var rules []string
	for _, t := range a.Targets() {
		v := judgeHost(p, grants, t)
		switch {
		case v.Decision == policy.Deny:
			return v
		case len(rules) == 0 || v.Decision == policy.Ask && all.Decision == policy.Allow:
			all = v
		}
		if !slices.Contains(rules, v.Rule) {
			rules = append(rules, v.Rule)
		}
	}
	if all.Decision == policy.Allow {
		all.Rule = strings.Join(rules, ", ")
	}
	return all
}

// anyBelow stands for every host below a name: no rule names it but one for all of them.
const anyBelow = "waggle-stands-for-any-host"

// one is the host of a target, or a host that stands for all of a pattern.
func (t Target) one() string {
	if below, wild := strings.CutPrefix(t.Host, "*"); wild {
		return anyBelow + below
	}
	return t.Host
}

// deniedBelow reports whether a host below a name is denied: all of them cannot be allowed by a rule then.
func deniedBelow(name string, p policy.Policy, grants []HostGrant) bool {
	return slices.ContainsFunc(p.Deny, func(r policy.Rule) bool {
		host, ok := strings.CutPrefix(r.Pattern, "domain:")
		return r.Tool == "WebFetch" && ok && strings.HasSuffix(strings.ToLower(host), "."+name)
	}) || slices.ContainsFunc(grants, func(g HostGrant) bool { return g.Deny && strings.HasSuffix(g.Host, "."+name) })
}

// judgeHost judges a host by the rules for WebFetch and the standing answers, a
// denial first. The network has a gate of its own: no mode opens it, and a worker
// that plans asks for it.
func judgeHost(p policy.Policy, grants []HostGrant, t Target) policy.Verdict {
	switch p.Mode {
	case policy.ModeBypassPermissions:
		p.Mode = policy.ModeDefault
	case policy.ModePlan:
		p.Mode = policy.ModeSafe
	}
	below, wild := strings.CutPrefix(t.Host, "*.")
	call := policy.Call{Tool: "WebFetch", Input: []byte(`{"url":` + plain("https://"+Target{t.one(), t.Port}.String()+"/") + `}`)}
	granted := map[string]HostGrant{}
	for _, g := range grants {
		if g.Port != "" && g.Port != t.Port {
			continue
		}
		rule := policy.Rule{Tool: "WebFetch", Pattern: "domain:" + g.Host}
		if !g.Deny {
			p.Allow = append(slices.Clip(p.Allow), rule)
			granted["allow "+rule.String()] = g
		} else if (policy.Policy{Mode: policy.ModeBypassPermissions, Deny: []policy.Rule{rule}}).Judge(call).Decision == policy.Deny {
			return policy.Verdict{Decision: policy.Deny, Rule: "deny " + g.String(), Why: "The operator has denied this host."}
		}
	}
	v := p.Judge(call)
	if g, ok := granted[v.Rule]; ok {
		v.Rule, v.Why = "allow "+g.String(), "The operator has allowed this host."
	}
	if wild && v.Decision == policy.Allow && deniedBelow(below, p, grants) {
		return policy.Verdict{Decision: policy.Ask, Rule: "input", Why: "A host below this name is denied."}
	}
	if _, err := policy.ParseHost(t.Host); err != nil && v.Decision == policy.Allow {
		return policy.Verdict{Decision: policy.Ask, Rule: "input", Why: "It is not a plain host name."}
	}
	return v
}

// Own lists how the allowing rules of a member's own are named by an answer.
func (p PolicySet) Own(i Instance, now time.Time) (names []string) {
	for _, s := range p.Rules {
		if s.Instance == i && !s.Deny && !Past(s.Until, now) {
			names = append(names, "allow "+s.Rule.String())
		}
	}
	for _, g := range p.Hosts {
		if g.Instance == i && !g.Deny && !Past(g.Until, now) {
			names = append(names, "allow "+g.String())
		}
	}
	return names
}

// HasOwn reports rules that were made for one member.
func (p PolicySet) HasOwn(i Instance) bool {
	return slices.ContainsFunc(p.Rules, func(s Scoped) bool { return s.Instance == i && !s.Deny }) ||
		slices.ContainsFunc(p.Hosts, func(g HostGrant) bool { return g.Instance == i && !g.Deny })
}

// DeciderOf is who answers questions of a gate; the operator when the policy
// does not say.
func (p PolicySet) DeciderOf(g policy.Gate) policy.Decider {
	if d, ok := p.Decide[g]; ok {
		return d
	}
	return policy.DecideOperator
}

// Call is a question's tool call as policy judges it, with what the policy guards
// beside the guarded names.
func (p PolicySet) Call(a Ask) policy.Call {
	c := a.Call()
	if p.Path != "" {
		c.Guarded = []string{p.Path}
	}
	return c
}
