package cmdline

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Script is every simple command that a shell text may run, as far as it can be
// known: in substitutions, loops and functions, behind assignments and wrappers,
// in sh -c. It serves deny rules and risk; it never allows.
type Script struct {
	Commands [][]Word
	suspects [][]Word // endings of a wrapper's words that might be a command
	Opaque   bool     // something runs whose text is not known
	Unparsed bool
	printed  string  // the texts in one spelling
	Writes   []Word  // files that redirections write
	Dynamic  bool    // it holds expansions
	Stdin    bool    // a shell reads its commands from its input
	Assigned []Word  // variables that are set, with their values: A=b
	Secret   bool    // it expands or reads a credential
	carried  carried // what may run although no command shows it
}

// Bounds of the walk: beyond them the script is opaque.
const (
	maxTotalWords = 1 << 16      // of all commands found
	maxTotalText  = 4 * maxShell // of all texts parsed
	maxSuspects   = 4096
	maxWords      = 128 // of a wrapper, looked through for suspects
)

type walker struct {
	Script
	words, bytes int
	loud, file   bool // the output of the text goes into a command that is not pure, or into a file
}

// Walk collects the commands of a text.
func Walk(text string) Script {
	w := &walker{}
	w.text(text, 0)
	return w.Script
}

func (w *walker) text(text string, depth int) {
	if w.bytes += min(len(text), maxShell); depth > MaxNest || w.bytes > maxTotalText {
		w.Opaque = true
		return
	}
	file, err := ParseShell(text)
	if err != nil {
		w.Unparsed, w.Opaque = true, true
	}
	if _, bad := Invisible(text, "\n\t"); bad || err != nil {
		// A shell may see other lines than this parser does.
		for _, words := range segments(text) {
			w.run(Lits(words), depth+1)
		}
	}
	if err != nil {
		return
	}
	w.printed += PrintShell(file) + "\n"
	f := &flow{w: w}
	if w.loud {
		f.loud = []span{everywhere}
	}
	if w.file {
		f.files, f.code = []span{everywhere}, []span{everywhere}
	}
	outer, was := w.carried.events, w.carried.nested
	w.carried.nested = depth > 0
	syntax.Walk(file, func(n syntax.Node) bool {
		f.visit(n)
		switch n := n.(type) {
		case *syntax.CallExpr:
			loud, file := w.loud, w.file
			w.loud, w.file = within(n, f.loud), within(n, f.files)
			defer func() { w.loud, w.file = loud, file }()
			w.run(readWords(n.Args), depth)
		case *syntax.DeclClause:
			w.run(declWords(n), depth)
		case *syntax.LetClause:
			w.run([]Word{Lit("let"), {}}, depth)
		case *syntax.Redirect:
			w.redirect(n)
		case *syntax.ParamExp:
			w.Dynamic = true
			w.Secret = w.Secret || n.Excl || n.Param != nil && secretName().MatchString(n.Param.Value)
		case *syntax.ArithmExp, *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ExtGlob:
			w.Dynamic = true
		}
		return true
	})
	w.carried.nested, w.carried.now, w.carried.first, w.carried.late, w.carried.data = was, outer.now, outer.first, outer.late, outer.data
}

func (w *walker) redirect(r *syntax.Redirect) {
	if r.Op == syntax.RdrIn && CredentialPath(ReadWord(r.Word).Text) {
		w.Secret = true
	}
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrInOut, syntax.RdrClob, syntax.AppClob,
		syntax.RdrAll, syntax.RdrAllClob, syntax.AppAll, syntax.AppAllClob:
	case syntax.DplOut: // >&2 copies a stream, >&file writes one
		if t := ReadWord(r.Word); t.Sure == Literal && (StandardStream(t.Text) || t.Text == "-") {
			return
		}
	default:
		return
	}
	w.Writes = append(w.Writes, ReadWord(r.Word))
}

