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

// ShownJSON formats JSON for a person: strings contain the characters that they stand for (& and
// not \u0026), and invisible characters are written as codes. For text that is not JSON it is
// Visible.
func ShownJSON(raw string) string {
	if !json.Valid([]byte(raw)) {
		return operator.Visible(raw)
	}
	return operator.Visible(spelled([]byte(raw)))
}

// spelled returns valid JSON without needless escapes.
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

// Describe describes a request in one line. Faces pass it through Visible.
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
