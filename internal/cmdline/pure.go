package cmdline

import (
	"slices"
	"strings"
	"unicode"
)

// isPure reports whether a command runs no program that its words name.
func isPure(words []Word) bool {
	fit, ok := LookUp(words)
	if !ok {
		return isSed(words) && slices.ContainsFunc(words, isFound) && isPure(replaced(words, isFound))
	}
	if inner := innerOf(words, fit); inner != nil && len(words) <= maxWords {
		for _, w := range words[1:fit.Inner] {
			if isAssignment(w.Text) && AssignmentRisk(w) != RiskLow {
				return false
			}
		}
		return isPure(inner)
	}
	return !fit.Carrier && fit.Inner == 0
}

// isFound reports the whole name of a file that a search has found.
func isFound(w Word) bool { return w.Below && !w.Cut }

func isSed(words []Word) bool {
	return len(words) > 0 && (BaseName(words[0].Text) == "sed" || BaseName(words[0].Text) == "gsed")
}

// replaced are the words with the plain name of a file in the place of some.
func replaced(words []Word, these func(Word) bool) []Word {
	words = slices.Clone(words)
	for i, w := range words {
		if these(w) {
			words[i] = Lit("x")
		}
	}
	return words
}

// innerOf returns the command behind a known wrapper; nil for another command.
func innerOf(words []Word, f Fit) []Word {
	switch {
	case f.Inner == 0:
		return nil
	case BaseName(words[0].Text) == "xargs":
		return append(slices.Clone(words[f.Inner:]), Word{})
	}
	return words[f.Inner:]
}

// transforms reports whether a pure command's output differs from its input and its words, so that
// it is unknown.
func transforms(words []Word) bool {
	switch name := BaseName(words[0].Text); name {
	case "dirname", "tsort", "hexdump", "tr", "rev", "tac", "base64", "base32", "xxd", "sed", "gsed", "awk", "gawk", "mawk", "nawk", "cut", "paste", "join", "fold", "jq", "od",
		"zcat", "gunzip", "gzip", "bunzip2", "bzip2", "unxz", "xz", "zstd", "column", "fmt", "expand", "unexpand", "numfmt",
		"expr", "basename", "seq":
		return true
	case "head", "tail":
		return cuts(words[1:], "c", "--b")
	case "grep", "egrep", "fgrep", "zgrep", "rgrep":
		return cuts(words[1:], "o", "--o")
	case "rg":
		return cuts(words[1:], "or", "--o", "--r")
	case "cat", "tee":
		return false
	case "find":
		return slices.ContainsFunc(words, func(w Word) bool { return strings.Contains(w.Text, "printf") })
	case "comm", "diff", "nl", "strings":
		return cuts(words[1:], "sD", "--o", "--s", "--line", "--new", "--old", "--unch", "--ch", "--if")
	case "stat":
		return slices.ContainsFunc(words[1:], func(w Word) bool {
			return strings.Contains(w.Text, "%") && strings.ContainsFunc(statField().ReplaceAllString(strings.TrimLeft(w.Text, "-"), ""), unicode.IsLetter)
		})
	case "git":
		if Spells(words, "grep") && cuts(words[1:], "oh", "--o") || slices.ContainsFunc(words, addsText) {
			return true
		}
	case "go":
		return slices.ContainsFunc(words, func(w Word) bool { return strings.Contains(w.Text, "{{") && strings.Contains(w.Text, "print") })
	case "echo":
		return hasLetterOption(words[1:], 'n') || strings.Contains(joinTexts(words[1:]), `\c`)
	case "printf":
		format := joinTexts(words[1:min(len(words), 2)])
		return strings.Contains(format, "%") || !strings.HasSuffix(format, `\n`) || strings.Contains(format, `\c`)
	}
	return slices.ContainsFunc(words[1:], func(w Word) bool { return formatEscape().MatchString(w.Text) })
}