// run records a command and looks for the commands inside it.
func (w *walker) run(words []Word, depth int) {
	if len(words) == 0 {
		return
	}
	if w.words += len(words); w.words > maxTotalWords || depth > MaxNest {
		w.Opaque = true
		return
	}
	w.Commands = append(w.Commands, words)
	if words[0].Sure == Unknown {
		w.Opaque = true
		return
	}
	w.carried.copiesFiles(words)
	name := ProgramName(words[0].Text)
	args := words[1:]
	if h, ok := Wrappers[name]; ok {
		if name == "command" && len(args) > 0 && (args[0].Text == "-v" || args[0].Text == "-V") {
			return // only looks it up
		}
		w.wrapped(h, words, depth)
		return
	}
	switch {
	case Shells[name]:
		w.shell(args, depth)
		return
	case strings.HasPrefix(name, "busybox"), strings.HasPrefix(name, "toybox"):
		w.run(args, depth+1)
		return
	}
	if BaseName(words[0].Text) == "run-parts" {
		w.Opaque = true // it runs files that are not named
	}
	switch name {
	case "eval":
		w.joined(args, depth)
	case "watch", "ssh":
		w.suspect(words)
		w.joined(operands(args, name == "ssh"), depth)
	case "trap":
		if len(args) > 0 {
			w.joined(args[:1], depth)
		}
	case "alias":
		for _, a := range args {
			_, value, _ := strings.Cut(a.Text, "=")
			w.joined([]Word{{Text: value, Sure: a.Sure}}, depth)
		}
	case "find", "fd", "fdfind":
		w.find(args, depth)
	case "source", ".":
		w.Opaque = w.Opaque || len(args) > 0 && args[0].Sure == Unknown
	}
}

// Shells are the programs that take shell text after -c.
var Shells = Names(`sh bash dash zsh ksh mksh ash fish yash rbash tcsh csh posh pdksh lksh oksh bash-static sash elvish nu xonsh`)

// wrapped follows a command whose arguments are a command.
func (w *walker) wrapped(h wrapper, words []Word, depth int) {
	w.suspect(words)
	inner, code := h.inner(words[1:])
	for _, text := range code {
		if BaseName(words[0].Text) == "env" && strings.ContainsAny(text.Text, `\\$`) {
			w.Opaque = true // it has escapes and variables of its own
		}
		w.joined([]Word{text}, depth)
	}
	if len(inner) > 0 && strings.ContainsAny(inner[0].Text, " \t\n") {
		w.joined(inner[:1], depth) // parallel 'rm {}'
	}
	if h.Stdin && len(inner) > 0 {
		inner = append(slices.Clone(inner), Word{})
	}
	w.run(inner, depth+1)
}

func (w *walker) suspect(words []Word) {
	if len(words) > maxWords || len(w.suspects)+len(words) > maxSuspects {
		w.Opaque = true
		return
	}
	for i := 1; i < len(words); i++ {
		w.suspects = append(w.suspects, words[i:])
	}
}

// shell follows the arguments of a shell: -c TEXT, a script file, or its input.
func (w *walker) shell(args []Word, depth int) {
	code := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a.Sure == Unknown:
			w.Opaque = true
			return
		case a.Text == "--rcfile" || a.Text == "--init-file":
			i++
		case a.Text == "--version" || a.Text == "--help":
			return
		case strings.HasPrefix(a.Text, "--command="): // fish
			w.joined([]Word{{Text: a.Text[len("--command="):], Sure: a.Sure}}, depth)
			return
		case a.Text == "--command":
			code = true
		case strings.HasPrefix(a.Text, "--") && a.Text != "--":
		case len(a.Text) > 1 && (a.Text[0] == '-' || a.Text[0] == '+'):
			code = code || strings.Contains(a.Text, "c")
			if !code && strings.Contains(a.Text, "s") {
				w.Opaque, w.Stdin = true, true
				return
			}
			if strings.HasSuffix(a.Text, "o") || strings.HasSuffix(a.Text, "O") {
				i++ // -euo pipefail
			}
		case code:
			w.joined(args[i:i+1], depth)
			return
		default:
			if a.Text == "/dev/stdin" || a.Text == "-" || strings.HasPrefix(a.Text, "/dev/fd/") || strings.HasPrefix(a.Text, "/proc/") {
				w.Opaque, w.Stdin = true, true
			}
			return // a script file: a program like any other
		}
	}
	w.Opaque, w.Stdin = true, true
}

