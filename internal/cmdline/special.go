package cmdline

import (
	"slices"
	"strings"
	"sync"
)

// specialCommands are known commands whose words need a parser of their own. A parser that cannot
// parse the words reports the command as unknown.
var specialCommands map[string]func(c []Word) (Fit, bool)

// fitSed parses sed with options from a list and scripts without w, e, r and similar commands.
func fitSed(c []Word) (Fit, bool) {
	f, scripts := Fit{Risk: RiskLow}, 0
	for i := 1; i < len(c); i++ {
		w := c[i]
		option := len(w.Text) > 1 && w.Text[0] == '-'
		switch {
		case w.Sure == Unknown && !w.Pattern:
			return Fit{}, false
		case !option && scripts == 0:
			scripts++
			if w.Sure == Unknown || !plainSed(w.Text) {
				return Fit{}, false
			}
		case !option:
			f.Operands = append(f.Operands, w)
		case w.Text == "-e" || w.Text == "--expression":
			scripts++
			if i++; i >= len(c) || c[i].Sure == Unknown || !plainSed(c[i].Text) {
				return Fit{}, false
			}
		case slices.Contains([]string{"-n", "-E", "-r", "-s", "-u", "-z", "-nE", "-nr", "-En", "--quiet", "--silent", "--regexp-extended"}, w.Text):
		case sedInPlace().MatchString(w.Text):
			f.Risk, f.Write = RiskMedium, true
		default:
			return Fit{}, false
		}
	}
	return f, scripts > 0
}

// sedAddress and sedCommand read one command of a sed script that prints, deletes
// or replaces.
var (
	sedAddress = pattern(`^([0-9]+|\$|/([^/\\]|\\.)*/I?)([,~+]([0-9]+|\$|\+[0-9]+|/([^/\\]|\\.)*/I?))?[ ]*!?[ ]*`)
	sedCommand = pattern(`^([pdqQ=nNgGhHxDP]|q[0-9]*)?[ ]*$`)
	sedInPlace = pattern(`^(-i|-i\.[a-z]+|-Ei|-ri|--in-place(=\.[a-z]+)?)$`)
	sedFlags   = pattern(`^[gIip0-9]*[ ]*`)
)

// plainSed reads a script: commands of the list joined by ";".
func plainSed(script string) bool {
	if strings.ContainsAny(script, "\n\x00") {
		return false
	}
	for rest := strings.Trim(script, " ;"); rest != ""; rest = strings.TrimLeft(rest, " ;") {
		rest = rest[len(sedAddress().FindString(rest)):]
		if rest != "" && (rest[0] == 's' || rest[0] == 'y') {
			var ok bool
			if rest, ok = afterReplace(rest); !ok {
				return false
			}
			continue
		}
		if rest != "" && strings.IndexByte("aic", rest[0]) >= 0 {
			return true // text to the end
		}
		one, more, _ := strings.Cut(rest, ";")
		if !sedCommand().MatchString(one) {
			return false
		}
		rest = more
	}
	return true
}

// afterReplace returns what follows s/a/b/flags.
func afterReplace(s string) (string, bool) {
	if len(s) < 4 || strings.IndexByte(" \\;\n", s[1]) >= 0 || s[1] >= 0x80 {
		return "", false
	}
	mark, seen, class := s[1], 1, false
	for i := 2; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '[' || s[i] == ']':
			class = true // a delimiter within brackets may count or not
		case s[i] == mark:
			if seen++; seen == 3 {
				rest := s[i+1:]
				if s[0] == 's' {
					rest = rest[len(sedFlags().FindString(rest)):]
				}
				return rest, rest == "" || rest[0] == ';' || rest[0] == ' ' && !class
			}
		}
	}
	return "", false
}

