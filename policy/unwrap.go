package policy

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// script is every simple command that a shell text may run, as far as it can be
// known: in substitutions, loops and functions, behind assignments and wrappers,
// in sh -c. It serves deny rules and risk; it never allows.
type script struct {
	commands [][]word
	suspects [][]word // endings of a wrapper's words that might be a command
	opaque   bool     // something runs whose text is not known
	unparsed bool
	printed  string  // the texts in one spelling
	writes   []word  // files that redirections write
	dynamic  bool    // it holds expansions
	stdin    bool    // a shell reads its commands from its input
	assigned []word  // variables that are set, with their values: A=b
	secret   bool    // it expands or reads a credential
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
	script
	words, bytes int
	loud, file   bool // the output of the text goes into a command that is not pure, or into a file
}

// walk collects the commands of a text.
func walk(text string) script {
	w := &walker{}
	w.text(text, 0)
	return w.script
}

func (w *walker) text(text string, depth int) {
	if w.bytes += min(len(text), maxShell); depth > maxNest || w.bytes > maxTotalText {
		w.opaque = true
		return
	}
	file, err := parseShell(text)
	if err != nil {
		w.unparsed, w.opaque = true, true
	}
	if _, bad := invisible(text, "\n\t"); bad || err != nil {
		// A shell may see other lines than this parser does.
		for _, words := range segments(text) {
			w.run(lits(words), depth+1)
		}
	}
	if err != nil {
		return
	}
	w.printed += printShell(file) + "\n"
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
			w.run([]word{lit("let"), {}}, depth)
		case *syntax.Redirect:
			w.redirect(n)
		case *syntax.ParamExp:
			w.dynamic = true
			w.secret = w.secret || n.Excl || n.Param != nil && secretName.MatchString(n.Param.Value)
		case *syntax.ArithmExp, *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ExtGlob:
			w.dynamic = true
		}
		return true
	})
	w.carried.nested, w.carried.now, w.carried.first, w.carried.late, w.carried.data = was, outer.now, outer.first, outer.late, outer.data
}

func (w *walker) redirect(r *syntax.Redirect) {
	if r.Op == syntax.RdrIn && credentialPath(readWord(r.Word).text) {
		w.secret = true
	}
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrInOut, syntax.RdrClob, syntax.AppClob,
		syntax.RdrAll, syntax.RdrAllClob, syntax.AppAll, syntax.AppAllClob:
	case syntax.DplOut: // >&2 copies a stream, >&file writes one
		if t := readWord(r.Word); t.sure == literal && (standardStream(t.text) || t.text == "-") {
			return
		}
	default:
		return
	}
	w.writes = append(w.writes, readWord(r.Word))
}

// run notes a command and looks for the commands inside it.
func (w *walker) run(words []word, depth int) {
	if len(words) == 0 {
		return
	}
	if w.words += len(words); w.words > maxTotalWords || depth > maxNest {
		w.opaque = true
		return
	}
	w.commands = append(w.commands, words)
	if words[0].sure == unknown {
		w.opaque = true
		return
	}
	w.carried.copiesFiles(words)
	name := programName(words[0].text)
	args := words[1:]
	if h, ok := wrappers[name]; ok {
		if name == "command" && len(args) > 0 && (args[0].text == "-v" || args[0].text == "-V") {
			return // only looks it up
		}
		w.wrapped(h, words, depth)
		return
	}
	switch {
	case shells[name]:
		w.shell(args, depth)
		return
	case strings.HasPrefix(name, "busybox"), strings.HasPrefix(name, "toybox"):
		w.run(args, depth+1)
		return
	}
	if baseName(words[0].text) == "run-parts" {
		w.opaque = true // it runs whatever a directory holds
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
			_, value, _ := strings.Cut(a.text, "=")
			w.joined([]word{{text: value, sure: a.sure}}, depth)
		}
	case "find", "fd", "fdfind":
		w.find(args, depth)
	case "source", ".":
		w.opaque = w.opaque || len(args) > 0 && args[0].sure == unknown
	}
}

// shells are the programs that take shell text after -c.
var shells = names(`sh bash dash zsh ksh mksh ash fish yash rbash tcsh csh posh pdksh lksh oksh bash-static sash elvish nu xonsh`)

// wrapped follows a command whose arguments are a command.
func (w *walker) wrapped(h wrapper, words []word, depth int) {
	w.suspect(words)
	inner, code := h.inner(words[1:])
	for _, text := range code {
		w.joined([]word{text}, depth)
	}
	if len(inner) > 0 && strings.ContainsAny(inner[0].text, " \t\n") {
		w.joined(inner[:1], depth) // parallel 'rm {}'
	}
	if h.stdin && len(inner) > 0 {
		inner = append(slices.Clone(inner), word{})
	}
	w.run(inner, depth+1)
}

func (w *walker) suspect(words []word) {
	if len(words) > maxWords || len(w.suspects)+len(words) > maxSuspects {
		w.opaque = true
		return
	}
	for i := 1; i < len(words); i++ {
		w.suspects = append(w.suspects, words[i:])
	}
}

