package message

import (
	"waggle"
	"waggle/policy"
	"waggle/record"
)

// AskOf is what a message asks for, from its own bytes; why says what cannot be
// bound to an answer.
func AskOf(p waggle.Payload, cwd string) (a record.Ask, why string) {
	switch p := p.(type) {
	case waggle.PermissionRequest:
		return record.Ask{N: record.SumN, Tool: p.ToolName, Input: string(p.Input), Cwd: cwd, Reason: Clip(p.Description), ToolUseID: p.ToolUseID,
			Bound: record.Bound{Stdin: record.StdinOf(string(p.Input))}}, ""
	case waggle.PlanApprovalRequest:
		return record.Ask{N: record.SumN, Plan: p.PlanContent}, ""
	case waggle.SandboxPermissionRequest:
		a = record.Ask{N: record.SumN, Reason: Clip(p.Reason)}
		asked, err := p.HostPattern.Host, error(nil)
		if a.Host, a.Port, err = policy.ReadHost(asked, nil); a.Hostport() != asked {
			a.Spelled = asked
		}
		switch {
		case err != nil:
			return a, err.Error()
		case p.Capability != "":
			return a, "it asks for " + Clip(p.Capability) + ", and only the network can be asked for"
		case len(p.Hosts) > 1:
			return a, "it asks for several hosts under one id, and an answer names one"
		}
		return a, ""
	}
	return a, "it asks for nothing that can be answered"
}
