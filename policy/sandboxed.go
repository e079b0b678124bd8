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
	if word, why := q.reachesOut(); why != "" && !q.onlyPrints() {
		if word != "" {
			why = fmt.Sprintf("%s %q, which takes effect outside the sandbox", why, clip(word))
		}
		return Verdict{Ask, "no rule", sentence(why)}, true
	}
	return Verdict{Allow, RuleSandboxed, "It runs in the member's sandbox, which passed its self-test when the member started."}, true
}

// reachesOut says why the text may take effect outside the member's tree, with the word that it names; why
// is "" when nothing does. Words of commands that only read, or write what is not guarded, are no such names, unless
// another command may be told them.
func (q *question) reachesOut() (word, why string) {
	texts := []*cmdline.Carried{q.carries()}
	if typed := q.typed(); typed != nil {
		texts = append(texts, typed)
	}
	for _, c := range texts {
		switch {
		case c.Unparsed:
			return "", "the shell text cannot be parsed"
		case c.Cut:
			return "", "there is too much in the shell text"
		}
		others, told := q.doMore(c)
		named := slices.Concat(c.Words, patched(c.Listed))
		for _, cmd := range others {
			named = append(named, touched(cmd)...)
		}
		for _, w := range named {
			if q.guards(w.Text) || w.Pattern && mayMatchGuarded(w.Text) {
				return w.Text, "it names"
			}
		}
		for _, t := range c.Told {
			if isPattern(t) {
				continue
			}
			for _, token := range t.Tokens {
				if q.guards(token) && (told || !t.Aside) && !(strings.EqualFold(token, "head") && headIsNoFile(t)) {
					return token, "a text in it names"
				}
			}
		}
	}
	return "", ""
}

// doMore are the commands of a text that do more than the mode acceptEdits allows without a rule, or change where others
// are; all, where what one of those does is not known, or may be told by another command.
func (q *question) doMore(c *cmdline.Carried) (others []cmdline.Command, told bool) {
	v := &coverage{q: q}
	v.mode, _ = lookupMode(ModeAcceptEdits)
	v.places(q.reading())
	wrote := map[string]bool{} // names of files
	for _, cmd := range c.Listed {
		files := cmd.Writes
		if g := v.command(cmd); cmd.Followed || !g.none() && !g.reads {
			others = append(others, cmd)
		} else {
			files = slices.Concat(files, cmdline.EffectOf(cmd.Words).Writes)
		}
		for _, w := range files {
			wrote[path.Base(w.Text)] = true
		}
	}
	unknown := func(w cmdline.Word) bool {
		for file := range wrote {
			if strings.Contains(w.Text, file) {
				return true
			}
		}
		return w.Sure != cmdline.Literal || strings.HasPrefix(w.Text, "--ou") || printsMessages().MatchString(w.Text) // git log --output
	}
	told = c.Doubtful || q.stdin != "" || q.unusualEnv() != "" || slices.ContainsFunc(others, func(cmd cmdline.Command) bool {
		return !cmd.Followed && (cmd.Piped || len(cmd.Reads) > 0 || slices.ContainsFunc(slices.Concat(cmd.Words, cmd.Assigns), unknown))
	})
	if told {
		others = c.Listed
	}
	return others, told
}

// printsMessages is a text for another program in which git prints what a command of this text may have told it.
var printsMessages = cmdline.Pattern(`git["',\s]+(log|show|cat-file|for-each-ref|tag|notes|stash|format-patch|rev-list|reflog|branch)\b`)

// touched are the words of a command that may be names of files, without those of the commands in it and revisions.
func touched(c cmdline.Command) (all []cmdline.Word) {
	words := cmdline.WithoutPatterns(c.Words)
	if fit, ok := cmdline.LookUp(c.Words); ok && c.Inner != nil && fit.Inner > 0 {
		words = c.Words[:fit.Inner]
	} else if len(c.Rest) > 0 {
		words = cmdline.WithoutPatterns(c.Rest)
	}
	revisions := takesRevisions(words)
	for i, w := range words {
		if !(i == 0 && w.Text == "head") && !(revisions && (strings.EqualFold(w.Text, "head") || revision().MatchString(w.Text))) {
			w.Pattern = w.Pattern || matchesNames[words[0].Text] && strings.ContainsAny(w.Text, "*?")
			all = append(all, w)
		}
	}
	if len(words) == 0 { // a loop or a group reads it
		all = append(all, cmdline.Lits(strings.Fields(c.Input))...)
	}
	return slices.Concat(all, c.Writes, c.Assigns)
}

// matchesNames are commands that match names of files with wildcards of their own.
var matchesNames = cmdline.Names(`find rg git`)

// patched are the words of the lines by which the documents of a text name files to patch.
func patched(all []cmdline.Command) (names []cmdline.Word) {
	if !slices.ContainsFunc(all, func(c cmdline.Command) bool {
		return len(c.Words) > 0 && cmdline.ProgramName(c.Words[0].Text) == "patch"
	}) {
		return nil
	}
	for _, c := range all {
		for _, line := range patchedLine().FindAllString(c.Input, -1) {
			for _, reading := range cmdline.ReadingsOf(line) {
				names = append(names, cmdline.Lits(strings.Fields(strings.Replace(reading, "Index:", "", 1)))...)
			}
		}
	}
	return names
}

