package claudetest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Turn is one answer of the model.
type Turn struct {
	Blocks []Block
	// Hold, unless nil, keeps the answer back until it is closed: the session is busy.
	Hold <-chan struct{}
	// Status, unless 0, is answered instead, as an error of the API.
	Status int
	// Make, unless nil, makes the turn from the request.
	Make func(Request) Turn
}

// Script says the turns one after the other: the first answers a conversation without
// an assistant message, the second one with one. After the last it says "over".
func Script(turns ...Turn) Next {
	return func(r Request) Turn {
		if n := r.Turns(); n < len(turns) {
			return turns[n]
		}
		return Say("over")
	}
}

// ByMarker tells sessions and agents apart by a word in their first user message, in
// which there must be one marker.
func ByMarker(scripts map[string]Next) Next {
	return func(r Request) Turn {
		var found []string
		first := r.First()
		for marker := range scripts {
			if strings.Contains(first, marker) {
				found = append(found, marker)
			}
		}
		if len(found) != 1 {
			return Say(fmt.Sprintf("the first message has the markers %q, want one", found))
		}
		return scripts[found[0]](r)
	}
}

// Say is a turn of words alone.
func Say(text string) Turn { return Turn{Blocks: []Block{{Type: "text", Text: text}}} }

// Call is a turn that calls a tool. The input is what json.Marshal makes of it.
func Call(tool string, input any) Turn {
	raw, err := json.Marshal(input)
	if err != nil {
		panic(fmt.Sprintf("claudetest: the input of %s: %v", tool, err))
	}
	return Turn{Blocks: []Block{{Type: "tool_use", Name: tool, Input: raw}}}
}

// Together is one turn of the blocks of several: words and calls, or parallel calls.
func Together(turns ...Turn) Turn {
	var all Turn
	for _, t := range turns {
		all.Blocks = append(all.Blocks, t.Blocks...)
		if t.Hold != nil {
			all.Hold = t.Hold
		}
	}
	return all
}

// Held is the turn, kept back until the channel is closed.
func (t Turn) Held(until <-chan struct{}) Turn {
	t.Hold = until
	return t
}

type input map[string]any

// Bash runs a command.
func Bash(command string) Turn {
	return Call("Bash", input{"command": command, "description": "run " + command})
}

// Write writes a file.
func Write(path, content string) Turn {
	return Call("Write", input{"file_path": path, "content": content})
}

// Question is one question of AskUserQuestion.
type Question struct {
	Question, Header string
	Options          []string
	Multi            bool
}

// AskUserQuestion asks the user.
func AskUserQuestion(questions ...Question) Turn {
	var list []input
	for _, q := range questions {
		var options []input
		for _, o := range q.Options {
			options = append(options, input{"label": o, "description": "the choice " + o})
		}
		list = append(list, input{"question": q.Question, "header": q.Header, "options": options, "multiSelect": q.Multi})
	}
	return Call("AskUserQuestion", input{"questions": list})
}

// EnterPlanMode begins to plan.
func EnterPlanMode() Turn { return Call("EnterPlanMode", input{}) }

// WritePlan writes the plan file that the client names when plan mode begins.
func WritePlan(plan string) Turn {
	return Turn{Make: func(r Request) Turn {
		path := planFile.FindString(string(r.Body))
		if path == "" {
			return Say("the client names no plan file")
		}
		return Write(path, plan)
	}}
}

var planFile = regexp.MustCompile(`/[^ "\\` + "`" + `]*/plans/[a-z0-9-]+\.md`)

// ExitPlanMode presents the plan that is in the plan file.
func ExitPlanMode() Turn { return Call("ExitPlanMode", input{}) }

// SendMessage writes to an agent, a member or a socket.
func SendMessage(to, summary, message string) Turn {
	return Call("SendMessage", input{"to": to, "summary": summary, "message": message})
}

// Spawn starts an agent. With a name, and where teams are switched on, it is a
// member of the session's team.
func Spawn(name, prompt string) Turn {
	in := input{"description": "start " + name, "prompt": prompt, "subagent_type": "general-purpose"}
	if name != "" {
		in["name"] = name
	}
	return Call("Agent", in)
}
