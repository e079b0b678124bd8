package cmdline

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// Effect is what a command does to the files that its words name.
type Effect struct {
	Reads  []Word
	Writes []Word // made, changed, replaced or removed
	Tree   bool   // also to what lies below them
	Moves  bool   // they are moved with all that lies below, and links among them as they are
	Like   string // of what lies below only what this wildcard matches, as Word.Text of Word.Below; "": all
	In     []Word // directories in which its relative paths start, when one is named: git -C
	// Speaks: its words are text.
	Speaks bool
	// Names: it prints names, and not what is in the files.
	Names bool
	// Recorded: it prints what a repository of git holds, of whichever files.
	Recorded bool
	// Unsure: it may read and write files that its words do not show as such: a script of sed that is not understood.
	Unsure bool
	// Listed: the command is one of those whose files are known. Only: it does nothing else but print.
	Listed, Only bool
}

// followLetters are the options with which readers follow links.
var followLetters = map[string]string{"ls": "L", "du": "LD", "tree": "l"}

// speakers print their words, or what needs no file; what they name is text.
var speakers = Names(`echo printf true false : test [ sleep basename dirname which type seq expr date uname whoami id nproc pwd ps tr hostname
	uptime free locale groups logname tty cal lscpu lsblk exit return break continue shift dirs times tput clear numfmt factor pgrep jobs`)

// talkers are those that a credential's name is no matter for, and cd.
var talkers = Names(`echo printf true false : test [ cd sleep basename dirname which type`)

// textOptions are the letters of the options of commands whose value is text.
var textOptions = map[string]string{
	"cut": "dfcb", "sort": "tk", "paste": "d", "join": "t", "column": "s", "head": "nc", "tail": "nc", "fold": "w", "uniq": "fsw", "xxd": "lscg",
	"od": "tANj", "stat": "c", "tree": "ILP", "du": "d",
}