// endsInZero reports a command that prints zero bytes, which shells drop.
func endsInZero(words []Word) bool {
	return Spells(words, "--zero", "-print0", "-z", "-Z", "--null", "-fprint0") || strings.HasSuffix(BaseName(words[0].Text), "grep") && cuts(words[1:], "Z", "--null")
}

// addsText reports a format of git that prints more than fields and marks between them.
func addsText(w Word) bool {
	name, format, _ := strings.Cut(w.Text, "=")
	if name != "--format" && name != "--pretty" || !strings.Contains(format, "%") {
		return strings.HasPrefix(w.Text, "--relative=") || strings.HasPrefix(w.Text, "--word-diff")
	}
	if strings.Contains(format, "%f") || adjacent().MatchString(format) {
		return true
	}
	format = formatField().ReplaceAllString(strings.TrimPrefix(format, "tformat:"), "")
	return strings.ContainsFunc(format, unicode.IsLetter)
}

// adjacent are two fields with nothing between them.
var adjacent = Pattern(`%[a-mo-zA-Z][a-zA-Z]?%[a-mo-zA-Z]`)

// statField is a field in a format of stat.
var statField = Pattern(`printf=|format=|c=|%[a-zA-Z]`)

var formatField = Pattern(`%(C\([^)]*\)|[aceg][a-zA-Z]|[a-zA-Z])`)

// WithoutProse drops the values of options that are text for people.
func WithoutProse(words []Word) []Word {
	base := BaseName(words[0].Text)
	if base != "git" && base != "gh" && base != "glab" {
		return words
	}
	var out []Word
	for i := 0; i < len(words); i++ {
		switch name, _, joined := strings.Cut(words[i].Text, "="); {
		case !joined && (name == "-m" || name == "-am" || name == "-t" || name == "-b" || name == "--message" || name == "--title" || name == "--body"):
			i++
		case joined && (name == "--message" || name == "--title" || name == "--body"):
		default:
			out = append(out, words[i])
		}
	}
	return out
}

// formatEscape is what a format prints as another character: %x6d, %6d, %%, \155.
var formatEscape = Pattern(`%%|%x?[0-9a-fA-F]{2}|\\`)

// cuts reports an option that prints parts of lines.
func cuts(args []Word, letters string, long ...string) bool {
	return slices.ContainsFunc(args, func(w Word) bool {
		if len(w.Text) < 2 || w.Text[0] != '-' {
			return false
		}
		if w.Text[1] != '-' {
			return strings.ContainsAny(w.Text[1:], letters)
		}
		return slices.ContainsFunc(long, func(l string) bool { return strings.HasPrefix(w.Text, l) })
	})
}

func hasLetterOption(args []Word, letter rune) bool {
	return slices.ContainsFunc(args, func(w Word) bool {
		return len(w.Text) > 1 && w.Text[0] == '-' && strings.ContainsRune(w.Text, letter)
	})
}

// ProgramName is a command's name without its directory, version and build:
// python3.12 is python, busybox-x86_64 is busybox.
func ProgramName(text string) string {
	name := BaseName(text)
	end := strings.IndexFunc(name, func(r rune) bool { return r < 'a' || r > 'z' })
	if end <= 0 || !strings.ContainsRune("0123456789.-_", rune(name[end])) {
		return name
	}
	return name[:end]
}

// CodeReaders are interpreters: their code is the value of an option, or their input when no file
// is named.
var CodeReaders = Names(`sed gsed python pypy ipython jython perl ruby irb node nodejs deno bun php lua luajit awk gawk mawk nawk tclsh wish expect osascript
	guile racket scheme clojure ghci runghc scala julia r rscript octave jshell groovy elixir erl swift pwsh powershell cmd gjs qjs
	at batch crontab ed ex red vi vim nvim view rview rvim gvim vimdiff emacs gdb lldb m4 dc bc sqlite sqlite3 psql mysql gnuplot make gmake
	bash sh dash zsh ksh mksh ash fish tcsh csh yash rbash posh elvish nu xonsh`)

