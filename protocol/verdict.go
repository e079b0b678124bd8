package protocol

import (
	"slices"
	"strings"
	"waggle/internal/json/jsontext"
)

// verdict is what the decision fields of an answer add up to. The zero value is
// no decision at all.
type verdict int

const (
	undecided verdict = iota
	allowed
	denied
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
	for _, k := range decisionKeys {
		for _, fd := range f.under(k.key, nil) {
			if k.yes != "" {
				f.warnWord(k, fd.raw)
				vote(k.key, fd.raw[0] == '"' && jsontext.Unquote(fd.raw) == k.yes)
				continue
			}
			if jsontext.TypeOf(fd.raw) != "boolean" {
				f.warn("%s is %s, not a boolean: read as a denial", k.key, jsontext.WithArticle(fd.raw))
			}
			vote(k.key, fd.raw == "true")
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
func (f *frame) warnWord(k decisionKey, raw string) {
	switch {
	case raw[0] != '"':
		f.warn("%s is %s, not a string: read as a denial", k.key, jsontext.WithArticle(raw))
	case jsontext.Unquote(raw) != k.yes && !slices.Contains(k.no, jsontext.Unquote(raw)):
		f.warn("%s %s is not known: read as a denial", k.key, show(jsontext.Unquote(raw)))
	}
}

// crossed looks at an answer that allows for signs of the other arm.
func (f *frame) crossed() verdict {
	for _, fd := range f.under(keyError, nil) {
		if jsontext.TypeOf(fd.raw) != "null" {
			f.warn("the answer allows and carries an error: read as a denial")
			return denied
		}
	}
	for _, fd := range f.fields {
		if key := nearDecision(fd.path); key != "" {
			f.warn("key %s looks like %s and is not: read as a denial", show(fd.path), key)
			return denied
		}
	}
	return allowed
}

// nearDecision returns the key, of those that decide and the error text, that a path is
// not but for case and underscores.
func nearDecision(path string) string {
	for _, k := range decisionKeys {
		if path != k.key && alike(path, k.key) {
			return k.key
		}
	}
	if path != keyError && alike(path, keyError) {
		return keyError
	}
	return ""
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
