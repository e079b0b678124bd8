package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"waggle/control"
	"waggle/journal"
	"waggle/policy"
	"waggle/record"
)

// RefusedError says why an answer has no effect.
type RefusedError struct {
	Request string
	Why     string
}

// Error names the request and the reason.
func (e *RefusedError) Error() string { return fmt.Sprintf("request %s: %s", e.Request, e.Why) }

// Outcome is what became of an answer.
type Outcome struct {
	Changed bool // false: the same was decided before
	Request Request
}

// Decide records an answer, once, by compare-and-set on the request's state. Live says whether a
// process runs; a request whose hook process has ended takes no answer: only that process can give
// it to the client. Of the answer its digest is whole, and what only a team has is not looked at: a channel, rules, other
// requests.
func (s *Session) Decide(ctx context.Context, w journal.Writer, v control.Answer, live Liveness) (Outcome, error) {
	var out Outcome
	err := s.append(ctx, w, func(f *Fold) ([]journal.Draft, error) {
		req := f.byKey[v.Key]
		if req == nil {
			return nil, errors.New("there is no such request")
		}
		d, err := draft(req, v)
		if err != nil {
			return nil, err
		}
		if req.State != StateOpen {
			if req.Decided != nil && same(*req.Decided, d) {
				return nil, nil
			}
			return nil, refused(req, taken(req))
		}
		if why := s.gone(live, req); why != "" {
			return nil, refused(req, why)
		}
		out.Changed = true
		return []journal.Draft{{Kind: recDecided, Must: true, Body: d}}, nil
	})
	out.Request, _ = s.find(v.Key)
	if err != nil {
		out.Changed = false
	}
	return out, err
}

func refused(req *Request, why string) error {
	return &RefusedError{Request: req.Handle, Why: why}
}

// taken returns why a request takes no answer any more.
func taken(req *Request) string {
	switch {
	case req.Decided != nil:
		return fmt.Sprintf("it was decided before: %s by %s", req.Decided.Decision, req.Decided.By)
	case req.Closed != nil:
		return "it is closed: " + req.Closed.Evidence
	}
	return req.answerable()
}

// same reports whether two decisions are the same one given twice.
func same(a, b Decided) bool {
	return a.Decision == b.Decision && a.UpdatedInput == b.UpdatedInput && record.SameReplies(a.Answers, b.Answers)
}

// ChangedDigest is the digest of a request with another input: an approver who changes the input is
// shown it, and it is recorded.
func ChangedDigest(r Request, input string) record.Digest {
	r.Ask.Input = input
	return record.DigestOf(uidOf(ID(r.Instance)), r.Key, r.Ask)
}

// draft checks an answer against what was asked.
func draft(req *Request, v control.Answer) (Decided, error) {
	d := Decided{Key: req.Key, Digest: req.Digest, Decision: record.DecisionDeny, By: v.By, Channel: policy.ChannelOperator,
		Via: v.Via, Reason: v.Reason}
	switch {
	case v.Digest != req.Digest:
		return d, refused(req, "the digest is not that of the request; show it again")
	case req.Why != "":
		return d, refused(req, "unverified, it takes no answer: "+req.Why)
	case !v.Allow && (v.UpdatedInput != "" || len(v.Answers) > 0):
		return d, refused(req, "a denial has no input and no answers")
	case !v.Allow:
		return d, nil
	case req.Form == FormPlan && strings.TrimSpace(req.Ask.Plan) == "":
		return d, refused(req, "its plan is empty, as its file was not written yet: deny it, or answer it in the session's own dialog")
	case req.Form == FormQuestion:
		if len(v.Answers) == 0 {
			return d, refused(req, "it asks for words: waggle answer "+req.Handle+" CHOICE|TEXT")
		}
		d.Decision, d.Answers = record.DecisionAnswer, v.Answers
		return d, nil
	case len(v.Answers) > 0:
		return d, refused(req, "it asks for permission, not for words: approve or deny it")
	}
	d.Decision = record.DecisionAllow
	if v.UpdatedInput != "" {
		if req.Form != FormTool || !req.Client.changes() {
			return d, refused(req, "its client accepts no changed input here")
		}
		d.UpdatedInput, d.UpdatedDigest = v.UpdatedInput, ChangedDigest(*req, v.UpdatedInput)
	}
	return d, nil
}
