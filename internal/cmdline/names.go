package cmdline

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// namesOf says whether a command prints names of files at or below the paths that it names, and how they are cut. Lines
// count only where all of them end like source code; a name may hold blanks and line breaks, so where one ends is a guess
// (Word.Cut).
func namesOf(words []Word) names {
	name, zero := words[0].Text, false
	flags, printer := nameFlags[name]
	for i, w := range words[1:] { // what is negated may be any file
		if w.Text == "," || w.Text == "(" || w.Text == ")" || (w.Text == "!" || w.Text == "-not") && i+2 < len(words) && words[i+2].Text != "-path" && words[i+2].Text != "-ipath" {
			return names{}
		}
	}
	if !printer || slices.ContainsFunc(words[1:], func(w Word) bool { return len(w.Text) > 1 && w.Text[0] == '-' && !flags().MatchString(w.Text) }) {
		return names{}
	}
	switch name {
	case "find":
		zero = Spells(words, "-print0")
	case "rg":
		if !HasAny(words, "-l", "--files", "--files-with-matches") {
			return names{}
		}
	case "grep":
		if !HasAny(words, "-l", "-L") {
			return names{}
		}
		if HasAny(words, "-Z") {
			return names{} // one may begin like an option
		}
	case "git":
		if !Spells(words, "ls-files") && !Spells(words, "--name-only") {
			return names{}
		}
		if Spells(words, "-z") {
			return names{} // one may begin like an option
		}
	}
	if zero {
		return names{"*", true}
	}
	sources, others, like := 0, 0, "*"
	for i, w := range words[1:] {
		_, pattern, joined := strings.Cut(w.Text, "=")
		switch before := words[i].Text; {
		case name == "find" && before != "-name", name == "ls" && strings.HasPrefix(w.Text, "-"):
			continue
		case name == "find" || name == "rg" && before == "-g" || name == "ls" || name == "git" && (w.Pattern || strings.HasPrefix(w.Text, "*")):
			pattern = w.Text
		case name == "git" && w.Text != "" && w.Text[0] != '-' && w.Text != "ls-files" && w.Text != "diff":
			others++
			continue
		case !joined || !beginsOption(strings.SplitN(w.Text, "=", 2)[0], "--include", "--glob"):
			continue
		}
		if strings.Contains(pattern, "*.") && sourceExtensions[strings.TrimPrefix(path.Ext(pattern), ".")] {
			sources, like = sources+1, path.Base(pattern)
		} else {
			others++
		}
	}
	if sources == 0 || others > 0 || Spells(words, "-o", "-or") {
		return names{}
	}
	if sources > 1 {
		like = "*"
	}
	return names{like: like}
}

// nameFlags are the options of commands with which what they print are names of files and nothing else.
var nameFlags = map[string]func() *regexp.Regexp{
	"find": Pattern(`^-(name|iname|path|ipath|not|type|maxdepth|mindepth|newer|mtime|mmin|size|empty|print0?|o|or|a|and|prune|[0-9]+[a-z]*)$`),
	"rg":   Pattern(`^(-[ligtwF]+|--files|--files-with-matches|--glob=.*|--type=.*)$`),
	"grep": Pattern(`^(-[rnilLIHEFwsZ]+|--include=.*|--exclude=.*|--exclude-dir=.*)$`),
	"git":  Pattern(`^(-[mozc]|--|--others|--modified|--cached|--staged|--exclude-standard|--name-only|--diff-filter=[A-Za-z]+)$`),
	"ls":   Pattern(`^-[1dtr]+$`),
}

// names is what is known of the names of files that a command prints.
type names struct {
	like string // a wildcard that their last parts match; "": no names
	zero bool   // a zero byte is behind each, else a line break
}

// lines reports names on lines.
func (n names) lines() bool { return n.like != "" && !n.zero }

// likeOf is a wildcard that the names match that find finds.
func likeOf(find []Word) string {
	like := "*"
	for i, w := range find {
		switch {
		case w.Text == "," || w.Text == "(" || w.Text == "-o" || w.Text == "-or" || w.Text == "-iname" || w.Text == "!" || w.Text == "-not" && i+1 < len(find) && find[i+1].Text == "-name":
			return "*"
		case w.Text == "-name" && i+1 < len(find):
			like = find[i+1].Text
		}
	}
	return like
}

var sourceExtensions = Names(`go mod py pyi js mjs cjs jsx ts mts tsx vue svelte rs java kt scala c h cc cpp hpp cs rb php swift lua ex exs erl hs ml sql proto
	md rst txt log html css scss less sh`)

