package cmdline

import (
	"path"
	"slices"
	"strings"
)

// Carried is everything that may run although no command of a text shows it: the words of every command that is not pure,
// what pure ones print into those or into a file that may run, the values of variables, documents, and the parts that are
// not understood. A denied program that is named in there may run, so a deny rule may match. It is never a reason to
// allow.
type Carried struct {
	Commands [][]Word  // every command that may run, as far as it can be known: in functions, behind wrappers, in sh -c
	Listed   []Command // those that readings list, also of the texts inside the text
	Words    []Word    // values of variables, and what stands in the parts that are not understood
	Told     []Told    // what programs of the text are told: words of those that are not pure, what flows into them, documents
	Doubtful bool      // a part is not understood whose commands are not listed
	Opaque   bool      // something runs whose text is not known
	Stdin    bool      // a shell reads its commands from its input
	Unparsed bool      // a shell text cannot be parsed
	Cut      bool      // there is too much of it: something is left out

	suspects [][]Word   // ends of a wrapper's words that might be a command
	texts    []string   // the shell texts
	tokens   []string   // the texts, cut at blanks, quotes and separators, in every reading
	by       []Word     // the command whose words are carried
	aside    bool       // those are carried that no program is told directly
	phrases  [][]string // options within one word that has blanks: text for another program
	copied   []string   // names of files that are copied, linked or moved
	names    []string   // commands that are not pure: git -c alias.p=push p is git and push
	options  []string   // options among the words of pure commands
	unknown  bool       // the text does not show what runs
	wild     bool       // a pattern of wildcards alone is where a program may be: bin/*
	args     bool       // a command that is not pure gets words that the text does not show
	edits    int        // commands that edit a file that may run: sed -i
	pieces   bool       // such a file is put together from several texts

	said   []Told // the words of pure commands
	stored bool   // one that is not known is kept somewhere
	retold bool   // what prints them, or files that hold them, goes into a command that is not pure, or a file that may run

	// When a program that is not pure runs last, and which, and when another one; a build, an interpreter; when a file
	// that is no data is written first.
	ran, ranBy, ranElse, built, interprets, wrote int
	moves, copiesAny                              bool // a file of data becomes another one; some file or other is copied

	exported map[string]bool // variables that programs see
	unsure   map[string]bool // variables whose value the text does not show
	exports  bool            // every variable may be exported
	carried  map[carriedText]bool

	read   func(text string) Reading
	budget *int // how many bytes may still be read as texts that a word may be
	bytes  int  // of the shell texts that commands run
	makes  bool // make runs, to which more is an expansion
}

// carriedText is a text that is carried once: a part that is not understood, or a text, for a file or not, before and after
// make is known to run.
type carriedText struct {
	text              string
	part, file, makes bool
}

// first reports whether a text is carried for the first time.
func (c *Carried) first(t carriedText) bool {
	was := c.carried[t]
	c.carried[t] = true
	return !was
}

// maxTokens bounds the words that are examined; a text with more is unknown.
const maxTokens = 1 << 16

// maxInside bounds the texts inside a text that are read as shell texts.
const maxInside = 8 * maxShell

// Carry collects what a text carries. read reads a text inside the text.
func Carry(r Reading, read func(text string) Reading) *Carried {
	left := maxInside
	return carry(r, read, &left)
}

func carry(r Reading, read func(text string) Reading, budget *int) *Carried {
	c := &Carried{read: read, budget: budget, wrote: anyTime, exported: map[string]bool{}, unsure: map[string]bool{}, carried: map[carriedText]bool{}}
	all := c.stepsOf(r)
	for i := range all {
		all[i].at = i + 1
		c.event(all[i])
	}
	for _, s := range all {
		c.step(s)
	}
	c.unknown = c.unknown || c.wrote < c.interprets || c.edits > 0 && c.wrote < c.ran || c.supplies() || c.copiesAny && c.ran > 0 || c.retold && c.stored
	c.aside = true
	for _, t := range c.said {
		if c.by = t.By; c.retold {
			c.text(t.Text, true)
		}
	}
	return c
}

// Told is a text that a program is told, by a command of the text: itself, or one that prints it.
type Told struct {
	By     []Word
	Text   string
	Tokens []string // its words, in every reading
	Aside  bool     // it is told only where a program reads what another command has kept: git log
}

// step is a command that opens no other one, or what stands around one that does.
type step struct {
	Command
	at     int    // its place, from 1
	name   string // "": there are no words
	isPure bool
	fit    Fit
	listed bool // in the table
}

