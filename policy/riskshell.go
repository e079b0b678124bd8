package policy

import (
	"slices"
	"strings"
)

// commandRisk grades one simple command: what knownTable says of it with these
// options, and RiskHigh for everything that the table does not list. Files that it
// writes outside the working directory, credentials that it names, and variables
// that it sets are high.
func (q *question) commandRisk(c []word) Risk {
	if namesCredential(c) {
		return RiskHigh
	}
	switch c[0].text {
	case "export", "declare", "typeset", "local", "readonly":
		return declareRisk(c[1:])
	}
	f, ok := lookUp(c)
	if !ok {
		if transparent(c) {
			return RiskLow // its text is graded for itself
		}
		return RiskHigh
	}
	risk := f.risk
	if baseName(c[0].text) == "env" {
		for _, w := range c[1:f.inner] {
			if isAssignment(w.text) {
				risk = worse(risk, assignmentRisk(w))
			}
		}
	}
	for _, w := range f.outs {
		risk = worse(risk, q.writeRisk(w))
	}
	if f.write {
		for _, w := range f.operands {
			risk = worse(risk, q.argRisk(w))
		}
	}
	return risk
}

// declareRisk grades export NAME=value and its kin. Without a name they print
// every variable.
func declareRisk(args []word) Risk {
	risk := RiskHigh
	for i, w := range args {
		if i == 0 {
			risk = RiskMedium
		}
		if !isAssignment(w.text) {
			return RiskHigh
		}
		risk = worse(risk, assignmentRisk(w))
	}
	return risk
}

// harmless are variables that change how a tool prints or how much it does.
var harmless = names(`CI GOOS GOARCH CGO_ENABLED GOMAXPROCS GOTRACEBACK GORACE NODE_ENV DEBUG VERBOSE LANG LANGUAGE TZ TERM COLORTERM
	NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES RUST_BACKTRACE RUST_LOG LOG_LEVEL PYTHONUNBUFFERED
	PYTHONDONTWRITEBYTECODE`)

// assignmentRisk grades NAME=value. A pager that is turned off is harmless.
func assignmentRisk(w word) Risk {
	name, value, _ := strings.Cut(w.text, "=")
	switch {
	case w.sure != literal || strings.HasSuffix(name, "+"):
		return RiskHigh
	case harmless[name], strings.HasPrefix(name, "LC_"):
		return RiskLow
	case (name == "PAGER" || name == "GIT_PAGER") && (value == "cat" || value == ""):
		return RiskLow
	}
	return RiskHigh
}

func systemPath(p string) bool {
	for _, dir := range []string{"/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/"} {
		if rest, ok := strings.CutPrefix(p, dir); ok && rest != "" && !strings.Contains(rest, "/") {
			return true
		}
	}
	return false
}

func names(list string) map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(list) {
		m[n] = true
	}
	return m
}

func hasAny(args []word, options ...string) bool {
	return slices.ContainsFunc(options, func(o string) bool { return hasOption(args, o) })
}

func spells(args []word, texts ...string) bool {
	return slices.ContainsFunc(args, func(a word) bool { return slices.Contains(texts, a.text) })
}

// setsID recognises a chmod mode that sets user or group id: u+s, 4755.
func setsID(a word) bool {
	octal := len(a.text) == 4 && strings.Trim(a.text, "01234567") == ""
	return octal && a.text[0] != '0' || strings.Contains(a.text, "+s")
}
