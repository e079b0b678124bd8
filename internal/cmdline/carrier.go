package cmdline

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// carried is everything that may run although no command of the text shows it: the words of every
// command that knownTable does not list as pure, values of variables, subscripts, documents, and
// the output of pure commands that goes into a file or into a command that is not pure. A denied
// program that is named in there may run, so a deny rule may match. It is never a reason to allow.
type carried struct {
	tokens  []string   // the texts, cut at blanks, quotes and separators, in every reading
	phrases [][]string // options within one word that has blanks: text for another program
	copied  []string   // names of files that are copied, linked or moved
	names   []string   // commands that are not pure: git -c alias.p=push p is git and push
	unknown bool       // the text does not show what runs
	wild    bool       // a pattern of wildcards alone is where a program may be: bin/*
	args    bool       // a command that is not pure gets words that the text does not show
	events             // the writes, and the commands that run after them

	said   *carried // the words of pure commands: file names, messages
	retold bool     // the output of a command that may print them goes to one that is not pure
	listed bool     // the same, into a file
	edits  int      // commands that edit a file: sed -i
	pieces bool     // a file is put together from several texts
	moves  bool     // a file of data becomes another one

	exported map[string]bool // variables that programs see
	unsure   map[string]bool // variables whose value the text does not show
	exports  bool            // every variable may be exported
	budget   *int            // how many bytes may still be read as a text inside the text
}

// supplies reports whether a program gets a variable whose value the text does not show.
func (c carried) supplies() bool {
	for name := range c.unsure {
		if (c.exports || c.exported[name]) && !harmless[name] && !strings.HasPrefix(name, "LC_") {
			return true
		}
	}
	return false
}

func (c *carried) export(name string) {
	if c.exported == nil {
		c.exported = map[string]bool{}
	}
	c.exported[name] = true
}

func (c *carried) doubtVariable(name string) {
	if c.unsure == nil {
		c.unsure = map[string]bool{}
	}
	c.unsure[name] = true
	if runsValue().MatchString(name) {
		c.unknown = true
	}
}

// maxInside bounds the texts inside a text that are read as shell texts.
const maxInside = 8 * maxShell

// hides reports whether a text for another program runs what it does not show, when
// a shell reads it: echo "f fr- mr" | rev | sh. other says that it is no shell text.
func (c *carried) hides(text string) (hidden, other bool) {
	if c.budget == nil {
		left := maxInside
		c.budget = &left
	}
	if *c.budget -= len(text); *c.budget < 0 {
		return true, true
	}
	w := &walker{}
	w.carried.budget = c.budget
	w.text(text, 1)
	return !w.Unparsed && (w.Opaque || w.carried.blind()), w.Unparsed
}

// code finds hidden commands in a text for another program, or in a text that goes into a file.
func (c *carried) code(text string, loud bool) {
	if !loud {
		hidden, other := c.hides(text)
		line, _, _ := strings.Cut(text, "\n")
		if hidden || other && strings.Contains(text, "(") || strings.HasPrefix(line, "#!") && !strings.HasSuffix(strings.TrimSpace(line), "sh") {
			c.write()
		}
		return
	}
	if !strings.ContainsAny(text, "|<") {
		return
	}
	starts := []string{text}
	for _, mark := range []string{"=", "!", ";", ":"} {
		if _, rest, ok := strings.Cut(text, mark); ok && strings.ContainsAny(rest, "|<") {
			starts = append(starts, rest)
		}
	}
	for _, start := range starts {
		if hidden, _ := c.hides(start); hidden {
			c.unknown = true
			return
		}
	}
}

// events are the positions of what hides and of what runs. A file counts for what runs
// after it was written. In a text inside the text, everything is written first and run last.
type events struct {
	now    uint // where the walk is
	first  uint // where what is written here may be written at the earliest
	late   uint // where what runs here may run at the latest
	data   bool // the text goes into files that no build reads
	nested bool

	wrote, stored         bool // a file gets content that the text does not show; one that builds may read
	wroteAt, storedAt     uint
	ran, built, copiesAny bool // a file or an unknown program runs; a build tool; some file or other is copied
	ranAt, builtAt        uint
	coded, interprets     bool // a file that is no data is written; an interpreter runs a file
	codedAt, interpretsAt uint
}

// put notes that a file gets a text.
func (e *events) put() {
	at := min(e.now, e.first)
	if e.nested {
		at = 0
	}
	if !e.coded || at < e.codedAt {
		e.coded, e.codedAt = true, at
	}
}

func (e *events) interpret() {
	at := max(e.now, e.late)
	if e.nested {
		at = math.MaxUint
	}
	e.interprets, e.interpretsAt = true, max(e.interpretsAt, at)
}