// quietFlags are options of interpreters that run nothing and take no value.
var quietFlags = Names(`-u -B -I -s -S -w -W -t -T -O -E --no-warnings --trace-warnings --check --enable-source-maps`)

// readsCode reports whether an interpreter gets code from an option or its input.
func readsCode(words []Word) bool {
	name := ProgramName(words[0].Text)
	if name == "source" || name == "." {
		return len(words) < 2 || words[1].Sure != Literal || strings.HasPrefix(words[1].Text, "/dev/") || strings.HasPrefix(words[1].Text, "/proc/")
	}
	if !CodeReaders[name] && !CodeReaders[BaseName(words[0].Text)] || Shells[name] {
		return false // its text is read by itself
	}
	if _, ok := LookUp(words); ok {
		return false
	}
	if name == "sed" || name == "gsed" {
		return true // a script with commands that fitSed does not accept
	}
	for i, w := range words[1:] {
		switch {
		case w.Sure == Unknown && !w.Pattern, w.Text == "-", strings.HasPrefix(w.Text, "/dev/"), strings.HasPrefix(w.Text, "/proc/"):
			return true
		case w.Text == "-m" && i+2 < len(words) && name == "python":
			return false
		case w.Text == "" || w.Text[0] != '-':
			// make's operands are targets; those of an editor or a database are files whose
			// commands come from the input.
			return slices.Contains([]string{"at", "batch", "ed", "ex", "red", "gdb", "dc", "m4", "sqlite", "sqlite3", "awk", "gawk", "mawk", "nawk", "cmd"}, name)
		case !quietFlags[w.Text]:
			return name != "make" && name != "gmake"
		}
	}
	return name != "make" && name != "gmake"
}

// behind returns the command behind wrappers: env, nice, command.
func behind(words []Word) []Word {
	for range MaxNest {
		inner := words[1:]
		if BaseName(words[0].Text) != "command" {
			fit, _ := LookUp(words)
			inner = innerOf(words, fit)
		}
		if len(inner) == 0 {
			break
		}
		words = inner
	}
	return words
}

// copies are the programs that give a file another name or place.
var copies = Names(`cp mv ln install dd link split csplit rsync`)

// repeats are the commands whose output is their words or the files that they name, with a function
// that selects those of their words that the output does not contain.
var (
	repeats = Names(`echo printf cat tee true false :`)
	selects = Names(`grep egrep fgrep rg wc du ls sort uniq`)
)

// Evaluates are the builtins that run substitutions in a subscript.
var Evaluates = Names(`test [ printf read unset declare typeset local readonly export let wait getopts mapfile readarray`)

func joinTexts(ws []Word) string {
	texts := make([]string, len(ws))
	for i, w := range ws {
		texts[i] = w.Text
	}
	return strings.Join(texts, " ")
}

// changesCommands names the variables by which another program answers to the
// name of a command, or a file runs before it.
func changesCommands(name string) bool {
	switch name {
	case "PATH", "BASH_CMDS", "BASH_ALIASES", "BASH_ENV", "ENV", "IFS", "SHELLOPTS", "BASHOPTS", "CDPATH", "EXECIGNORE":
		return true
	}
	return strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") || strings.HasPrefix(name, "BASH_FUNC_")
}

// runsValue are variables whose value some program runs.
var runsValue = Pattern(`^(PS[0-9]|PROMPT_COMMAND|SHELL|VISUAL|BROWSER|HOME|XDG_.*|.*(PAGER|EDITOR|COMMAND|CMD|EXEC|OPTIONS|OPTS|FLAGS|SSH|ASKPASS|OPEN)|GIT_.*|PYTHON.*|PERL.*|RUBY.*|NODE_.*|CC|CXX|LD|AR)$`)
