package waggle

import (
	"slices"
	"strings"
)

// verdict is what the decision fields of an answer add up to. The zero value is
// no decision at all.
type verdict int

const (
	undecided verdict = iota
	allowed
	denied
)

// booleans and words are the decision fields (protocol §1.2, 9.1 #2). All of them
// count in every kind of answer: whichever dialect a no is said in, it is a no.
var (
	booleans = []string{"approved", "approve", "allow", "allowed"}
	words    = map[string]string{"subtype": SubtypeSuccess, "behavior": "allow", "decision": "approve"} // the one value that allows
)

// verdict reads the decision of an answer. It allows only when there is at least
// one decision field and every one says yes, with the right JSON type, and
// nothing else says no: an error text, or a key that is a decision field but for
// its case.
func (f *frame) verdict() verdict {
	v := undecided
	var voters []string
	vote := func(path string, yes bool) {
		voters = append(voters, path)
		if !yes {
			v = denied
		} else if v == undecided {
			v = allowed
		}
	}
	for _, path := range booleans {
		for _, fd := range f.under(path, nil) {
			if jsonType(fd.raw) != "boolean" {
				f.warn("%s is %s, not a boolean: read as a denial", path, aType(fd.raw))
			}
			vote(path, fd.raw == "true")
		}
	}
	for _, path := range []string{"subtype", "behavior", "decision"} {
		for _, fd := range f.under(path, nil) {
			f.warnWord(path, fd.raw)
			vote(path, fd.raw[0] == '"' && unquote(fd.raw) == words[path])
		}
	}
	slices.Sort(voters)
	if voters = slices.Compact(voters); len(voters) > 1 {
		f.warn("the decision is given more than once: %s", strings.Join(voters, ", "))
	}
	if v != allowed {
		return v
	}
	return f.crossed()
}

// warnWord says what is wrong with a decision word that neither allows nor
// denies in so many words.
func (f *frame) warnWord(path, raw string) {
	no := map[string][]string{"subtype": {SubtypeError}, "behavior": {"deny"}, "decision": {"deny", "reject"}}
	switch {
	case raw[0] != '"':
		f.warn("%s is %s, not a string: read as a denial", path, aType(raw))
	case unquote(raw) != words[path] && !slices.Contains(no[path], unquote(raw)):
		f.warn("%s %s is not known: read as a denial", path, show(unquote(raw)))
	}
}

// crossed looks at an answer that allows for signs of the other arm.
func (f *frame) crossed() verdict {
	for _, fd := range f.under("error", nil) {
		if jsonType(fd.raw) != "null" {
			f.warn("the answer allows and carries an error: read as a denial")
			return denied
		}
	}
	for _, fd := range f.fields {
		for _, path := range []string{"approved", "approve", "allow", "allowed", "subtype", "behavior", "decision", "error"} {
			if fd.path != path && alike(fd.path, path) {
				f.warn("key %s looks like %s and is not: read as a denial", show(fd.path), path)
				return denied
			}
		}
	}
	return allowed
}

// reason returns the words that go with an answer, under any of the names that
// are in use (protocol §9.1 #9), the given one first.
func (f *frame) reason(first string) string {
	paths := []string{first}
	for _, path := range []string{"feedback", "notes", "reason", "error", "content", "message"} {
		if path != first {
			paths = append(paths, path)
		}
	}
	return f.text(paths...)
}

// denial turns an answer into a no and returns nil for other kinds. A yes to a
// shutdown that cannot be trusted counts as a no.
func denial(p Payload) Payload {
	switch p := p.(type) {
	case PermissionResponse:
		p.Subtype, p.Response, p.ApprovedRequest, p.Mode = SubtypeError, nil, nil, ""
		return p
	case SandboxPermissionResponse:
		p.Allow = false
		return p
	case PlanApprovalResponse:
		p.Approved, p.PermissionMode = false, ""
		return p
	case ShutdownApproved:
		return ShutdownRejected{RequestID: p.RequestID, From: p.From, Timestamp: p.Timestamp}
	case ShutdownRejected:
		return p
	}
	return nil
}