func (e *events) write() {
	at := min(e.now, e.first)
	if e.nested {
		at = 0
	}
	if !e.wrote || at < e.wroteAt {
		e.wrote, e.wroteAt = true, at
	}
	if !e.data && (!e.stored || at < e.storedAt) {
		e.stored, e.storedAt = true, at
	}
}

func (e *events) run() {
	at := max(e.now, e.late)
	if e.nested {
		at = math.MaxUint
	}
	e.ran, e.ranAt = true, max(e.ranAt, at)
}

// runAnywhere notes that what runs is not known by its place: a file becomes a program.
func (e *events) runAnywhere() { e.ran, e.ranAt = true, math.MaxUint }

func (e *events) build() {
	at := max(e.now, e.late)
	if e.nested {
		at = math.MaxUint
	}
	e.built, e.builtAt = true, max(e.builtAt, at)
}

// maxTokens bounds the words that are examined; a text with more is unknown.
const maxTokens = 1 << 16

// blind reports whether it is unknown which commands run.
func (c carried) blind() bool {
	return c.unknown || c.wrote && c.ran && c.wroteAt < c.ranAt || c.stored && c.built && c.storedAt < c.builtAt || c.copiesAny && c.ran ||
		c.moves && c.wrote && c.built && c.wroteAt < c.builtAt || c.coded && c.interprets && c.codedAt < c.interpretsAt || c.supplies() ||
		c.said != nil && c.said.unknown && (c.retold || c.listed && (c.ran || c.built))
}

// mentions reports whether the carried words name the rule's command with all words that the rule
// requires beside it.
func (r ShellRule) mentions(c carried) bool {
	if c.blind() {
		return true
	}
	denied := BaseName(r.Words[0])
	if slices.ContainsFunc(c.copied, func(t string) bool { return namesProgram(t, denied) }) || r.phrased(c) {
		return true
	}
	tokens := c.tokens
	if c.said != nil && (c.retold || c.listed && (c.ran || c.built)) {
		tokens = slices.Concat(tokens, c.said.tokens)
	}
	own := len(r.Words) > 1 && slices.Contains(c.names, denied)
	put := c.edits > 1 || c.edits > 0 && c.pieces // a name may be put together
	if !own && !c.wild && !slices.ContainsFunc(tokens, func(t string) bool {
		return namesProgram(t, denied) || put && spellsOut(t, denied)
	}) {
		return false
	}
	return r.required(c, tokens)
}

// required looks for the words that the rule requires beside the program's name. Options among the
// words of pure commands count too: a variable may turn one into another program.
func (r ShellRule) required(c carried, tokens []string) bool {
	all := c.tokens
	if c.said != nil {
		all = slices.Concat(all, c.said.tokens)
	}
	var options []Word
	for _, t := range all {
		if len(t) > 1 && t[0] == '-' {
			option, _, _ := strings.Cut(t, "/") // s/ls/rm -rf/
			options = append(options, Lit(option))
		}
	}
	for _, want := range r.Words[1:] {
		switch {
		case c.args: // they may be among the words that are not shown
		case len(want) > 1 && want[0] == '-':
			if !hasOption(options, want) && !slices.ContainsFunc(c.tokens, func(t string) bool { return mayBeOption(t, want) }) {
				return false
			}
		case !slices.ContainsFunc(tokens, func(t string) bool { return sameToken(t, want) }):
			return false
		}
	}
	return true
}

// mayBeOption reports whether a pattern may match a file whose name is the option.
func mayBeOption(token, want string) bool {
	if !strings.ContainsAny(token, "*?[") {
		return false
	}
	spellings := []string{want}
	if cluster(want, 3) {
		turned := []byte(want[1:])
		slices.Reverse(turned)
		spellings = append(spellings, "-"+string(turned))
	}
	return slices.ContainsFunc(spellings, func(s string) bool {
		ok, err := path.Match(token, s)
		return ok && err == nil
	})
}

// spellsOut reports whether a token contains the letters of a name in their order.
func spellsOut(token, name string) bool {
	for i := 0; i < len(token) && name != ""; i++ {
		if token[i] == name[0] {
			name = name[1:]
		}
	}
	return name == ""
}

// phrased reports whether a text for another program contains, in one word, all options that the
// rule requires: the part before them may spell the program.
func (r ShellRule) phrased(c carried) bool {
	return slices.ContainsFunc(c.phrases, func(ts []string) bool {
		found := false
		for _, want := range r.Words[1:] {
			if len(want) > 2 && want[0] == '-' {
				if found = hasOption(Lits(ts), want); !found {
					return false
				}
			}
		}
		return found
	})
}

