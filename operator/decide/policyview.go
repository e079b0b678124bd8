package decide

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/fs/realpath"
	"waggle/internal/json/jsonobj"
	"waggle/operator"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// PolicyView is the policy in force (`policy list`).
type PolicyView struct {
	Team      string                         `json:"team"`
	Version   uint64                         `json:"version"`
	Mode      string                         `json:"mode"`
	Sandboxed string                         `json:"sandboxed"` // allow, ask: a shell call that runs inside a verified sandbox
	Decide    map[policy.Gate]policy.Decider `json:"decide"`
	DeadlineS int64                          `json:"deadline_s"` // how many seconds a request stays open; 0: without limit
	Rules     []RuleView                     `json:"rules"`
	Hosts     []GrantView                    `json:"hosts"`
	Members   []PolicyMember                 `json:"members"`
	Ceiling   *CeilingView                   `json:"ceiling"` // the user's ceiling over the policy; null: there is none
}

// RuleView is one rule as it is shown.
type RuleView struct {
	Rule    string     `json:"rule"`
	Effect  string     `json:"effect"`     // allow, deny
	Scope   string     `json:"scope"`      // a member's name, or team
	Expires *time.Time `json:"expires_at"` // null: never
	From    string     `json:"from"`       // the request whose answer created the rule
}

// Policy returns the policy of a team; as keeps only the rules that apply to one member. It records
// nothing.
func (o Operator) Policy(ctx context.Context, name protocol.TeamName, as string) (*PolicyView, error) {
	s, err := o.Open(ctx, name, operator.Seen)
	if err != nil {
		return nil, err
	}
	var only record.Instance
	if as != "" {
		m, err := judgedAs(s, as)
		if err != nil {
			return nil, err
		}
		only = m.Instance
	}
	now := o.Minter.Now()
	set := s.Lead.Policy
	v := &PolicyView{Team: string(name), Version: s.Lead.Version(), Mode: string(ModeName(set.Policy.Mode)), Sandboxed: policy.Ask.String(), Decide: map[policy.Gate]policy.Decider{},
		DeadlineS: set.Deadline / 1000, Rules: []RuleView{}, Hosts: []GrantView{}}
	if set.For("", now).Sandboxed {
		v.Sandboxed = policy.Allow.String()
	}
	for _, g := range policy.Gates() {
		v.Decide[g] = set.DeciderOf(g)
	}
	for _, r := range set.Policy.Deny {
		v.Rules = append(v.Rules, RuleView{Rule: r.String(), Effect: record.DecisionDeny, Scope: "team"})
	}
	for _, r := range set.Policy.Allow {
		v.Rules = append(v.Rules, RuleView{Rule: r.String(), Effect: record.DecisionAllow, Scope: "team"})
	}
	holds := func(i record.Instance, until *time.Time) bool {
		return (until == nil || now.Before(*until)) && (only == "" || i == "" || i == only)
	}
	for _, r := range set.Rules {
		if holds(r.Instance, r.Until) {
			v.Rules = append(v.Rules, ruleView(s, r))
		}
	}
	for _, g := range set.Hosts {
		if holds(g.Instance, g.Until) {
			v.Hosts = append(v.Hosts, grantView(s, g, now))
		}
	}
	v.Ceiling = ViewCeiling(set)
	v.Members, _ = heardBy(s)
	if only != "" {
		v.Members = slices.DeleteFunc(v.Members, func(m PolicyMember) bool {
			return !protocol.SameName(protocol.MemberName(m.Name), protocol.MemberName(as))
		})
	}
	return v, nil
}

// judgedAs is Member for what only reads: of a team that has ended the last member of the name.
func judgedAs(s *operator.State, name string) (*control.Member, error) {
	if ms, err := operator.Namesakes(s.Lead.Members, name); err == nil && s.Lead.Ended != nil {
		return ms[len(ms)-1], nil
	}
	return Member(s, name)
}

func ruleView(s *operator.State, r record.Scoped) RuleView {
	v := RuleView{Rule: r.Rule.String(), Effect: effectOf(r.Deny), Scope: scopeName(s, r.Instance), Expires: r.Until}
	if r.Task != "" {
		v.Scope += ", task " + r.Task
	}
	if r.From != nil {
		v.From = string(r.From.ID)
	}
	return v
}

