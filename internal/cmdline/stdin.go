package cmdline

import "strings"

// instructed are programs, not interpreters, that take instructions from their standard input.
var instructed = Names(`ssh docker podman kubectl nc ncat socat ghci sqlite3 psql mysql make gmake at batch crontab ed ex red expect gdb lldb r rscript`)

// ReadsAsCode reports whether a command takes its standard input as instructions.
func ReadsAsCode(c []Word) bool {
	name, args := ProgramName(c[0].Text), c[1:]
	for _, w := range args {
		if strings.HasPrefix(w.Text, "/dev/stdin") || strings.HasPrefix(w.Text, "/dev/fd/") || strings.HasPrefix(w.Text, "/proc/") {
			return true
		}
	}
	switch {
	case instructed[name], Wrappers[BaseName(c[0].Text)].Stdin:
		return true
	case Shells[name]: // its text is read by itself
		return false
	case !CodeReaders[name]:
		return false
	}
	options, ok := CodeOptions[name]
	return !ok || codeOnInput(args, options)
}

// CodeOptions are the options whose value is an interpreter's code. With one of them, or with a
// file to run, its standard input is data.
var CodeOptions = map[string][]string{
	"python": {"-c"}, "pypy": {"-c"}, "perl": {"-e", "-E"}, "ruby": {"-e"},
	"node": {"-e", "-p", "--eval", "--print"}, "nodejs": {"-e", "-p", "--eval", "--print"}, "php": {"-r"}, "lua": {"-e"},
	"sed": nil, "gsed": nil, "awk": nil, "gawk": nil, "mawk": nil, "nawk": nil,
}

// codeOnInput reports an interpreter that is given no code in its arguments.
func codeOnInput(args []Word, options []string) bool {
	for i, a := range args {
		switch {
		case a.Sure == Unknown || a.Text == "-":
			return true
		case a.Text == "-m" || HasAny(args[i:i+1], options...):
			return false
		case a.Text != "" && a.Text[0] != '-':
			return false
		}
	}
	return true
}
