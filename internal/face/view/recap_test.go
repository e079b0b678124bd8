package view_test

import (
	"testing"

	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/inspect"
)

func recap() *inspect.Recap {
	do := operator.Next{Step: operator.NextShow, ID: "9"}
	decision := inspect.RecapDecision{At: at(3), ID: "perm-1", Member: "ann", Asks: "Bash ls", Decision: "deny", By: "leader", Via: "expiry", Reason: "late", Do: do}
	refused := decision
	refused.Rule, refused.Via = "deny Bash", "leader"
	return &inspect.Recap{Team: "api", Since: at(0), SinceWhy: "you detached", State: "interrupted",
		Results:   []inspect.RecapResult{{At: at(1), Member: "ann", Task: "1", Subject: "build", Outcome: "failed", Note: "exit 1", Do: do}, {At: at(2), Outcome: "completed"}},
		Members:   []inspect.RecapMember{{At: at(2), Member: "bob", What: "joined", Detail: "agent script"}},
		Decisions: []inspect.RecapDecision{decision}, Calls: inspect.RecapCalls{Allowed: 1, Denied: []inspect.RecapDecision{refused}},
		Messages: []inspect.RecapMessage{{Timestamp: "2026-11-20T11:00:00Z", From: "ann", Text: "hello", Read: true}, {Timestamp: "some day"}},
		Sent:     []inspect.RecapSent{{At: at(4), From: "gus", To: "ann", Text: "go"}},
		Waiting:  []inspect.RecapWaiting{{ID: "perm-2", Handle: "7KQF", Member: "ann", Asks: "Bash make", Risk: "low", Asked: operator.Past{Time: at(30)}, Asker: "dead", Do: do}},
		Trouble:  []inspect.RecapMember{{Member: "eve", What: "dead", Detail: "killed", Do: do}}}
}

func TestRecap(t *testing.T) {
	golden(t, "recap", view.Recap(recap()))
	golden(t, "recap_empty", view.Recap(&inspect.Recap{}))
	samePage(t, "recap", view.RecapPage(now, recap()))
	other := recap()
	other.Team = "web"
	samePage(t, "recap_several", view.RecapPage(now, recap(), other))
	samePage(t, "recap_empty", view.RecapPage(now, &inspect.Recap{Team: "api", State: "led", Since: at(0), SinceWhy: "the team began"}))
}
