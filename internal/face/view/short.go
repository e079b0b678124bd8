package view

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"waggle/internal/json/jsonobj"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/record"
)

// Short is a request for a prompt of a few lines: all that an allow is about, without what describes it only (its id,
// its digest, the agent's words about it) and without what is as usual.
type Short struct {
	Head  string      // who asks for what, by which handle
	Body  []ShortLine // what would run, be written or be opened
	Why   string      // why a person is asked; of the words of waggle
	In    string      // the directory, unless it is the member's own or Body has a whole path
	Notes []string    // what else an allow is about that is not as usual
	Rule  string      // the narrowest rule that would have answered it; "": none should
}

// ShortLine is a line of an agent's text.
type ShortLine struct {
	Text  string
	Stdin bool              // the command reads it
	Risky []policy.RiskPart // parts of it that make the request one of high risk
}

// ShortOf is what decides of a request.
func ShortOf(q decide.Request) Short {
	s := Short{Head: AskHead(q), Body: bodyOf(q), Notes: notesOf(q)}
	switch why := riskWhy(q, RiskParts(q)); {
	case q.MustAsk != "":
		s.Why = strings.TrimSuffix(q.MustAsk+"; "+why, "; ")
	case why != "":
		s.Why = why
	case q.Kind == decide.KindProposal:
		s.Why = q.Reason // of waggle
	default:
		s.Why = q.Because
	}
	if whole := path.IsAbs(q.Edited()); !whole && (!q.OwnTree || policy.Risk(q.Risk) == policy.RiskHigh) {
		s.In = q.Cwd
	}
	if len(q.Suggest) > 0 {
		s.Rule = q.Suggest[0]
	}
	return s
}

// AskHead is the line above a request: its handle, its risk, who asks for what.
func AskHead(q decide.Request) string {
	who := q.Member
	if q.Team != decide.SessionTeam {
		who = q.Team + "/" + who
	}
	what := q.Tool
	switch {
	case len(q.Questions) > 0:
		what = "a question"
	case q.Kind == decide.KindProposal:
		what = "a new member"
	case q.Plan != "":
		what = fmt.Sprintf("a plan, revision %d", q.Revision)
	case q.Host != "":
		what = "network"
	}
	return fmt.Sprintf("%s  %s risk  %s asks: %s", q.Handle, q.Risk, who, what)
}

func bodyOf(q decide.Request) (body []ShortLine) {
	plain := func(text string) {
		for l := range strings.SplitSeq(text, "\n") {
			body = append(body, ShortLine{Text: l})
		}
	}
	switch edits := q.Edits(); {
	case q.Plan != "":
		plain(q.Plan)
	case q.Host != "":
		plain(decide.ShownHost(q.Host, q.Port))
	case len(q.Questions) > 0, q.Kind == decide.KindProposal:
		for _, l := range q.Asks() {
			body = append(body, ShortLine{Text: l})
		}
	case q.Command != "":
		body = commandBody(q)
	case edits != "" && q.Edited() != "":
		body = append(body, ShortLine{Text: q.Edited()})
		plain(edits)
	default:
		body = append(body, ShortLine{Text: decide.ShownJSON(string(q.Input))})
	}
	if q.Stdin != "" {
		for l := range strings.SplitSeq(q.Stdin, "\n") {
			body = append(body, ShortLine{Text: l, Stdin: true})
		}
	}
	return body
}

// commandBody is a shell text with its risky parts.
func commandBody(q decide.Request) (body []ShortLine) {
	at, parts := 0, RiskParts(q)
	for l := range strings.SplitSeq(q.Command, "\n") {
		line := ShortLine{Text: l}
		for _, p := range parts {
			from, to := max(p.From-at, 0), min(p.To-at, len(l))
			if p.To > p.From && from < to {
				line.Risky = append(line.Risky, policy.RiskPart{From: from, To: to, Why: p.Why})
			}
		}
		body = append(body, line)
		at += len(l) + 1
	}
	return body
}

// systemDirs hold the programs of a machine; a program from elsewhere is named.
var systemDirs = []string{"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin", "/opt/homebrew/sbin"}

// ownEnv is what waggle itself adds to a command's environment.
var ownEnv = []string{"WAGGLE_TASK_ID", "WAGGLE_TASK_SUBJECT", "WAGGLE_ARTIFACTS"}

// byName are programs that are the one by whose name they are called.
var byName = []string{"busybox", "coreutils"}