// EffectOf reads a command that is no wrapper.
func EffectOf(c []Word) Effect {
	if len(c) == 0 || c[0].Sure == Unknown {
		return Effect{}
	}
	name := BaseName(c[0].Text)
	fit, known := LookUp(c)
	reads := known && fit.Risk == RiskLow && !fit.Carrier && (!fetchers[name] || len(c) == 2 && slices.Contains([]string{"--version", "-version", "-V", "-v", "version"}, c[1].Text))
	e := Effect{Listed: true, Only: reads, Writes: slices.Clone(fit.Outs)}
	switch {
	case speakers[name], name == "command" && reads:
		e.Listed, e.Speaks = known, true
		e.Only = reads && harmlessWords(name, c[1:])
	case name == "grep", name == "egrep", name == "fgrep", name == "zgrep", name == "rgrep":
		e.Reads, e.Tree = grepFiles(c[1:])
		if name == "rgrep" {
			e.Reads, e.Tree = append(Named(c), Lit(".")), true
		}
		e.Like = onlyValue(c, "--include")
	case name == "rg" || name == "ag" || name == "git" && Spells(c, "grep"):
		e.searches(c, fit, known)
	case name == "git" && len(c) > 2 && c[1].Text == "mv":
		e.copies("git mv", pathspecs(c[1:]))
		e.Only = e.Only && c[0].Text == name
	case name == "git" && len(c) > 2 && c[1].Text == "rm":
		e.Writes, e.Tree = Named(pathspecs(c[1:])), HasAny(c, "-r")
		e.Only = c[0].Text == name && onlyOptions(c[1:], "-f", "-q", "--quiet", "--cached", "--ignore-unmatch", "--")
	case name == "git":
		e.git(c, known && reads)
	case name == "find" || name == "fd" || name == "fdfind":
		if e.Reads = findPlaces(c[1:]); !known || fit.Carrier {
			e.Writes, e.Tree = e.Reads, true // it runs other commands, or deletes
			e.Unsure = true
		}
	case name == "jq":
		e.Reads = jqFiles(c[1:])
		e.Only = reads && !slices.ContainsFunc(c, func(w Word) bool { return jqReaches().MatchString(w.Text) })
	case fit.Paths != nil: // sed, awk
		e.Reads = fit.Paths
		if fit.Write {
			e.Writes = append(e.Writes, fit.Paths...)
			e.Only = !slices.ContainsFunc(c, func(w Word) bool {
				return strings.HasPrefix(w.Text, "-i") && w.Text != "-i" || strings.HasPrefix(w.Text, "--in-place=")
			})
		}
	case name == "sed" || name == "gsed":
		e.Reads, e.Writes = Named(c), Named(c)
		_, ok := LookUp(replaced(c, func(w Word) bool { return w.Output }))
		e.Unsure = !ok // its script is not understood
	case name == "gofmt" || name == "goimports" || name == "gofumpt":
		e.Reads, e.Tree, e.Like = fit.Operands, true, "\x00*.go"
		if !known {
			e.Reads = Named(c)
		}
		if HasAny(c, "-w") || !known {
			e.Writes = e.Reads
		}
		e.Only = known && name != "goimports" && !(HasAny(c, "-w") && slices.ContainsFunc(fit.Operands, func(w Word) bool { return !IsFile(w.Text) }))
	case name == "cp" || name == "mv" || name == "ln" || name == "install" || name == "rsync" || name == "scp":
		e.copies(name, WithoutPatterns(c))
	case name == "dd":
		for _, w := range c[1:] {
			if from, ok := strings.CutPrefix(w.Text, "if="); ok {
				e.Reads = append(e.Reads, Word{Text: from, Sure: w.Sure, Pattern: w.Pattern})
			} else if to, ok := strings.CutPrefix(w.Text, "of="); ok {
				e.Writes = append(e.Writes, Word{Text: to, Sure: w.Sure, Pattern: w.Pattern})
			} else if w.Sure == Unknown {
				e.Reads, e.Writes = append(e.Reads, w), append(e.Writes, w)
			}
		}
	case name == "mkdir" || name == "touch" || name == "tee":
		e.Writes, e.Only = Named(c), known
	case name == "rm" || name == "rmdir" || name == "unlink" || name == "shred" || name == "truncate" || name == "chmod" || name == "chown" || name == "chgrp":
		e.Writes, e.Tree = Named(c), HasAny(c, "-r", "-R", "--recursive")
		e.Only = known && (name == "rm" || name == "rmdir" || name == "unlink") && onlyOptions(c, "-f", "-v", "--")
	case name == "source" || name == ".":
		e.Reads = Named(c)
	case known && fit.Write, !reads && (name == "tar" || name == "gtar"):
		named := Named(WithoutPatterns(c))
		e.Reads, e.Writes, e.Tree, e.Unsure = named, append(e.Writes, named...), true, !known
		if name == "patch" || name == "unzip" || name == "cpio" || (name == "tar" || name == "gtar") && len(c) > 1 && strings.Contains(c[1].Text, "x") {
			e.Writes = append(e.Writes, Word{}) // files that are named in what it reads
		}
	case known && fit.Risk == RiskLow && !fit.Carrier:
		e.Reads = Named(c)
		e.Tree = name == "diff"
		e.Only = reads && !slices.ContainsFunc(c[1:], func(w Word) bool {
			sums := strings.HasSuffix(name, "sum") && (cluster(w.Text, len(w.Text)) && strings.Contains(w.Text, "c") || strings.HasPrefix(w.Text, "--c") || w.Pattern)
			follows := cluster(w.Text, len(w.Text)) && strings.ContainsAny(w.Text, followLetters[name]) || followLetters[name] != "" && strings.HasPrefix(w.Text, "--deref")
			trees := name == "diff" && (strings.HasPrefix(w.Text, "--r") || cluster(w.Text, len(w.Text)) && strings.Contains(w.Text, "r"))
			archive := (name == "tar" || name == "gtar") && strings.Contains(w.Text, ":")
			name, _, _ := strings.Cut(w.Text, "=")
			return beginsOption(name, "--files0-from") || sums || follows || trees || archive
		})
	default:
		e.Listed = false
	}
	return e
}

// harmlessWords reports words of a speaker that no shell evaluates, and with which it only prints.
func harmlessWords(name string, words []Word) bool {
	if len(words) > 0 && words[0].is("--") {
		words = words[1:]
	}
	for i, w := range words {
		switch name {
		case "exit", "return", "break", "continue", "shift":
			if w != number && (w.Sure != Literal || strings.Trim(w.Text, "0123456789") != "") {
				return false
			}
		case "printf":
			if i > 0 && (w.Sure != Literal || strings.Trim(w.Text, "0123456789") != "") && percent().MatchString(words[0].Text) {
				return false
			}
		case "date":
			if w.Text == "" || w.Text[0] != '+' && w.Text[0] != '-' && (i == 0 || words[i-1].Text != "-d" && words[i-1].Text != "-r") {
				return false // it sets the clock
			}
		case "test", "[":
			return harmlessTest(words)
		}
	}
	return true
}

