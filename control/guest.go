package control

import (
	"bytes"
	"encoding/json"
	"net"
	"reflect"
	"strings"
	"time"

	"waggle"
	"waggle/journal"
	"waggle/policy"
	"waggle/record"
)

// A guest is a member of ours in a team that another program leads. That lead has no
// journal here, so what it writes is taken on the channel "file" (trust §1): a verdict
// answers one open question and allows it with its own input, a shutdown is answered.
// Modes, rules and hosts for later have no effect, and assignments are words.

// ReceiveFile judges a control entry of a guest's mailbox. An entry without effect gets one audit
// record; an entry that is owned already, or has only words, yields no draft. An allow holds from
// now as long as a leader's does, also over a crash of the guest.
func (w *Worker) ReceiveFile(in Incoming, l *Leader, now time.Time) []journal.Draft {
	if w.Owns(in.Entry) || !in.IsControl() {
		return nil
	}
	d := in.Decoded
	switch {
	case d.Kind == waggle.KindInvalid:
		return in.deny("cannot be read: " + first(d.Warnings))
	case d.FromMismatch:
		return in.deny("the payload names another sender than the envelope")
	case in.Envelope.From != string(waggle.Lead):
		return in.deny("only the lead may send it")
	}
	if ok, why := policy.MaySendFile(d.Kind, policy.RoleLeader, policy.RoleWorker); !ok {
		return in.deny(why)
	}
	if p, ok := d.Payload.(waggle.ShutdownRequest); ok {
		return w.askedToGo(in, waggle.RequestID(p.RequestID))
	}
	return w.answeredByFile(in, l, now)
}

// IsWords reports a control entry that a guest's session is given as words: a
// task_assignment is text to read there, and no order.
func (in Incoming) IsWords() bool { return in.Decoded.Kind == waggle.KindTaskAssignment }

func (w *Worker) askedToGo(in Incoming, id waggle.RequestID) []journal.Draft {
	switch {
	case w.gone:
		return in.deny("this member has ended")
	case w.leaving:
		return in.deny("a shutdown is being answered")
	case id == "":
		return in.deny("a request without an id cannot be answered")
	}
	return []journal.Draft{{Kind: record.KindApplied, Must: true, Body: record.Applied{What: record.CommandShutdown, Entry: in.Entry, ID: id, Channel: policy.ChannelFile}}}
}

func (w *Worker) answeredByFile(in Incoming, l *Leader, now time.Time) []journal.Draft {
	v := fileAnswerOf(in.Decoded.Payload)
	c := w.byKey[record.Key{Instance: w.Instance, Kind: v.of, ID: v.id}]
	switch {
	case c == nil || c.AskedSeq == 0:
		return in.deny("it answers nothing that was asked")
	case !c.Open():
		return in.deny("it answers nothing that is open")
	case v.call != "" && v.call != c.Ask.ToolUseID:
		return in.deny("it names another call than the one that was asked")
	case v.host != "" && v.host != c.Ask.Host && v.host != c.Ask.Hostport() && v.host != net.JoinHostPort(c.Ask.Host, c.Ask.Port):
		return in.deny("it names another host than the one that was asked for")
	}
	a := record.Answered{Key: c.Key, Digest: c.Digest, Decision: record.DecisionDeny, By: policy.RoleLeader, Reason: clip(v.reason), Policy: l.Policy.Policy.Version,
		Entry: in.Entry, Channel: policy.ChannelFile}
	switch {
	case v.allow && !sameInput(v.input, c.Ask.Input):
		a.Reason = "the answer changes the input, and by file only what was asked is allowed"
	case v.allow:
		until := now.Add(grant).UTC()
		a.Decision, a.UseBy = record.DecisionAllow, &until
		if v.more {
			a.Reason = strings.TrimPrefix(a.Reason+"; what it allows beyond this request has no effect by file", "; ")
		}
	}
	return []journal.Draft{{Kind: record.KindAnswered, Must: true, Body: a}}
}

// fileAnswer is what a response in the mailbox says to a request: no record of the lead stands behind it.
type fileAnswer struct {
	of     waggle.Kind // the kind of what it answers
	id     waggle.RequestID
	allow  bool
	reason string
	call   string          // tool_use_id; "": it names none
	host   string          // "": it names none
	input  json.RawMessage // the input to run; empty: the input that was asked
	more   bool            // it says more than yes or no
}

func fileAnswerOf(p waggle.Payload) fileAnswer {
	switch p := p.(type) {
	case waggle.PermissionResponse:
		v := fileAnswer{of: waggle.KindPermissionRequest, id: waggle.RequestID(p.RequestID), allow: p.Subtype == waggle.SubtypeSuccess, reason: p.Error,
			call: p.ToolUseID, more: p.Mode != ""}
		if v.reason == "" {
			v.reason = p.Notes
		}
		if p.Response != nil {
			v.input, v.more = p.Response.UpdatedInput, v.more || len(p.Response.PermissionUpdates) > 0
		}
		return v
	case waggle.PlanApprovalResponse:
		return fileAnswer{of: waggle.KindPlanApprovalRequest, id: waggle.RequestID(p.RequestID), allow: p.Approved, reason: p.Feedback, more: p.PermissionMode != ""}
	case waggle.SandboxPermissionResponse:
		return fileAnswer{of: waggle.KindSandboxPermissionRequest, id: waggle.RequestID(p.RequestID), allow: p.Allow, reason: p.Notes, host: p.Host, more: p.Scope != ""}
	}
	return fileAnswer{}
}

// sameInput reports an input that equals the one that was asked: none, an empty object, or the same
// values. The input that runs is always the one that was asked, byte for byte.
func sameInput(got json.RawMessage, asked string) bool {
	got = bytes.TrimSpace(got)
	if len(got) == 0 || string(got) == "null" || string(got) == "{}" || string(got) == asked {
		return true
	}
	a, aok := values(got)
	b, bok := values([]byte(asked))
	return aok && bok && reflect.DeepEqual(a, b)
}

// values decodes JSON without losing digits of numbers.
func values(raw []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return v, d.Decode(&v) == nil && !d.More()
}

// composed writes a payload as this worker's envelope, without messageId, which a guest's lead does
// not use.
func (w *Worker) composed(color string, to waggle.MemberName, p waggle.Payload, m record.Mint) (*record.Mail, error) {
	mail, err := record.Compose(w.Name, color, to, p, m)
	return w.spelled(mail, err)
}

func (w *Worker) spelled(mail *record.Mail, err error) (*record.Mail, error) {
	if err != nil || !w.Guest {
		return mail, err
	}
	env, err := mail.Open()
	if err != nil {
		return nil, err
	}
	mail.Envelope, err = waggle.Envelope{From: env.From, Text: env.Text, Summary: env.Summary, Timestamp: env.Timestamp, Color: env.Color,
		MsgV: env.MsgV, MsgID: env.MsgID, Type: env.Type}.MarshalJSON()
	return mail, err
}
