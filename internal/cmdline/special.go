package cmdline

import (
	"slices"
	"strings"
	"sync"
)

// specialCommands are known commands whose words need a parser of their own. A parser that cannot
// parse the words reports the command as unknown.
var specialCommands map[string]func(c []Word) (Fit, bool)

// findOptions are the words of find that only select and print.
var findOptions = Names(`-name -iname -path -ipath -wholename -regex -iregex -regextype -type -xtype -size -mtime -mmin -atime
	-amin -ctime -cmin -newer -newermt -maxdepth -mindepth -depth -print -print0 -printf -prune -o -or -a -and -not -empty -perm
	-user -group -follow -L -H -P -xdev -mount -readable -writable -executable -links -inum -samefile -true -false -quit -ls -d
	-daystart -noleaf -warn -nowarn -lname -ilname -used -fstype`)

// findRuns are the words of find before a command, fdRuns those of fd.
var (
	findRuns = []string{"-exec", "-execdir", "-ok", "-okdir"}
	fdRuns   = []string{"-x", "-X", "--exec", "--exec-batch"}
)

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

// ownLines are the lines of fd, with the options that select and print, and of tar.
var ownLines = sync.OnceValue(func() map[string][]known {
	lines, _ := readKnown(`
low  fd -H -I -i -s -a -l -0 -p -F -g -t= -e= -d= -E= --type= --extension= --hidden --no-ignore --max-depth= --exclude= --glob --full-path --color= -1 -u -L --follow
write tar -c -x -t -v -z -j -J -p -k -O -a -f> -C> -r -u --exclude= --strip-components= --create --extract --list --gzip --xz --zstd --verbose --file> --directory> --no-same-owner
`)
	return lines
})

func fitFd(c []Word) (Fit, bool) { return ownLines()["fd"][0].fits(c, 1) }

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

// fitTar parses tar czf with letters from a list; listing an archive is low.
func fitTar(c []Word) (Fit, bool) {
	if len(c) < 2 || c[1].Sure != Literal {
		return Fit{}, false
	}
	words := slices.Clone(c)
	if c[1].Text != "" && c[1].Text[0] != '-' { // tar xzf archive, letters without a dash
		words[1].Text = "-" + c[1].Text
	}
	f, ok := ownLines()["tar"][0].fits(words, 1)
	if ok && strings.Contains(words[1].Text, "t") && strings.Trim(words[1].Text, "-tvzjJaf") == "" {
		f.Risk, f.Write, f.Outs = RiskLow, false, nil
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
	if len(c) < 2 || c[1].Sure == Unknown || c[1].Text == "" {
		return Fit{}, false
	}
	if c[1].Text == "-v" || c[1].Text == "-V" {
		return Fit{Risk: RiskLow}, true // only looks it up
	}
	return Fit{Risk: RiskLow, Carrier: true}, c[1].Text[0] != '-' || c[1].Text == "--" || c[1].Text == "-p"
}

// fitSet parses set -euo pipefail and similar: options that run nothing.
func fitSet(c []Word) (Fit, bool) {
	for _, w := range c[1:] {
		if w.Sure != Literal || w.Text != "pipefail" && (len(w.Text) < 2 || w.Text[0] != '-' && w.Text[0] != '+' || strings.Trim(w.Text[1:], "eufo") != "") {
			return Fit{}, false
		}
	}
	return Fit{Risk: RiskLow}, len(c) > 1
}

var identifier = Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)

// fitRead parses read -r with plain names of variables that change no command.
func fitRead(c []Word) (Fit, bool) {
	for _, w := range c[1:] {
		if w.Sure != Literal || w.Text != "-r" && (!identifier().MatchString(w.Text) || !neutral(w.Text)) {
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
		"printf": fitPrintf, "test": fitTest, "[": fitTest, "command": fitCommand, "set": fitSet, "read": fitRead,
	}
}