// percent is a format for a number, which some shells evaluate.
var percent = Pattern(`%[-+ #0-9.]*[^-+ #0-9.%sbcq]`)

// harmlessTest reports a test of literal words, or one with a word that is not known where it can be no operator.
func harmlessTest(words []Word) bool {
	words = slices.DeleteFunc(slices.Clone(words), func(w Word) bool { return w.Sure == Literal && (w.Text == "]" || w.Text == "!") })
	isDigits := func(i int) bool {
		return i >= 0 && i < len(words) && (words[i] == number || words[i].Sure == Literal && words[i].Text != "" && strings.Trim(words[i].Text, "-0123456789") == "")
	}
	for i, w := range words {
		compares := w.Sure == Literal && Names("-eq -ne -lt -le -gt -ge")[w.Text]
		if w.Pattern || w.Text == "-t" && !isDigits(i+1) || compares && (!isDigits(i-1) || !isDigits(i+1)) {
			return false
		}
	}
	if _, ok := LiteralWords(words); ok {
		return true
	}
	literal := func(i int, texts string) bool { return words[i].Sure == Literal && Names(texts)[words[i].Text] }
	if slices.ContainsFunc(words, func(w Word) bool { return w.Split }) {
		return false
	}
	switch len(words) {
	case 1:
		return true
	case 2:
		return literal(0, "-n -z -f -d -e -s -r -w -x -L -h")
	case 3:
		return literal(1, "= == != -eq -ne -lt -le -gt -ge") && words[0].Known() && words[2].Known()
	}
	return false
}

// Named are the words of a command that may be paths: operands, and what may be the value of an option.
func Named(c []Word) (out []Word) {
	letters, options := textOptions[BaseName(c[0].Text)], true
	for i := 1; i < len(c); i++ {
		w := c[i]
		switch {
		case options && w.Text == "--":
			options = false
		case options && !w.Known() && strings.HasPrefix(w.Text, "-"):
			out = append(out, Word{})
		case options && strings.HasPrefix(w.Text, "--"):
			if _, value, joined := strings.Cut(w.Text, "="); joined {
				out = append(out, Word{Text: value, Sure: w.Sure, Pattern: w.Pattern, Output: w.Output})
			}
		case options && len(w.Text) > 1 && w.Text[0] == '-':
			if strings.IndexByte(letters, w.Text[1]) >= 0 {
				if len(w.Text) == 2 && i+1 < len(c) && c[i+1].one() {
					i++
				}
				continue
			}
			for at := 2; at < min(len(w.Text), maxOption); at++ { // the value of a letter may follow it
				out = append(out, Word{Text: strings.TrimPrefix(w.Text[at:], "="), Sure: w.Sure, Pattern: w.Pattern})
			}
			if len(w.Text) > maxOption {
				out = append(out, Word{})
			}
		case strings.HasPrefix(w.Text, "@") && responds[BaseName(c[0].Text)]:
			out = append(out, Word{}) // it reads its words from a file
		default:
			out = append(out, w)
		}
	}
	return out
}

// responds are the commands that replace @FILE with the words in it.
var responds = Names(`strings nm size readelf`)

// maxOption is the length of an option with letters.
const maxOption = 32

