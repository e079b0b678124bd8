package protocol

import "encoding/json"

// The fields of changes of policy (protocol §1.7, §1.8).

var modeSetRequestTable = table[ModeSetRequest]{
	rows: []*fieldOf[ModeSetRequest]{
		{name: "mode", in: "wire:mode! catalog:2:mode! also:permissionMode,policy.permissionMode", need: true, without: "the mode is missing", decides: true, as: modeText, doc: "The mode; of several the strictest counts."},
		{name: "from", in: "wire:from!", need: true, as: sender, doc: "Who sets it."},
		{name: "timestamp", in: "wire:timestamp- catalog:1:timestamp!?", as: spokenTime, doc: "When it was set; on the wire the envelope says it."},
		{name: "policy.permissionMode", in: "catalog:3:policy.permissionMode+", hidden: true,
			codec: made(func(p *ModeSetRequest) string { return p.Mode }), doc: "The mode once more, as seed 000 has it."},
	},
}.build()

// The behaviours of a rule.
const (
	behaviorAllow = "allow"
	behaviorDeny  = "deny"
	behaviorAsk   = "ask"
)

var teamPermissionUpdateTable = table[TeamPermissionUpdate]{
	rows: []*fieldOf[TeamPermissionUpdate]{
		{name: "toolName", in: "wire:toolName!", decides: true, as: text, doc: "The tool of rules that name none."},
		{name: "directoryPath", in: "wire:directoryPath!", decides: true, as: text, doc: "Where the rules hold; empty: everywhere."},
		updateBehavior, updateRules, updateRemoved,
		updateDenied,
		updateVersion,
		{name: "timestamp", in: "wire:timestamp- catalog:1:timestamp!?", as: spokenTime, doc: "When it was changed; on the wire the envelope says it."},
	},
	finish: (*frame).teamPermissionUpdate,
	refuse: (*TeamPermissionUpdate).noForm,
}.build()

// The rules, which are read together; the catalogue has a list for each behaviour.
var (
	updateBehavior = &fieldOf[TeamPermissionUpdate]{
		name: "permissionUpdate.behavior", in: "wire:permissionUpdate.behavior! also:permission_update.behavior", decides: true,
		choices: []string{behaviorAllow, behaviorDeny, behaviorAsk}, as: elsewhere, doc: "What the rules do."}
	updateRules = &fieldOf[TeamPermissionUpdate]{
		name: "permissionUpdate.rules", in: "wire:permissionUpdate.rules! also:permission_update.rules catalog:2:rules.allowedTools+", decides: true,
		codec: ruleList(func(p *TeamPermissionUpdate) []PermissionRule { return p.PermissionUpdate.Rules }),
		when: func(p *TeamPermissionUpdate, d Dialect) bool {
			return d == DialectWire || p.PermissionUpdate.Behavior == behaviorAllow
		},
		catalog: func(o *object, key string, p *TeamPermissionUpdate) { o.strs(key, ruleTexts(p.PermissionUpdate.Rules)) },
		items:   viewFields(ruleFields), doc: "The rules; in the catalogue those that allow."}
	updateRemoved = &fieldOf[TeamPermissionUpdate]{
		name: "permissionUpdate.removedRules", in: "wire:permissionUpdate.removedRules also:permission_update.removedRules", decides: true,
		codec: ruleList(func(p *TeamPermissionUpdate) []PermissionRule { return p.PermissionUpdate.RemovedRules }),
		items: viewFields(ruleFields), doc: "The rules that no longer have the behaviour."}
	updateVersion = &fieldOf[TeamPermissionUpdate]{
		name: "policyVersion", in: "wire:policyVersion catalog:4:policyVersion", decides: true,
		codec: codec[TeamPermissionUpdate]{
			typ: FieldVersion,
			read: func(f *frame, p *TeamPermissionUpdate, paths []string) {
				p.PolicyVersion = f.policyVersion(paths...)
			},
			write: func(o *object, key string, p *TeamPermissionUpdate) { o.int(key, int64(p.PolicyVersion)) },
			empty: func(p *TeamPermissionUpdate) bool { return p.PolicyVersion == 0 },
			test: func(c *checks, r *fieldOf[TeamPermissionUpdate], p *TeamPermissionUpdate) {
				if p.PolicyVersion > MaxPolicyVersion {
					c.add("%s is larger than %d", r.name, MaxPolicyVersion)
				}
			},
		},
		doc: "Orders the updates of one lead; each is larger than the one before."}
	updateDenied = &fieldOf[TeamPermissionUpdate]{
		name: "alsoDeny", in: "catalog:3:rules.disallowedTools+", hidden: true, decides: true,
		codec: codec[TeamPermissionUpdate]{
			typ: FieldList,
			write: func(o *object, key string, p *TeamPermissionUpdate) {
				o.strs(key, ruleTexts(p.denied()))
			},
			test: func(c *checks, r *fieldOf[TeamPermissionUpdate], p *TeamPermissionUpdate) {
				if p.AlsoDeny != nil {
					c.oneOf(r.name+".behavior", p.AlsoDeny.Behavior, behaviorDeny)
					c.rules(r.name+".rules", p.AlsoDeny.Rules)
				}
			},
		},
		when: func(p *TeamPermissionUpdate, _ Dialect) bool {
			return p.AlsoDeny != nil || p.PermissionUpdate.Behavior == behaviorDeny
		}, doc: "The rules of the catalogue that deny, where a message has both."}
)

