package modelserver

import (
	"fmt"
	"regexp"

	"waggle/internal/json/jsonobj"
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

// Say is a turn of words alone.
func Say(text string) Turn { return Turn{Blocks: []Block{{Type: "text", Text: text}}} }

// Call is a turn that calls a tool. The input is what json.Marshal makes of it.
func Call(tool string, input any) Turn {
	raw, err := jsonobj.Marshal(input)
	if err != nil {
		panic(fmt.Sprintf("modelserver: the input of %s: %v", tool, err))
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