// grepFiles are the files of grep: not its pattern, which is its first operand without -e and -f.
func grepFiles(args []Word) (files []Word, tree bool) {
	pattern, options := false, true
	var operands []Word
	for i := 0; i < len(args); i++ {
		w := args[i]
		name, value, joined := strings.Cut(w.Text, "=")
		next := i + 1
		takes := func(isFile bool, value string, joined bool) { // a pattern, or a file of patterns
			pattern = true
			switch {
			case isFile && joined:
				files = append(files, Lit(value))
				return
			case joined:
				return
			case isFile:
				files = append(files, args[min(next, len(args)):min(next+1, len(args))]...)
			default:
				files = append(files, several(args, next)...)
			}
			i++
		}
		switch {
		case !options || len(w.Text) < 2 || w.Text[0] != '-':
			operands = append(operands, w)
		case w.Text == "--":
			options = false
		case w.Sure == Unknown && !(w.Pattern && joined && strings.HasPrefix(name, "--") && !strings.ContainsAny(name, "*?[{")):
			return []Word{{}}, true
		case strings.HasPrefix(w.Text, "--"):
			tree = tree || beginsOption(name, "--recursive", "--dereference-recursive", "--directories")
			if strings.HasPrefix(name, "--deref") {
				files = append(files, Word{}) // it follows links
			}
			if beginsOption(name, "--regexp", "--file") {
				takes(!beginsOption(name, "--regexp"), value, joined)
			}
		default:
			for at := 1; at < len(w.Text); at++ {
				letter, rest := w.Text[at], w.Text[at+1:]
				tree = tree || letter == 'r' || letter == 'R' || letter == 'd'
				if letter == 'R' {
					files = append(files, Word{})
				}
				switch {
				case strings.IndexByte("ABCm", letter) >= 0 && rest == "" && next < len(args) && args[next].Text != "" && strings.Trim(args[next].Text, "0123456789") == "":
					i++
				case letter == 'e' || letter == 'f':
					takes(letter == 'f', rest, rest != "")
				case strings.IndexByte("ABCm", letter) < 0:
					continue
				}
				break
			}
		}
	}
	if !pattern && len(operands) > 0 && operands[0].one() {
		operands = operands[1:]
	}
	if len(operands) == 0 && tree {
		operands = []Word{Lit(".")}
	}
	return append(files, operands...), tree
}

// one reports a word that is one word to every shell, and no wildcard.
func (w Word) one() bool { return !w.Split && !w.Pattern }

// several is the word at an index where it may become more than one: those behind the first are files.
func several(args []Word, at int) []Word {
	if at < len(args) && !args[at].one() {
		return args[at : at+1]
	}
	return nil
}

// onlyValue is the value of an option that is given once, as a wildcard of find; "" when it is not.
func onlyValue(c []Word, option string) (value string) {
	times := 0
	for _, w := range c {
		if strings.HasPrefix(w.Text, option[:5]) {
			times++
		}
		if v, ok := strings.CutPrefix(w.Text, option+"="); ok {
			value = "\x00" + v
		}
	}
	if times > 1 {
		return ""
	}
	return value
}

// beginsOption reports whether a word is the beginning of a long option.
func beginsOption(word string, options ...string) bool {
	return len(word) > 2 && slices.ContainsFunc(options, func(o string) bool { return strings.HasPrefix(o, word) })
}

// searches reads rg, ag and git grep: they look below what they name, or where they are.
func (e *Effect) searches(c []Word, fit Fit, known bool) {
	if HasAny(c, "-L", "--follow") {
		e.Reads = append(e.Reads, Word{})
	}
	if e.Tree = true; BaseName(c[0].Text) == "rg" && !slices.ContainsFunc(c, func(w Word) bool {
		return strings.HasPrefix(w.Text, "--hid") || strings.HasPrefix(w.Text, "--unr") || strings.HasPrefix(w.Text, "--glob") || strings.HasPrefix(w.Text, "--iglob") ||
			strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.ContainsAny(w.Text, "ug.")
	}) {
		e.Like = "*" // no hidden files
	}
	if !known {
		e.Reads = append(Named(c), Lit("."))
		return
	}
	operands := fit.Operands
	if BaseName(c[0].Text) == "git" {
		operands = slices.DeleteFunc(slices.Clone(operands), func(w Word) bool { return w.Text == "grep" })
		e.In, e.Reads = gitDirs(c), []Word{Lit(".")} // an operand may be a revision
	}
	for i, w := range c {
		letters, file, has := strings.Cut(w.Text, "f")
		switch {
		case !has || !strings.HasPrefix(letters, "-") || strings.HasPrefix(letters, "--"):
		case file != "":
			e.Reads = append(e.Reads, Lit(file))
		case i+1 < len(c):
			e.Reads = append(e.Reads, c[i+1])
		}
	}
	given := slices.ContainsFunc(c[1:], func(w Word) bool {
		return w.Text == "--files" || w.Text == "--type-list" || strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.ContainsAny(w.Text, "ef")
	})
	if !given && len(operands) > 0 && operands[0].one() {
		operands = operands[1:]
	}
	if len(operands) == 0 {
		operands = []Word{Lit(".")}
	}
	e.Reads = append(e.Reads, operands...)
}

