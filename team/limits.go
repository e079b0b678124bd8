package team

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"waggle/protocol"
)

// Limits for what waggle makes. A registry that another program wrote is read up to the maximal
// file size, whatever it contains.
const (
	MinName        = 3         // characters of a new team's name (seed 002)
	MaxDescription = 500       // characters (seed 002)
	MaxMembers     = 1000      // entries of a registry, those that have left included
	MaxPrompt      = 256 << 10 // bytes of a member's prompt
	maxWord        = 128       // bytes of an agent type or a model
)

// LimitError reports a value that a new team or member may not have (exit code
// 2). Its text names the rule.
type LimitError struct {
	What string // "team name", "description", "member w: colour"
	Why  string
}

func (e *LimitError) Error() string { return e.What + " " + e.Why }

// CheckName says whether waggle may make a team of this name: kebab case of 3 to
// 64 characters (seed 002; the real client makes two directories of anything
// else, protocol §2.5), and not the name of a session's team. Its error is a
// *protocol.NameError or a *LimitError.
func CheckName(name string) (protocol.TeamName, error) {
	n, err := protocol.ParseTeam(name)
	if err != nil {
		return "", err
	}
	switch {
	case !kebab().MatchString(name):
		return "", &LimitError{"team name " + show(name), "is not in kebab case: small letters, digits, and single hyphens between them"}
	case len(name) < MinName:
		return "", &LimitError{"team name " + show(name), fmt.Sprintf("is shorter than %d characters", MinName)}
	case DialectOf(n) == DialectSession:
		return "", &LimitError{"team name " + show(name), "is one that Claude Code gives to the team of a session"}
	}
	return n, nil
}

// DescriptionOf is the description of a team that waggle leads and that nobody has described.
func DescriptionOf(name protocol.TeamName) string { return "team " + string(name) + ", led by waggle" }

// CheckDescription says whether a team may have this description: at most 500
// characters on one line or several, none of them a control character. The empty
// one means that there is none.
func CheckDescription(text string) error {
	switch n := utf8.RuneCountInString(text); {
	case n > MaxDescription:
		return &LimitError{"description", fmt.Sprintf("has %d characters, at most %d are allowed", n, MaxDescription)}
	case !utf8.ValidString(text):
		return &LimitError{"description", "is not UTF-8"}
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		return &LimitError{"description", "holds a control character"}
	}
	return nil
}

// check says whether a new member may be as it is.
func (m Member) check() error {
	fault := func(what, format string, args ...any) error {
		return &LimitError{fmt.Sprintf("member %s: %s", show(string(m.Name)), what), fmt.Sprintf(format, args...)}
	}
	if _, ok := SGR(m.Color); m.Color != "" && !ok {
		return fault("colour", "%s is not one of %s, nor #rrggbb", show(m.Color), strings.Join(append(Palette[:len(Palette):len(Palette)], "magenta"), ", "))
	}
	for _, f := range []struct {
		what, text string
		max        int
	}{{"prompt", m.Prompt, MaxPrompt}, {"agent type", m.AgentType, maxWord}, {"model", m.Model, maxWord}} {
		switch {
		case len(f.text) > f.max:
			return fault(f.what, "has %d bytes, at most %d are allowed", len(f.text), f.max)
		case !utf8.ValidString(f.text):
			return fault(f.what, "is not UTF-8")
		case f.what != "prompt" && strings.ContainsFunc(f.text, unicode.IsControl):
			return fault(f.what, "holds a control character")
		}
	}
	return nil
}
