package task

import (
	"slices"
	"strconv"
	"strings"

	"waggle/internal/json/jsonobj"
)

// Problem is one violation that Validate or ValidateStatus found.
type Problem struct {
	Pointer string // RFC 6901, of the value that is wrong or of where it is missing
	Message string
}

func (p Problem) String() string { return jsonobj.Fault(p).String() }

func problems(c jsonobj.Checker) []Problem {
	var list []Problem
	for _, f := range c.Faults {
		list = append(list, Problem(f))
	}
	return list
}

// Validate checks a task file against its schema (protocol §4): an id that is the
// number in the file's name, subject, description, a known status, blocks and
// blockedBy as lists of ids other than its own, and the optional keys of the right
// types. Unknown keys are fine. Nil means valid.
func Validate(data []byte, id ID) []Problem {
	var c jsonobj.Checker
	o := parseChecked(&c, data)
	if o == nil {
		return problems(c)
	}
	if own, ok := c.Text(o, "", "id", true); ok && ID(own) != id {
		c.Add("/id", "%.40q is not that of the file, %q", own, string(id))
	}
	c.Text(o, "", "subject", true)
	c.Text(o, "", "description", true)
	if status, ok := c.Text(o, "", "status", true); ok && !slices.Contains([]Status{Pending, InProgress, Completed, Deleted}, Status(status)) {
		c.Add("/status", "%.40q is not %s, %s or %s", status, Pending, InProgress, Completed)
	}
	c.Keys(o, "", "string", "owner", "activeForm")
	c.Keys(o, "", "object", "metadata")
	for _, key := range []string{"blocks", "blockedBy"} {
		raw, ok := c.Value(o, "", key, "array", true)
		if !ok {
			continue
		}
		elements, _ := jsonobj.Elements(raw)
		for i, e := range elements {
			at := jsonobj.Pointer("", key) + "/" + strconv.Itoa(i)
			switch s, ok := jsonobj.String(e); {
			case !ok:
				c.Add(at, "is %s, want string", jsonobj.TypeOf(e))
			case !ID(s).valid():
				c.Add(at, "%.40q is not a task id", s)
			case ID(s) == id:
				c.Add(at, "is the task itself")
			}
		}
	}
	return problems(c)
}

// ValidateStatus checks a member's task-status.json against seed 002's schema.
func ValidateStatus(data []byte) []Problem {
	var c jsonobj.Checker
	o := parseChecked(&c, data)
	if o == nil {
		return problems(c)
	}
	c.Text(o, "", "agentId", true)
	if status, ok := c.Text(o, "", "status", true); ok && !slices.Contains([]string{"running", "idle", "complete", "error"}, status) {
		c.Add("/status", "%.40q is not running, idle, complete or error", status)
	}
	c.Value(o, "", "startedAt", "ISO 8601", true)
	c.Value(o, "", "lastActiveAt", "ISO 8601", true)
	c.Keys(o, "", "ISO 8601", "completedAt")
	c.Keys(o, "", "string", "errorMessage")
	if raw, ok := c.Value(o, "", "metrics", "object", false); ok {
		if m := c.Object(raw, "/metrics"); m != nil {
			c.Keys(m, "/metrics", "number", "tokens_used", "tasks_completed", "avg_response_time")
		}
	}
	return problems(c)
}

// ValidateHigh checks a list's .highwatermark: one number.
func ValidateHigh(data []byte) []Problem {
	var c jsonobj.Checker
	if text := strings.TrimSpace(string(data)); text != "0" && !ID(text).valid() {
		c.Add("", "%.40q is not a number", text)
	}
	return problems(c)
}

func parseChecked(c *jsonobj.Checker, data []byte) *jsonobj.Object {
	o, err := jsonobj.Parse(data)
	if err != nil {
		c.Add("", "%v", err)
		return nil
	}
	c.Duplicates(o, "")
	return o
}

// Circles returns the tasks that depend on themselves, in order of id. A task in a cycle of
// dependencies stays blocked. Completed tasks block no other.
func Circles(all []Task) []ID {
	g := graph{}
	for _, t := range all {
		if t.open() {
			g[t.ID] = t.BlockedBy
		}
	}
	var found []ID
	for _, t := range all {
		if slices.ContainsFunc(g[t.ID], func(blocker ID) bool { return g.path(blocker, t.ID) != nil }) {
			found = append(found, t.ID)
		}
	}
	return found
}
