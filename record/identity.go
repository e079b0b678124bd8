package record

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"

	"waggle/policy"
	"waggle/protocol"
)

// TeamUID is 128 random bits in hex, given at create (trust §2).
type TeamUID string

// Instance is one membership: 128 random bits in hex, given at join. It survives
// a restart; a new member with an old name is a new instance.
type Instance string

// Digest is the SHA-256, in hex, of exactly what a request asks for.
type Digest string

// Key names a request: ids are only unique within an instance and a kind.
type Key struct {
	Instance Instance           `json:"instance"`
	Kind     protocol.Kind      `json:"kind"` // the request's kind, not the answer's
	ID       protocol.RequestID `json:"id"`
}

// Decides reports whether a decision is one of those that a kind of request takes: allow or deny, and
// for a question answer or deny.
func Decides(k protocol.Kind, decision string) bool {
	return decision == DecisionDeny || decision == Positive(k)
}

// Positive is the decision on a kind of request that is no denial. That on a question allows
// nothing.
func Positive(k protocol.Kind) string {
	if k == KindQuestion {
		return DecisionAnswer
	}
	return DecisionAllow
}

// Updates reports whether the change that an answer makes to a request is one: an
// allow of a tool call, and with the digest of what runs instead.
func Updates(uid TeamUID, k Key, changed Ask, decision, input string, digest Digest) bool {
	if input == "" {
		return digest == ""
	}
	return decision == DecisionAllow && k.Kind == protocol.KindPermissionRequest && digest == DigestOf(uid, k, changed.With(input))
}

// requests has, for each kind that asks for an answer, what decides it and the kind of the message that answers it.
var requests = map[protocol.Kind]struct {
	gate   policy.Gate
	answer protocol.Kind
}{
	protocol.KindPermissionRequest:        {policy.GateTool, protocol.KindPermissionResponse},
	protocol.KindSandboxPermissionRequest: {policy.GateNetwork, protocol.KindSandboxPermissionResponse},
	protocol.KindPlanApprovalRequest:      {policy.GatePlan, protocol.KindPlanApprovalResponse},
	KindQuestion:                          {policy.GateQuestion, ""},
}

// IsRequest reports whether a kind asks for an answer.
func IsRequest(k protocol.Kind) bool { _, ok := requests[k]; return ok }

// AnswerKind is the kind of the message that answers a request; "" for a question, which no message
// answers.
func AnswerKind(k protocol.Kind) protocol.Kind { return requests[k].answer }

// HashText is the SHA-256, in hex, of a message's text. It pairs an entry of a mailbox
// with a record of a journal.
func HashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// GateOf maps a request's kind to what decides it.
func GateOf(k protocol.Kind) policy.Gate { return cmp.Or(requests[k].gate, policy.GateTool) }