// ruleList is a list of rules that the kind's own function reads.
func ruleList(of func(*TeamPermissionUpdate) []PermissionRule) codec[TeamPermissionUpdate] {
	return codec[TeamPermissionUpdate]{
		typ:   FieldList,
		write: func(o *object, key string, p *TeamPermissionUpdate) { o.raws(key, ruleObjects(of(p))) },
		empty: func(p *TeamPermissionUpdate) bool { return len(of(p)) == 0 },
		test:  func(c *checks, r *fieldOf[TeamPermissionUpdate], p *TeamPermissionUpdate) { c.rules(r.name, of(p)) },
	}
}

// ruleFields are the fields of one rule.
var ruleFields = parsed([]*fieldOf[PermissionRule]{
	{name: "toolName", in: "wire:toolName!", need: true, as: text, doc: "The tool."},
	{name: "ruleContent", in: "wire:ruleContent", as: text, doc: "What of it, such as git:*."},
})

var ruleOrder = inPlace(ruleFields, DialectWire)

func parsed[P any](rows []*fieldOf[P]) []*fieldOf[P] {
	for i, r := range rows {
		r.parse(i)
	}
	return rows
}

// denied are the rules of the catalogue's list of denied tools.
func (p *TeamPermissionUpdate) denied() []PermissionRule {
	if p.AlsoDeny != nil {
		return p.AlsoDeny.Rules
	}
	return p.PermissionUpdate.Rules
}

// rules checks the rules of a list.
func (c *checks) rules(name string, rules []PermissionRule) {
	for i := range rules {
		var one checks
		checkFields(&one, &rules[i], ruleFields, DialectWire)
		for _, problem := range one {
			c.add("%s[%d].%s", name, i, problem)
		}
	}
}

func ruleObjects(rules []PermissionRule) []json.RawMessage {
	list := make([]json.RawMessage, len(rules))
	for i := range rules {
		var o object
		writeFields(&o, &rules[i], ruleOrder, DialectWire)
		list[i] = o.close()
	}
	return list
}

// ruleTexts writes rules such as Bash(git:*).
func ruleTexts(rules []PermissionRule) (texts []string) {
	for _, rule := range rules {
		texts = append(texts, ruleText(rule))
	}
	return texts
}

func ruleText(rule PermissionRule) string {
	if rule.RuleContent == "" {
		return rule.ToolName
	}
	return rule.ToolName + "(" + rule.RuleContent + ")"
}

// noForm says why a dialect cannot write the update. In the catalogue the directory would
// be lost, and with it a limit on what is allowed.
func (p *TeamPermissionUpdate) noForm(d Dialect) string {
	if d == DialectWire {
		if p.AlsoDeny != nil {
			return "alsoDeny cannot be written on the wire: send it as an update of its own"
		}
		return ""
	}
	switch b := p.PermissionUpdate.Behavior; {
	case b != behaviorAllow && b != behaviorDeny:
		return "the catalog form cannot say behavior " + b
	case len(p.PermissionUpdate.RemovedRules) > 0 || p.AlsoDeny != nil && len(p.AlsoDeny.RemovedRules) > 0:
		return "the catalog form cannot say removedRules"
	case p.DirectoryPath != "":
		return "the catalog form cannot say directoryPath"
	case p.AlsoDeny != nil && b == behaviorDeny:
		return "the catalog form cannot say two lists of denied tools"
	}
	why := unsaid(p.PermissionUpdate.Rules)
	if p.AlsoDeny != nil {
		if also := unsaid(p.AlsoDeny.Rules); also != "" {
			why = also
		}
	}
	return why
}

// unsaid names the last rule that has no text form.
func unsaid(rules []PermissionRule) (why string) {
	for _, rule := range rules {
		if back, ok := parseRuleText(ruleText(rule)); !ok || back != rule {
			why = "the catalog form cannot say the rule for " + show(rule.ToolName)
		}
	}
	return why
}