// stand are the programs that systems have under the name of another.
var stand = map[string][]string{"sh": {"dash", "bash"}, "awk": {"mawk", "gawk"}, "cc": {"gcc", "clang"}, "c++": {"g++", "clang++"}, "node": {"nodejs"}}

// sameProgram reports that a word names its program, but for a version (python3 is python3.12): a link with the name of
// one may lead to another.
func sameProgram(w record.Resolved) bool {
	is := path.Base(w.Path)
	version, ok := strings.CutPrefix(is, path.Base(w.Name))
	return ok && strings.Trim(version, "-.0123456789") == "" || slices.Contains(byName, is) || slices.Contains(stand[path.Base(w.Name)], is)
}

// notesOf is what the digest of a request covers beside its text, as far as it is not as usual.
func notesOf(q decide.Request) (notes []string) {
	usual := func(file string) bool { return slices.Contains(systemDirs, path.Dir(file)) }
	for _, w := range q.Words {
		if !usual(w.Path) || !sameProgram(w) {
			notes = append(notes, w.Name+" is "+w.Path)
		}
	}
	if named := slices.ContainsFunc(q.Words, func(w record.Resolved) bool { return w.Path == q.Program }); q.Program != "" && !usual(q.Program) && !named {
		notes = append(notes, "run by "+q.Program)
	}
	for _, s := range q.Scripts {
		notes = append(notes, "script "+s.Path)
	}
	for _, p := range q.Paths {
		switch {
		case p.Real == "":
			notes = append(notes, p.Spelled+" cannot be resolved")
		case p.Real != path.Clean(p.Spelled):
			notes = append(notes, p.Spelled+" is "+p.Real)
		}
	}
	for _, kv := range q.Env {
		if name, _, _ := strings.Cut(kv, "="); !slices.Contains(ownEnv, name) {
			notes = append(notes, kv)
		}
	}
	if more := FurtherInput(q); more != "" {
		notes = append(notes, "input "+more)
	}
	if q.Host != "" || q.File != "" {
		notes = append(notes, q.Unheld)
	}
	return slices.DeleteFunc(append(notes, q.Asker), func(n string) bool { return n == "" })
}

// FurtherInput is what the input of a tool has beside the text that is shown of it (its command, its change or its plan),
// and beside what only describes it; "": nothing, or no such text is shown.
func FurtherInput(q decide.Request) string {
	shown := map[string][]string{"Edit": {"file_path", "old_string", "new_string", "replace_all"}, "MultiEdit": {"file_path", "edits"},
		"Write": {"file_path", "content"}, "NotebookEdit": {"notebook_path", "new_source"}}[q.Tool]
	switch {
	case q.Command != "":
		shown = []string{"command", "description", "timeout"}
	case q.Plan != "":
		shown = []string{"plan"}
	case q.Host != "" || len(q.Questions) > 0 || q.Edits() == "" || q.Edited() == "":
		return "" // the body has it whole
	}
	o, err := jsonobj.Parse(q.Input)
	if err != nil || len(o.Duplicates()) > 0 || !plainEdits(o) {
		return decide.ShownJSON(string(q.Input))
	}
	for _, key := range shown {
		if key == "replace_all" && !plainAll(o) || key == "plan" && o.Text(key) != q.Plan {
			continue
		}
		o.Delete(key)
	}
	if o.Len() == 0 {
		return ""
	}
	raw, err := jsonobj.Marshal(o.Raw())
	if err != nil {
		raw = q.Input
	}
	return decide.ShownJSON(string(raw))
}

// plainEdits reports that the edits of a list, where an input has one, have nothing but what a change shows.
func plainEdits(o *jsonobj.Object) bool {
	raw, ok := o.Get("edits")
	var list []json.RawMessage
	if !ok || json.Unmarshal(raw, &list) != nil {
		return !ok
	}
	return !slices.ContainsFunc(list, func(one json.RawMessage) bool {
		e, err := jsonobj.Parse(one)
		return err != nil || slices.ContainsFunc(e.Keys(), func(key string) bool {
			return !slices.Contains([]string{"old_string", "new_string", "replace_all"}, key) || !plainAll(e)
		})
	})
}

// plainAll reports that an edit says as a change shows it whether it is one of every place: another value may be taken for
// true.
func plainAll(e *jsonobj.Object) bool {
	raw, ok := e.Get("replace_all")
	return !ok || string(raw) == "true" || string(raw) == "false"
}
