package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"waggle/internal/cmdline"
)

// coverage says which rules and modes together allow a shell text. It fails closed: a part that it cannot judge is a
// gap, and the text asks.
type coverage struct {
	q      *question
	mode   ModeInfo
	rules  []matcher // for Bash, when the mode lets them count
	paths  []Rule    // allow rules, those for files among them
	used   []string  // the rules that allowed a part
	deny   []Rule    // deny rules
	placed []string  // absolute names at which the text moves something, or makes a link
	placer bool      // the command that is judged does that
	widely bool      // one of them is not for that very command, which does more than read and print
	gap
}

// gap is why a text is not covered; the zero gap: it is. reads: it is one only because of what a command that reads
// would read, which a mode may ask about that denies all else.
type gap struct {
	why   string
	reads bool
}

func (g gap) none() bool { return g.why == "" }

func because(format string, args ...any) gap { return gap{why: fmt.Sprintf(format, args...)} }

// cover judges a text under the mode and the allow rules of a policy: a rule or the mode covers each command, and each
// file that the text reads or writes beside them.
func (q *question) cover(mode ModeInfo, rules, deny []Rule) coverage {
	v := coverage{q: q, mode: mode, paths: rules, deny: deny}
	for _, r := range rules {
		if m, err := q.compile(r); err == nil && r.names(q.call.Tool) && mode.rulesReach(q.area) {
			v.rules = append(v.rules, m) // a rule that cannot be judged allows nothing
		}
	}
	trimmed := strings.Trim(q.text, " \t\n")
	for _, m := range v.rules {
		if m.rule.Pattern == "" || !m.shell.Prefix && m.shell.Text == trimmed {
			v.use(m.rule)
			v.gap = v.supplied()
			return v
		}
	}
	v.places(q.reading())
	if v.gap = v.reading(q.reading()); v.none() {
		v.gap = v.supplied()
	}
	return v
}

// places finds where commands of a reading put files and links that are elsewhere when the text is judged.
func (v *coverage) places(r cmdline.Reading) {
	for _, c := range r.Commands {
		words := c.Words
		if c.Inner != nil {
			v.places(*c.Inner)
			words = c.Rest
		}
		e := cmdline.EffectOf(words)
		for _, w := range e.Writes {
			for _, dir := range c.Dirs {
				if e.Moves && w.Sure == cmdline.Literal {
					v.placed = append(v.placed, v.q.resolve(inDir(dir, w.Text)).abs)
				}
			}
		}
	}
}

func (v *coverage) use(r Rule) {
	if s := r.String(); !slices.Contains(v.used, s) {
		v.used = append(v.used, s)
	}
}

// reading returns the gap of a reading: a part that is not understood, else that of its commands.
func (v *coverage) reading(r cmdline.Reading) gap {
	if len(r.Unclear) > 0 {
		return v.unclear(r.Unclear[0])
	}
	return gapOf(r.Commands, v.command)
}

// gapOf is the first gap that is more than reading, else the first.
func gapOf[T any](all []T, one func(T) gap) (first gap) {
	for _, t := range all {
		g := one(t)
		if !g.none() && !g.reads {
			return g
		}
		if first.none() {
			first = g
		}
	}
	return first
}

// unclear names a part that is not understood.
func (v *coverage) unclear(u cmdline.Unclear) gap {
	if whole := u.From <= 0 && u.To >= len(v.q.text); !whole && u.To > u.From {
		return because("%s is not judged: %q", u.Why, clip(v.q.text[u.From:min(u.To, len(v.q.text))]))
	}
	return because("%s", u.Why)
}