// sameToken compares a token with an operand of a rule; the token may hold wildcards.
func sameToken(token, want string) bool {
	if token == want {
		return true
	}
	if !strings.ContainsAny(token, "*?[") {
		return slices.Contains(tokensOf(want), token) && strings.ContainsAny(want, separatorsOfTokens)
	}
	ok, err := path.Match(token, want)
	return ok && err == nil
}

// namesProgram compares a token with a program's name: behind a path, with
// wildcards, or behind the letter of an option (tar -Iname).
func namesProgram(token, denied string) bool {
	base := BaseName(token)
	switch {
	case base == denied:
		return true
	case len(token) > 1 && token[0] == '-' && token[1] != '-':
		return strings.HasSuffix(BaseName(token[1:]), denied)
	case strings.ContainsAny(base, "*?["):
		rooted := token[0] == '/' || token[0] == '~'
		ok, err := path.Match(base, denied)
		return ok && err == nil && (rooted || strings.Trim(base, "*") != "")
	}
	return false
}

// separatorsOfTokens separate the tokens of a text: blanks, quotes, and the word separators of the
// languages that a carrier may read.
const separatorsOfTokens = " \t\r\n\v\f'\"`=,;:()[]{}<>|&!@#$%^+~\\\x00"

func tokensOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(separatorsOfTokens, r) })
}

// expansion finds what another shell would expand in a literal text.
var expansion = pattern("`|\\$[({\\['\"A-Za-z0-9_@*#?!-]")

