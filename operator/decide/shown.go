package decide

import (
	"encoding/json"
	"fmt"
	"strings"

	"waggle"
	"waggle/internal/jsonobj"
	"waggle/operator"
	"waggle/policy"
	"waggle/record"
)

// ShownJSON is JSON as a person reads it: every string is spelled with the
// characters that it stands for (& and not \u0026), and what cannot be seen is
// written out. Text that is not JSON is only made visible.
func ShownJSON(raw string) string {
	if !json.Valid([]byte(raw)) {
		return operator.Visible(raw)
	}
	return operator.Visible(spelled([]byte(raw)))
}

// spelled is valid JSON with no needless escape in it.
func spelled(raw []byte) string {
	return string(jsonobj.Respell(nil, raw, func(rune) bool { return false }))
}

// Asks are the lines that say what a question asks for, whole and visible: the
// command as it would run, and the input as JSON where there is more in it than
// the command.
func (q Question) Asks() []string {
	switch {
	case q.Plan != "":
		return append([]string{fmt.Sprintf("plan, revision %d:", q.Revision)}, strings.Split(operator.VisibleLines(q.Plan), "\n")...)
	case q.Host != "":
		return []string{"network to " + operator.Visible(ShownHost(q.Host, q.Port))}
	case q.Command == "":
		return []string{operator.Visible(q.Tool) + " " + ShownJSON(string(q.Input))}
	}
	lines := strings.Split(operator.VisibleLines(q.Command), "\n")
	if only, err := jsonobj.Marshal(map[string]string{"command": q.Command}); err != nil || spelled(only) != spelled(q.Input) {
		lines = append(lines, "input "+ShownJSON(string(q.Input)))
	}
	return lines
}

// Describe says in one line what a request asks for. It is shown through Visible.
func Describe(k waggle.Kind, a record.Ask) string {
	switch record.GateOf(k) {
	case policy.GatePlan:
		return "plan"
	case policy.GateNetwork:
		if a.Port != "" {
			return "network to " + a.Host + ":" + a.Port
		}
		return "network to " + a.Host
	}
	if json.Valid([]byte(a.Input)) {
		return a.Tool + " " + spelled([]byte(a.Input))
	}
	return a.Tool + " " + a.Input
}