func (v *coverage) command(c cmdline.Command) gap {
	if c.After != "" {
		return because("after %q no rule allows what follows", clip(c.After))
	}
	if g := v.files(c.Writes, "Write", c.Dirs); !g.none() {
		return g
	}
	if slices.ContainsFunc(c.Reads, func(w cmdline.Word) bool { return w.Cut }) {
		return because("reading a file whose name may be cut from another")
	}
	first := v.files(c.Reads, "Read", c.Dirs)
	if len(c.Words) == 0 || !first.none() && !first.reads {
		return first
	}
	if g := v.words(c); first.none() || !g.none() && !g.reads {
		return g
	}
	return first
}

// words judges a command without its redirections.
func (v *coverage) words(c cmdline.Command) gap {
	rule, matches := v.ruleFor(c)
	if g := v.around(c, rule, matches); !g.none() {
		return g
	}
	switch {
	case matches:
		if name := v.guardedBy(rule, c.Words); name != "" {
			return because("%s allows the command, but not that it writes %q, which is guarded", rule, clip(name))
		}
		v.use(rule)
		if v.q.stdin != "" && strings.HasSuffix(rule.Pattern, ":*") && !v.effect(c, c.Words).none() {
			v.widely = true
		}
		return gap{}
	case c.Followed:
		return gap{}
	case c.Inner != nil && len(c.Inner.Unclear) > 0:
		return because("%q is not judged: %s", clip(spelled(c.Words)), c.Inner.Unclear[0].Why)
	case c.Inner == nil:
		return v.effect(c, c.Words)
	case len(c.Rest) > 0:
		if g := v.effect(c, c.Rest); !g.none() {
			return g
		}
	}
	return v.reading(*c.Inner)
}

// guardedBy is a guarded name, or the beginning of one, that a command writes and a rule for its first words alone does not
// allow, as a wildcard of a rule for edits does not.
func (v *coverage) guardedBy(r Rule, words []cmdline.Word) string {
	if !strings.HasSuffix(r.Pattern, ":*") || len(guardedIn(r.Pattern)) > 0 {
		return ""
	}
	for _, w := range cmdline.EffectOf(words).Writes {
		if w.Sure == cmdline.Literal && (v.q.guards(w.Text) || beginsGuarded(w.Text)) {
			return w.Text
		}
	}
	return ""
}

// ruleFor is the rule that allows a command as it stands.
func (v *coverage) ruleFor(c cmdline.Command) (Rule, bool) {
	for _, m := range v.rules {
		if m.shell.AllowsWords(c.Words) {
			return m.rule, true
		}
	}
	return Rule{}, false
}

// around says what beside the command itself no rule covers: its variables, its words, where it is.
func (v *coverage) around(c cmdline.Command, rule Rule, matches bool) gap {
	but := ""
	if matches {
		but = rule.String() + " allows the command, but "
	}
	for _, a := range c.Assigns {
		if cmdline.AssignmentRisk(a) != cmdline.RiskLow {
			name, _, _ := strings.Cut(a.Text, "=")
			return because("%sit sets %s, which may change what runs", but, clip(name))
		}
	}
	if name := c.Words[0].Text; strings.Contains(name, "/") && !strings.HasPrefix(name, "/") && len(c.Dirs) > 1 {
		return because("%q is relative to a directory that the text changes", clip(name))
	}
	if why := evaluatesSubscript(c.Words); why != "" {
		return because("%s", why)
	}
	for _, w := range c.Words {
		if matches && !w.Known() {
			return because("%sa word of %q is not known before it runs", but, clip(spelled(c.Words)))
		}
	}
	return gap{}
}

// evaluatesSubscript refuses a subscript that bash evaluates as arithmetic, and so as commands: test -v 'a[$(x)]'.
func evaluatesSubscript(words []cmdline.Word) string {
	name, rest := words[0].Text, words[1:]
	if (name == "command" || name == "builtin") && len(rest) > 0 {
		name, rest = rest[0].Text, rest[1:]
	}
	if !cmdline.Evaluates[name] {
		return ""
	}
	for _, w := range rest {
		if strings.Contains(w.Text, "[") {
			return fmt.Sprintf("%s may evaluate the subscript in %q", name, clip(w.Text))
		}
	}
	return ""
}

