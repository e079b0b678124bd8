package message

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"waggle/internal/json/jsontext"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// AskOf is what a message asks for, from its own bytes; why says what cannot be
// bound to an answer.
func AskOf(p protocol.Payload, cwd string) (a record.Ask, why string) {
	switch p := p.(type) {
	case protocol.PermissionRequest:
		return record.Ask{N: record.SumN, Tool: p.ToolName, Input: string(p.Input), Cwd: cwd, Reason: Clip(p.Description), ToolUseID: p.ToolUseID,
			Bound: record.Bound{Stdin: record.StdinOf(string(p.Input))}}, ""
	case protocol.PlanApprovalRequest:
		return record.Ask{N: record.SumN, Plan: p.PlanContent}, ""
	case protocol.SandboxPermissionRequest:
		return askOfHosts(p), ""
	}
	return a, "it asks for nothing that can be answered"
}

// Unreadable is the record of a request that is invalid (protocol.Decoded.Refused), and that nobody can be asked about: what is
// shown of it, and why.
func Unreadable(p protocol.Payload, why string) record.Ask {
	a := record.Ask{N: record.SumN, Refused: "it cannot be read: " + Clip(why)}
	switch p := p.(type) {
	case protocol.PermissionRequest:
		a.Tool, a.ToolUseID = cmp.Or(Clip(p.ToolName), unknown), Clip(p.ToolUseID)
	case protocol.SandboxPermissionRequest:
		a.Spelled = cmp.Or(Clip(p.HostPattern.Host), unknown)
		a.Host = strings.ReplaceAll(a.Spelled, ",", " ") // shown; no target
	}
	return a
}

// unknown stands for what an unreadable request does not say.
const unknown = "unknown"

// Unanswerable is what the sender of a request is told that nobody can answer: its id, by which an answer would find it,
// is missing or in doubt.
func Unanswerable(kind protocol.Kind, why string) string {
	return fmt.Sprintf("Your %s cannot be answered: %s. Nobody was asked, and no answer will come. Write it again with a requestId (request_id, where "+
		"its other keys are spelled so): a text, once, that no other request of yours has. The answer has the same.", kind, Clip(why))
}

// maxHosts is how many hosts one request may ask for: a person reads them all.
const maxHosts = 32

// askOfHosts is a request for the network. One that nobody can be asked about says why (record.Ask.Refused).
func askOfHosts(p protocol.SandboxPermissionRequest) record.Ask {
	a := record.Ask{N: record.SumN, Reason: Clip(p.Reason), Spelled: p.HostPattern.Host}
	asked := p.Hosts
	if len(asked) == 0 {
		asked = []string{p.HostPattern.Host}
	}
	var targets []record.Target
	switch {
	case p.Capability != "":
		a.Refused = "it asks for " + Clip(p.Capability) + ", and only the network can be asked for"
	case len(asked) > maxHosts:
		a.Refused = fmt.Sprintf("it asks for %d hosts, and at most %d can be asked for at once", len(asked), maxHosts)
	default:
		for _, host := range asked {
			t, err := readTarget(host)
			if err != nil {
				a.Refused = err.Error()
				break
			}
			if !slices.Contains(targets, t) {
				targets = append(targets, t)
			}
		}
	}
	if a.Refused != "" {
		a.Host = strings.ReplaceAll(Clip(p.HostPattern.Host), ",", " ") // shown; no target
		return a
	}
	if a.Host, a.Port = record.Join(targets); a.Hostport() == a.Spelled {
		a.Spelled = ""
	}
	return a
}

// toASCII converts an international name; policy judges the others.
func toASCII(host string) (string, error) {
	if strings.IndexFunc(host, func(r rune) bool { return r > 127 }) < 0 {
		return host, nil
	}
	return idna.Lookup.ToASCII(host)
}

// readTarget reads a host as policy.ReadHost does, or *.NAME for the hosts below a name.
func readTarget(asked string) (t record.Target, err error) {
	below, wild := strings.CutPrefix(asked, "*.")
	t.Host, t.Port, err = policy.ReadHost(below, toASCII)
	switch {
	case err != nil && wild:
		return t, fmt.Errorf("%.80q is no pattern that can be asked for: %w", asked, err)
	case err != nil:
		return t, err
	case !wild:
		return t, nil
	}
	if _, err := netip.ParseAddr(t.Host); err == nil || strings.Contains(below, "://") {
		return t, fmt.Errorf("%.80q is no pattern that can be asked for: write *.NAME or *.NAME:PORT", asked)
	}
	t.Host = "*." + t.Host
	return t, nil
}

// Answer is what a response in a mailbox says to a request, where no record of the lead stands
// behind it.
type Answer struct {
	Of     protocol.Kind // the kind of what it answers
	ID     protocol.RequestID
	Allow  bool
	Reason string
	Call   string          // tool_use_id; "": it names none
	Host   string          // "": it names none
	Input  json.RawMessage // the input to run; empty: the input that was asked
	More   bool            // it says more than yes or no
}

// AnswerOf reads a response; the zero Answer is that of another payload.
func AnswerOf(p protocol.Payload) Answer {
	switch p := p.(type) {
	case protocol.PermissionResponse:
		v := Answer{Of: protocol.KindPermissionRequest, ID: protocol.RequestID(p.RequestID), Allow: p.Subtype == protocol.SubtypeSuccess, Reason: cmp.Or(p.Error, p.Notes),
			Call: p.ToolUseID, More: p.Mode != ""}
		if p.Response != nil {
			v.Input, v.More = p.Response.UpdatedInput, v.More || len(p.Response.PermissionUpdates) > 0
		}
		return v
	case protocol.PlanApprovalResponse:
		return Answer{Of: protocol.KindPlanApprovalRequest, ID: protocol.RequestID(p.RequestID), Allow: p.Approved, Reason: p.Feedback, More: p.PermissionMode != ""}
	case protocol.SandboxPermissionResponse:
		return Answer{Of: protocol.KindSandboxPermissionRequest, ID: protocol.RequestID(p.RequestID), Allow: p.Allow, Reason: p.Notes, Host: p.Host, More: p.Scope != "" && p.Scope != scopeOnce && p.Scope != "once"}
	}
	return Answer{}
}

// SameInput reports an input that equals the one that was asked: none, an empty object, or the same
// values. The input that runs is always the one that was asked, byte for byte.
func SameInput(got json.RawMessage, asked string) bool {
	got = bytes.TrimSpace(got)
	if len(got) == 0 || string(got) == "null" || string(got) == "{}" || string(got) == asked {
		return true
	}
	return jsontext.Same(got, []byte(asked))
}
