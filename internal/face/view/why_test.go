package view_test

import (
	"testing"

	"waggle/internal/face/view"
	"waggle/operator/inspect"
	"waggle/record"
)

func TestWhy(t *testing.T) {
	y := &inspect.Why{Standing: inspect.Standing{Team: "api", Name: "ann", State: "left", Stand: inspect.Stand{Is: inspect.ConditionLeft}, Since: at(0), Why: "it left: stopped"}, Trust: record.Cooperative,
		Evidence: []inspect.Fact{{Source: "process", At: at(1), Detail: "it is gone"}, {Source: "mailbox", Detail: "empty"}}}
	golden(t, "why", y)
	golden(t, "why_empty", &inspect.Why{})
	samePage(t, "why", view.WhyPage(y, now))
	alone := &inspect.Why{Standing: inspect.Standing{Team: "api", Name: "eve", State: "unknown", Stand: inspect.Stand{Is: inspect.ConditionUnknown}, Why: "only files vouch for it"}, Trust: record.FileTrust, Unheard: true}
	golden(t, "why_unheard", alone)
	samePage(t, "why_unheard", view.WhyPage(alone, now))
	samePage(t, "why_empty", view.WhyPage(&inspect.Why{Standing: inspect.Standing{Name: "ann", State: "idle", Stand: inspect.Stand{Is: inspect.ConditionReady}, Why: "rests"}}, now))
}