// Judged is the policy's verdict on a call, with the reason (`policy test`, `explain`).
type Judged struct {
	As       string          `json:"as"` // a member, "" for what the team may
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input"`
	Cwd      string          `json:"cwd"`
	Decision string          `json:"decision"` // allow, ask, deny
	Rule     string          `json:"rule"`     // the rule that decides
	Why      string          `json:"why"`
	Decider  string          `json:"decider"` // who answers when the verdict is ask
	Mode     string          `json:"mode"`
	Area     string          `json:"area"`
	Risk     string          `json:"risk"`
	Version  uint64          `json:"policy_version"`
	Rules    []RuleJudged    `json:"rules"` // every rule that was compared
}

// RuleJudged is the result of one rule alone.
type RuleJudged struct {
	Rule   string `json:"rule"`
	Effect string `json:"effect"`
	Match  string `json:"match"` // matches, may match, does not match
	Counts bool   `json:"counts"`
}

// TestPolicy judges a call with the policy in force, for a member or, without one, for the team. It
// asks and records nothing. cwd "" is the member's own directory.
func (o Operator) TestPolicy(ctx context.Context, name protocol.TeamName, as, call, cwd string) (*Judged, error) {
	s, err := o.Open(ctx, name, operator.Act)
	if err != nil {
		return nil, err
	}
	own, now, confined := record.Instance(""), o.Minter.Now(), false
	p := s.Lead.Policy.For(own, now)
	mode := p.Mode
	verdict := func(c policy.Call) policy.Verdict { return s.Lead.Policy.JudgeCall(own, mode, c, now) }
	var file *policy.Own
	command := ""
	if as != "" {
		m, err := judgedAs(s, as)
		if err != nil {
			return nil, err
		}
		w, err := s.Worker(m.Instance)
		if err != nil {
			return nil, err
		}
		if m.File != "" {
			file, command = &policy.Own{File: m.File, Told: true}, agent.CommandOf(m.Agent, m.Spec)
		}
		own, as, confined = m.Instance, string(m.Name), record.LevelOf(w.Ready).Enforces()
		p, mode = s.Lead.Policy.For(own, now), s.Lead.ModeOf(own)
		if w.Epoch > 0 {
			p = w.Effective(s.Lead, now)
			mode = w.Upcoming(s.Lead)
			verdict = func(c policy.Call) policy.Verdict { return w.JudgeCall(c, s.Lead, now) }
		}
		if cwd == "" {
			cwd = m.Cwd
			if w.Ready != nil && w.Ready.Cwd != "" { // that of its worktree
				cwd = w.Ready.Cwd
			}
		}
	}
	if host, ok := strings.CutPrefix(call, "net "); ok {
		host, port, err := policy.ReadHost(strings.TrimSpace(host), idna.Lookup.ToASCII) // in the form that the gate reads
		if err != nil {
			return nil, &operator.Error{Kind: operator.Usage, Op: "policy", Err: err}
		}
		return testHost(s, as, own, mode, record.Ask{Host: host, Port: port}.Hostport(), now), nil
	}
	c, err := ParseToolCall(call, cwd)
	if err != nil {
		return nil, err
	}
	c.Links, c.Home, c.Sandboxed = realpath.Disk{}, spawn.Getenv(o.Environ, "HOME"), confined
	if path := s.Lead.Policy.Path; path != "" {
		c.Guarded = []string{path}
	}
	if command != "" && record.CommandOf(string(c.Input)) == command {
		c.Own = file
	}
	p.Mode = s.Lead.Policy.Ceiling.Meet(mode)
	return judged(s, as, p, c, verdict(c)), nil
}

