package decide

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"waggle/control"
	"waggle/machine"
	"waggle/operator"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// NetRequest is what one member asks of one host: one prompt, however many
// requests wait for it. An answer answers all of them, each by its own id.
type NetRequest struct {
	Host     string           `json:"host"`
	Port     string           `json:"port"`
	Shown    string           `json:"shown"` // host and port, with the other spelling of an international name
	Member   string           `json:"member"`
	Instance string           `json:"instance"`
	IDs      []string         `json:"ids"`
	Handles  []string         `json:"-"` // of the same requests
	Reason   string           `json:"reason"`
	Asked    operator.Past    `json:"age_s"`
	Expires  *time.Time       `json:"expires_at"` // null: never
	Status   string           `json:"status"`
	Enforced bool             `json:"enforced"` // the machine holds the member's commands to an answer
	Sandbox  record.HeldLevel `json:"sandbox"`  // of the member: enforced, files only, off, unknown
}

// NetPending lists the open requests for hosts, oldest first.
func (o Operator) NetPending(ctx context.Context, name protocol.TeamName) ([]NetRequest, error) {
	qs, err := o.Pending(ctx, name, false)
	if err != nil {
		return nil, err
	}
	out := []NetRequest{}
	for _, q := range qs {
		if q.Kind != string(protocol.KindSandboxPermissionRequest) {
			continue
		}
		i := slices.IndexFunc(out, func(n NetRequest) bool { return n.Instance == q.Instance && n.Host == q.Host && n.Port == q.Port })
		if i < 0 {
			i = len(out)
			out = append(out, NetRequest{Host: q.Host, Port: q.Port, Shown: ShownHost(q.Host, q.Port), Member: q.Member, Instance: q.Instance,
				IDs: []string{}, Reason: q.Reason, Asked: q.Asked, Expires: q.Expires, Status: q.Status, Enforced: q.Sandbox.Enforces(), Sandbox: q.Sandbox})
		}
		out[i].IDs, out[i].Handles = append(out[i].IDs, q.ID), append(out[i].Handles, q.Handle)
	}
	return out, nil
}

// NetNamed returns the open request for the network that a word names by its handle or its whole id, also an answered
// one by an id in waggle's form; nil: the word is a host. An id is its asker's choice, so a word with a dot or a colon,
// and the host of an open request, is a host.
func (o Operator) NetNamed(ctx context.Context, name protocol.TeamName, word string) (*Request, error) {
	_, err := ParseNetTarget(word)
	if err == nil && strings.ContainsAny(word, ".:") {
		return nil, nil
	}
	qs, perr := o.Pending(ctx, name, strings.HasPrefix(word, "sandbox-"))
	if perr != nil {
		return nil, perr
	}
	var named []Request
	for _, q := range qs {
		switch {
		case q.Kind != string(protocol.KindSandboxPermissionRequest):
		case err == nil && strings.EqualFold(q.Host, word):
			return nil, nil
		case q.ID == word || q.Handle == record.CleanHandle(word):
			named = append(named, q)
		}
	}
	switch {
	case len(named) == 1:
		return &named[0], nil
	case len(named) > 1:
		return nil, &operator.Error{Kind: operator.Usage, Op: "net", Msg: word + " names several requests", Near: []string{named[0].Handle, named[1].Handle}}
	}
	return nil, nil
}

// target returns the host of a network request as messages and people name it.
func target(a record.Ask) string {
	if a.Port == "" {
		return a.Host
	}
	return net.JoinHostPort(a.Host, a.Port)
}

// ShownHost writes a host so that it cannot be mistaken for another: an international name in both
// spellings.
func ShownHost(host, port string) string {
	if ts := (record.Ask{Host: host, Port: port}).Targets(); len(ts) > 1 {
		texts := make([]string, len(ts))
		for i, t := range ts {
			texts[i] = ShownHost(t.Host, t.Port)
		}
		return strings.Join(texts, ", ")
	}
	shown := target(record.Ask{Host: host, Port: port})
	if other := otherSpelling(host); other != "" {
		shown += " (" + other + ")"
	}
	return shown
}

func otherSpelling(host string) string {
	other, err := idna.Punycode.ToUnicode(host)
	if err == nil && other == host {
		other, err = idna.Punycode.ToASCII(host)
	}
	if err != nil || other == host {
		return ""
	}
	return other
}