// git reads a command of git: paths, and those behind a revision. One that prints no contents is not held to read.
func (e *Effect) git(c []Word, reads bool) {
	e.In, e.Listed, e.Tree = gitDirs(c), reads, true
	if !reads {
		return
	}
	e.Names = !gitContents(c)
	e.Recorded = !e.Names
	at := slices.IndexFunc(c, func(w Word) bool { return w.Text == "--" })
	revisions := 0
	if at >= 0 {
		revisions = len(Named(c[:at]))
	}
	for i, w := range Named(c) {
		_, file, behind := strings.Cut(w.Text, ":")
		switch {
		case i == 0 && w.Sure == Literal && gitWord().MatchString(w.Text): // its command
			continue
		case strings.HasPrefix(w.Text, ":") || strings.ContainsAny(w.Text, "*?[") && !e.Names:
			w = Word{} // a pattern of git's own
		case behind && w.Sure == Literal && file != "":
			e.Reads = append(e.Reads, Lit(file))
			e.Recorded = false
		case i < revisions:
			continue
		}
		e.Reads = append(e.Reads, w)
	}
	if at >= 0 && at+1 < len(c) && !slices.ContainsFunc(c[at+1:], func(w Word) bool { return w.Sure != Literal || strings.ContainsAny(w.Text, ":*?[") }) {
		e.Recorded = false
	}
}

var gitWord = Pattern(`^[a-z][a-z-]*$`)

// gitContents reports a command of git that prints contents of files.
func gitContents(c []Word) bool {
	switch {
	case HasAny(c, "--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--no-patch", "--quiet", "--check", "--dirstat"):
		return HasAny(c, "-p", "--patch", "-u")
	case Spells(c, "diff", "show", "whatchanged", "range-diff", "cat-file", "diff-tree", "diff-index", "diff-files", "blame", "annotate", "archive"):
		return true
	case Spells(c, "log", "reflog", "rev-list"):
		return HasAny(c, "-p", "-u", "--patch", "-S", "-G", "-L", "-U", "--unified", "-c", "--cc", "-m", "--word-diff", "--raw")
	}
	return false
}

// gitDirs are the values of git -C.
func gitDirs(c []Word) (dirs []Word) {
	for i, w := range c {
		if w.Text == "-C" && i+1 < len(c) && i > 0 {
			dirs = append(dirs, c[i+1])
		}
	}
	return dirs
}

// findPlaces are where find looks: what stands before its first test.
func findPlaces(args []Word) []Word {
	if Spells(args, "-L", "-H", "-follow") {
		return []Word{{}} // it follows links
	}
	if len(args) > 0 && args[0].Text == "-P" {
		args = args[1:]
	}
	end := slices.IndexFunc(args, func(w Word) bool { return w.Text != "" && strings.ContainsRune("-(!", rune(w.Text[0])) })
	switch {
	case end > 0:
		return args[:end]
	case end == 0 || len(args) == 0:
		return []Word{Lit(".")}
	}
	return args
}

// jqFiles are the files of jq: its first operand is a program, when its options are letters without a value.
func jqFiles(args []Word) []Word {
	var operands []Word
	for _, w := range args {
		switch {
		case w.Text == "" || w.Text[0] != '-':
			operands = append(operands, w)
		case w.Sure != Literal || !jqFlag().MatchString(w.Text):
			return append(Named(append([]Word{Lit("jq")}, args...)), Word{})
		}
	}
	if len(operands) > 0 && operands[0].Sure != Literal {
		return append(operands, Word{}) // its program is not known
	}
	return operands[min(1, len(operands)):]
}

// jqReaches are the words of jq's language with which a program reads other files and variables.
var jqReaches = Pattern(`import|include|search|modulemeta|input_filename|ENV|\benv\b`)

var jqFlag = Pattern(`^(-[rcensSMCja]+|--raw-output|--compact-output|--null-input|--exit-status|--slurp|--sort-keys|--raw-input|--tab|--join-output|--monochrome-output|--color-output)$`)

