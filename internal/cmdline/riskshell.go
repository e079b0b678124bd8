package cmdline

import (
	"slices"
	"strings"
)

// DeclareRisk grades export NAME=value and its kin. Without a name they print
// every variable.
func DeclareRisk(args []Word) Risk {
	risk := RiskHigh
	for i, w := range args {
		if i == 0 {
			risk = RiskMedium
		}
		if !isAssignment(w.Text) {
			return RiskHigh
		}
		risk = Worse(risk, AssignmentRisk(w))
	}
	return risk
}

// harmless are variables that change how a tool prints or how much it does.
var harmless = Names(`CI GOOS GOARCH CGO_ENABLED GOMAXPROCS GOTRACEBACK GORACE NODE_ENV DEBUG VERBOSE LANG LANGUAGE TZ TERM COLORTERM
	NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES RUST_BACKTRACE RUST_LOG LOG_LEVEL PYTHONUNBUFFERED
	PYTHONDONTWRITEBYTECODE`)

// AssignmentRisk grades NAME=value. A pager that is turned off is harmless.
func AssignmentRisk(w Word) Risk {
	name, value, _ := strings.Cut(w.Text, "=")
	switch {
	case w.Sure != Literal || strings.HasSuffix(name, "+"), (name == "LINES" || name == "COLUMNS") && strings.Trim(value, "0123456789") != "":
		return RiskHigh
	case harmless[name], strings.HasPrefix(name, "LC_"):
		return RiskLow
	case (name == "PAGER" || name == "GIT_PAGER") && (value == "cat" || value == ""):
		return RiskLow
	}
	return RiskHigh
}

// systemPath reports a program in a directory of the system.
func systemPath(p string) bool {
	for _, dir := range []string{"/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/"} {
		if rest, ok := strings.CutPrefix(p, dir); ok && rest != "" && !strings.Contains(rest, "/") {
			return true
		}
	}
	return false
}

// Names is the set of the words of a list.
func Names(list string) map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(list) {
		m[n] = true
	}
	return m
}

// HasAny reports whether the words contain one of the options, in any spelling.
func HasAny(args []Word, options ...string) bool {
	return slices.ContainsFunc(options, func(o string) bool { return hasOption(args, o) })
}

// Spells reports whether one of the words has exactly one of the texts.
func Spells(args []Word, texts ...string) bool {
	return slices.ContainsFunc(args, func(a Word) bool { return slices.Contains(texts, a.Text) })
}

// setsID recognises a chmod mode that sets user or group id: u+s, 4755.
func setsID(a Word) bool {
	octal := len(a.Text) == 4 && strings.Trim(a.Text, "01234567") == ""
	return octal && a.Text[0] != '0' || strings.Contains(a.Text, "+s")
}