// text carries one text. loud says that an expansion in it is a doubt by itself.
func (c *carried) text(text string, loud bool) {
	if len(c.tokens) > maxTokens || len(text) > maxShell {
		c.unknown = true
		return
	}
	if expansion().MatchString(text) {
		c.doubt(loud)
	}
	if strings.HasSuffix(text, `\`) {
		c.doubt(loud)
	}
	readings := []string{text}
	if strings.ContainsAny(text, "'\"\\") {
		readings = append(readings, unescape(text), bareQuotes.Replace(text), bareQuotes.Replace(unescape(text)),
			joinedLiterals().ReplaceAllString(unescape(text), ""))
	}
	if loud || strings.ContainsAny(text, "|<(\n") {
		c.code(text, loud)
		if decoded := unescape(text); decoded != text {
			c.code(decoded, loud)
		}
	}
	for _, reading := range readings {
		if strings.ContainsRune(reading, '{') {
			for _, field := range strings.Fields(reading) {
				all, ok := expandBraces(field)
				if !ok {
					c.doubt(loud)
				}
				for _, t := range all {
					c.tokens = append(c.tokens, tokensOf(t)...)
				}
			}
		}
		tokens := tokensOf(reading)
		if strings.ContainsRune(reading, '[') {
			tokens = append(tokens, tokensOf(bracketed().ReplaceAllString(reading, "?"))...)
		}
		c.tokens = append(c.tokens, tokens...)
		phrase := strings.ContainsAny(text, " \t\n")
		var options []string
		for _, t := range tokens {
			if t[0] == '-' {
				options = append(options, t)
			}
			if base := path.Base(t); strings.Trim(base, "*") == "" && (phrase && t != base || strings.Contains(t, "bin/") || t != text && strings.ContainsAny(text, "!;|&(")) {
				c.wild = c.wild || strings.Contains(base, "*")
			}
		}
		if phrase && len(options) > 0 {
			c.phrases = append(c.phrases, options)
		}
		if strings.Contains(reading, "~") {
			c.tokens = append(c.tokens, tokensOf(strings.ReplaceAll(reading, "~/", "/"))...)
		}
	}
}

// doubt notes that a text hides what it says: loud where it is read at once, else
// only when a file that it went into may run.
func (c *carried) doubt(loud bool) {
	if loud {
		c.unknown = true
	} else {
		c.write()
	}
}

// bracketed matches a pattern for one character: [a-z], [[:alpha:]], [!x].
var bracketed = pattern(`\[(\[:[a-z]+:\]|[^\]\[\s])+\]`)

var bareQuotes = strings.NewReplacer("\\\r\n", "", "\\\n", "", "'", "", `"`, "", `\`, "")

// joinedLiterals matches the text between two literals that a program joins: "r"+"m".
var joinedLiterals = pattern(`["'][ \t]*[+.&|]{0,2}[ \t]*["']`)

// escapes are written alike in printf, echo -e, $'..', sed, C, Python and JavaScript.
var escapes = pattern(`\\(x\{?[0-9a-fA-F]{1,6}\}?|u\{?[0-9a-fA-F]{1,6}\}?|U[0-9a-fA-F]{1,8}|o?0?[0-7]{1,3}|[abefnrtv])`)

// unescape decodes the escapes of a text.
func unescape(text string) string {
	return escapes().ReplaceAllStringFunc(text, func(e string) string {
		switch e[1] {
		case 'n', 'r', 'v', 'f':
			return "\n"
		case 't':
			return "\t"
		case 'a', 'b', 'e':
			return " "
		}
		base, digits := 8, strings.TrimLeft(e[1:], "o")
		if strings.IndexByte("xuU", e[1]) >= 0 {
			base, digits = 16, strings.Trim(e[2:], "{}")
		}
		n, err := strconv.ParseUint(digits, base, 32)
		if err != nil || n > 0x10ffff {
			return e
		}
		return string(rune(n))
	})
}

// expandBraces spells out a{b,c}d. It is false for a{b..c} and for too many words.
func expandBraces(s string) ([]string, bool) {
	out := []string{""}
	for s != "" {
		open := strings.IndexByte(s, '{')
		if open < 0 {
			break
		}
		depth, parts, from, end := 0, []string{}, open+1, -1
		for i := open; i < len(s) && end < 0; i++ {
			switch s[i] {
			case '{':
				depth++
			case ',':
				if depth == 1 {
					parts, from = append(parts, s[from:i]), i+1
				}
			case '}':
				if depth--; depth == 0 {
					parts, end = append(parts, s[from:i]), i
				}
			}
		}
		if end < 0 {
			break
		}
		var inner []string
		for _, p := range parts {
			all, ok := expandBraces(p)
			if !ok {
				return nil, false
			}
			inner = append(inner, all...)
		}
		if len(parts) == 1 {
			if strings.Contains(parts[0], "..") {
				return nil, false
			}
			inner = []string{s[open : end+1]}
		}
		if len(out)*len(inner) > 256 {
			return nil, false
		}
		var next []string
		for _, head := range out {
			for _, i := range inner {
				next = append(next, head+s[:open]+i)
			}
		}
		out, s = next, s[end+1:]
	}
	for i := range out {
		out[i] += s
	}
	return out, true
}

// isPure reports whether a command runs no program that its words name.
func isPure(words []Word) bool {
	fit, ok := LookUp(words)
	if !ok {
		return false
	}
	if inner, wraps := innerOf(words, fit); wraps {
		for _, w := range words[1:fit.Inner] {
			if IsAssignment(w.Text) && AssignmentRisk(w) != RiskLow {
				return false
			}
		}
		return len(inner) > 0 && isPure(inner)
	}
	return !fit.Carrier
}

// innerOf returns the command behind a known wrapper.
func innerOf(words []Word, f Fit) ([]Word, bool) {
	if f.Inner == 0 {
		return nil, false
	}
	inner := slices.Clone(words[f.Inner:])
	if BaseName(words[0].Text) == "xargs" {
		inner = append(inner, Word{})
	}
	return inner, true
}

// Transparent recognises sh -c TEXT, whose text is walked by itself.
func Transparent(words []Word) bool {
	texts, ok := LiteralWords(words)
	if !ok {
		return false
	}
	_, ok = ShellText(texts)
	return ok
}

// transforms reports whether a pure command's output differs from its input and its words, so that
// it is unknown.
func transforms(words []Word) bool {
	switch name := BaseName(words[0].Text); name {
	case "tr", "rev", "tac", "base64", "base32", "xxd", "sed", "gsed", "awk", "gawk", "mawk", "nawk", "cut", "paste", "join", "fold", "jq", "od",
		"zcat", "gunzip", "gzip", "bunzip2", "bzip2", "unxz", "xz", "zstd", "column", "fmt", "expand", "unexpand", "numfmt":
		return true
	case "expr", "basename", "seq":
		return true
	case "head", "tail":
		return cuts(words[1:], "c", "--b")
	case "grep", "egrep", "fgrep":
		return cuts(words[1:], "o", "--o")
	case "rg":
		return cuts(words[1:], "or", "--o", "--r")
	case "cat", "tee":
		return false
	case "echo":
		return hasLetterOption(words[1:], 'n') || strings.Contains(joinTexts(words[1:]), `\c`)
	case "printf":
		format := joinTexts(words[1:min(len(words), 2)])
		return strings.Contains(format, "%") || !strings.HasSuffix(format, `\n`)
	}
	return slices.ContainsFunc(words[1:], func(w Word) bool { return formatEscape().MatchString(w.Text) })
}

// formatEscape is what a format prints as another character: %x6d, %6d, %%, \155.
var formatEscape = pattern(`%%|%x?[0-9a-fA-F]{2}|\\`)

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
		return false // the walk follows a shell
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