// fitAwk parses awk programs that run, read and write nothing.
func fitAwk(c []Word) (Fit, bool) {
	f, program := Fit{Risk: RiskLow}, false
	for i := 1; i < len(c); i++ {
		w := c[i]
		switch {
		case w.Sure == Unknown && (!w.Pattern || !program):
			return Fit{}, false
		case program:
			f.Operands = append(f.Operands, w)
		case w.Text == "-F" || w.Text == "-v":
			if i++; i >= len(c) || c[i].Sure == Unknown || !plainAwk(c[i].Text) {
				return Fit{}, false
			}
		case strings.HasPrefix(w.Text, "-F") || strings.HasPrefix(w.Text, "-v"):
			if strings.HasPrefix(w.Text, "-v") && !strings.Contains(w.Text, "=") {
				return Fit{}, false
			}
		case strings.HasPrefix(w.Text, "-"):
			return Fit{}, false
		default:
			program = true
			if !plainAwk(w.Text) {
				return Fit{}, false
			}
		}
	}
	return f, program
}

// awkPrintsTo is a print into a file.
var awkPrintsTo = pattern(`print[^}]*>`)

// awkRegexp is a regular expression where no division can stand.
var awkRegexp = pattern(`(^|[~(!,;{&|])\s*/[^/"{};]*/`)

func plainAwk(program string) bool {
	for _, bad := range []string{"system", "getline", "|&", "@", "`", "ENVIRON", "PROCINFO", "close", "include"} {
		if strings.Contains(program, bad) {
			return false
		}
	}
	bare := strings.ReplaceAll(awkRegexp().ReplaceAllString(program, "$1 "), "||", "")
	return !strings.Contains(bare, "|") && !awkPrintsTo().MatchString(program)
}

// findOptions are the words of find that only select and print.
var findOptions = Names(`-name -iname -path -ipath -wholename -regex -iregex -regextype -type -xtype -size -mtime -mmin -atime
	-amin -ctime -cmin -newer -newermt -maxdepth -mindepth -depth -print -print0 -printf -prune -o -or -a -and -not -empty -perm
	-user -group -follow -L -H -P -xdev -mount -readable -writable -executable -links -inum -samefile -true -false -quit -ls -d
	-daystart -noleaf -warn -nowarn -lname -ilname -used -fstype`)

// findRuns are the words of find before a command.
var findRuns = []string{"-exec", "-execdir", "-ok", "-okdir"}

func fitFind(c []Word) (Fit, bool) {
	f := Fit{Risk: RiskLow}
	for i, w := range c[1:] {
		switch {
		case w.Sure == Unknown && !w.Pattern:
			return Fit{}, false
		case slices.Contains(findRuns, w.Text):
			f.Carrier, f.Risk = true, RiskMedium // the command that it runs is judged by itself
			i += 2
			for ; i < len(c) && c[i].Text != ";" && c[i].Text != "+"; i++ {
			}
			if i+1 < len(c) {
				return Fit{}, false // more may follow behind the command
			}
			return f, true
		case len(w.Text) > 1 && w.Text[0] == '-' && !findOptions[w.Text]:
			if strings.Trim(w.Text[1:], "0123456789") != "" {
				return Fit{}, false
			}
		default:
			f.Operands = append(f.Operands, w)
		}
	}
	return f, true
}

// fdLine is fd with the options that select and print.
var fdLine = sync.OnceValue(func() known {
	lines, _ := readKnown(`low fd -H -I -i -s -a -l -0 -p -F -g -t= -e= -d= -E= --type= --extension= --hidden --no-ignore --max-depth= --exclude= --glob --full-path --color= -1 -u -L --follow`)
	return lines["fd"][0]
})

func fitFd(c []Word) (Fit, bool) { return fdLine().fits(c, 1) }

func fitChmod(c []Word) (Fit, bool) {
	f := Fit{Risk: RiskMedium, Write: true}
	if HasAny(c[1:], "-R", "--recursive") || slices.ContainsFunc(c[1:], setsID) {
		f.Risk, f.Write = RiskHigh, false
		return f, true
	}
	for _, w := range c[1:] {
		if w.Sure == Unknown || w.Text == "" || w.Text[0] != '-' {
			f.Operands = append(f.Operands, w)
		}
	}
	return f, true
}

