package claudetest

import (
	"fmt"
	"strings"
)

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

// EnterPlanMode begins to plan.
func EnterPlanMode() Turn { return Call("EnterPlanMode", map[string]any{}) }

// SendMessage writes to an agent, a member or a socket.
func SendMessage(to, summary, message string) Turn {
	return Call("SendMessage", map[string]any{"to": to, "summary": summary, "message": message})
}

// Spawn starts an agent. With a name, and where teams are switched on, it is a
// member of the session's team.
func Spawn(name, prompt string) Turn {
	in := map[string]any{"description": "start " + name, "prompt": prompt, "subagent_type": "general-purpose"}
	if name != "" {
		in["name"] = name
	}
	return Call("Agent", in)
}
