package claudesettings

import (
	"strings"

	"waggle/internal/json/jsonc"
)

// Event is an event of a client with a hook of ours.
type Event struct {
	Name    string
	Timeout int    // in the client's unit: milliseconds for Gemini, else seconds
	Matcher string // "" where every event counts
}

// day is how long a question may wait for its answer: the hook of PermissionRequest
// waits for as long, and its dialog stays answerable by hand.
const day = 86400

var claudeEvents = []Event{
	{"PermissionRequest", day, "*"},
	{"PreToolUse", short, "*"},
	{"PostToolUse", short, "*"},
	{"UserPromptSubmit", short, ""},
	{"Stop", short, ""},
	{"Notification", short, ""},
	{"SessionStart", short, ""},
	{"SessionEnd", short, ""},
	{"SubagentStart", short, ""},
	{"TeammateIdle", short, ""},
}

// short is the time-out of hooks that only report. Codex takes at most brief for its last events.
const (
	short = 10
	brief = 3
)

// codexEvents: the hook of PermissionRequest waits 30 s at most.
var codexEvents = []Event{
	{"PermissionRequest", 60, ""},
	{"PreToolUse", short, ""},
	{"PostToolUse", short, ""},
	{"UserPromptSubmit", short, ""},
	{"Stop", short, ""},
	{"Interrupt", brief, ""},
	{"SessionStart", short, ""},
	{"SessionEnd", brief, ""},
}

var geminiEvents = []Event{
	{"Notification", 10_000, ""},
	{"BeforeAgent", 10_000, ""},
	{"AfterTool", 10_000, ""},
	{"AfterAgent", 10_000, ""},
	{"SessionStart", 10_000, ""},
	{"SessionEnd", 10_000, ""},
}

// Command is the command of an event. When the program is missing the shell exits 127, which the
// client takes as no answer: only exit 2 would block a tool.
func (c Client) Command(program, event string) string {
	return quote(program) + c.call() + event
}

// call is a command of ours between its program and its event.
func (c Client) call() string { return " hook " + string(c.known()) + " " }

// group is the entry of an event.
func (c Client) group(e Event, program string) []jsonc.New {
	handler := []jsonc.New{{Key: "type", Value: "command"}, {Key: "command", Value: c.Command(program, e.Name)}, {Key: "timeout", Value: e.Timeout}}
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
func (c Client) program(command, event, recorded string) (string, bool) {
	word, ok := strings.CutSuffix(command, c.call()+event)
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
