package control

import "slices"

// NewBrief returns an empty fold that keeps only what is open: the roster, the
// policy, the questions that nobody has answered or whose answer is on its way, the
// orders that nobody has seen the effect of. It is for showing: after 100,000
// decisions its snapshot is as small as after one. It knows nothing of what is
// over, so nothing is decided, judged or sent from it; Requests, Unverified and
// Ignored hold none of it.
func NewBrief(o Observer) *Leader {
	l := NewLeader(o)
	l.brief = true
	return l
}

// unknown is what a record about something that is not here means: a brief fold has
// forgotten it, any other must know it.
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
	if kind != RecClosed && kind != RecLeft {
		return
	}
	l.Requests = slices.DeleteFunc(l.Requests, func(r *Request) bool {
		if r.State == RequestClosed {
			delete(l.byKey, r.Key)
		}
		return r.State == RequestClosed
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
	l.said = slices.DeleteFunc(l.said, over)
}