// NetTarget is the host or hosts of an answer about the network.
type NetTarget struct {
	Host string // a host name in lower case and ASCII, an address, or *.NAME
	Port string // "": the port that is asked for
	Any  bool   // every port
}

// ParseNetTarget reads HOST, HOST:PORT or HOST:*; HOST may be *.NAME, or an IPv6 address in brackets. An international name is
// converted to ASCII. It refuses a wildcard over a public suffix (*.com, *.co.uk, *.github.io),
// which covers hosts of unrelated owners.
func ParseNetTarget(s string) (NetTarget, error) {
	bad := func(format string, args ...any) error {
		return &operator.Error{Kind: operator.Usage, Op: "net", Msg: fmt.Sprintf("%q: ", s) + fmt.Sprintf(format, args...), Advice: "write db.internal:5432, example.com:443, *.example.com:443 or [2001:db8::1]:443"}
	}
	host, port, _ := policy.CutPort(s)
	t := NetTarget{Port: port, Any: port == "*"}
	switch n, err := strconv.Atoi(port); {
	case t.Any:
		t.Port = ""
	case port == "" && strings.HasSuffix(s, ":"), port != "" && (err != nil || n < 1 || n > 65535 || port != strconv.Itoa(n)):
		return NetTarget{}, bad("port %q is none", port)
	}
	stars := ""
	if below, ok := strings.CutPrefix(host, "*."); ok {
		stars, host = "*.", below
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil || strings.Contains(host, "_") {
		ascii = host // ParseHost judges this name, not IDNA
	}
	if t.Host, err = policy.ParseHost(stars + ascii); err != nil {
		return NetTarget{}, bad("%v", err)
	}
	if base, ok := strings.CutPrefix(t.Host, "*."); ok {
		if suffix, _ := publicsuffix.PublicSuffix(base); suffix == base || strings.Trim(suffix, "0123456789.") == "" {
			return NetTarget{}, &operator.Error{Kind: operator.Refused, Op: "net", Msg: fmt.Sprintf("%s is a public suffix: *.%s would be everybody's hosts", base, base),
				Advice: "name the hosts, or a domain that is one owner's: *.example." + suffix}
		}
	}
	return t, nil
}

// Wild reports whether the target is more than one host.
func (t NetTarget) Wild() bool { return strings.HasPrefix(t.Host, "*.") }

// String is HOST, HOST:PORT or HOST:*.
func (t NetTarget) String() string {
	if t.Any {
		return ShownHost(t.Host, "*")
	}
	return ShownHost(t.Host, t.Port)
}

// covers reports whether an answer about the target answers a request as a whole: an allow covers all of its hosts, a
// denial one of them.
func (t NetTarget) covers(a record.Ask, allow bool) bool {
	covers := func(one record.Target) bool {
		host := strings.ToLower(one.Host)
		return (t.Any || t.Port == "" || t.Port == one.Port) && (host == t.Host || policy.HostAllowed([]string{t.Host}, host))
	}
	if allow {
		return !slices.ContainsFunc(a.Targets(), func(one record.Target) bool { return !covers(one) })
	}
	return slices.ContainsFunc(a.Targets(), covers)
}

// unconfirmed refuses to allow a request for the hosts below a name that the operator has not confirmed, or that are
// of unrelated owners.
func unconfirmed(r *control.Request, confirmed bool) error {
	if r.Gate() != policy.GateNetwork {
		return nil
	}
	for _, one := range r.Ask.Targets() {
		if !one.Wild() {
			continue
		}
		t, err := ParseNetTarget(one.String())
		switch {
		case err != nil:
			return err
		case !confirmed:
			return wildcard(t)
		}
	}
	return nil
}

// wildcard asks the operator to confirm that an answer opens many hosts.
func wildcard(t NetTarget) error {
	return &operator.Error{Kind: operator.Question, Op: "net allow", Msg: t.String() + " is every host below " + t.Host[2:] + ", also those that do not exist yet",
		Next: operator.NextWildcard.With()}
}

// NetAnswer is the operator's answer about a host. Without Session and Until it answers the open
// requests; with one of them it becomes a standing answer for the member.
type NetAnswer struct {
	Target  NetTarget
	ID      string              // of a request, in place of Target
	Member  protocol.MemberName // "": every member that asks; "*": the team
	Allow   bool
	Reason  string
	Session bool       // as long as the member exists
	Until   *time.Time // until then
	Digest  string     // with ID: the digest that was shown
	// Wildcard says that the operator has confirmed a target of many hosts.
	Wildcard bool
	// Revoke answers nothing that is asked now: it takes back what was allowed.
	Revoke bool
}

func (a NetAnswer) standing() bool { return a.Session || a.Until != nil }

// NetDecided is what became of a NetAnswer.
type NetDecided struct {
	Results []Decided     `json:"results"`
	Policy  *PolicyChange `json:"policy"` // nil: nothing stands
	Grants  []GrantView   `json:"grants"` // that stand now for what was answered
	// Unenforced are the members that were answered and whose commands nothing holds to the answer.
	Unenforced []string `json:"unenforced"`
}

// DecideNet answers every open request about a host, each by its own id. When the
// answer is to stand, that is put into a new version of the policy before: an act
// of its own, which an enforcer of network access reads. A denial also takes back what was
// allowed for that very host and port.
func (o Operator) DecideNet(ctx context.Context, name protocol.TeamName, a NetAnswer) (*NetDecided, error) {
	if a.Allow && a.Target.Wild() && !a.Wildcard {
		return nil, wildcard(a.Target)
	}
	s, err := o.Open(ctx, name, operator.Lead("a decision"))
	if err != nil {
		return nil, err
	}
	open, err := requestOf(s, a)
	if err != nil {
		return nil, err
	}
	if a.Revoke {
		open = nil
	}
	for _, r := range open {
		if err := unconfirmed(r, a.Wildcard); a.Allow && err != nil {
			return nil, err
		}
	}
	grants, err := grants(s, a, open)
	if err != nil {
		return nil, err
	}
	out := &NetDecided{Results: []Decided{}, Grants: []GrantView{}}
	var answers []Answer
	for _, r := range open {
		answers = append(answers, Answer{ID: string(r.ID), Digest: string(r.Digest), Allow: a.Allow, Reason: a.Reason, Via: "net " + effectOf(!a.Allow),
			Session: a.Session, Wildcard: a.Wildcard})
	}
	once, err := onceOf(s, a, o.Minter.Now())
	if err != nil {
		return nil, err
	}
	stands := func(have record.HostGrant) bool { return !have.Deny && hasGrant(grants, have) }
	revokes := !a.Allow && (len(once) > 0 || slices.ContainsFunc(s.Lead.Policy.Hosts, stands))
	if a.Revoke && !revokes {
		return nil, &operator.Error{Kind: operator.NotFound, Op: "net revoke", Msg: "nothing allows " + a.name() + " now", Next: operator.NextNetList.With()}
	}
	if len(answers) == 0 && !a.standing() && !revokes {
		return nil, &operator.Error{Kind: operator.NotFound, Op: "net", Msg: "no member asks for " + a.name() + " now", Next: operator.NextNetPending.With()}
	}
	if a.standing() || revokes {
		// First what stands: who is answered may ask again at once.
		out.Policy, err = o.changeOpen(ctx, s, func(_ *operator.State, p *record.PolicySet) error {
			p.Hosts = slices.DeleteFunc(slices.Clone(p.Hosts), func(have record.HostGrant) bool { return hasGrant(grants, have) })
			p.Spent = append(slices.Clone(p.Spent), once...)
			if a.standing() {
				p.Hosts = append(p.Hosts, grants...)
				for _, r := range open {
					p.Spent = append(p.Spent, r.Key)
				}
			}
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	if a.standing() {
		out.Grants = mapped(grants, func(g record.HostGrant) GrantView { return grantView(s, g, o.Minter.Now()) })
	}
	if len(answers) > 0 {
		out.Results, err = o.decideAll(ctx, s, answers)
	}
	for _, r := range open {
		name := scopeName(s, r.Instance)
		if !heldFor(s, r.Instance).Enforces() && !slices.Contains(out.Unenforced, name) {
			out.Unenforced = append(out.Unenforced, name)
		}
	}
	return out, err
}

// scopeName is whom the answer is for, as scopeName of a State writes it.
func (a NetAnswer) scopeName() string {
	if a.Member == everyone {
		return "team"
	}
	return string(a.Member)
}

func (a NetAnswer) name() string {
	if a.ID != "" {
		return a.ID
	}
	return a.Target.String()
}

// requestOf returns the open requests that an answer is for. The id of one stands for all requests
// of its member for that host.
func requestOf(s *operator.State, a NetAnswer) ([]*control.Request, error) {
	var only record.Instance
	if a.Member != "" && a.Member != everyone {
		var err error
		if only, err = scope(s, a.Member); err != nil {
			return nil, err
		}
	}
	covers := func(r *control.Request) bool {
		return a.Target.covers(r.Ask, a.Allow) && (only == "" || r.Instance == only)
	}
	if a.ID != "" {
		r, err := findRequest(s.Lead, a.ID, a.Digest)
		switch {
		case err != nil:
			return nil, err
		case r.Gate() != policy.GateNetwork:
			return nil, &operator.Error{Kind: operator.Usage, Op: "net", Msg: string(r.ID) + " does not ask for a host", Next: operator.Next{Step: operator.NextShow, ID: string(r.ID)}}
		case a.Digest != "" && (len(a.Digest) < 16 || !strings.HasPrefix(string(r.Digest), a.Digest)):
			return nil, &control.DigestError{ID: r.ID, Want: record.Digest(a.Digest), Have: r.Digest}
		case r.Decided != nil && (r.Decided.Decision == record.DecisionAllow) != a.Allow:
			return nil, &control.DecidedError{Request: r}
		}
		covers = func(other *control.Request) bool {
			return other == r || other.Instance == r.Instance && other.Ask.Host == r.Ask.Host && other.Ask.Port == r.Ask.Port
		}
		if r.State != machine.RequestPending {
			return []*control.Request{r}, nil
		}
	}
	return slices.DeleteFunc(s.Lead.Pending(), func(r *control.Request) bool { return r.Gate() != policy.GateNetwork || !covers(r) }), nil
}

// grants returns the standing answers that a NetAnswer creates, per member, host and port.
func grants(s *operator.State, a NetAnswer, open []*control.Request) ([]record.HostGrant, error) {
	var gs []record.HostGrant
	add := func(g record.HostGrant) {
		g.Deny, g.Until, g.By = !a.Allow, a.Until, record.ByOperator
		if !hasGrant(gs, g) {
			gs = append(gs, g)
		}
	}
	for _, r := range open {
		key := r.Key
		for _, t := range r.Ask.Targets() {
			g := record.HostGrant{Host: strings.ToLower(t.Host), Port: t.Port, Instance: r.Instance, From: &key}
			if a.ID == "" {
				if !a.Target.covers(record.Ask{Host: t.Host, Port: t.Port}, true) {
					continue // a denial of one host denies the others for this request only
				}
				g.Host = a.Target.Host
			}
			if a.Target.Any {
				g.Port = ""
			}
			if _, err := policy.ParseHost(g.Host); err != nil && a.standing() {
				return nil, &operator.Error{Kind: operator.Refused, Op: "net", Msg: fmt.Sprintf("%s is no plain host name: it is answered one request at a time", operator.Visible(g.Host)), Err: err}
			}
			if a.Member == everyone {
				g.Instance = ""
			}
			add(g)
		}
	}
	if !a.Allow && a.ID == "" { // a denial replaces every allow for the same host
		for _, g := range s.Lead.Policy.Hosts {
			if !g.Deny && g.Host == a.Target.Host && (a.Target.Port == "" || g.Port == a.Target.Port) && (a.Member == "" || scopeName(s, g.Instance) == a.scopeName()) {
				add(g)
			}
		}
	}
	ahead := a.ID == "" && a.Member != "" && (a.Target.Port != "" || a.Target.Any)
	switch {
	case !a.standing() || len(gs) > 0 && !ahead:
		return gs, nil
	case !ahead:
		return nil, &operator.Error{Kind: operator.Usage, Op: "net", Msg: "no member asks for " + a.name() + " now",
			Next: operator.Next{Step: operator.NextNetAhead, Text: a.Target.Host}}
	}
	g := record.HostGrant{Host: a.Target.Host, Port: a.Target.Port}
	if a.Member != everyone {
		var err error
		if g.Instance, err = scope(s, a.Member); err != nil {
			return nil, err
		}
	}
	add(g)
	return gs, nil
}

// onceOf are the requests whose answer opens a host for a turn that runs, and which a denial or a
// revocation of that host takes back.
func onceOf(s *operator.State, a NetAnswer, now time.Time) (keys []record.Key, err error) {
	if a.Allow || a.ID != "" {
		return nil, nil
	}
	for _, m := range s.Lead.Live() {
		if a.Member != "" && scopeName(s, m.Instance) != a.scopeName() {
			continue
		}
		w, err := s.Worker(m.Instance)
		if err != nil {
			return nil, err
		}
		for _, g := range w.Grants(s.Lead, now) {
			if g.Scope == control.ScopeOnce && a.Target.covers(record.Ask{Host: g.Host, Port: g.Port}, false) {
				keys = append(keys, record.Key{Instance: m.Instance, Kind: protocol.KindSandboxPermissionRequest, ID: g.Request})
			}
		}
	}
	return keys, nil
}

// hasGrant reports whether one of some answers is for the same member, host and port as another.
func hasGrant(some []record.HostGrant, g record.HostGrant) bool {
	return slices.ContainsFunc(some, func(a record.HostGrant) bool { return a.Host == g.Host && a.Port == g.Port && a.Instance == g.Instance })
}

// GrantView is a standing answer about a host as it is shown.
type GrantView struct {
	Host     string     `json:"host"`
	Port     string     `json:"port"`
	Shown    string     `json:"shown"`
	Effect   string     `json:"effect"`     // allow, deny
	Scope    string     `json:"scope"`      // a member's name, or team
	Expires  *time.Time `json:"expires_at"` // null: as long as the member exists
	From     string     `json:"from"`       // the request that it answered
	By       string     `json:"by"`         // who gave it: operator, team file; "" is not known
	Enforced bool       `json:"enforced"`   // the machine holds the member's commands to it; false too where all of it is closed
	// Sandbox is the level of the least confined member that it is for: below enforced nothing holds
	// the member's commands to it.
	Sandbox record.HeldLevel `json:"sandbox"` // enforced, files only, off, unknown
	// Closed says what closes an allow, or a part of it: "deny WebFetch(domain:x.org)", "a.x.org: deny …",
	// "ann: mode locked-down".
	Closed []string `json:"closed"`
	// Shut: all of it is closed to every member that it is for.
	Shut bool `json:"-"`
}

func grantView(s *operator.State, g record.HostGrant, now time.Time) GrantView {
	v := GrantView{Host: g.Host, Port: g.Port, Shown: ShownHost(g.Host, cmp.Or(g.Port, everyone)), Effect: effectOf(g.Deny), Scope: scopeName(s, g.Instance), Expires: g.Until,
		By: string(g.By), Sandbox: heldFor(s, g.Instance)}
	if v.By == "" && g.From != nil { // of a program before this one, whose answers came from the operator alone
		v.By = string(record.ByOperator)
	}
	if g.From != nil {
		v.From = string(g.From.ID)
	}
	if !g.Deny {
		v.Closed, v.Shut = closedBy(s, g, now)
	}
	v.Enforced = v.Sandbox.Enforces() && !v.Shut
	return v
}

// closedBy says what closes an allow to the members that it is for.
func closedBy(s *operator.State, g record.HostGrant, now time.Time) (closed []string, shut bool) {
	members := slices.DeleteFunc(s.Lead.Live(), func(m *control.Member) bool { return g.Instance != "" && m.Instance != g.Instance })
	shut = len(members) > 0
	for _, m := range members {
		w, err := s.Worker(m.Instance)
		if err != nil {
			return nil, false // heldFor says that nothing is known
		}
		whole := false
		for _, d := range w.HostsDenied(s.Lead, now) {
			all, part := d.Closes(g)
			text := d.Rule
			switch {
			case part:
				text = d.Host + ": " + text
			case !all || whole:
				continue
			}
			whole = whole || all
			if g.Instance == "" {
				text = string(m.Name) + ": " + text
			}
			closed = append(closed, text)
		}
		shut = shut && whole
	}
	return closed, shut
}

// heldFor is what confines a member, or "" the least confined one of all.
func heldFor(s *operator.State, i record.Instance) record.HeldLevel {
	var levels []record.HeldLevel
	for _, m := range s.Lead.Live() {
		if i != "" && m.Instance != i {
			continue
		}
		level := operator.HeldUnknown
		if w, err := s.Worker(m.Instance); err == nil {
			level = operator.HeldOf(m, w.Ready)
		}
		if level == operator.HeldUnknown {
			return level
		}
		levels = append(levels, level)
	}
	if len(levels) == 0 {
		return operator.HeldUnknown
	}
	return record.Weakest(levels...)
}

func scopeName(s *operator.State, i record.Instance) string {
	if m, ok := s.Lead.ByInstance(i); ok {
		return string(m.Name)
	}
	return "team"
}
