package view_test

import (
	"testing"

	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/inspect"
)

func digest() *inspect.Digest {
	do := operator.Next{Step: operator.NextShow, ID: "9"}
	decision := inspect.DigestDecision{At: at(3), ID: "perm-1", Member: "ann", Asks: "Bash ls", Decision: "deny", By: "leader", Via: "expiry", Reason: "late", Do: do}
	refused := decision
	refused.Rule, refused.Via = "deny Bash", "leader"
	return &inspect.Digest{Team: "api", Since: at(0), SinceWhy: "you detached", State: "interrupted",
		Results:   []inspect.DigestResult{{At: at(1), Member: "ann", Task: "1", Subject: "build", Outcome: "failed", Note: "exit 1", Do: do}, {At: at(2), Outcome: "completed"}},
		Members:   []inspect.DigestMember{{At: at(2), Member: "bob", What: "joined", Detail: "agent script"}},
		Decisions: []inspect.DigestDecision{decision}, Calls: inspect.DigestCalls{Allowed: 1, Denied: []inspect.DigestDecision{refused}},
		Messages: []inspect.DigestMessage{{Timestamp: "2026-11-20T11:00:00Z", From: "ann", Text: "hello", Read: true}, {Timestamp: "some day"}},
		Sent:     []inspect.DigestSent{{At: at(4), From: "gus", To: "ann", Text: "go"}},
		Waiting:  []inspect.DigestWaiting{{ID: "perm-2", Handle: "7KQF", Member: "ann", Asks: "Bash make", Risk: "low", Asked: at(30), Asker: "dead", Do: do}},
		Trouble:  []inspect.DigestMember{{Member: "eve", What: "dead", Detail: "killed", Do: do}}}
}

func TestDigest(t *testing.T) {
	golden(t, "digest", view.Digest(digest(), now, spell))
	golden(t, "digest_empty", view.Digest(&inspect.Digest{}, now, spell))
	samePage(t, "digest", view.DigestPage(now, digest()))
	other := digest()
	other.Team = "web"
	samePage(t, "digest_several", view.DigestPage(now, digest(), other))
	samePage(t, "digest_empty", view.DigestPage(now, &inspect.Digest{Team: "api", State: "led", Since: at(0), SinceWhy: "the team began"}))
}