func testHost(s *operator.State, as string, own record.Instance, mode policy.Mode, hostport string, now time.Time) *Judged {
	a := record.Ask{Host: hostport}
	if h, p, err := net.SplitHostPort(hostport); err == nil {
		a.Host, a.Port = h, p
	}
	v := s.Lead.Policy.Judge(own, mode, protocol.KindSandboxPermissionRequest, a, now)
	r := control.Request{Key: record.Key{Kind: protocol.KindSandboxPermissionRequest}, Ask: a}
	return &Judged{As: as, Tool: "net", Input: InputOf(&r), Decision: v.Decision.String(), Rule: v.Rule, Why: v.Why, Mode: string(ModeName(mode)),
		Area: "network", Risk: string(policy.RiskHigh), Version: s.Lead.Version(), Decider: string(s.Lead.Policy.DeciderOf(policy.GateNetwork)), Rules: []RuleJudged{}}
}

// judged is a verdict of the gate, with what each rule alone says.
func judged(s *operator.State, as string, p policy.Policy, c policy.Call, v policy.Verdict) *Judged {
	e := p.Explain(c)
	j := &Judged{As: as, Tool: c.Tool, Input: c.Input, Cwd: c.Cwd, Decision: v.Decision.String(), Rule: v.Rule, Why: v.Why, Mode: string(ModeName(p.Mode)),
		Area: "cannot be read", Risk: string(e.Risk), Version: s.Lead.Version(), Decider: string(s.Lead.Policy.DeciderOf(policy.GateTool))}
	if e.Readable {
		j.Area = e.Area.String()
	}
	if !json.Valid(j.Input) {
		j.Input = nil
	}
	j.Rules = mapped(e.Rules, func(m policy.RuleMatch) RuleJudged {
		return RuleJudged{Rule: m.Rule.String(), Effect: effectOf(m.Deny), Match: m.Match, Counts: m.Match != policy.NoMatch && !m.Mute}
	})
	return j
}

// inputKeys is the input field of each tool that people write in parentheses.
var inputKeys = map[string]string{"Bash": "command", "Read": "file_path", "Edit": "file_path", "Write": "file_path", "MultiEdit": "file_path",
	"NotebookEdit": "notebook_path", "NotebookRead": "notebook_path", "Glob": "pattern", "Grep": "path", "LS": "path", "WebFetch": "url"}

// ParseToolCall reads a call as people write it, Bash(go test ./...), Read(a.go),
// WebFetch(https://x.org/), or as JSON: {"tool":"Bash","input":{…}}.
func ParseToolCall(s, cwd string) (policy.Call, error) {
	c := policy.Call{Cwd: cwd}
	s = strings.TrimSpace(s)
	bad := func(format string, args ...any) error {
		return &operator.Error{Kind: operator.Usage, Op: "policy test", Msg: fmt.Sprintf(format, args...),
			Advice: `write 'Bash(go test ./...)', 'Read(docs/a.md)', 'net example.com:443', or '{"tool":"Bash","input":{"command":"ls"}}'`}
	}
	if strings.HasPrefix(s, "{") {
		var in map[string]json.RawMessage
		if err := json.Unmarshal([]byte(s), &in); err != nil {
			return c, bad("not a JSON object: %v", err)
		}
		for k, v := range in {
			switch k {
			case "tool":
				if json.Unmarshal(v, &c.Tool) != nil || c.Tool == "" {
					return c, bad("tool is not a name")
				}
			case "input":
				c.Input = v
			case "cwd":
				if json.Unmarshal(v, &c.Cwd) != nil {
					return c, bad("cwd is not a path")
				}
			default:
				return c, bad("unknown key %q", k)
			}
		}
		if c.Tool == "" || len(c.Input) == 0 {
			return c, bad("tool or input is missing")
		}
		return c, nil
	}
	tool, rest, has := strings.Cut(s, "(")
	text, closed := strings.CutSuffix(rest, ")")
	key := inputKeys[tool]
	switch {
	case tool == "" || has && !closed:
		return c, bad("%q is not a call", s)
	case !has || text == "":
		c.Tool, c.Input = tool, json.RawMessage("{}")
		return c, nil
	case key == "":
		return c, bad("%s has no one argument that could stand in parentheses", tool)
	case tool == "WebFetch" && !strings.Contains(text, "://"):
		text = "https://" + text
	}
	b, err := jsonobj.Marshal(map[string]string{key: text})
	c.Tool, c.Input = tool, b
	return c, err
}
