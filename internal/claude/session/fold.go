package session

import (
	"fmt"
	"time"

	"waggle/journal"
	"waggle/record"
)

// State is how far a request has come. It only moves forward.
type State string

// The states of a request.
const (
	StateOpen     State = "open"
	StateDecided  State = "decided"  // the hook process has not given it to the client yet
	StateAnswered State = "answered" // the client has it
	StateClosed   State = "closed"
)

// Request is a question of a session and its one answer.
type Request struct {
	Asked
	Handle  string
	At      time.Time // asked
	State   State
	Decided *Decided
	DecAt   time.Time
	Given   time.Time // the client was given the answer
	Closed  *Closed
	EndAt   time.Time // closed
}

// answerable returns why a request takes no answer, "" when it does, as far as the journal says;
// Live also checks whether its hook process runs.
func (r *Request) answerable() string {
	switch {
	case r.State != StateOpen && r.Closed != nil:
		return r.Closed.Evidence
	case r.State != StateOpen:
		return "it is " + string(r.State)
	case r.Why != "":
		return "unverified: " + r.Why
	}
	return ""
}

// Left reports whether the client asks it in the session's own dialog, as far as is known: no answer is
// taken from elsewhere.
func (r *Request) Left() bool { return r.State == StateClosed && r.Closed.Left }

// over reports whether nothing more is expected of it.
func (r *Request) over() bool { return r.State == StateClosed && !r.Closed.Left }

// Fold is what a session's journal says.
type Fold struct {
	Process  *Opened // the newest; nil before the first
	Ended    *Ended  // of the newest process
	Requests []*Request

	byKey   map[record.Key]*Request
	handles record.Handles
	id      ID
	uid     record.TeamUID
	said    []SaidAt
}

// newFold returns an empty fold of one session's journal.
func newFold(id ID) *Fold {
	return &Fold{byKey: map[record.Key]*Request{}, id: id, uid: uidOf(id)}
}

// Apply implements journal.Fold. A record that does not fit has no effect: no appended record may
// make a session unreadable.
func (f *Fold) Apply(r journal.Record) error {
	switch r.Kind {
	case recOpened:
		with(r, func(_ journal.Record, b Opened) { f.Process, f.Ended = &b, nil })
	case recEnded:
		with(r, func(_ journal.Record, b Ended) { f.Ended = &b })
	case recAsked:
		with(r, f.asked)
	case recDecided:
		with(r, f.decided)
	case recAnswered:
		with(r, f.answered)
	case recClosed:
		with(r, f.closed)
	case recSaid:
		with(r, f.saidRec)
	case recUnverified, journal.KindRepaired: // for the audit
	default:
		if r.Must {
			return &journal.FutureError{What: fmt.Sprintf("record %d is of kind %q", r.Seq, r.Kind)}
		}
	}
	return nil
}

// with has a record's body taken, unless that does not decode.
func with[T any](r journal.Record, take func(journal.Record, T)) {
	if body, err := record.Body[T](r); err == nil {
		take(r, body)
	}
}

func (f *Fold) asked(r journal.Record, b Asked) {
	if f.byKey[b.Key] != nil || b.Digest != record.DigestOf(f.uid, b.Key, b.Ask) {
		return
	}
	req := &Request{Asked: b, At: r.Time, State: StateOpen, Handle: f.handles.Mint(b.Key, b.Digest, r.Time)}
	f.byKey[b.Key] = req
	f.Requests = append(f.Requests, req)
}

func (f *Fold) decided(r journal.Record, b Decided) {
	req := f.byKey[b.Key]
	if req == nil || req.answerable() != "" || b.Digest != req.Digest || !fits(req, b) {
		return
	}
	req.State, req.Decided, req.DecAt = StateDecided, &b, r.Time
}

func (f *Fold) answered(r journal.Record, b Answered) {
	if req := f.byKey[b.Key]; req != nil && req.State == StateDecided {
		req.State, req.Given = StateAnswered, r.Time
	}
}

func (f *Fold) closed(r journal.Record, b Closed) {
	switch req := f.byKey[b.Key]; {
	case req == nil:
	case req.State != StateClosed:
		req.State, req.Closed, req.EndAt = StateClosed, &b, r.Time
	case req.Closed.Unsaid && !b.Unsaid && b.InDialog:
		req.Closed = &b // it ended when its dialog did
	}
}

// fits reports whether a decision is one for this form of request, and whether what
// runs instead has its digest.
func fits(req *Request, b Decided) bool {
	switch {
	case b.Decision == record.DecisionDeny:
		return b.UpdatedInput == "" && len(b.Answers) == 0
	case req.Form == FormQuestion:
		return b.Decision == record.DecisionAnswer && b.UpdatedInput == "" && len(b.Answers) > 0
	case b.Decision != record.DecisionAllow || len(b.Answers) > 0:
		return false
	case b.UpdatedInput == "":
		return b.UpdatedDigest == ""
	}
	return req.Form == FormTool && b.UpdatedDigest == ChangedDigest(*req, b.UpdatedInput)
}
