package mailbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"waggle/internal/json/jsonobj"
	"waggle/protocol"
)

// Problem is one violation that Validate or ValidateLines found.
type Problem struct {
	Pointer string // RFC 6901, of the wrong value or of the place where it is missing
	Message string
}

func (p Problem) String() string { return jsonobj.Fault(p).String() }

// problems are the first maxProblems violations.
func problems(c jsonobj.Checker) []Problem {
	var list []Problem
	for _, f := range c.Faults[:min(len(c.Faults), maxProblems)] {
		list = append(list, Problem(f))
	}
	return list
}

// maxProblems bounds the problems that are reported for one file.
const maxProblems = 1000

// Validate checks a mailbox that is a JSON array against its schema (protocol §2.1, seed 002): an
// array of objects with from, text, an ISO 8601 timestamp and a boolean read; the optional keys of
// the right types; no key twice; and no text that is a control message which contradicts itself.
// Unknown keys are allowed. It is stricter than reading: an entry that it reports is still read
// where possible. Nil means valid.
func Validate(data []byte) []Problem {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var c jsonobj.Checker
	if len(bytes.TrimSpace(data)) == 0 {
		c.Add("", "is empty, want array")
		return problems(c)
	}
	if err := syntax(data); err != nil {
		c.Add("", "%v", err)
		return problems(c)
	}
	entries, ok := jsonobj.Elements(bytes.TrimSpace(data))
	if !ok {
		c.Add("", "is %s, want array", jsonobj.TypeOf(bytes.TrimSpace(data)))
		return problems(c)
	}
	for i, raw := range entries {
		checkEntry(&c, raw, "/"+strconv.Itoa(i))
	}
	return problems(c)
}

// ValidateLines is Validate for a mailbox of one message per line: the pointer of the first line is
// /0, and blank lines are not counted. An unfinished last line is not a problem: its writer may
// still complete it.
func ValidateLines(data []byte) []Problem {
	var c jsonobj.Checker
	n := 0
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		data = rest
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")))
		if len(line) == 0 {
			continue
		}
		at := "/" + strconv.Itoa(n)
		n++
		if err := syntax(line); err != nil {
			if ended {
				c.Add(at, "%v", err)
			}
			continue
		}
		checkEntry(&c, line, at)
	}
	return problems(c)
}

// syntax reports where data stops being JSON.
func syntax(data []byte) error {
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	var bad *json.SyntaxError
	if errors.As(err, &bad) {
		return &jsonobj.Error{Offset: bad.Offset, Why: bad.Error()}
	}
	return err
}

func checkEntry(c *jsonobj.Checker, raw json.RawMessage, at string) {
	o := c.Object(raw, at)
	if o == nil {
		return
	}
	before := len(c.Faults)
	c.Text(o, at, "from", true)
	c.Text(o, at, "text", true)
	c.Value(o, at, "timestamp", "ISO 8601", true)
	c.Value(o, at, "read", "boolean", true)
	c.Keys(o, at, "string", "summary", "color", "type", "msg_id", "messageId", "lead_sig")
	c.Keys(o, at, "number", "msgV")
	c.Keys(o, at, "object", "metadata")
	if len(c.Faults) > before {
		return
	}
	e, err := protocol.ParseEnvelope(raw)
	if err != nil {
		c.Add(at, "%v", err)
		return
	}
	switch d := protocol.Decode(e); {
	case d.Kind == protocol.KindInvalid:
		why := ""
		if len(d.Warnings) > 0 {
			why = ": " + d.Warnings[0]
		}
		c.Add(at+"/text", "is no valid %s%s", d.Type, why)
	case d.FromMismatch:
		c.Add(at+"/text", "is a %s that names another sender than the entry does", d.Kind)
	}
}