// stepsOf lists the steps of a reading, and carries its other parts.
func (c *Carried) stepsOf(r Reading) (all []step) {
	c.parts(r)
	for _, cmd := range r.Commands {
		c.Listed = append(c.Listed, cmd)
		around := cmd
		if cmd.Inner != nil {
			around.Words = cmd.Rest
		}
		s := stepOf(around)
		all = append(all, s)
		if cmd.Inner != nil {
			all[len(all)-1].isPure = cmd.pure()
			if cmd.Document {
				all[len(all)-1].flow = cmd.flow.and(into(cmd.Inner.Commands))
			}
			c.Commands = append(c.Commands, cmd.Words)
			if s := stepOf(cmd); s.name == "xargs" { // also as it is written: -I puts other words into it
				in := &inside{}
				in.run(cmd.Words[s.fit.Inner:], 0)
				c.Commands = append(c.Commands, in.commands...)
			}
			all = append(all, c.stepsOf(*cmd.Inner)...)
		} else if len(cmd.Words) > 0 {
			all = append(all, c.within(cmd)...)
		}
	}
	return all
}

// within looks for what runs inside a command that the reading does not open, and lists the steps of the shell texts there:
// eval, sudo sh -c.
func (c *Carried) within(cmd Command) (all []step) {
	in := &inside{}
	in.run(cmd.Words, 0)
	c.Commands, c.suspects = append(c.Commands, in.commands...), append(c.suspects, in.suspects...)
	c.Opaque, c.Stdin = c.Opaque || in.opaque || len(c.suspects) > maxSuspects, c.Stdin || in.stdin
	for _, text := range in.texts {
		if c.bytes += len(text); c.bytes > maxInside {
			c.unknown, c.Cut = true, true
			return nil
		}
		inner := c.read(text)
		flowsTo(inner.Commands, cmd.flow)
		stands(inner.Commands, cmd.first-1, cmd.last)
		all = append(all, c.stepsOf(inner)...)
	}
	return all
}

func stepOf(c Command) step {
	s := step{Command: c, isPure: true}
	if len(c.Words) > 0 {
		s.name, s.isPure = BaseName(c.Words[0].Text), isPure(c.Words)
		s.fit, s.listed = LookUp(c.Words)
	}
	return s
}

// parts carries what is not understood, and the values of variables.
func (c *Carried) parts(r Reading) {
	if !slices.Contains(c.texts, r.text) {
		c.texts, c.Unparsed = append(c.texts, r.text), c.Unparsed || r.Unparsed
		if _, bad := Invisible(r.text, "\n\t"); bad || r.Unparsed { // a shell may see other lines than this parser
			in := &inside{texts: []string{r.text}}
			for i := 0; i < len(in.texts) && i < maxSuspects; i++ { // those in a text too
				for _, words := range segments(in.texts[i]) {
					in.run(Lits(words), 0)
				}
			}
			c.Commands = append(c.Commands, in.commands...)
		}
	}
	c.Words = append(c.Words, r.sets...)
	for _, u := range r.Unclear {
		c.Doubtful = c.Doubtful || !u.Listed
		c.unknown = c.unknown || c.evaluates(u.text, r.sets)
		if !u.Listed {
			c.Words = append(c.Words, Lits(tokensOf(u.text))...)
		}
		if sets := setsUnset().FindAllStringSubmatch(u.text, -1); len(sets) > 0 {
			for _, set := range sets {
				c.doubtVariable(set[1])
				c.unknown = c.unknown || set[1][0] == '!'
			}
		} else if u.of > 0 && !u.dark && r.Commands[u.of-1].flow == (flow{}) {
			continue // words of a pure command
		}
		c.Opaque = c.Opaque || u.dark
		if !c.first(carriedText{text: u.text, part: true}) {
			continue
		}
		c.unknown = c.unknown || quotedExpansion().MatchString(u.text)
		told := len(c.Told)
		if c.readings(u.text); u.Listed {
			c.Told = c.Told[:told] // its commands say it themselves
		}
	}
	for _, w := range r.sets {
		name, value, _ := strings.Cut(w.Text, "=")
		if w.Sure == Unknown {
			c.doubtVariable(name)
		}
		c.text(value, false)
	}
}

// quotedExpansion is a text that a shell may expand when it reads it again.
var quotedExpansion = Pattern("\\\\[$`]|'[^']*[$`][^']*'")

// evaluates reports a part that runs what a variable holds, where that is not known.
func (c *Carried) evaluates(text string, sets []Word) bool {
	if strings.Contains(text, "@P") {
		return true
	}
	if !evaluated().MatchString(text) {
		return false
	}
	names := tokensOf(subscripted().ReplaceAllString(text, "["))
	return slices.ContainsFunc(sets, func(w Word) bool {
		name, value, _ := strings.Cut(w.Text, "=")
		return w.Sure == Unknown && value != number.Text && slices.Contains(names, name)
	})
}