// effect allows a command that only prints, reads what Read may read and writes what Write may write.
func (v *coverage) effect(c cmdline.Command, words []cmdline.Word) gap {
	e := cmdline.EffectOf(words)
	v.placer = e.Moves
	defer func() { v.placer = false }()
	switch {
	case !e.Only:
		return because("no rule allows %q", clip(spelled(words)))
	case cmdline.NamesCredential(words):
		return because("%q names credentials, and no rule allows it", clip(spelled(words)))
	case len(e.In) > 1:
		return because("no rule allows %q, with several directories", clip(spelled(words)))
	}
	if why := doubtfulWords(words, e); why != "" {
		return because("no rule allows %q, with %s", clip(spelled(words)), why)
	}
	if g := v.files(e.Writes, "Write", c.Dirs); !g.none() {
		return because("no rule allows %q, and %s", clip(spelled(words)), g.why)
	}
	if e.Recorded {
		if r, may := v.q.recorded(v.deny); may {
			return because("%q prints what the repository holds, and %s denies a part of it", clip(spelled(words)), r)
		}
	}
	read := slices.Concat(e.In, e.Reads)
	for _, w := range words[1:] {
		if w.Pattern && len(e.Reads) == 0 {
			read = append(read, w) // names that it prints
		}
	}
	return v.files(read, "Read", c.Dirs)
}

// countsOnly are the readers that print nothing of what is in a file.
var countsOnly = cmdline.Names(`wc ls stat du file basename dirname echo printf`)

// doubtfulWords says which word of a command may be an option, or something else than the file or text that it seems.
func doubtfulWords(words []cmdline.Word, e cmdline.Effect) string {
	fit, _ := cmdline.LookUp(words)
	speaks, tests, behind := e.Speaks, words[0].Text == "test" || words[0].Text == "[", false
	for _, w := range words[1:] {
		begins := w.Text != "" && (cmdline.WordByte(w.Text[0]) || w.Text[0] == '.' || w.Text[0] == '/')
		switch {
		case w.Text == "--":
			behind = true
		case tests:
		case w.Split && w.Pattern && (!fit.Any || e.Tree):
			return "a variable that a shell may cut into words"
		case w.Cut && !countsOnly[words[0].Text] && !(words[0].Text == "grep" && cmdline.HasAny(words, "-c", "-l", "-L")):
			return "names of files that may be cut into others (find -exec, or -print0 and xargs -0)"
		case !w.Known():
			return "a word that is not known before it runs"
		case w.Output && !w.Below && !speaks:
			return "a word that a command prints"
		case w.Pattern && strings.ContainsAny(w.Text, "{}"):
			return "braces"
		case w.Pattern && !begins && !fit.Any && !(behind && words[0].Text != "find"):
			return "a wildcard whose matches may be options"
		case w.Sure != cmdline.Unknown && w.Sure != cmdline.Literal && w.Text != "" && (w.Text[0] == '-' || w.Text[0] == '='):
			return "a word that shells read differently"
		}
	}
	return ""
}

func spelled(words []cmdline.Word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		switch {
		case !w.Known():
			texts[i] = "…" + w.Text
		case w.Output:
			texts[i] = "…"
		default:
			texts[i] = w.Text
		}
	}
	return strings.Join(texts, " ")
}

func (v *coverage) files(words []cmdline.Word, tool string, dirs []string) gap {
	return gapOf(words, func(w cmdline.Word) gap { return v.file(tool, w, dirs) })
}

