package mail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"waggle/operator"
	"waggle/protocol"
)

// Await waits until every message that was sent to a member has reached want, Delivered or
// Acknowledged, or cannot, or the timeout is over; it fills in the state that each has reached. It
// needs no leader: it reads the members' journals. A message that did not reach want has an error:
// refused, withdrawn or superseded (6), timed out or expired (4), a recipient that has ended (5),
// erased (1).
//
// A message that another program erased before its reader took it is sent once more, by a leader
// pass when no process leads. Mail to an address that is no member's cannot be awaited: a usage
// error.
func (o Operator) Await(ctx context.Context, sent []Sent, want Delivery, timeout time.Duration) error {
	var name protocol.TeamName
	for _, s := range sent {
		if s.team == "" && s.err == nil {
			return &operator.Error{Kind: operator.Usage, Op: "send", Msg: "only a message to a member can be waited for: " + s.To + " is none"}
		}
		name = s.team
	}
	if name == "" {
		return nil // nothing was sent
	}
	v, err := o.survey(ctx, name)
	if err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	dirs := o.Boxes(name).Dirs()
	for _, m := range v.s.Lead.Live() {
		dirs = append(dirs, v.s.Dir.JournalOf(string(m.Instance)))
	}
	nudges, end, err := operator.Watch(limit, 250*time.Millisecond, append(dirs, v.s.Dir.JournalOf(string(v.s.JournalName)))...)
	if err != nil {
		return err
	}
	defer end()
	if err := v.mend(limit, o, sent); err != nil && limit.Err() == nil {
		return err
	}
	defer func() { v.keep(context.WithoutCancel(ctx), o) }()
	for !v.reached(sent, want) {
		if err := v.unread(sent); err != nil {
			return err
		}
		select {
		case <-nudges:
		case <-limit.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			v.late(sent, want, timeout)
			return nil
		}
		err := v.look(limit, o)
		if err == nil {
			err = v.mend(limit, o, sent)
		}
		if err != nil && limit.Err() == nil {
			return err
		}
	}
	return nil
}

// unread returns the error of the journals of the members that messages were sent to.
func (v *survey) unread(sent []Sent) error {
	var errs []error
	for _, s := range sent {
		if tr := v.trailOf(s); tr != nil && v.t.unread(tr.instance) {
			errs = append(errs, operator.About(v.t.broken(), string(tr.to)))
		}
	}
	return errors.Join(errs...)
}

func (v *survey) trailOf(s Sent) *trail {
	for _, tr := range v.t.order {
		if tr.env.MsgID == s.MsgID && s.MsgID != "" {
			return tr
		}
	}
	return nil
}

// reached fills in how far messages have come and reports whether all are final.
func (v *survey) reached(sent []Sent, want Delivery) bool {
	all := true
	for i := range sent {
		s := &sent[i]
		tr := v.trailOf(*s)
		if s.err != nil || tr == nil {
			continue
		}
		b, at := v.find(tr)
		states := v.states(tr, b, at)
		last := states[len(states)-1]
		s.State, s.Detail = last.State, last.Detail
		switch {
		case s.State == want, s.State == Acknowledged:
		case !s.State.Over(), s.State == Delivered && v.alive(tr):
			all = false
		default:
			s.fail(kindOf(last), fmt.Sprintf("%s: %s%s", s.To, s.State, operator.Suffix(last.Detail)))
		}
	}
	return all
}

// alive reports whether the member that took a message may still acknowledge it.
func (v *survey) alive(tr *trail) bool {
	m, ok := v.s.Lead.ByInstance(tr.instance)
	return ok && m.Left == nil
}

func (s *Sent) fail(kind operator.Kind, msg string) {
	s.err = &operator.Error{Kind: kind, Op: "send", Msg: msg, Next: operator.Next{Step: operator.NextShowMessage, ID: s.MsgID}}
	s.Error = msg
}

func kindOf(s MessageState) operator.Kind {
	switch s.State {
	case Refused, Withdrawn, Superseded:
		return operator.Refused
	case Expired:
		return operator.Timeout
	case DeadLetter, Delivered:
		if s.At == "" {
			return operator.Failed // the mailbox does not have it, and no record has its end
		}
		return operator.Died
	}
	return operator.Failed
}

// late marks the messages that did not reach want.
func (v *survey) late(sent []Sent, want Delivery, timeout time.Duration) {
	for i := range sent {
		s := &sent[i]
		if s.err == nil && s.State != want && s.State != Acknowledged {
			s.fail(operator.Timeout, fmt.Sprintf("%s: not %s within %s; it is %s%s", s.To, want, timeout, s.State, operator.Suffix(s.Detail)))
		}
	}
}

// Exit returns the failure of a send: nil when every message reached want, the first failure when
// all have the same kind, else one of kind Failed.
func Exit(sent []Sent) error {
	var first error
	for _, s := range sent {
		switch {
		case s.err == nil:
		case first == nil:
			first = s.err
		case operator.KindOf(first) != operator.KindOf(s.err):
			return &operator.Error{Kind: operator.Failed, Op: "send", Msg: "not everybody got it, for different reasons"}
		}
	}
	return first
}