// shell follows the arguments of a shell: -c TEXT, a script file, or its input.
func (w *walker) shell(args []word, depth int) {
	code := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a.sure == unknown:
			w.opaque = true
			return
		case a.text == "--rcfile" || a.text == "--init-file":
			i++
		case a.text == "--version" || a.text == "--help":
			return
		case strings.HasPrefix(a.text, "--command="): // fish
			w.joined([]word{{text: a.text[len("--command="):], sure: a.sure}}, depth)
			return
		case a.text == "--command":
			code = true
		case strings.HasPrefix(a.text, "--") && a.text != "--":
		case len(a.text) > 1 && (a.text[0] == '-' || a.text[0] == '+'):
			code = code || strings.Contains(a.text, "c")
			if !code && strings.Contains(a.text, "s") {
				w.opaque, w.stdin = true, true
				return
			}
			if strings.HasSuffix(a.text, "o") || strings.HasSuffix(a.text, "O") {
				i++ // -euo pipefail
			}
		case code:
			w.joined(args[i:i+1], depth)
			return
		default:
			if a.text == "/dev/stdin" || a.text == "-" || strings.HasPrefix(a.text, "/dev/fd/") || strings.HasPrefix(a.text, "/proc/") {
				w.opaque, w.stdin = true, true
			}
			return // a script file: a program like any other
		}
	}
	w.opaque, w.stdin = true, true
}

// joined parses words as one shell text, as eval does.
func (w *walker) joined(args []word, depth int) {
	texts := make([]string, 0, len(args))
	for _, a := range args {
		if a.sure == unknown {
			w.opaque = true
			return
		}
		texts = append(texts, a.text)
	}
	if len(texts) > 0 {
		w.text(strings.Join(texts, " "), depth+1)
	}
}

// find follows -exec and its relatives.
func (w *walker) find(args []word, depth int) {
	for i, a := range args {
		if w.words > maxTotalWords {
			return
		}
		switch a.text {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			var inner []word
			for _, arg := range args[i+1:] {
				if arg.sure == literal && (arg.text == ";" || arg.text == "+") {
					break
				}
				if strings.Contains(arg.text, "{}") {
					arg.sure = unknown
				}
				inner = append(inner, arg)
			}
			w.run(inner, depth+1)
		}
	}
}

// operands drops leading options and, if host is set, the first operand.
func operands(args []word, host bool) []word {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		args = args[1:]
	}
	if host && len(args) > 0 {
		args = args[1:]
	}
	return args
}

// baseName is a command's name without its directory, in lower case, without
// ".exe" and zsh's "=".
func baseName(s string) string {
	s = path.Base(strings.ReplaceAll(strings.TrimPrefix(s, "="), `\`, "/"))
	return strings.TrimSuffix(strings.ToLower(s), ".exe")
}

// segments cuts a text that cannot be parsed where any shell might begin a
// command, once with quotes kept together and once with all quotes taken off, and
// drops assignments and keywords from the front of each.
func segments(text string) [][]string {
	var out [][]string
	keep := func(words []string) {
		for len(words) > 0 && (isAssignment(words[0]) || slices.Contains(shellWords, words[0])) {
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

func isAssignment(s string) bool {
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
	stdin    bool     // more words come from its input
}

var wrappers = map[string]wrapper{
	"sudo":        {values: []string{"-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R", "--user", "--group", "--host", "--prompt", "--chdir"}, assigns: true},
	"doas":        {values: []string{"-u", "-C"}},
	"pkexec":      {values: []string{"--user"}},
	"su":          {values: []string{"-s", "--shell", "-g", "--group", "-G", "-w"}, code: []string{"-c", "--command"}, operands: 1},
	"runuser":     {values: []string{"-u", "-g", "-G", "-s"}, code: []string{"-c", "--command"}},
	"env":         {values: []string{"-u", "-C", "--unset", "--chdir"}, code: []string{"-S", "--split-string"}, assigns: true},
	"xargs":       {values: []string{"-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s", "--arg-file", "--delimiter", "--max-args", "--max-lines", "--max-procs", "--replace"}, stdin: true},
	"parallel":    {values: []string{"-j", "-a", "-N", "--jobs", "--colsep"}, stdin: true},
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
func (h wrapper) inner(args []word) (command, code []word) {
	i := 0
	for ; i < len(args); i++ {
		a := args[i]
		if a.text == "--" && a.sure == literal {
			i++
			break
		}
		option := len(a.text) > 1 && a.text[0] == '-'
		if option && (slices.Contains(h.values, a.text) || slices.Contains(h.code, a.text)) {
			i++
			continue
		}
		if !option && !(h.assigns && isAssignment(a.text)) {
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
func (h wrapper) texts(args []word) (code []word) {
	for i, a := range args {
		if len(a.text) < 2 || a.text[0] != '-' {
			continue
		}
		name, value, joined := strings.Cut(a.text, "=")
		switch {
		case !joined && slices.Contains(h.code, name) && i+1 < len(args):
			code = append(code, args[i+1])
		case joined && slices.Contains(h.code, name):
			code = append(code, word{text: value, sure: a.sure})
		case len(a.text) > 2 && a.text[1] != '-' && slices.Contains(h.code, a.text[:2]):
			code = append(code, word{text: a.text[2:], sure: a.sure})
		}
	}
	return code
}
