package view

import (
	"encoding/json"
	"strings"

	"waggle/operator/decide"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// RiskParts is what makes a request of high risk that: parts of its command, or the whole of it. A
// request of less risk has none.
func RiskParts(q decide.Request) []policy.RiskPart {
	if policy.Risk(q.Risk) != policy.RiskHigh {
		return nil
	}
	switch gate := record.GateOf(protocol.Kind(q.Kind)); {
	case gate == policy.GateNetwork:
		return []policy.RiskPart{{Why: "it uses the network"}}
	case gate != policy.GateTool || !json.Valid(q.Input):
		return nil
	}
	c := policy.Call{Tool: q.Tool, Input: q.Input, Cwd: q.Cwd, Stdin: q.Stdin, Env: q.Env, OwnTree: q.OwnTree}
	if q.Paths != nil {
		c.Links = policy.Recorded(q.Paths)
	}
	return policy.RiskParts(c)
}

// riskWhy says in a line why a request is of high risk; "" where nothing is known.
func riskWhy(q decide.Request, parts []policy.RiskPart) string {
	var whys []string
	for _, p := range parts {
		if p.To > p.From && p.To <= len(q.Command) && p.To-p.From < min(len(q.Command), 60) {
			p.Why = q.Command[p.From:p.To] + ": " + p.Why
		}
		whys = append(whys, p.Why)
	}
	return strings.Join(whys, "; ")
}