// file says why a file that a text names may not be read or written: the mode does not let it, and no rule of Read, or
// of Edit or Write. Deny rules are not looked at (deniedFiles).
func (v *coverage) file(tool string, w cmdline.Word, dirs []string) gap {
	verb, edits := "reading", tool == "Write"
	if edits {
		verb = "writing"
	}
	may := gap{reads: !edits && v.mode.Cell(AreaReadOutside) == Ask}
	switch {
	case w.Below && !edits && !strings.HasPrefix(w.Text, "."):
		return gap{}
	case !w.Known() || w.Output:
		return because("%s a file that is not known before it runs", verb)
	case w.Sure != cmdline.Literal && !w.Pattern && strings.HasPrefix(w.Text, "="):
		return because("%s %q, which shells read differently", verb, clip(w.Text))
	case w.Pattern && (edits || strings.ContainsAny(w.Text, "{}")), climbs(w.Text, w.Pattern):
		may.why = fmt.Sprintf("where %q leads is not known from the text", clip(w.Text))
		return may
	}
	for _, dir := range dirs {
		t := v.q.resolve(inDir(dir, w.Text))
		if t.doubt != "" {
			may.why = t.doubt
			return may
		}
		if !v.placer && slices.ContainsFunc(v.placed, func(p string) bool { return under(p, t.abs) || w.Pattern && under(path.Dir(t.abs), p) }) {
			return because("%s %q, where the text moves something, which may be a link", verb, clip(w.Text))
		}
		if slices.ContainsFunc(slices.Concat(t.spelled, t.real), mayBeCredential) {
			return because("%s credentials: %q", verb, clip(w.Text))
		}
		area := pathArea([]target{t}, edits)
		if v.mode.Cell(area) == Allow {
			continue
		}
		rule, ok := v.fileRule(tool, area, t)
		if !ok {
			may.why = fmt.Sprintf("%s %q needs a rule %s(…) (%s)", verb, clip(w.Text), tool, area)
			return may
		}
		v.use(rule)
	}
	return gap{}
}

// fileRule is the rule that allows to read or write a file.
func (v *coverage) fileRule(tool string, area Area, t target) (Rule, bool) {
	if !v.mode.rulesReach(area) {
		return Rule{}, false
	}
	for _, r := range v.paths {
		if r.Tool != tool && !(tool == "Write" && r.Tool == "Edit") {
			continue
		}
		if m, err := v.q.compile(r); err == nil && (m.rule.Pattern == "" || v.q.place.allowsPath(m.glob, v.q.call.Cwd, t, tool == "Write")) {
			return m.rule, true
		}
	}
	return Rule{}, false
}

// mayBeCredential reports the path of a file with credentials, or a wildcard for names that begin with a dot, which some
// shells match ".." with.
func mayBeCredential(p string) bool {
	base := p[strings.LastIndexByte(p, '/')+1:]
	return cmdline.CredentialPath(p) || strings.HasPrefix(base, ".") && strings.ContainsAny(base, "*?[")
}

func inDir(dir, p string) string {
	if dir == "" || strings.HasPrefix(p, "/") {
		return p
	}
	return dir + "/" + p
}

// climbs reports a path with a part ".." or one that begins with "~", in whose place a shell or a program may put a
// home directory, and a wildcard whose matches may be links that the path goes on through.
func climbs(file string, pattern bool) bool {
	if i := strings.IndexAny(file, "*?["); pattern && i >= 0 && strings.Contains(file[i:], "/") {
		return true
	}
	return slices.ContainsFunc(strings.FieldsFunc(file, func(r rune) bool { return strings.ContainsRune("/:,", r) }), func(part string) bool {
		return part == ".." || part[0] == '~'
	})
}

// reading is the text as the list of its commands.
func (q *question) reading() cmdline.Reading {
	if q.read == nil {
		r := q.readAlone(q.text)
		q.read = &r
	}
	return *q.read
}

// carries is everything that the text may run.
func (q *question) carries() *cmdline.Carried {
	if q.carried == nil {
		q.carried = cmdline.Carry(q.reading(), q.readAlone)
	}
	return q.carried
}

// readAlone reads another text that runs where the call does.
func (q *question) readAlone(text string) cmdline.Reading {
	return cmdline.Read(text, q.call.Cwd, q.leadsBelow)
}
