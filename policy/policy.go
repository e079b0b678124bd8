package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"waggle/internal/json/jsonobj"
)

// Policy is one version of a team's rules: what the journal and the team file
// carry. Versions only rise; giving them out is the journal's work, so the
// methods here keep the version as it is.
type Policy struct {
	Version uint64 `json:"version"`
	Mode    Mode   `json:"mode"`
	Allow   []Rule `json:"allow"` // as text in JSON
	Deny    []Rule `json:"deny"`
	// Sandboxed allows a Bash call that nothing else decides, where Call.Sandboxed says that it
	// runs inside a verified sandbox. Deny rules, ModePlan, ModeSafe and ModeLockedDown hold, and
	// a text that names something guarded asks. It is no part of the JSON form.
	Sandboxed bool `json:"-"`
}

// MarshalJSON writes the rules as texts, and no rules as [].
func (p Policy) MarshalJSON() ([]byte, error) {
	type plain Policy
	p.Allow, p.Deny = append([]Rule{}, p.Allow...), append([]Rule{}, p.Deny...)
	return jsonobj.Marshal(plain(p))
}

// UnmarshalJSON decodes a policy. It refuses texts that another decoder could read differently and
// those that this version does not know: duplicate keys, keys in another case, unknown keys, an
// unknown mode, a rule that cannot be judged. An absent mode stays empty, which counts as default.
func (p *Policy) UnmarshalJSON(raw []byte) error {
	fields, err := readInput(raw)
	if err != nil {
		return fmt.Errorf("policy: %s", strings.Replace(err.Error(), "the input", "the policy", 1))
	}
	for key := range fields {
		if !slices.Contains([]string{"version", "mode", "allow", "deny"}, key) {
			return fmt.Errorf("policy: unknown key %q", clip(key))
		}
	}
	type plain Policy
	var in plain
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	if in.Mode != "" {
		if _, err := ParseMode(string(in.Mode)); err != nil {
			return err
		}
	}
	*p = Policy(in)
	return nil
}

// Narrow returns the policy with more deny rules. It never widens.
func (p Policy) Narrow(deny ...Rule) Policy {
	p.Allow = slices.Clone(p.Allow)
	p.Deny = union(p.Deny, deny)
	return p
}

func union[T comparable](a, b []T) []T {
	out := slices.Clone(a)
	for _, r := range b {
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// Within returns the policy that is effective under a ceiling: for every call it answers nothing
// freer than p and nothing freer than the ceiling (protocol §1.8, trust §4). The mode is the meet of the two modes, the deny
// rules of both hold, and an allow rule of one stays when the rules or the mode of the other surely
// cover it. The second result names what of p was cut, for a person: "allow Bash", "mode
// bypassPermissions".
//
// Cover is judged from the rules alone and fails closed: a rule that the ceiling happens to allow
// in another way may be cut. An unknown mode on either side stays, and denies everything. The
// version is p's.
func (p Policy) Within(ceiling Policy) (Policy, []string) {
	out := Policy{Version: p.Version, Mode: p.Mode.Meet(ceiling.Mode), Deny: union(p.Deny, ceiling.Deny), Sandboxed: p.Sandboxed && ceiling.Sandboxed}
	var cut []string
	if out.Mode != p.Mode && !(p.Mode == "" && out.Mode == ModeDefault) {
		cut = append(cut, "mode "+clip(string(cmp.Or(p.Mode, ModeDefault))))
	}
	if p.Sandboxed && !ceiling.Sandboxed {
		cut = append(cut, SandboxedAllow)
	}
	for _, r := range p.Allow {
		if ceiling.covers(r) {
			out.Allow = union(out.Allow, []Rule{r})
		} else {
			cut = append(cut, "allow "+clip(r.String()))
		}
	}
	for _, r := range ceiling.Allow {
		if p.covers(r) {
			out.Allow = union(out.Allow, []Rule{r})
		}
	}
	return out, cut
}

// covers reports whether everything that an allow rule allows is allowed here
// already, deny rules aside.
func (p Policy) covers(r Rule) bool {
	m, err := compile(r)
	if err != nil {
		return false
	}
	if mode, ok := lookupMode(p.Mode); ok && mode.covers(m) {
		return true
	}
	for _, a := range p.Allow {
		if c, err := compile(a); err == nil && c.covers(m) {
			return true
		}
	}
	return false
}

// covers reports whether the mode alone allows all calls that a rule allows.
func (m ModeInfo) covers(r matcher) bool {
	if m.Mode == ModeBypassPermissions {
		return true
	}
	below := r.glob != "" && !strings.HasPrefix(r.glob, "/") && r.glob != ".." && !strings.HasPrefix(r.glob, "../")
	switch {
	case slices.Contains(readTools, r.rule.Tool):
		return below && m.Cell(AreaReadInside) == Allow
	case slices.Contains(editTools, r.rule.Tool):
		return below && m.Cell(AreaEditInside) == Allow && len(guardedIn(r.glob)) == 0
	case r.rule.Pattern == "":
		return plainArea(r.rule.Tool) == AreaTeam && m.Cell(AreaTeam) == Allow
	}
	return false
}

// covers reports whether one allow rule allows all that another does.
func (m matcher) covers(r matcher) bool {
	switch {
	case m.rule == r.rule:
		return true
	case m.rule.Tool != r.rule.Tool:
		return m.rule.Pattern == "" && r.rule.Pattern == "" && m.rule.names(r.rule.Tool) && !isServer(r.rule.Tool)
	case m.rule.Pattern == "":
		return true
	case r.rule.Pattern == "":
		return false
	case m.glob != "":
		return coversGlob(m.glob, r.glob)
	case m.host != "":
		return strings.HasPrefix(m.host, "*.") && allowsHost(m.host, strings.TrimPrefix(r.host, "*."))
	}
	return m.shell.Covers(r.shell)
}

// coversGlob is sure only of DIR/** with a plain DIR, for what is spelled below
// DIR; a guarded name must be spelled in both.
func coversGlob(wide, narrow string) bool {
	for _, g := range guardedIn(narrow) {
		if !slices.Contains(guardedIn(wide), g) {
			return false
		}
	}
	if wide == "**" {
		return !strings.HasPrefix(narrow, "/") && narrow != ".." && !strings.HasPrefix(narrow, "../")
	}
	base, rest := splitGlob(wide)
	if rest != "**" {
		return false
	}
	narrowBase, _ := splitGlob(narrow)
	if narrowBase == "" || !under(base, narrowBase) || base == "/" && !strings.HasPrefix(narrowBase, "/") {
		return false
	}
	below := strings.TrimPrefix(strings.TrimPrefix(narrowBase, base), "/")
	return below != ".." && !strings.HasPrefix(below, "../")
}
