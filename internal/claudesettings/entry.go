package claudesettings

import (
	"strings"

	"waggle/internal/jsonc"
)

// Event is an event of Claude Code with a hook of ours.
type Event struct {
	Name    string
	Timeout int    // seconds
	Matcher string // "" where every event counts
}

// Day is how long a question may wait for its answer: the hook of PermissionRequest
// waits for as long, and its dialog stays answerable by hand.
const Day = 86400

// Events are the events with a hook, in the order in which they are written.
var Events = []Event{
	{"PermissionRequest", Day, "*"},
	{"PreToolUse", short, "*"},
	{"PostToolUse", short, "*"},
	{"Stop", short, ""},
	{"Notification", short, ""},
	{"SessionStart", short, ""},
	{"SessionEnd", short, ""},
	{"SubagentStart", short, ""},
	{"TeammateIdle", short, ""},
}

// short is the time-out of hooks that only report.
const short = 10

// Command is the command of an event. When the program is missing the shell exits 127, which the
// client takes as no answer: only exit 2 would block a tool.
func Command(program, event string) string { return quote(program) + " hook claude " + event }

// group is the entry of an event.
func (e Event) group(program string) []jsonc.New {
	handler := []jsonc.New{{Key: "type", Value: "command"}, {Key: "command", Value: Command(program, e.Name)}, {Key: "timeout", Value: e.Timeout}}
	g := []jsonc.New{{Key: "hooks", Value: []any{handler}}}
	if e.Matcher != "" {
		g = append([]jsonc.New{{Key: "matcher", Value: e.Matcher}}, g...)
	}
	return g
}

// quote writes a word for sh, in single quotes where that is needed.
func quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_@%+=:,./-", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// unquote parses the output of quote, and nothing else.
func unquote(s string) (string, bool) {
	word := s
	if len(s) >= 2 && s[0] == '\'' && s[len(s)-1] == '\'' {
		word = strings.ReplaceAll(s[1:len(s)-1], `'\''`, "'")
	}
	return word, quote(word) == s
}

// program is the program of a command of ours for an event; false for another program's command.
// recorded is a program that counts whatever its name.
func program(command, event, recorded string) (string, bool) {
	word, ok := strings.CutSuffix(command, " hook claude "+event)
	if !ok {
		return "", false
	}
	p, ok := unquote(word)
	if !ok {
		return "", false
	}
	if p == recorded && recorded != "" {
		return p, true
	}
	at := strings.LastIndexAny(p, `/\`) + 1
	absolute := p != "" && (p[0] == '/' || len(p) > 2 && p[1] == ':')
	return p, absolute && strings.HasPrefix(p[at:], "waggle")
}