// patchedLine is such a line: the whole patch may be indented, or in a message.
var patchedLine = cmdline.Pattern(`(?m)^[- \tX]*(\+\+\+|---|\*\*\*|diff --git|Index:|rename to|copy to).*`)

// isPattern reports a text that is a word of its command by which names are left out.
func isPattern(t cmdline.Told) bool {
	is := func(w cmdline.Word) bool { return w.Text == t.Text }
	return slices.ContainsFunc(t.By, is) && !slices.ContainsFunc(cmdline.WithoutPatterns(t.By), is)
}

// headIsNoFile reports whether HEAD is no file in a text that a program is told: the program head, a revision, or a name of
// Python or JavaScript, which has no capitals and stands beside no quote and no slash.
func headIsNoFile(t cmdline.Told) bool {
	if len(t.By) == 0 {
		return false
	}
	switch name := t.By[0].Text; {
	case name == "head":
		return t.Text == "head"
	case hasNames[cmdline.ProgramName(name)]:
		return !slices.ContainsFunc(cmdline.ReadingsOf(t.Text), headFile().MatchString)
	}
	return takesRevisions(t.By) && (strings.EqualFold(t.Text, "head") || revision().MatchString(t.Text))
}

// hasNames are programs of languages in whose code a file is named by a literal.
var hasNames = cmdline.Names(`python pypy node nodejs deno bun`)

var headFile = cmdline.Pattern("(?i:^\\s*head\\s*$|['\"`/\\\\]head\\b|\\bhead['\"`/\\\\])|\\bH(?i:ead)\\b")

// takesRevisions reports a command of git whose words may be revisions, and no file of such a name.
func takesRevisions(c []cmdline.Word) bool {
	words := make([]string, len(c))
	for i, w := range c {
		words[i] = w.Text
	}
	if len(words) == 0 || words[0] != "git" {
		return false
	}
	words = words[1:]
	for len(words) > 2 && words[0] == "-C" {
		words = words[2:]
	}
	return readsGit(words)
}

// revision matches HEAD in the words of git, alone, with what follows it or stands around it, and in an option.
var revision = cmdline.Pattern(`^(--source=|--fixup=|--squash=)?([A-Za-z0-9/._~^@{}-]*\.\.\.?)?HEAD([~^][0-9~^]*)?(\.\.\.?([A-Za-z0-9/_~^@-][A-Za-z0-9/._~^@-]*)?)?(:[A-Za-z0-9/._-]+)?$`)

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
		if len(operands) > 1 && slices.ContainsFunc(operands[1:], revision().MatchString) {
			return false
		}
	case "restore": // its revision is in an option
		if slices.ContainsFunc(before[1:], func(w string) bool { return revision().MatchString(w) && !strings.HasPrefix(w, "--source=") }) {
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

// mayMatchGuarded reports a wildcard that may match a guarded name, and not by a star at the beginning of a file's name.
func mayMatchGuarded(pattern string) bool {
	all, ok := cmdline.ExpandBraces(strings.ToLower(ranges().ReplaceAllString(pattern, "?")))
	return !ok || slices.ContainsFunc(all, func(p string) bool {
		parts := strings.Split(path.Clean(p), "/")
		for i, part := range parts {
			if part == "*" || part == "**" || strings.HasPrefix(part, "*") && i+1 == len(parts) {
				continue
			}
			for _, n := range guardedNames() {
				if i+len(n.parts) <= len(parts) && slices.EqualFunc(n.parts, parts[i:i+len(n.parts)], mayBeName) {
					return true
				}
			}
		}
		return len(guardedIn(p)) > 0
	})
}

// ranges are the braces {a..z}.
var ranges = cmdline.Pattern(`\{[^{},/]*\.\.[^{},/]*\}`)

// mayBeName reports whether a wildcard may match a part of a guarded name. Shells differ in what brackets match.
func mayBeName(name, pattern string) bool {
	if i, j := strings.IndexByte(pattern, '['), strings.LastIndexByte(pattern, ']'); i >= 0 && j > i {
		pattern = pattern[:i] + "*" + pattern[j+1:]
	}
	ok, err := path.Match(pattern, name)
	return ok || err != nil
}

// guards reports whether a word, or the value in an option or an assignment, names something
// guarded.
func (q *question) guards(word string) bool {
	named := []string{word}
	if _, value, ok := strings.Cut(word, "="); ok {
		named = append(named, value)
	}
	if file := strings.TrimPrefix(word, "w"); strings.HasPrefix(file, ".") { // a script of sed
		named = append(named, file)
	} else if at := strings.Index(word, "-."); at >= 0 { // ${x-.git}
		named = append(named, word[at+1:])
	}
	for at := 2; at < min(len(word), 8) && word[0] == '-'; at++ { // letters, and a value
		named = append(named, word[at:])
	}
	return gitDirectory[word] || slices.ContainsFunc(named, func(p string) bool {
		return len(guardedIn(p)) > 0 || p != "" && len(q.call.Guarded) > 0 && len(q.resolve(p).guarded) > 0 // also what the call guards
	})
}

// gitDirectory are the words by which git rev-parse prints where its directory is.
var gitDirectory = cmdline.Names(`--git-dir --git-common-dir --absolute-git-dir --git-path`)

// onlyPrints reports whether the text only reads what the mode default lets it read, and prints.
func (q *question) onlyPrints() bool {
	mode, _ := lookupMode(ModeDefault)
	return q.shellRisk() == RiskLow && q.stdin == "" && q.cover(mode, nil, nil).none()
}
