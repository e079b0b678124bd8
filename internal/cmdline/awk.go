package cmdline

import "strings"

// fitAwk reads awk with a program that prints from its input and names no file and no program.
func fitAwk(c []Word) (Fit, bool) {
	f, program := Fit{Risk: RiskLow}, false
	for i := 1; i < len(c); i++ {
		w := c[i]
		switch {
		case program:
			if w.Sure != Literal && !w.Pattern || strings.Contains(w.Text, "=") || strings.HasPrefix(w.Text, "/inet") {
				return Fit{}, false
			}
			f.Operands = append(f.Operands, w)
		case w.Sure != Literal || !printable(w.Text):
			return Fit{}, false
		case strings.HasPrefix(w.Text, "-"):
			option, value := w.Text[:min(2, len(w.Text))], w.Text[min(2, len(w.Text)):]
			if value == "" {
				if i++; i == len(c) || c[i].Sure != Literal || !printable(c[i].Text) {
					return Fit{}, false
				}
				value = c[i].Text
			}
			name, _, assigns := strings.Cut(value, "=")
			if option != "-F" && (option != "-v" || !assigns || !identifier().MatchString(name) || awkReaches[name]) {
				return Fit{}, false
			}
		default:
			if program = true; !plainAwk(w.Text) {
				return Fit{}, false
			}
		}
	}
	f.Paths = append([]Word{}, f.Operands...)
	return f, program
}

var (
	// awkReaches are the names by which a program reads or runs something else than its input, and functions of its own.
	awkReaches = Names(`system getline close fflush ENVIRON PROCINFO ARGV ARGC SYMTAB FUNCTAB function func return include load namespace`)
	// awkCalls are the functions that only compute, and the words that a parenthesis may follow.
	awkCalls = Names(`length substr index split tolower toupper sprintf sub gsub gensub match int sqrt log exp sin cos atan2 rand srand
		strftime systime mktime if while for print printf in`)
	// awkBegins are the words before an expression.
	awkBegins = Names(`print printf else do in`)
)

// awkText is a program as far as it is read.
type awkText struct {
	rest           string
	braces, parens int
	condition      bool   // the outermost parenthesis is that of if or while
	word           string // the last token, when it is a word
	slash          byte   // what a slash is here: 'd' divides, 'e' begins an expression, 0 either
	divides        int
}

// plainAwk reads a program token by token. It knows no way to write, run or read a file; where a slash could both
// divide and begin an expression, and for ">" where print could have it, the program is not known.
func plainAwk(program string) bool {
	t := awkText{rest: program, slash: 'e'}
	for t.rest != "" {
		if !t.token() {
			return false
		}
	}
	return t.braces == 0 && t.parens == 0 && (t.divides == 0 || strings.Count(program, "/") == 1)
}

// take goes on behind n bytes; slash is what a slash is there.
func (t *awkText) take(n int, slash byte) bool {
	t.rest, t.slash, t.word = t.rest[n:], slash, ""
	return true
}

func (t *awkText) token() bool {
	s := t.rest
	two := s[:min(2, len(s))]
	switch c := s[0]; {
	case c == ' ':
		t.rest = s[1:]
		return true
	case WordByte(c):
		return t.name()
	case c == '"':
		return t.text()
	case c == '/':
		return t.divideOrMatch()
	case two == "||" || two == "&&" || two == "!~":
		return t.take(2, 'e')
	case two == "++" || two == "--":
		return t.take(2, 0)
	case c == '>':
		return two != ">>" && (t.braces == 0 || t.condition && t.parens > 0) && t.take(1, 'e')
	case c == '$':
		return t.take(1, 0)
	case c == ']':
		return t.take(1, 'd')
	case strings.IndexByte("+-*%^=!<?:~,;[", c) >= 0:
		return t.take(1, 'e')
	}
	return t.nest(s[0])
}

// name reads a word or a number.
func (t *awkText) name() bool {
	n := 0
	for n < len(t.rest) && (WordByte(t.rest[n]) || t.rest[n] == '.') {
		n++
	}
	word := t.rest[:n]
	called := strings.HasPrefix(strings.TrimLeft(t.rest[n:], " "), "(")
	switch number := strings.Trim(word, "0123456789.") == ""; {
	case number:
	case word[0] <= '9' || strings.Contains(word, "."): // where a number ends, the next word begins
		return false
	case awkReaches[word] || called && !awkCalls[word]:
		return false
	}
	slash := byte('d')
	switch {
	case awkBegins[word]:
		slash = 'e'
	case word == "BEGIN" || word == "END" || word == "next" || word == "exit" || word == "delete":
		slash = 0
	}
	t.take(n, slash)
	t.word = word
	return true
}

// text reads a string.
func (t *awkText) text() bool {
	for i := 1; i < len(t.rest); i++ {
		switch t.rest[i] {
		case '"':
			return t.take(i+1, 'd')
		case '\\':
			if i++; i == len(t.rest) || strings.IndexByte(`tn"\/.|`, t.rest[i]) < 0 {
				return false
			}
		}
	}
	return false
}

func (t *awkText) divideOrMatch() bool {
	switch t.slash {
	case 'd':
		t.divides++
		return t.take(1, 'e')
	case 'e':
		rest, ok := afterText(t.rest[1:], '/', true)
		n := len(t.rest) - len(rest)
		return ok && !strings.ContainsAny(t.rest[:n], "\"#;{}") && t.take(n, 'd')
	}
	return false
}

// nest reads braces and parentheses.
func (t *awkText) nest(c byte) bool {
	switch c {
	case '(':
		if t.parens++; t.parens == 1 {
			t.condition = t.word == "if" || t.word == "while"
		}
		return t.take(1, 'e')
	case ')':
		t.parens--
		return t.parens >= 0 && t.take(1, 'd')
	case '{':
		t.braces++
		return t.parens == 0 && t.take(1, 'e')
	case '}':
		t.braces--
		return t.parens == 0 && t.braces >= 0 && t.take(1, 'e')
	}
	return false
}
