package protocol

import (
	"slices"
	"strconv"
	"strings"

	"waggle/internal/json/jsontext"
)

// strictness orders the modes, the loosest first (protocol §1.7). A mode that is not
// listed counts as the strictest of all: policy refuses it.
var strictness = []string{
	"bypassPermissions", "auto", "acceptEdits", "delegate", "default", "dontAsk", "safe", "plan", "locked-down",
}

// mode returns the permission mode. Of several that differ the strictest counts
// (protocol §9.1 #6); unlike other fields a difference is no contradiction, because
// seed 000 writes two by design. Unknown modes are kept.
func (f *frame) mode(paths ...string) string {
	rank := func(mode string) int {
		if at := slices.Index(strictness, mode); at >= 0 {
			return at
		}
		return len(strictness)
	}
	mode := ""
	for _, fd := range f.all(paths...) {
		if jsontext.TypeOf(fd.raw) == "null" {
			f.warn("%s is null: read as absent", fd.path)
			continue
		}
		if fd.raw[0] != '"' {
			f.contradict("%s is %s, not a string", fd.path, jsontext.WithArticle(fd.raw))
			continue
		}
		other := str(fd.raw)
		switch {
		case mode == "":
			mode = other
		case mode == other:
		case rank(other) > rank(mode):
			f.warn("the modes %s and %s differ: the stricter one, %s, counts", show(mode), show(other), show(other))
			mode = other
		default:
			f.warn("the modes %s and %s differ: the stricter one, %s, counts", show(mode), show(other), show(mode))
		}
	}
	return mode
}

// teamPermissionUpdate ends the reading of protocol §1.8. A rule that cannot be read makes
// the whole frame invalid: leaving out a deny rule would widen what is allowed.
func (f *frame) teamPermissionUpdate(p *TeamPermissionUpdate) Payload {
	allow, allows := f.toolList(updateRules.path(DialectCatalog), true)
	deny, denies := f.toolList(updateDenied.path(DialectCatalog), false)
	behavior, hasBehavior := f.find(updateBehavior.paths...)
	rules, hasRules := f.find(append([]string{updateRules.path(DialectWire)}, updateRules.also...)...)
	removed, removes := f.find(updateRemoved.paths...)
	switch {
	case (allows || denies) && (hasBehavior || hasRules || removes):
		f.contradict("rules and permissionUpdate differ")
	case allows:
		p.PermissionUpdate = PermissionUpdate{Behavior: behaviorAllow, Rules: allow}
		if denies {
			p.AlsoDeny = &PermissionUpdate{Behavior: behaviorDeny, Rules: deny}
		}
	case denies:
		p.PermissionUpdate = PermissionUpdate{Behavior: behaviorDeny, Rules: deny}
	case !hasBehavior || !hasRules:
		f.fail("permissionUpdate needs behavior and rules")
	default:
		b := f.behavior(behavior)
		p.PermissionUpdate = PermissionUpdate{Behavior: b, Rules: f.rules(updateRules.name, updateRules.name, rules, &p.ToolName, b == behaviorAllow)}
		if removes {
			p.PermissionUpdate.RemovedRules = f.rules(updateRemoved.name, updateRemoved.name, removed, &p.ToolName, b != behaviorAllow)
		}
	}
	return *p
}

// policyVersion reads the number that orders the updates of a lead; 0 where the frame has none.
// An order that cannot be read makes the frame invalid: without it an old update could follow a new one.
func (f *frame) policyVersion(paths ...string) uint64 {
	raw, ok := f.find(paths...)
	if !ok {
		return 0
	}
	n, err := strconv.ParseUint(raw, 10, 64)
	if err != nil || n == 0 || n > MaxPolicyVersion {
		f.fail("%s is %s, not an integer from 1 to %d", paths[0], show(raw), uint64(MaxPolicyVersion))
		return 0
	}
	return n
}

func (f *frame) behavior(raw string) string {
	if raw[0] == '"' {
		if b := jsontext.Unquote(raw); slices.Contains(updateBehavior.choices, b) {
			return b
		}
	}
	f.fail("permissionUpdate.behavior is not allow, deny or ask")
	return ""
}

// rules reads a list of rules at a path, which is that of the field name in some dialect. A rule without
// a tool is about the tool that the frame names; nil: in its dialect none does. widens: the list makes more allowed.
func (f *frame) rules(path, name, raw string, tool *string, widens bool) []PermissionRule {
	list := []PermissionRule{}
	if raw[0] != '[' {
		f.fail("%s is %s, not an array", path, jsontext.WithArticle(raw))
		return list
	}
	for _, item := range jsontext.Items(raw) {
		rule, ok := f.rule(name, item, widens)
		if ok && rule.ToolName == "" && tool != nil {
			rule.ToolName = *tool
			f.warn("a rule names no tool: the frame's toolName is taken")
		}
		if !ok || rule.ToolName == "" {
			f.fail("%s holds something that is not a rule", path)
			return list
		}
		list = append(list, rule)
	}
	return list
}

// rule reads one rule of a list. A key that is not known may narrow the rule. In a list that widens what is
// allowed the rule without it would allow more than was written, so the frame is invalid; in another it reaches
// further, and is read with a warning.
func (f *frame) rule(path, raw string, widens bool) (PermissionRule, bool) {
	rule, unknown, ok := readRule(raw)
	for _, key := range unknown {
		if key := path + "[]." + key; !slices.Contains(f.unread, key) {
			f.unread = note(f.unread, "%s", []any{key})
		}
		if widens {
			f.fail("a rule of %s has the key %s, which is not understood: without it more would be allowed", path, show(key))
			continue
		}
		f.warn("key %s of a rule is not known: ignored", show(key))
	}
	return rule, ok
}

// readRule reads {toolName, ruleContent} or the text Tool(content), and names the
// keys that it does not know.
func readRule(raw string) (rule PermissionRule, unknown []string, ok bool) {
	switch raw[0] {
	case '"':
		rule, ok = parseRuleText(str(raw))
		return rule, nil, ok
	case '{':
	default:
		return rule, unknown, false
	}
	for _, m := range jsontext.Members(raw) {
		r := ruleField(m.Key)
		if r == nil {
			unknown = append(unknown, m.Key)
			continue
		}
		if m.Raw[0] != '"' {
			return rule, unknown, false
		}
		to := r.at(&rule)
		if *to != "" && *to != str(m.Raw) {
			return rule, unknown, false
		}
		*to = str(m.Raw)
	}
	return rule, unknown, true
}

// ruleField returns the field of a rule that has a key, in either casing.
func ruleField(key string) *fieldOf[PermissionRule] {
	for _, r := range ruleFields {
		if path := r.path(DialectWire); key == path || key == otherCasing(path) {
			return r
		}
	}
	return nil
}

// parseRuleText reads seed 000's "Bash(git:*)" and "Read".
func parseRuleText(s string) (PermissionRule, bool) {
	tool, content, has := strings.Cut(s, "(")
	if !has {
		return PermissionRule{ToolName: s}, s != ""
	}
	content, closed := strings.CutSuffix(content, ")")
	return PermissionRule{ToolName: tool, RuleContent: content}, closed && tool != ""
}

// toolList reads an array of rule texts; it reports whether the key is there.
func (f *frame) toolList(path string, widens bool) ([]PermissionRule, bool) {
	raw, ok := f.find(path)
	if !ok {
		return nil, false
	}
	return f.rules(path, updateRules.name, raw, nil, widens), true
}
