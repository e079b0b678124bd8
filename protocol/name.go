package protocol

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// TeamName and MemberName are validated path components: they come from
// ParseTeam and ParseMember, at every boundary and again when read from disk
// (protocol §2.5). Grammar: ^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$, no Windows
// reserved device name; a member name additionally is not all digits (it shares
// a directory with task files) and not one of main, lead, system, user,
// operator.
type (
	TeamName   string
	MemberName string
)

// Lead is the wire name of every team's lead and of its mailbox. It is a valid
// MemberName but ParseNewMember refuses it.
const Lead MemberName = "team-lead"

func (n TeamName) String() string { return string(n) }

var sessionTeam = regexp.MustCompile(`^session-[0-9a-f]{8}$`)

// OfSession reports whether the name is that of the team of a session of Claude Code.
func (n TeamName) OfSession() bool { return sessionTeam.MatchString(string(n)) }

func (n MemberName) String() string { return string(n) }

// AgentID is name@team (protocol §3).
type AgentID string

// NameError says what is wrong with a name; its text names the rule that was
// broken, never prints control characters raw, and cuts long names.
type NameError struct {
	What string // "team", "member", "agent id"
	Name string
	Why  string
}

func (e *NameError) Error() string {
	return fmt.Sprintf("%s %s: %s", e.What, show(e.Name), e.Why)
}

// maxName is the longest team or member name, in bytes.
const maxName = 64

// reserved are the names that mean somebody or something else than a member:
// main addresses the parent conversation (protocol §2.5), lead is an alias of
// team-lead, the others are principals (trust §9).
var reserved = []string{"main", "lead", "system", "user", "operator"}

// ParseTeam validates a team name. Its error is a *NameError.
func ParseTeam(s string) (TeamName, error) {
	if why := componentFault(s); why != "" {
		return "", &NameError{"team", s, why}
	}
	return TeamName(s), nil
}

// ParseMember validates a member's name. Lead is accepted. Its error is a
// *NameError.
func ParseMember(s string) (MemberName, error) {
	why := componentFault(s)
	switch {
	case why != "":
	case strings.Trim(s, "0123456789") == "":
		why = "a name of digits only is the name of a task file; add a letter"
	case strings.EqualFold(s, string(Lead)) && s != string(Lead):
		why = "differs from team-lead only in case"
	}
	for _, word := range reserved {
		if strings.EqualFold(s, word) {
			why = "is reserved; choose another name"
		}
	}
	if why != "" {
		return "", &NameError{"member", s, why}
	}
	return MemberName(s), nil
}

// ParseNewMember is ParseMember for a name that is about to be given to
// somebody: it also refuses Lead.
func ParseNewMember(s string) (MemberName, error) {
	name, err := ParseMember(s)
	if err == nil && SameName(name, Lead) {
		return "", &NameError{"member", s, "is the lead's name; choose another name"}
	}
	return name, err
}

// componentFault says why s cannot be a directory or file name everywhere; ""
// when it can.
func componentFault(s string) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > maxName:
		return fmt.Sprintf("is longer than %d bytes", maxName)
	case s[0] == '-' || s[0] == '_':
		return "must begin with a letter or a digit"
	case !plain.MatchString(s):
		return "may hold only the letters a to z, digits, - and _"
	case device.MatchString(s):
		return "is the name of a device on Windows"
	}
	return ""
}

var (
	plain  = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)
	device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|(com|lpt)[0-9])$`) // Windows reserves it in every directory
)

// NewAgentID joins a member and a team.
func NewAgentID(m MemberName, t TeamName) AgentID { return AgentID(string(m) + "@" + string(t)) }

// Parse splits an agent id at its first @ and validates both parts. Its error is
// a *NameError.
func (id AgentID) Parse() (MemberName, TeamName, error) {
	name, team, ok := strings.Cut(string(id), "@")
	if !ok {
		return "", "", &NameError{"agent id", string(id), "is not name@team"}
	}
	m, err := ParseMember(name)
	if err != nil {
		return "", "", err
	}
	t, err := ParseTeam(team)
	if err != nil {
		return "", "", err
	}
	return m, t, nil
}

// SameName reports whether two names collide: equal without regard to case.
func SameName(a, b MemberName) bool { return strings.EqualFold(string(a), string(b)) }

// Unique returns name, or name-2, name-3, …, the first that collides with none
// of taken (seed 003's deduplicateAgentName). The result is at most 64 bytes:
// the stem is cut, not the suffix.
func Unique(name MemberName, taken []MemberName) MemberName {
	candidate := name
	for n := 2; slices.ContainsFunc(taken, func(t MemberName) bool { return SameName(t, candidate) }); n++ {
		suffix := MemberName(fmt.Sprintf("-%d", n))
		candidate = name[:min(len(name), maxName-len(suffix))] + suffix
	}
	return candidate
}

// Strings are names, or other words with a type, as strings.
func Strings[S ~string](all []S) []string {
	var out []string
	for _, s := range all {
		out = append(out, string(s))
	}
	return out
}
