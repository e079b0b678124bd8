package control

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"waggle"
)

// TeamUID is 128 random bits in hex, given at create (TRUST 2).
type TeamUID string

// Instance is one membership: 128 random bits in hex, given at join. It survives
// a restart; a new member with an old name is a new instance.
type Instance string

// Digest is the SHA-256, in hex, of exactly what a request asks for.
type Digest string

// Key names a request: ids are only unique within an instance and a kind.
type Key struct {
	Instance Instance         `json:"instance"`
	Kind     waggle.Kind      `json:"kind"` // the request's kind, not the answer's
	ID       waggle.RequestID `json:"id"`
}

// Ask is what a request asks for: what a person is shown and what the digest
// covers.
type Ask struct {
	Tool   string `json:"tool,omitempty"`
	Input  string `json:"input,omitempty"` // the JSON text as it stands in the message, byte for byte
	Cwd    string `json:"cwd,omitempty"`
	Host   string `json:"host,omitempty"` // network
	Port   string `json:"port,omitempty"`
	Plan   string `json:"plan,omitempty"`
	Reason string `json:"reason,omitempty"` // display only, not in the digest
	// ToolUseID goes back in the answer; it is not in the digest.
	ToolUseID string `json:"tool_use_id,omitempty"`
}

// DigestOf binds a request to what it asks (TRUST 2): SHA-256 over length-
// prefixed fields. There is no canonical JSON: equal digests mean equal bytes.
func DigestOf(uid TeamUID, k Key, a Ask) Digest {
	h := sha256.New()
	put := func(parts ...string) {
		var n [8]byte
		for _, p := range parts {
			binary.BigEndian.PutUint64(n[:], uint64(len(p)))
			h.Write(n[:])
			h.Write([]byte(p))
		}
	}
	put("waggle/request/1", string(uid), string(k.Instance), string(k.Kind), string(k.ID))
	switch k.Kind {
	case waggle.KindSandboxPermissionRequest:
		put(a.Host, a.Port)
	case waggle.KindPlanApprovalRequest:
		put(a.Plan)
	default:
		put(a.Tool, a.Cwd, a.Input)
	}
	return Digest(hex.EncodeToString(h.Sum(nil)))
}

// updates reports whether the change that an answer makes to a request is one: an
// allow of a tool call, and with the digest of what runs instead.
func updates(uid TeamUID, k Key, changed Ask, decision, input string, digest Digest) bool {
	if input == "" {
		return digest == ""
	}
	changed.Input = input
	return decision == DecisionAllow && k.Kind == waggle.KindPermissionRequest && digest == DigestOf(uid, k, changed)
}

// isRequest reports whether a kind asks for a verdict.
func isRequest(k waggle.Kind) bool {
	switch k {
	case waggle.KindPermissionRequest, waggle.KindSandboxPermissionRequest, waggle.KindPlanApprovalRequest:
		return true
	}
	return false
}

// answerOf is the kind of the message that answers a request.
func answerOf(k waggle.Kind) waggle.Kind {
	switch k {
	case waggle.KindPlanApprovalRequest:
		return waggle.KindPlanApprovalResponse
	case waggle.KindSandboxPermissionRequest:
		return waggle.KindSandboxPermissionResponse
	}
	return waggle.KindPermissionResponse
}

// HashText is the SHA-256, in hex, of a message's text: what ties an entry in a
// mailbox to a record in a journal.
func HashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
