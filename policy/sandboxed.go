package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"waggle/internal/cmdline"
)

// RuleSandboxed is the Rule of a verdict that allows a call because it runs in a sandbox
// (Policy.Sandboxed).
const RuleSandboxed = "sandboxed"

// SandboxedAllow is Policy.Sandboxed as people write it.
const SandboxedAllow = "sandboxed: allow"

// bySandbox allows a call that no rule and no mode decides: a shell text that runs wholly inside a
// verified sandbox. ok is false when the policy or the call has no such sandbox, and when the text
// may change what is guarded: the sandbox lets a member write its own tree, and a guarded name in
// it takes effect outside.
func (p Policy) bySandbox(mode ModeInfo, q *question) (v Verdict, ok bool) {
	if !p.Sandboxed || !q.call.Sandboxed || !q.hasText || q.doubt != "" || !mode.rulesReach(q.area) {
		return Verdict{}, false
	}
	if why := q.reachesOut(); why != "" && !q.onlyPrints() {
		return Verdict{Ask, "no rule", sentence(why)}, true
	}
	return Verdict{Allow, RuleSandboxed, "It runs in the member's sandbox, which passed its self-test when the member started."}, true
}

// reachesOut says what in the text may take effect outside the sandbox, "" when nothing does.
func (q *question) reachesOut() string {
	texts := []*cmdline.Carried{q.carries()}
	if q.stdin != "" && readerOf(q.carries()) == inputIsShell {
		texts = append(texts, q.carriedBy(q.stdin))
	}
	for _, c := range texts {
		if c.Unparsed {
			return "the shell text cannot be parsed"
		}
		if c.Cut {
			return "there is too much in the shell text"
		}
		for _, w := range c.Words {
			if q.guards(w.Text) || w.Pattern && mayMatchGuarded(w.Text) {
				return fmt.Sprintf("it names %q, which takes effect outside the sandbox", clip(w.Text))
			}
		}
		for _, token := range c.Told() {
			if q.guards(token) {
				return fmt.Sprintf("a text in it names %q, which takes effect outside the sandbox", clip(token))
			}
		}
	}
	return ""
}

// mayMatchGuarded reports a wildcard that may match a guarded name by more than a star at its beginning.
func mayMatchGuarded(pattern string) bool {
	for _, part := range strings.Split(strings.ToLower(pattern), "/") {
		if strings.HasPrefix(part, "*") || !strings.ContainsAny(part, "*?[{") {
			continue
		}
		if strings.ContainsRune(part, '{') {
			part = part[:strings.IndexByte(part, '{')] + "*"
		}
		for _, n := range guardedNames() {
			if ok, err := path.Match(part, n.parts[0]); ok && err == nil && part != "*" {
				return true
			}
		}
	}
	return false
}

// guards reports whether a word, or the value in an option or an assignment, names something
// guarded.
func (q *question) guards(word string) bool {
	named := []string{word}
	if _, value, ok := strings.Cut(word, "="); ok {
		named = append(named, value)
	}
	for at := 2; at < min(len(word), 8) && word[0] == '-'; at++ { // letters, and a value
		named = append(named, word[at:])
	}
	return slices.ContainsFunc(named, func(p string) bool { return len(guardedIn(p)) > 0 || q.guardsPath(p) })
}

// guardsPath reports whether a word is a path that the call guards beside the guarded names.
func (q *question) guardsPath(p string) bool {
	if p == "" || len(q.call.Guarded) == 0 {
		return false
	}
	return len(q.resolve(p).guarded) > 0
}

// onlyPrints reports whether the text only reads what the mode default lets it read, and prints.
func (q *question) onlyPrints() bool {
	mode, _ := lookupMode(ModeDefault)
	return q.shellRisk() == RiskLow && q.stdin == "" && q.cover(mode, nil, nil).none()
}