// copies reads cp and its kin: the last operand, or -t's value, is written, and what is put below it.
func (e *Effect) copies(name string, c []Word) {
	e.Tree = name != "cp" && name != "install" || HasAny(c, "-r", "-a", "--recursive", "--archive")
	from, to := []Word{}, []Word{}
	for i := 1; i < len(c); i++ {
		w := c[i]
		target, joined := strings.CutPrefix(w.Text, "--target-directory=")
		switch {
		case joined:
			to = append(to, Lit(target))
		case (w.Text == "-t" || w.Text == "--target-directory") && i+1 < len(c):
			i++
			to = append(to, c[i])
		case beginsOption(strings.SplitN(w.Text, "=", 2)[0], "--target-directory", "--parents"):
			to = append(to, Word{})
		case strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "t") && !strings.HasPrefix(w.Text, "--"), !w.Known() && (w.Text == "" || w.Text[0] == '-'):
			to = append(to, Word{}) // it may be an option
			if w.Text == "" {
				from = append(from, w)
			}
		case len(w.Text) < 2 || w.Text[0] != '-':
			from = append(from, w)
		}
	}
	if len(to) == 0 && len(from) > 1 {
		from, to = from[:len(from)-1], from[len(from)-1:]
	}
	if len(to) == 0 { // install -d, ln with one operand
		for _, w := range from {
			e.Writes = append(e.Writes, w, Word{Text: path.Base(w.Text), Sure: w.Sure, Pattern: w.Pattern})
		}
	}
	e.Reads, e.Writes = from, append(e.Writes, to...)
	for _, dir := range to {
		for _, w := range from {
			switch known := w.Sure == Literal || w.Pattern; {
			case known && (dir.Sure == Literal || dir.Pattern):
				below := Word{Text: path.Join(dir.Text, path.Base(w.Text)), Sure: min(w.Sure, dir.Sure)}
				below.Pattern = below.Sure == Unknown
				e.Writes = append(e.Writes, below)
			case dir.Sure == Literal: // it may be a directory
				e.Writes = append(e.Writes, Word{Output: true}) // a file of a name that is not known
			}
		}
	}
	moves := name == "mv" || name == "git mv"
	if e.Moves = e.Tree; moves {
		e.Writes = append(e.Writes, from...)
	}
	_, known := LookUp(c)
	e.Only = known && len(from) > 0 && len(to) > 0 && (name == "cp" && !e.Tree && onlyOptions(c, "-f", "-n", "-v", "-p", "--") ||
		moves && onlyOptions(c, "-f", "-n", "-v", "--") && !slices.ContainsFunc(from, isNoFile) && !slices.ContainsFunc(to, isHidden))
}

// pathspecs are the words of git's own command, those that may match other files unknown.
func pathspecs(c []Word) []Word {
	c = slices.Clone(c)
	for i, w := range c {
		if strings.ContainsAny(w.Text, ":*?[") {
			c[i] = Word{}
		}
	}
	return c
}

// onlyOptions reports a command that has no options but these.
func onlyOptions(c []Word, options ...string) bool {
	return !slices.ContainsFunc(c[1:], func(w Word) bool { return strings.HasPrefix(w.Text, "-") && !slices.Contains(options, w.Text) })
}

// isNoFile reports a name that may be a directory's, with all that lies below it.
func isNoFile(w Word) bool { return !IsFile(w.Text) }

// isHidden reports a name that begins with a dot.
func isHidden(w Word) bool { return strings.HasPrefix(path.Base(path.Join("/", w.Text)), ".") }

// IsFile reports a name with the extension of a file: nothing lies below it.
func IsFile(name string) bool {
	ext := path.Ext(name)
	return dataExtensions[ext] || ext != "" && sourceExtensions[ext[1:]] || slices.Contains([]string{".example", ".sample", ".template", ".json", ".yml", ".yaml", ".toml", ".lock", ".xml"}, ext)
}

// KnownProgram reports whether the table of known commands has lines for a program.
func KnownProgram(name string) bool { return knownPrograms()[BaseName(name)] }

var knownPrograms = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	commands, _ := knownLines()
	for path := range commands {
		name, _, _ := strings.Cut(path, " ")
		all[name] = true
	}
	return all
})
