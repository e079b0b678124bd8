package cmdline

import (
	"path"
	"slices"
	"strings"
)

// inside is what may run among the words of a command that no Reading opens: commands behind wrappers, shell texts, the
// ends of a wrapper's words that might be a command.
type inside struct {
	commands [][]Word
	suspects [][]Word
	texts    []string
	opaque   bool // something runs whose text is not known
	stdin    bool // a shell reads its commands from its input
	words    int
}

// Bounds: beyond them it is opaque.
const (
	maxTotalWords = 1 << 16 // of all commands found
	maxSuspects   = 4096
	maxWords      = 128 // of a wrapper, looked through for suspects
)

// run records a command and looks for the commands inside it.
func (in *inside) run(words []Word, depth int) {
	if len(words) == 0 {
		return
	}
	if in.words += len(words); in.words > maxTotalWords || depth > MaxNest {
		in.opaque = true
		return
	}
	in.commands = append(in.commands, words)
	if words[0].Sure == Unknown {
		in.opaque = true
		return
	}
	name, args := ProgramName(words[0].Text), words[1:]
	if h, ok := Wrappers[name]; ok {
		if name == "command" && len(args) > 0 && (args[0].Text == "-v" || args[0].Text == "-V") {
			return // only looks it up
		}
		in.wrapped(h, words, depth)
		return
	}
	switch {
	case Shells[name]:
		in.shell(args)
		return
	case strings.HasPrefix(name, "busybox"), strings.HasPrefix(name, "toybox"):
		in.run(args, depth+1)
		return
	}
	in.opaque = in.opaque || BaseName(words[0].Text) == "run-parts" // it runs files that are not named
	switch name {
	case "eval":
		in.joined(args)
	case "watch", "ssh":
		in.suspect(words)
		in.joined(operands(args, name == "ssh"))
	case "trap":
		in.joined(args[:min(1, len(args))])
	case "alias":
		for _, a := range args {
			_, value, _ := strings.Cut(a.Text, "=")
			in.joined([]Word{{Text: value, Sure: a.Sure}})
		}
	case "find", "fd", "fdfind":
		in.find(args, depth)
	case "source", ".":
		in.opaque = in.opaque || len(args) > 0 && args[0].Sure == Unknown
	}
}

// Shells are the programs that take shell text after -c.
var Shells = Names(`sh bash dash zsh ksh mksh ash fish yash rbash tcsh csh posh pdksh lksh oksh bash-static sash elvish nu xonsh`)

// wrapped follows a command whose arguments are a command.
func (in *inside) wrapped(h wrapper, words []Word, depth int) {
	in.suspect(words)
	command, code := h.inner(words[1:])
	for _, text := range code {
		if BaseName(words[0].Text) == "env" && strings.ContainsAny(text.Text, `\\$`) {
			in.opaque = true // it has escapes and variables of its own
		}
		in.joined([]Word{text})
	}
	if len(command) > 0 && strings.ContainsAny(command[0].Text, " \t\n") {
		in.joined(command[:1]) // parallel 'rm {}'
	}
	if h.Stdin && len(command) > 0 {
		command = append(slices.Clone(command), Word{})
	}
	in.run(command, depth+1)
}

func (in *inside) suspect(words []Word) {
	if len(words) > maxWords || len(in.suspects)+len(words) > maxSuspects {
		in.opaque = true
		return
	}
	for i := 1; i < len(words); i++ {
		in.suspects = append(in.suspects, words[i:])
	}
}

// shell follows the arguments of a shell: -c TEXT, a script file, or its input.
func (in *inside) shell(args []Word) {
	code := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a.Sure == Unknown && !(code && a.Output):
			in.opaque = true
			return
		case a.Text == "--rcfile" || a.Text == "--init-file":
			i++
		case a.Text == "--version" || a.Text == "--help":
			return
		case strings.HasPrefix(a.Text, "--command="): // fish
			in.joined([]Word{{Text: a.Text[len("--command="):], Sure: a.Sure}})
			return
		case a.Text == "--command":
			code = true
		case strings.HasPrefix(a.Text, "--") && a.Text != "--":
		case len(a.Text) > 1 && (a.Text[0] == '-' || a.Text[0] == '+'):
			code = code || strings.Contains(a.Text, "c")
			if !code && strings.Contains(a.Text, "s") {
				in.opaque, in.stdin = true, true
				return
			}
			if strings.HasSuffix(a.Text, "o") || strings.HasSuffix(a.Text, "O") {
				i++ // -euo pipefail
			}
		case code:
			in.joined(args[i : i+1])
			return
		default:
			if a.Text == "/dev/stdin" || a.Text == "-" || strings.HasPrefix(a.Text, "/dev/fd/") || strings.HasPrefix(a.Text, "/proc/") {
				in.opaque, in.stdin = true, true
			}
			return // a script file: a program like any other
		}
	}
	in.opaque, in.stdin = true, true
}

// joined parses words as one shell text, as eval does.
func (in *inside) joined(args []Word) {
	texts := make([]string, 0, len(args))
	for _, a := range args {
		if in.opaque = in.opaque || a.Sure == Unknown; a.Sure == Unknown && !a.Output {
			return
		}
		texts = append(texts, a.Text) // sh -c 'rm -_' behind xargs -I_
	}
	if len(texts) > 0 {
		in.texts = append(in.texts, strings.Join(texts, " "))
	}
}

// find follows -exec and its relatives.
func (in *inside) find(args []Word, depth int) {
	for i, a := range args {
		if in.words > maxTotalWords {
			return
		}
		if !slices.Contains(findRuns, a.Text) && !slices.Contains(fdRuns, a.Text) {
			continue
		}
		var inner []Word
		for _, arg := range args[i+1:] {
			if arg.is(";") || arg.is("+") {
				break
			}
			if strings.Contains(arg.Text, "{}") {
				arg.Sure = Unknown
			}
			inner = append(inner, arg)
		}
		in.run(inner, depth+1)
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

// segments cuts a text that cannot be parsed where any shell might begin a command, with all quotes taken off, and drops
// assignments and keywords from the front of each.
func segments(text string) (out [][]string) {
	for _, line := range strings.FieldsFunc(bareQuotes.Replace(text), func(r rune) bool { return strings.ContainsRune("\n\r;|&(){}`\x00", r) }) {
		words := strings.Fields(line)
		for len(words) > 0 && (isAssignment(words[0]) || slices.Contains(shellWords, words[0])) {
			words = words[1:]
		}
		if len(words) > 0 && len(out) < maxSuspects {
			out = append(out, words)
			if at := slices.Index(words, "-c"); at >= 0 { // the text of a shell
				out = append(out, words[at+1:])
			}
		}
	}
	return out
}

var shellWords = []string{"!", "time", "if", "then", "elif", "else", "while", "until", "do", "$", "case", "in", "coproc", "function"}

// isAssignment reports NAME=value or NAME+=value.
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
		if !option && !(h.assigns && isAssignment(a.Text)) {
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
