package control

import (
	"slices"

	"waggle/machine"
	"waggle/record"
)

// NewBrief returns an empty fold that keeps only what is open: the roster, the policy, the requests
// without an answer or whose answer is not delivered, the orders without a recorded effect. It is
// for showing: after 100,000 decisions its snapshot is as small as after one. It forgets everything
// closed, so no decision, verdict or message may come from it; Requests, Unverified and Ignored
// lack the closed ones.
func NewBrief(o machine.Observer) *Leader {
	l := NewLeader(o)
	l.brief = true
	return l
}

// unknown handles a record about an unknown thing: a brief fold has forgotten it, for any other
// fold it is an error.
func (l *Leader) unknown(err error) error {
	if l.brief {
		return nil
	}
	return err
}

// forget drops what is over.
func (l *Leader) forget(kind string) {
	clear(l.entries)
	clear(l.heard)
	l.Unverified, l.Ignored, l.news = nil, nil, nil
	if kind != record.KindClosed && kind != record.KindLeft {
		return
	}
	l.Requests = slices.DeleteFunc(l.Requests, func(r *Request) bool {
		if r.State == machine.RequestClosed {
			delete(l.byKey, r.Key)
		}
		return r.State == machine.RequestClosed
	})
	over := func(o *Order) bool { return o.Closed }
	for seq, o := range l.orders {
		if o.Closed {
			delete(l.orders, seq)
			delete(l.words, o.Hash)
			if o.Mail != nil {
				delete(l.vouched, addressed{o.Instance, o.Mail.Kind, o.Mail.SHA256})
			}
		}
	}
	l.sends = slices.DeleteFunc(l.sends, over)
}
