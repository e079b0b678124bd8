package view

import (
	"waggle/internal/face/view/page"
	"waggle/operator/inspect"
)

// conditionVersion is the version of ConditionDocument.
const conditionVersion = 1

// ConditionDocument is one line of the stream of members' conditions (commands §4).
type ConditionDocument struct {
	V int `json:"v"`
	inspect.Change
}

// State is the document of a condition.
func State(c inspect.Change) ConditionDocument { return ConditionDocument{conditionVersion, c} }

// WaitDocument says how a wait for a member's condition ended.
type WaitDocument struct {
	Until   string `json:"until"`
	Reached bool   `json:"reached"`
	ConditionDocument
}

// WaitPage is the condition with which a wait ended.
func WaitPage(c inspect.Change) (p page.Page) {
	p.Line(page.Strong(string(c.Member)), page.Plain("  "+string(c.Is)+"  "+c.Why))
	return p
}