var tarLine = sync.OnceValue(func() known {
	lines, _ := readKnown(`write tar -c -x -t -v -z -j -J -p -k -O -a -f= -C= -r -u --exclude= --strip-components= --create --extract --list --gzip --xz --zstd --verbose --file= --directory= --no-same-owner`)
	return lines["tar"][0]
})

// fitTar parses tar czf with letters from a list; listing an archive is low.
func fitTar(c []Word) (Fit, bool) {
	if len(c) < 2 || c[1].Sure != Literal {
		return Fit{}, false
	}
	words := slices.Clone(c)
	if c[1].Text != "" && c[1].Text[0] != '-' { // tar xzf archive, letters without a dash
		words[1].Text = "-" + c[1].Text
	}
	f, ok := tarLine().fits(words, 1)
	if ok && strings.Contains(words[1].Text, "t") && strings.Trim(words[1].Text, "-tvzjJaf") == "" {
		f.Risk, f.Write = RiskLow, false
	}
	return f, ok
}

// subscript reports whether a shell builtin might run the text in brackets.
func subscript(w Word) bool {
	return w.Sure == Unknown && strings.Contains(w.Text, "[") || strings.Contains(w.Text, "[") && strings.ContainsAny(w.Text, "$`")
}

func fitPrintf(c []Word) (Fit, bool) {
	if len(c) > 1 && (c[1].Sure == Unknown || strings.HasPrefix(c[1].Text, "-") && c[1].Text != "--") {
		return Fit{}, false // -v sets a variable, and reads its subscript
	}
	return Fit{Risk: RiskLow, Operands: c[1:]}, true
}

func fitTest(c []Word) (Fit, bool) {
	_, sure := LiteralWords(c[1:])
	if slices.ContainsFunc(c[1:], subscript) || !sure && Spells(c[1:], "-v", "-R") {
		return Fit{}, false
	}
	return Fit{Risk: RiskLow, Operands: c[1:]}, true
}

func fitCommand(c []Word) (Fit, bool) {
	if len(c) < 2 || c[1].Sure == Unknown {
		return Fit{}, false
	}
	if c[1].Text == "-v" || c[1].Text == "-V" {
		return Fit{Risk: RiskLow}, true // only looks it up
	}
	return Fit{Risk: RiskLow, Carrier: true}, c[1].Text[0] != '-' || c[1].Text == "--" || c[1].Text == "-p"
}

// FitSet parses set -euo pipefail and similar: options that run nothing.
func FitSet(c []Word) (Fit, bool) {
	for _, w := range c[1:] {
		if w.Sure != Literal || w.Text != "pipefail" && (len(w.Text) < 2 || w.Text[0] != '-' && w.Text[0] != '+' || strings.Trim(w.Text[1:], "eufo") != "") {
			return Fit{}, false
		}
	}
	return Fit{Risk: RiskLow}, len(c) > 1
}

var identifier = pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)

// fitRead parses read -r with plain names of variables that change no command.
func fitRead(c []Word) (Fit, bool) {
	for _, w := range c[1:] {
		if w.Sure != Literal || w.Text != "-r" && (!identifier().MatchString(w.Text) || changesCommands(w.Text)) {
			return Fit{}, false
		}
	}
	return Fit{Risk: RiskLow, Carrier: true}, true
}

func init() {
	specialCommands = map[string]func(c []Word) (Fit, bool){
		"sed": fitSed, "gsed": fitSed,
		"awk": fitAwk, "gawk": fitAwk, "mawk": fitAwk, "nawk": fitAwk,
		"find": fitFind, "fd": fitFd, "fdfind": fitFd,
		"chmod": fitChmod, "tar": fitTar, "gtar": fitTar,
		"printf": fitPrintf, "test": fitTest, "[": fitTest, "command": fitCommand, "set": FitSet, "read": fitRead,
	}
}