// subscripted is the name of an array before a subscript.
var subscripted = Pattern(`[A-Za-z_][A-Za-z0-9_]*\[`)

// evaluated are the places where shells take a text for a number, and so for an expression.
var evaluated = Pattern(`\(\(|\$\[|-(eq|ne|lt|le|gt|ge)\b|\blet\b|\[`)

// setsUnset is an expansion that sets its variable.
var setsUnset = Pattern(`\$\{(!?[A-Za-z_][A-Za-z0-9_]*):?=`)

// step carries the words of a command that is not pure, or whose output flows on.
func (c *Carried) step(s step) {
	c.by = s.Words
	for _, a := range s.Assigns {
		name, value, _ := strings.Cut(a.Text, "=")
		c.unknown = c.unknown || a.Sure == Unknown || changesCommands(name)
		c.text(value, false)
	}
	for _, w := range s.Reads {
		if !w.Output { // that is carried by itself
			c.copy(w)
		}
	}
	for _, w := range slices.Concat(s.Words, s.Reads) {
		c.retold = c.retold || strings.Contains(w.Text, ".git/") || w.Text == ".git" // messages and names are there
	}
	code := s.flow.code || writesOperands(s.Words) && !onlyData(operandsOf(s.Words))
	file := (s.flow.file || writesOperands(s.Words)) && c.runs(s, code)
	if s.isPure && code { // another call may run it
		c.readings(s.Input)
		for _, w := range s.Words {
			c.readings(w.Text)
		}
	}
	if s.Input != "" {
		c.document(s, file)
	}
	if len(s.Words) == 0 {
		return
	}
	switch {
	case !s.isPure:
		c.program(s, file)
	case s.flow.heard || file:
		c.printed(s, file)
	default:
		c.says(s, s.Words[1:]...)
		c.stored = c.stored || s.fit.Risk != RiskLow && slices.ContainsFunc(s.Words, func(w Word) bool { return w.Sure == Unknown && !w.Pattern })
	}
	if s.isPure {
		for _, w := range s.Words[1:] {
			if strings.HasPrefix(w.Text, "-") {
				c.options = append(c.options, w.Text)
			}
		}
	}
	if !s.fit.Any && slices.ContainsFunc(s.Words, func(w Word) bool { return w.Split && w.Pattern }) {
		c.retold, c.args = true, true // names of files may become options
	}
	c.retold = c.retold || (s.name == "tar" || s.name == "zip" || s.name == "cpio") && c.runs(s, true) // names are in an archive
	c.files(s)
	c.sets(s.name, s.Words)
	c.unknown = c.unknown || !s.isPure && readsCode(s.Words) || Evaluates[s.name] && slices.ContainsFunc(s.Words[1:], subscript)
}

func (c *Carried) says(s step, words ...Word) {
	for _, w := range words {
		c.said = append(c.said, Told{By: s.Words, Text: w.Text})
	}
}

// document carries a here-document.
func (c *Carried) document(s step, file bool) {
	if kept := file || len(s.Words) > 0 && takesInput(s.Words); !s.isPure || s.flow.heard || kept {
		c.unknown = c.unknown || s.mixed || kept && !repeats[s.name] && strings.Contains(s.Input, "\\\n")
	}
	switch {
	case !s.isPure || s.flow.heard:
		c.text(s.Input, false)
	case file || len(s.Words) > 0 && takesInput(s.Words):
		c.text(s.Input, true)
	default:
		c.says(s, Lit(s.Input))
	}
}

// program carries the words of a command that is not pure.
func (c *Carried) program(s step, file bool) {
	switch s.name {
	case "hash", "enable", "alias", "unalias", "history", "fc":
		c.unknown = true // names of commands mean something else from here on
	case "exec":
		c.unknown = c.unknown || len(s.Words) == 1 && len(s.Writes) > 0 // what follows writes into the file
	case "xargs":
		c.args = true
		c.unknown = c.unknown || slices.ContainsFunc(s.Words[1:], func(w Word) bool {
			return strings.HasPrefix(w.Text, "-I") || strings.HasPrefix(w.Text, "-i") || strings.HasPrefix(w.Text, "--replace")
		})
	}
	c.names = append(c.names, s.name) // the name itself is compared as a command's name
	words := s.Words
	if s.name == "gh" || s.name == "glab" {
		words = WithoutProse(words)
	}
	c.words(words[1:], false)
	told := decoders[s.name] || s.name == "git" && Spells(s.Words, "am", "mailinfo")
	for _, w := range s.Words[1:] {
		c.unknown = c.unknown || !s.listed && strings.Contains(w.Text, "(") || // code in another language
			w.Sure == Unknown && (Shells[s.name] || s.name == "eval")
	}
	told = told || s.flow.heard || transforms(behind(s.Words))
	c.unknown = c.unknown || file && !s.listed || told && s.first < c.later(s) // it may write a file that runs
}