// joined parses words as one shell text, as eval does.
func (w *walker) joined(args []Word, depth int) {
	texts := make([]string, 0, len(args))
	for _, a := range args {
		if a.Sure == Unknown {
			w.Opaque = true
			return
		}
		texts = append(texts, a.Text)
	}
	if len(texts) > 0 {
		w.text(strings.Join(texts, " "), depth+1)
	}
}

// find follows -exec and its relatives.
func (w *walker) find(args []Word, depth int) {
	for i, a := range args {
		if w.words > maxTotalWords {
			return
		}
		switch a.Text {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			var inner []Word
			for _, arg := range args[i+1:] {
				if arg.Sure == Literal && (arg.Text == ";" || arg.Text == "+") {
					break
				}
				if strings.Contains(arg.Text, "{}") {
					arg.Sure = Unknown
				}
				inner = append(inner, arg)
			}
			w.run(inner, depth+1)
		}
	}
}

// operands drops leading options and, if host is set, the first operand.
func operands(args []Word, host bool) []Word {
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") {
		args = args[1:]
	}
	if host && len(args) > 0 {
		args = args[1:]
	}
	return args
}

// BaseName is a command's name without its directory, in lower case, without
// ".exe" and zsh's "=".
func BaseName(s string) string {
	s = path.Base(strings.ReplaceAll(strings.TrimPrefix(s, "="), `\`, "/"))
	return strings.TrimSuffix(strings.ToLower(s), ".exe")
}

// segments cuts a text that cannot be parsed where any shell might begin a
// command, once with quotes kept together and once with all quotes taken off, and
// drops assignments and keywords from the front of each.
func segments(text string) [][]string {
	var out [][]string
	keep := func(words []string) {
		for len(words) > 0 && (IsAssignment(words[0]) || slices.Contains(shellWords, words[0])) {
			words = words[1:]
		}
		if len(words) > 0 && len(out) < maxSuspects {
			out = append(out, words)
		}
	}
	for _, words := range roughCommands(text) {
		keep(words)
	}
	bare := strings.NewReplacer("\\\r\n", "", "\\\n", "", "'", "", `"`, "", `\`, "").Replace(text)
	for _, line := range strings.FieldsFunc(bare, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		keep(strings.Fields(line))
	}
	return out
}

const separators = "\n\r;|&(){}`\x00"

// roughCommands splits at separators outside quotes. A quote that is not closed
// ends with the text.
func roughCommands(text string) [][]string {
	var out [][]string
	var words []string
	var b strings.Builder
	inWord, escaped, quote := false, false, rune(0)
	endWord := func() {
		if inWord {
			words = append(words, b.String())
		}
		b.Reset()
		inWord = false
	}
	for _, r := range text {
		switch {
		case escaped:
			b.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case strings.ContainsRune(separators, r):
			endWord()
			out, words = append(out, words), nil
		case r == ' ' || r == '\t':
			endWord()
		default:
			b.WriteRune(r)
			inWord = true
		}
	}
	endWord()
	return append(out, words)
}

var shellWords = []string{"!", "time", "if", "then", "elif", "else", "while", "until", "do", "$", "case", "in", "coproc", "function"}

// IsAssignment reports NAME=value or NAME+=value.
func IsAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return false
	}
	for i, c := range strings.TrimSuffix(name, "+") {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// wrapper is a command that runs the command in its arguments.
type wrapper struct {
	values   []string // options that take the next word
	code     []string // options whose next word is shell text
	operands int      // words before the command: timeout's 10
	assigns  bool     // NAME=value words before the command
	Stdin    bool     // more words come from its input
}

var Wrappers = map[string]wrapper{
	"sudo":        {values: []string{"-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R", "--user", "--group", "--host", "--prompt", "--chdir"}, assigns: true},
	"doas":        {values: []string{"-u", "-C"}},
	"pkexec":      {values: []string{"--user"}},
	"su":          {values: []string{"-s", "--shell", "-g", "--group", "-G", "-w"}, code: []string{"-c", "--command"}, operands: 1},
	"runuser":     {values: []string{"-u", "-g", "-G", "-s"}, code: []string{"-c", "--command"}},
	"env":         {values: []string{"-u", "-C", "--unset", "--chdir"}, code: []string{"-S", "--split-string"}, assigns: true},
	"xargs":       {values: []string{"-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s", "--arg-file", "--delimiter", "--max-args", "--max-lines", "--max-procs", "--replace"}, Stdin: true},
	"parallel":    {values: []string{"-j", "-a", "-N", "--jobs", "--colsep"}, Stdin: true},
	"nohup":       {},
	"setsid":      {},
	"command":     {},
	"builtin":     {},
	"exec":        {values: []string{"-a"}},
	"time":        {values: []string{"-f", "-o", "--format", "--output"}},
	"timeout":     {values: []string{"-k", "-s", "--kill-after", "--signal"}, operands: 1},
	"nice":        {values: []string{"-n", "--adjustment"}},
	"ionice":      {values: []string{"-c", "-n", "-p", "-P", "-u"}},
	"chrt":        {operands: 1},
	"taskset":     {operands: 1},
	"stdbuf":      {values: []string{"-i", "-o", "-e"}},
	"unbuffer":    {},
	"flock":       {values: []string{"-w", "-E", "--timeout"}, code: []string{"-c", "--command"}, operands: 1},
	"chroot":      {operands: 1},
	"unshare":     {},
	"nsenter":     {values: []string{"-t", "-S", "-G"}},
	"setpriv":     {},
	"prlimit":     {},
	"strace":      {values: []string{"-e", "-o", "-p", "-s", "-u"}},
	"ltrace":      {values: []string{"-e", "-o", "-p", "-s", "-u"}},
	"script":      {code: []string{"-c", "--command"}},
	"setarch":     {operands: 1},
	"systemd-run": {values: []string{"-p", "-u", "-E", "--unit", "--property"}},
	"fakeroot":    {},
	"proot":       {values: []string{"-r", "-b", "-w"}},
	"bwrap":       {},
	"firejail":    {},
	"caffeinate":  {values: []string{"-t", "-w"}},
	"arch":        {},
	"coproc":      {},
}

// inner finds the wrapped command and shell text among a wrapper's arguments. An
// option that is not in the table is taken to have no value; the suspects cover
// what that misses.
func (h wrapper) inner(args []Word) (command, code []Word) {
	i := 0
	for ; i < len(args); i++ {
		a := args[i]
		if a.Text == "--" && a.Sure == Literal {
			i++
			break
		}
		option := len(a.Text) > 1 && a.Text[0] == '-'
		if option && (slices.Contains(h.values, a.Text) || slices.Contains(h.code, a.Text)) {
			i++
			continue
		}
		if !option && !(h.assigns && IsAssignment(a.Text)) {
			break
		}
	}
	code = h.texts(args)
	if i += h.operands; i < len(args) {
		command = args[i:]
	}
	return command, code
}

// texts returns the shell text of a wrapper's code options, wherever they stand:
// -c TEXT, -cTEXT, --command=TEXT. They are run one at a time.
func (h wrapper) texts(args []Word) (code []Word) {
	for i, a := range args {
		if len(a.Text) < 2 || a.Text[0] != '-' {
			continue
		}
		name, value, joined := strings.Cut(a.Text, "=")
		switch {
		case !joined && slices.Contains(h.code, name) && i+1 < len(args):
			code = append(code, args[i+1])
		case joined && slices.Contains(h.code, name):
			code = append(code, Word{Text: value, Sure: a.Sure})
		case len(a.Text) > 2 && a.Text[1] != '-' && slices.Contains(h.code, a.Text[:2]):
			code = append(code, Word{Text: a.Text[2:], Sure: a.Sure})
		}
	}
	return code
}
