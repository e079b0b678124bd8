package control

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"waggle/journal"
	"waggle/message"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// A guest is a member of ours in a team that another program leads. That lead has no
// journal here, so what it writes is taken on the channel "file" (trust §1): a verdict
// answers one open question and allows it with its own input, a shutdown is answered.
// Modes and rules narrow, until the guest is started again; what would widen, and hosts for later,
// have no effect, and assignments are words.

// ReceiveFile judges a control entry of a guest's mailbox. An entry without effect gets one audit
// record; an entry that is owned already, or has only words, yields no draft. An allow holds from
// now as long as a leader's does, also over a crash of the guest.
func (w *Worker) ReceiveFile(in message.Incoming, l *Leader, now time.Time) []journal.Draft {
	if w.Owns(in.Entry) || !in.IsControl() {
		return nil
	}
	d := in.Decoded
	switch {
	case d.Kind == protocol.KindInvalid:
		return in.Deny("cannot be read: " + message.Fault(d.Warnings))
	case d.FromMismatch:
		return in.Deny("the payload names another sender than the envelope")
	case in.Envelope.From != string(protocol.Lead):
		return in.Deny("only the lead may send it")
	}
	if ok, why := policy.MaySendFile(d.Kind, policy.RoleLeader, policy.RoleWorker); !ok {
		return in.Deny(why)
	}
	switch p := d.Payload.(type) {
	case protocol.ShutdownRequest:
		return w.askedToGo(in, protocol.RequestID(p.RequestID), spelling(d, ""))
	case protocol.ModeSetRequest:
		return w.modeByFile(in, policy.Mode(p.Mode), l)
	case protocol.TeamPermissionUpdate:
		return w.rulesByFile(in, p)
	}
	return w.answeredByFile(in, l, now)
}

func (w *Worker) modeByFile(in message.Incoming, mode policy.Mode, l *Leader) []journal.Draft {
	now := w.bound(l)
	if _, err := policy.ParseMode(string(mode)); err != nil {
		return in.Deny(err.Error())
	}
	if now.Meet(mode) == now {
		return in.Deny(fmt.Sprintf("mode %s is not narrower than %s, and by file a mode only narrows", mode, now))
	}
	return []journal.Draft{{Kind: record.KindApplied, Must: true, Body: record.Applied{What: record.CommandMode, Entry: in.Entry, Channel: policy.ChannelFile, Mode: mode}}}
}

// maxDenied is how many deny rules a guest takes from its lead.
const maxDenied = 256

func (w *Worker) rulesByFile(in message.Incoming, p protocol.TeamPermissionUpdate) []journal.Draft {
	updates := []protocol.PermissionUpdate{p.PermissionUpdate}
	if p.AlsoDeny != nil {
		updates = append(updates, *p.AlsoDeny)
	}
	var deny []policy.Rule
	for _, u := range updates {
		if u.Behavior != "deny" {
			continue
		}
		for _, r := range u.Rules {
			rule, err := policy.FromWire(r)
			if err != nil {
				return in.Deny(err.Error())
			}
			if !slices.Contains(w.denied, rule) {
				deny = append(deny, rule)
			}
		}
	}
	switch {
	case len(deny) == 0:
		return in.Deny("it denies nothing more, and by file rules only narrow")
	case len(w.denied)+len(deny) > maxDenied:
		return in.Deny(fmt.Sprintf("more than %d rules that deny", maxDenied))
	}
	return []journal.Draft{{Kind: record.KindApplied, Must: true, Body: record.Applied{What: record.CommandPolicy, Entry: in.Entry, Channel: policy.ChannelFile, Deny: deny}}}
}

// narrow takes what a guest's lead has narrowed. It never widens, whatever the record says.
func (w *Worker) narrow(b record.Applied) {
	switch {
	case b.Mode == "":
	case w.narrowed == "":
		w.narrowed = b.Mode
	default:
		w.narrowed = w.narrowed.Meet(b.Mode)
	}
	w.denied = append(slices.Clip(w.denied), b.Deny...)
}

func (w *Worker) askedToGo(in message.Incoming, id protocol.RequestID, spelling protocol.Dialect) []journal.Draft {
	switch {
	case w.gone:
		return in.Deny("this member has ended")
	case w.leaving:
		return in.Deny("a shutdown is being answered")
	case id == "":
		return in.Deny("a request without an id cannot be answered")
	}
	return []journal.Draft{{Kind: record.KindApplied, Must: true, Body: record.Applied{What: record.CommandShutdown, Entry: in.Entry, ID: id, Channel: policy.ChannelFile, Spelling: spelling}}}
}

func (w *Worker) answeredByFile(in message.Incoming, l *Leader, now time.Time) []journal.Draft {
	v := message.AnswerOf(in.Decoded.Payload)
	c := w.byKey[record.Key{Instance: w.Instance, Kind: v.Of, ID: v.ID}]
	switch {
	case c == nil || c.AskedSeq == 0:
		return in.Deny("it answers nothing that was asked")
	case !c.Open():
		return in.Deny("it answers nothing that is open")
	case v.Call != "" && v.Call != c.Ask.ToolUseID:
		return in.Deny("it names another call than the one that was asked")
	case v.Host != "" && v.Host != c.Ask.Host && v.Host != c.Ask.Hostport() && v.Host != net.JoinHostPort(c.Ask.Host, c.Ask.Port):
		return in.Deny("it names another host than the one that was asked for")
	}
	a := record.Answered{Key: c.Key, Digest: c.Digest, Decision: record.DecisionDeny, By: policy.RoleLeader, Reason: message.Clip(v.Reason), Policy: l.Policy.Policy.Version,
		Entry: in.Entry, Channel: policy.ChannelFile}
	switch {
	case v.Allow && !message.SameInput(v.Input, c.Ask.Input):
		a.Reason = "the answer changes the input, and by file only what was asked is allowed"
	case v.Allow:
		until := now.Add(grant).UTC()
		a.Decision, a.UseBy = record.DecisionAllow, &until
		if v.More {
			a.Reason = strings.TrimPrefix(a.Reason+"; what it allows beyond this request has no effect by file", "; ")
		}
	}
	return []journal.Draft{{Kind: record.KindAnswered, Must: true, Body: a}}
}

// composed writes a payload as this worker's envelope, without messageId, which a guest's lead does
// not use. What leads a team that is no session's is no real client: a guest asks it as seed 001 does.
func (w *Worker) composed(color string, to protocol.MemberName, p protocol.Payload, m record.Mint) (*record.Mail, error) {
	d := protocol.DialectWire
	if w.Guest && !w.Team.OfSession() {
		d = protocol.DialectProtocol
	}
	return w.spelled(record.ComposeIn(d.For(p.Kind()), w.Name, color, to, p, m))
}

func (w *Worker) spelled(mail *record.Mail, err error) (*record.Mail, error) {
	if err != nil || !w.Guest {
		return mail, err
	}
	env, err := mail.Open()
	if err != nil {
		return nil, err
	}
	mail.Envelope, err = protocol.Envelope{From: env.From, Text: env.Text, Summary: env.Summary, Timestamp: env.Timestamp, Color: env.Color,
		MsgV: env.MsgV, MsgID: env.MsgID, Type: env.Type}.MarshalJSON()
	return mail, err
}