// decoders write another text than they read.
var decoders = Names(`openssl gpg gpg2 age uudecode base64 basenc iconv`)

// printed carries what a pure command prints.
func (c *Carried) printed(s step, file bool) {
	if !file && c.later(s) <= s.first && c.built <= s.last { // nothing runs that could hear it
		c.says(s, s.Words[1:]...)
		return
	}
	c.words(s.Words[1:], file)
	if text := joinTexts(s.Words[1:]); file {
		c.code(text, true)
		c.code(unescape(text), true)
	}
	words := behind(s.Words)
	name := BaseName(words[0].Text)
	hidden := slices.ContainsFunc(words[1:], func(w Word) bool { return w.Pattern && !strings.Contains(path.Base(w.Text), ".") })
	copied := file && slices.ContainsFunc(words[1:], func(w Word) bool { return w.Output && !w.isNumber() })
	c.unknown = c.unknown || transforms(words) || file && endsInZero(words) || hidden && !selects[name] || copied || !repeats[name] && strings.Contains(joinTexts(words), "\\\n")
	c.retold = c.retold || !repeats[name]
}

// files notes what a command does with files: copies, edits.
func (c *Carried) files(s step) {
	later := c.runs(s, true)
	switch {
	case copies[s.name]:
		for _, w := range s.Words[1:] {
			rooted := strings.HasPrefix(w.Text, "/") || strings.ContainsAny(w.Text, "{}")
			c.unknown = c.unknown || later && w.Sure == Unknown && (!w.Pattern || rooted)
			base := ProgramName(w.Text)
			c.unknown = c.unknown || strings.Contains(w.Text, "/") && (CodeReaders[base] || Shells[base])
			c.copy(w)
			c.text(w.Text, true)
		}
		if !s.listed || s.name == "split" && cuts(s.Words[1:], "bCn", "--b", "--line-b", "--n") { // dd conv=lcase, split -b
			c.unknown = true
		}
	case s.listed && s.fit.Write && (s.name == "sed" || s.name == "gsed"):
		if later {
			c.words(s.Words, true)
		} else if !onlyData(s.fit.Operands) {
			c.readings(joinTexts(s.Words))
		}
		c.edits++
		c.pieces = c.pieces || strings.ContainsAny(joinTexts(s.Words), ";\n") || Spells(s.Words, "-e", "--expression")
	}
}

// copy notes a file that is copied.
func (c *Carried) copy(w Word) {
	c.copiesAny = c.copiesAny || w.Sure == Unknown && (!w.Pattern || !strings.Contains(path.Base(w.Text), "."))
	c.copied = append(c.copied, tokensOf(w.Text)...)
}

// sets notes the variables that a builtin sets to what the text does not show, and those that programs see.
func (c *Carried) sets(name string, words []Word) {
	switch name {
	case "printf":
		for i, w := range words[:len(words)-1] {
			if w.Text == "-v" {
				c.doubtVariable(words[i+1].Text)
			}
		}
	case "read", "mapfile", "readarray", "getopts":
		for _, w := range words[1:] {
			if identifier().MatchString(w.Text) {
				c.doubtVariable(w.Text)
			}
		}
	case "set", "shopt":
		c.unknown = c.unknown || Spells(words, "keyword") || hasLetterOption(words[1:], 'k')
		c.exports = c.exports || Spells(words, "allexport") || hasLetterOption(words[1:], 'a')
	case "export", "declare", "typeset", "local":
		visible := name == "export"
		for _, w := range words[1:] {
			if option := len(w.Text) > 1 && w.Text[0] == '-'; option {
				visible = visible || strings.ContainsRune(w.Text, 'x')
				c.exports = c.exports || strings.ContainsRune(w.Text, 'n') && name != "export" // another name for a variable
			} else if visible {
				variable, _, _ := strings.Cut(w.Text, "=")
				c.exported[variable] = true
			}
		}
	}
}

func (c *Carried) doubtVariable(name string) {
	name, _, _ = strings.Cut(name, "[")
	c.unsure[name] = true
	c.unknown = c.unknown || runsValue().MatchString(name) || changesCommands(name)
}

// supplies reports whether a program gets a variable whose value the text does not show.
func (c *Carried) supplies() bool {
	for name := range c.unsure {
		if (c.exports || c.exported[name]) && !harmless[name] && !strings.HasPrefix(name, "LC_") {
			return true
		}
	}
	return false
}