// selectsLines reports whether a command prints lines of its input as they are.
func selectsLines(words []Word) bool {
	switch BaseName(words[0].Text) {
	case "grep":
		return words[0].Text == "grep" && !cuts(words[1:], "ocnlLferRdD", "--") && len(words)-1-countOptions(words[1:]) == 1
	case "head", "tail":
		return len(words) == 1 || len(words) == 2 && headOption().MatchString(words[1].Text) || len(words) == 3 && words[1].Text == "-n" && headCount().MatchString(words[2].Text)
	case "sort", "uniq":
		return len(words) == 1 || len(words) == 2 && words[1].Text == "-u"
	}
	return false
}

var headOption, headCount = Pattern(`^-n?[0-9]+$`), Pattern(`^[0-9]+$`)

func countOptions(words []Word) (n int) {
	for _, w := range words {
		if strings.HasPrefix(w.Text, "-") {
			n++
		}
	}
	return n
}

// countsLines reports statements that print one number.
func countsLines(all []*syntax.Stmt) bool {
	if len(all) != 1 || len(all[0].Redirs) > 0 && all[0].Cmd == nil {
		return false
	}
	last := all[0]
	for {
		pipe, ok := last.Cmd.(*syntax.BinaryCmd)
		if !ok || pipe.Op != syntax.Pipe {
			break
		}
		last = pipe.Y
	}
	call, ok := last.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 2 || len(call.Assigns) > 0 {
		return false
	}
	texts, ok := LiteralWords(readWords(call.Args))
	if !ok {
		return false
	}
	switch texts[0] {
	case "wc":
		return len(texts) == 2 && (texts[1] == "-l" || texts[1] == "-c" || texts[1] == "-w")
	case "grep":
		return len(texts) <= 4 && (texts[1] == "-c" || texts[1] == "-ci" || texts[1] == "-cE")
	}
	return false
}

// excluders are commands with options that say which names they leave out.
var excluders = Names(`tar gtar rsync grep egrep fgrep zgrep du ruff black isort flake8 mypy zip rg find`)

// WithoutPatterns are the words of a command without the patterns for names that it leaves out: --exclude .git, and of find
// -not -path './.git/*' and -name .git -prune -o. What may be the value of another option, or of a command that find runs,
// and what leads to something else where the pattern matches (-not -name .git -o) is no such pattern.
func WithoutPatterns(words []Word) (rest []Word) {
	if len(words) == 0 || !excluders[words[0].Text] || Spells(words, "--", "(", ",", "-depth", "-d", "--delete-excluded") {
		return words
	}
	is := func(i int, texts ...string) bool {
		return i > 0 && i < len(words) && words[i].Sure == Literal && slices.Contains(texts, words[i].Text)
	}
	flags := noValue()
	if words[0].Text == "find" {
		flags = notValue()
	}
	begins := func(i int) bool { // the word at i is no value of an option before it
		return i == 1 || i > 1 && (!strings.HasPrefix(words[i-1].Text, "-") || flags.MatchString(words[i-1].Text))
	}
	prints, or := Spells(words, "-print", "-print0", "-exec"), 0
	for i := range words {
		if is(i, "-o", "-or") {
			or = i
		}
	}
	for i, w := range words {
		option, _, joined := strings.Cut(w.Text, "=")
		switch find := words[0].Text == "find"; {
		case find && is(i, findRuns...):
			return append(rest, words[i:]...)
		case words[0].Text == "zip" && is(i-1, "-x") && i > 1 && !strings.HasPrefix(words[i-2].Text, "-"):
		case words[0].Text == "rg" && is(i-1, "-g", "--glob") && strings.HasPrefix(w.Text, "!") && !runsPre(words):
		case !find && (is(i-1, "--exclude", "--exclude-dir") && begins(i-1) || joined && (option == "--exclude" || option == "--exclude-dir") && begins(i)):
		case find && is(i-1, "-path", "-name") && is(i-2, "-not", "!") && begins(i-2) && !is(i-3, "!") && i > or:
		case find && is(i-1, "-path", "-name") && !is(i-2, "-not", "!") && is(i+1, "-prune") && is(i+2, "-o") && prints:
		default:
			rest = append(rest, w)
		}
	}
	return rest
}

// runsPre reports rg --pre, which runs a program with names of files.
func runsPre(words []Word) bool {
	return slices.ContainsFunc(words, func(w Word) bool { return strings.HasPrefix(w.Text, "--pre") })
}

// noValue are options of excluders behind which no value stands, and notValue those of find.
var (
	noValue  = Pattern(`^(-[a-zA-Z]*[ahjnqrvxzuPE]|--[a-z-]+=.*|--(delete|progress|stats|dry-run|archive|verbose|fix|check|recursive|compress|diff|quiet))$`)
	notValue = Pattern(`^-(o|or|a|and|empty|print|[0-9]+[a-zA-Z]*)$`)
)
