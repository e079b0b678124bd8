package session

import (
	"encoding/json"
	"fmt"
	"strings"

	"waggle/internal/cut"
	"waggle/internal/pattern"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// ID is a session's id as its client gives it: one harmless path component.
type ID string

// ParseID checks a session id: 1 to 64 letters, digits, "-" and "_", the first a
// letter or a digit.
func ParseID(s string) (ID, error) {
	if !plainID().MatchString(s) {
		return "", fmt.Errorf("session id %.80q is not 1 to 64 letters, digits, - and _", s)
	}
	return ID(s), nil
}

var plainID = pattern.New(`^[0-9A-Za-z][0-9A-Za-z_-]{0,63}$`)

// Record kinds of a session's journal.
const (
	recOpened   = "opened"   // Opened
	recAsked    = "asked"    // Asked
	recDecided  = "decided"  // Decided
	recAnswered = "answered" // Answered
	recClosed   = "closed"   // Closed
	recEnded    = "ended"    // Ended
)

// Form is what a request asks for.
type Form string

// The forms.
const (
	FormTool     Form = "tool"     // permission for one tool call
	FormPlan     Form = "plan"     // an answer to a plan
	FormQuestion Form = "question" // words: an answer that opens no gate (trust §3)
)

// Opened is one process of a session.
type Opened struct {
	Session ID     `json:"session"`
	Client  Client `json:"client"`
	// Process is the session's own process; the zero Identity when no ancestor of the
	// hook could be named.
	Process spawn.Identity `json:"process"`
	Shared  bool           `json:"shared,omitempty"` // it runs other sessions, too
	Cwd     string         `json:"cwd,omitempty"`
	Pane    string         `json:"pane,omitempty"` // tmux pane, "%3", as the hook's environment names it
	Source  string         `json:"source,omitempty"`
}

// Asked is a request, appended by the hook process that waits for its answer.
type Asked struct {
	record.Key
	Digest record.Digest `json:"digest"`
	Ask    record.Ask    `json:"ask"`
	Form   Form          `json:"form"`
	Client Client        `json:"client"`
	// Hook is the process that asked: only it can answer the client.
	Hook spawn.Identity `json:"hook"`
	// Session is the registered session process among the hook's ancestors. Why says
	// why there is none: such a request is shown and cannot be answered.
	Session spawn.Identity `json:"session_process"`
	Why     string         `json:"unverified,omitempty"`
	// Agent is the teammate that asks within the session, "" for the session itself.
	Agent     string `json:"agent,omitempty"`
	AgentName string `json:"agent_name,omitempty"`
	Mode      string `json:"permission_mode,omitempty"`
	// Suggestions are what the client offers its person beside yes and no; display only.
	Suggestions json.RawMessage `json:"suggestions,omitempty"`
}

// Decided is the one answer to a request.
type Decided struct {
	record.Key
	Digest   record.Digest  `json:"digest"`
	Decision string         `json:"decision"` // record.DecisionAllow, record.DecisionDeny, record.DecisionAnswer
	By       policy.Role    `json:"by"`
	Channel  policy.Channel `json:"channel"`
	Via      string         `json:"via,omitempty"`
	Rule     string         `json:"rule,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	// UpdatedInput is what runs instead of what was asked, under its own digest.
	UpdatedInput  string        `json:"updated_input,omitempty"`
	UpdatedDigest record.Digest `json:"updated_digest,omitempty"`
	// Answers are the texts for a question, by the question's text.
	Answers []record.Reply `json:"answers,omitempty"`
}

// Answered says that the hook process gave the decision to its client.
type Answered struct {
	record.Key
}

// Closed says that a request needs no answer any more.
type Closed struct {
	record.Key
	Evidence string `json:"evidence"`
	// InDialog: it was answered in the session's own dialog, as the evidence shows.
	InDialog bool `json:"home,omitempty"`
	// Unsaid: that it was answered is known, and not yet what. One more record of this
	// kind may say it.
	Unsaid bool `json:"unsaid,omitempty"`
	// Left, with Unsaid: it takes no answer, and the client asks it in the session's own dialog. One more
	// record of this kind says when that is over.
	Left bool `json:"left,omitempty"`
}

// Ended says that a session is over.
type Ended struct {
	Reason string `json:"reason,omitempty"`
}

// keyOf names a request of a session. The kind is the same for every form, so that
// the digest always covers the tool's whole input.
func keyOf(id ID, request protocol.RequestID) record.Key {
	return record.Key{Instance: record.Instance(id), Kind: protocol.KindPermissionRequest, ID: request}
}

// uidOf is the uid of a session's journal and of its digests.
func uidOf(id ID) record.TeamUID { return record.TeamUID("session/" + string(id)) }

// oneLine is the first line of a text, short.
func oneLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return cut.Runes(s, 201)
}
