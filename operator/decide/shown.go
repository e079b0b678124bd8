package decide

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"waggle/internal/json/jsonobj"
	"waggle/operator"
	"waggle/operator/proposal"
	"waggle/policy"
	"waggle/protocol"
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
func (q Request) Asks() []string {
	switch {
	case q.Kind == KindDialog:
		return []string{operator.Visible(q.Reason)}
	case q.Kind == KindProposal:
		return q.proposes()
	case q.Plan != "":
		return append([]string{fmt.Sprintf("plan, revision %d:", q.Revision)}, strings.Split(operator.VisibleLines(q.Plan), "\n")...)
	case q.Host != "":
		return []string{"network to " + operator.Visible(ShownHost(q.Host, q.Port))}
	case len(q.Questions) > 0:
		return q.questions()
	case q.Command == "":
		return []string{operator.Visible(q.Tool) + " " + ShownJSON(string(q.Input))}
	}
	lines := strings.Split(operator.VisibleLines(q.Command), "\n")
	if only, err := jsonobj.Marshal(map[string]string{"command": q.Command}); err != nil || spelled(only) != spelled(q.Input) {
		lines = append(lines, "input "+ShownJSON(string(q.Input)))
	}
	return lines
}

// Proposed is what a proposal says; of any other request nothing.
func (q Request) Proposed() (a proposal.Asked) {
	if q.Kind == KindProposal {
		_ = json.Unmarshal(q.Input, &a) // it was marshalled from one
	}
	return a
}

// proposes are the lines of a proposal: the command that it stands for, and its task, each line quoted.
func (q Request) proposes() []string {
	a := q.Proposed()
	lines := []string{operator.Visible(a.Line())}
	for l := range strings.SplitSeq(operator.VisibleLines(a.Task), "\n") {
		lines = append(lines, "> "+l)
	}
	return lines
}

// questions are the lines of what an agent asks in words, with its options by number.
func (q Request) questions() (lines []string) {
	for i, one := range q.Questions {
		head := operator.VisibleLines(one.Text)
		if one.Header != "" {
			head = operator.Visible(one.Header) + ": " + head
		}
		if len(q.Questions) > 1 {
			head = fmt.Sprintf("question %d of %d: %s", i+1, len(q.Questions), head)
		}
		lines = append(lines, strings.Split(head, "\n")...)
		for n, o := range one.Options {
			line := fmt.Sprintf("  %d  %s", n+1, operator.Visible(o.Label))
			if o.Description != "" {
				line += ": " + operator.Visible(o.Description)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// Describe describes a request in one line. Faces pass it through Visible.
func Describe(k protocol.Kind, a record.Ask) string {
	if k == KindProposal {
		return Request{PendingItem: PendingItem{Kind: KindProposal, Input: json.RawMessage(a.Input)}}.Proposed().Line()
	}
	switch record.GateOf(k) {
	case policy.GatePlan:
		return "plan"
	case policy.GateNetwork:
		return "network to " + a.Hostport()
	case policy.GateQuestion:
		return "question: " + firstQuestion(a)
	}
	if json.Valid([]byte(a.Input)) {
		return a.Tool + " " + spelled([]byte(a.Input))
	}
	return a.Tool + " " + a.Input
}

// Wanted is what requests of a kind ask for, in words.
func Wanted(k protocol.Kind) string {
	switch k {
	case KindDialog:
		return "what its dialog says"
	case KindProposal:
		return "a new member"
	}
	switch record.GateOf(k) {
	case policy.GatePlan:
		return "a plan's approval"
	case policy.GateNetwork:
		return "a host"
	case policy.GateQuestion:
		return "an answer in words"
	}
	return "a tool call"
}

// Brief is Describe with the input as people write it: a shell text without the JSON around it, and of the other tools
// that are known the file or the address. It is for lists and reasons; what is decided is shown whole (Asks).
func Brief(k protocol.Kind, a record.Ask) string {
	if text := CommandOf(policy.Call{Tool: a.Tool, Input: []byte(a.Input)}); text != "" {
		return a.Tool + " " + text + reading(a.Stdin)
	}
	if what := subject(a); record.GateOf(k) == policy.GateTool && what != "" {
		return a.Tool + " " + what
	}
	return Describe(k, a)
}

// subjects are the fields that say what a tool is called for.
var subjects = map[string]string{"Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path", "Read": "file_path",
	"Glob": "pattern", "Grep": "pattern", "WebFetch": "url", "WebSearch": "query"}

// subject is what a tool is called for: a file in the call's directory by its name there. It is "" for other tools and for
// an input of another form.
func subject(a record.Ask) (what string) {
	o, key := object([]byte(a.Input)), subjects[a.Tool]
	if o == nil || key == "" || !textAt(o, key, &what) {
		return ""
	}
	if inside, ok := strings.CutPrefix(what, strings.TrimSuffix(a.Cwd, "/")+"/"); ok && a.Cwd != "" && strings.HasSuffix(key, "_path") {
		return inside
	}
	return what
}

// codeShown is how much of its code names a call that no request was made of.
const codeShown = 6

// CallCode names a call that rules decided, as a handle names a request: it answers nothing.
func CallCode(k record.Key, d record.Digest) string { return record.HandleCode(k, d)[:codeShown] }

// InOneLine is Brief with the first line of a plan and its revision.
func InOneLine(k protocol.Kind, a record.Ask) string {
	if record.GateOf(k) == policy.GatePlan {
		return Gist(k, a)
	}
	return Brief(k, a)
}

// Gist is what a request asks for in a few words, for the reason of a member's state: a shell text
// without its tool, the first line of a plan or of a question.
func Gist(k protocol.Kind, a record.Ask) string {
	switch record.GateOf(k) {
	case policy.GatePlan:
		first, _, _ := strings.Cut(a.Plan, "\n")
		return fmt.Sprintf("plan, revision %d: %s", max(1, a.Revision), first)
	case policy.GateQuestion:
		first, _, _ := strings.Cut(firstQuestion(a), "\n")
		return first
	}
	if text := CommandOf(policy.Call{Tool: a.Tool, Input: []byte(a.Input)}); text != "" {
		return text + reading(a.Stdin)
	}
	return Brief(k, a)
}

// reading describes a command's standard input in a few words.
func reading(stdin string) string {
	if stdin == "" {
		return ""
	}
	line, rest, more := strings.Cut(stdin, "\n")
	if r := []rune(line); len(r) > 60 {
		line, more = string(r[:60]), true
	}
	if more && rest != "" || strings.TrimSpace(line) == "" {
		line += "…"
	}
	return ", reading " + strconv.Quote(line)
}

// firstQuestion is the first text that a question asks.
func firstQuestion(a record.Ask) string {
	qs, err := record.Questions(a.Input)
	if err != nil {
		return a.Input
	}
	return qs[0].Text
}
