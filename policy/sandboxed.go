package policy

import (
	"fmt"
	"path"
	"regexp"
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
	if word, why := q.reachesOut(); why != "" && !q.onlyPrints() {
		if word != "" {
			why = fmt.Sprintf("%s %q, which takes effect outside the sandbox", why, clip(word))
		}
		return Verdict{Ask, "no rule", sentence(why)}, true
	}
	return Verdict{Allow, RuleSandboxed, "It runs in the member's sandbox, which passed its self-test when the member started."}, true
}

// reachesOut says why the text may take effect outside the member's tree, with the word that it names; why
// is "" when nothing does.
func (q *question) reachesOut() (word, why string) {
	texts := []*cmdline.Carried{q.carries()}
	if q.stdin != "" && readerOf(q.carries()) == inputIsShell {
		texts = append(texts, q.carriedBy(q.stdin))
	}
	for i, c := range texts {
		head := i == 0 && q.headIsNoFile(c)
		if c.Unparsed {
			return "", "the shell text cannot be parsed"
		}
		if c.Cut {
			return "", "there is too much in the shell text"
		}
		for _, w := range c.Words {
			if head && (strings.EqualFold(w.Text, "head") || revision.MatchString(w.Text)) {
				continue
			}
			if q.guards(w.Text) || w.Pattern && mayMatchGuarded(w.Text) {
				return w.Text, "it names"
			}
		}
		for _, token := range c.Told() {
			if q.guards(token) && !(head && (strings.EqualFold(token, "head") || revision.MatchString(token))) {
				return token, "a text in it names"
			}
		}
	}
	return "", ""
}

// headIsNoFile reports whether the text says HEAD, of which git makes a repository, only as the program head
// and as a revision in the words of commands of git that take some.
func (q *question) headIsNoFile(c *cmdline.Carried) bool {
	alone, within := 0, 0
	type place struct {
		from, to int
		words    string
	}
	seen := map[place]bool{} // a command that is listed twice says it once
	var count func(r cmdline.Reading)
	count = func(r cmdline.Reading) {
		for _, cmd := range r.Commands {
			words := make([]string, len(cmd.Words))
			for i, w := range cmd.Words {
				words[i] = w.Text
			}
			at := place{cmd.From, cmd.To, strings.Join(words, "\x00")}
			if len(words) > 0 && !seen[at] {
				seen[at] = true
				a, w := saysHead(words)
				alone, within = alone+a, within+w
			}
			if cmd.Inner != nil {
				count(*cmd.Inner)
			}
		}
	}
	count(q.reading())
	said := 0
	for _, w := range c.Words {
		if strings.EqualFold(w.Text, "head") {
			said++
		}
	}
	return said <= alone && strings.Count(strings.ToLower(q.text), "head") <= within
}

// saysHead counts the words of a command that are HEAD and no file, and how often those with a revision in them hold it.
func saysHead(words []string) (alone, within int) {
	if words[0] == "head" {
		return 1, 1
	}
	if words[0] != "git" {
		return 0, 0
	}
	words = words[1:]
	for len(words) > 2 && words[0] == "-C" {
		words = words[2:]
	}
	if !readsGit(words) {
		return 0, 0
	}
	for _, w := range words[1:] {
		if strings.EqualFold(w, "head") {
			alone++
		}
		if revision.MatchString(w) {
			within += strings.Count(strings.ToLower(w), "head")
		}
	}
	return alone, within
}

// revision matches HEAD in the words of git, alone, with what follows it or stands around it, and in an option.
var revision = regexp.MustCompile(`^(--source=|--fixup=|--squash=)?([A-Za-z0-9/._~^@{}-]*\.\.\.?)?HEAD([~^][0-9~^]*)?(\.\.\.?([A-Za-z0-9/_~^@-][A-Za-z0-9/._~^@-]*)?)?(:[A-Za-z0-9/._-]+)?$`)

// readsGit reports words of git whose command takes revisions, and makes no file of such a name.
func readsGit(words []string) bool {
	if len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return w == "-o" || strings.HasPrefix(w, "--ou") }) {
		return false
	}
	before, files := words, []string(nil)
	if at := slices.Index(words, "--"); at >= 0 {
		before, files = words[:at], words[at+1:]
	}
	switch words[0] {
	case "checkout": // a second operand is a file
		operands := slices.DeleteFunc(slices.Clone(before[1:]), func(w string) bool { return strings.HasPrefix(w, "-") })
		if len(operands) == 2 && makesBranch(before, operands[0]) {
			break
		}
		if len(operands) > 1 && slices.ContainsFunc(operands[1:], revision.MatchString) {
			return false
		}
	case "restore": // its revision is in an option
		if slices.ContainsFunc(before[1:], func(w string) bool { return revision.MatchString(w) && !strings.HasPrefix(w, "--source=") }) {
			return false
		}
	case "grep": // -O runs a program with names of files
		if slices.ContainsFunc(before[1:], func(w string) bool {
			return strings.HasPrefix(w, "--op") || strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "O")
		}) {
			return false
		}
	case "archive", "blame", "branch", "cat-file", "cherry", "cherry-pick", "commit", "describe", "diff", "format-patch", "log", "ls-tree", "merge", "merge-base", "name-rev",
		"push", "range-diff", "rebase", "reset", "rev-list", "rev-parse", "revert", "shortlog", "show", "status", "switch", "tag":
	default:
		return false
	}
	return !slices.ContainsFunc(files, func(w string) bool { return len(guardedIn(w)) > 0 })
}

// makesBranch reports words of git checkout that make a branch: what follows it is where it begins, and no file.
func makesBranch(words []string, branch string) bool {
	at := slices.IndexFunc(words, func(w string) bool { return w == "-b" || w == "-B" })
	return at >= 0 && at+1 < len(words) && words[at+1] == branch
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
