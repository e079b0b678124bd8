package waggle

import (
	"cmp"
	"encoding/json"
	"strings"
)

// catalog writes seed 000's recommended shape; why says what has no place in it.
// What is only shown (who assigned a task, a pane, suggestions) is left out.
// What decides is not: a payload that would mean something else is refused.
func (o *object) catalog(p Payload) (why string) {
	switch p := p.(type) {
	case TaskAssignment:
		o.str("requestId", p.TaskID)
		o.str("timestamp", p.Timestamp)
		o.nest("task", func(o *object) {
			o.str("title", p.Subject)
			text := p.Description
			if p.Context != "" && p.hasContext() {
				text = strings.TrimSuffix(strings.TrimSuffix(text, p.Context), "\n\n")
			}
			o.str("instructions", text)
			if text != p.Description {
				o.str("context", p.Context)
			}
			if p.PlanModeRequired {
				o.bool("planModeRequired", true)
			}
		})
	case TaskProgress:
		o.taskProgress(p)
	case TaskCompleted:
		o.str("requestId", p.TaskID)
		o.str("timestamp", p.Timestamp)
		if p.Result == nil {
			p.Result = &TaskResult{}
		}
		o.taskResult(*p.Result)
	case IdleNotification:
		if p.IdleReason != "available" {
			return "the catalog form cannot say idleReason " + p.IdleReason
		}
		o.str("timestamp", p.Timestamp)
		o.str("state", "idle")
	case ModeSetRequest:
		o.opt("timestamp", p.Timestamp)
		o.str("mode", p.Mode)
		o.nest("policy", func(o *object) { o.str("permissionMode", p.Mode) })
	case TeamPermissionUpdate:
		return o.catalogRules(p)
	case ShutdownRequest:
		o.str("requestId", p.RequestID)
		o.str("timestamp", p.Timestamp)
		o.opt("reason", p.Reason)
	case ShutdownApproved:
		o.str("requestId", p.RequestID)
		o.str("timestamp", p.Timestamp)
	case ShutdownRejected:
		o.str("requestId", p.RequestID)
		o.str("timestamp", p.Timestamp)
		o.opt("reason", p.Reason)
	default:
		return o.catalogGate(p)
	}
	return ""
}

// catalogGate is the part of catalog for the questions of a gate and their
// answers.
func (o *object) catalogGate(p Payload) (why string) {
	switch p := p.(type) {
	case PlanApprovalRequest:
		o.str("requestId", p.RequestID)
		o.str("timestamp", p.Timestamp)
		plan := p.Plan
		if plan == nil || plan.markdown() != p.PlanContent {
			plan = &Plan{Goal: p.PlanContent}
		}
		o.nest("plan", func(o *object) {
			o.str("goal", plan.Goal)
			o.strs("steps", plan.Steps)
			o.strs("risks", plan.Risks)
			o.strs("tooling", plan.Tooling)
		})
	case PlanApprovalResponse:
		o.str("requestId", p.RequestID)
		o.str("timestamp", p.Timestamp)
		o.bool("approved", p.Approved)
		o.opt("notes", p.Feedback)
		if p.Approved && p.PermissionMode != "" {
			o.nest("policy", func(o *object) { o.str("permissionMode", p.PermissionMode) })
		}
	case PermissionRequest:
		o.str("requestId", p.RequestID)
		o.opt("timestamp", p.Timestamp)
		o.nest("tool", func(o *object) {
			o.str("name", p.ToolName)
			o.raw("arguments", argumentText(p.Input))
		})
		o.str("reason", p.Description)
	case PermissionResponse:
		if g := p.Response; g != nil && (len(g.PermissionUpdates) > 0 || !noInput(g.UpdatedInput) && len(members(string(g.UpdatedInput))) > 0) {
			return "the catalog form cannot change the input or the rules"
		}
		o.str("requestId", p.RequestID)
		o.opt("timestamp", p.Timestamp)
		o.bool("approved", p.Allowed())
		o.opt("mode", p.Mode)
		o.opt("notes", cmp.Or(p.Error, p.Notes))
	case SandboxPermissionRequest:
		o.str("requestId", p.RequestID)
		o.str("timestamp", formatMillis(p.CreatedAt))
		o.str("capability", "network")
		o.nest("details", func(o *object) {
			hosts := p.Hosts
			if len(hosts) == 0 {
				hosts = []string{p.HostPattern.Host}
			}
			o.strs("hostnames", hosts)
			o.opt("reason", p.Reason)
		})
	case SandboxPermissionResponse:
		o.str("requestId", p.RequestID)
		o.str("timestamp", p.Timestamp)
		o.bool("approved", p.Allow)
		o.opt("scope", p.Scope)
		o.opt("notes", p.Notes)
	default:
		return "seed 000 has no form for this kind"
	}
	return ""
}

// argumentText is a tool's input as the catalog's string: the string itself when
// that is what the input was made of, else its JSON.
func argumentText(input json.RawMessage) []byte {
	if m := members(string(input)); len(m) == 1 && m[0].key == "arguments" && m[0].raw[0] == '"' {
		return []byte(m[0].raw)
	}
	return appendString(nil, string(input))
}

// catalogRules writes rule texts such as Bash(git:*). The directory would be
// lost, and with it a limit on what is allowed.
func (o *object) catalogRules(p TeamPermissionUpdate) (why string) {
	key := map[string]string{"allow": "allowedTools", "deny": "disallowedTools"}[p.PermissionUpdate.Behavior]
	if key == "" {
		return "the catalog form cannot say behavior " + p.PermissionUpdate.Behavior
	}
	if p.DirectoryPath != "" {
		return "the catalog form cannot say directoryPath"
	}
	list := func(rules []PermissionRule) (texts []string) {
		for _, rule := range rules {
			text := rule.ToolName
			if rule.RuleContent != "" {
				text += "(" + rule.RuleContent + ")"
			}
			if back, ok := parseRuleText(text); !ok || back != rule {
				why = "the catalog form cannot say the rule for " + show(rule.ToolName)
			}
			texts = append(texts, text)
		}
		return texts
	}
	texts := list(p.PermissionUpdate.Rules)
	var denied []string
	if p.AlsoDeny != nil {
		if denied = list(p.AlsoDeny.Rules); key != "allowedTools" {
			return "the catalog form cannot say two lists of denied tools"
		}
	}
	if why != "" {
		return why
	}
	o.opt("timestamp", p.Timestamp)
	o.nest("rules", func(o *object) {
		o.strs(key, texts)
		if p.AlsoDeny != nil {
			o.strs("disallowedTools", denied)
		}
	})
	return ""
}
