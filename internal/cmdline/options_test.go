package cmdline

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"
)

// check asks f about pairs of texts.
func check(t *testing.T, what string, f func(a, b string) bool, yes, no [][2]string) {
	t.Helper()
	for _, c := range yes {
		if !f(c[0], c[1]) {
			t.Errorf("%s: %q, %q: no", what, c[0], c[1])
		}
	}
	for _, c := range no {
		if f(c[0], c[1]) {
			t.Errorf("%s: %q, %q: yes", what, c[0], c[1])
		}
	}
}

// TestCluster: a few letters behind one dash are a cluster, and no more of them than the most.
func TestCluster(t *testing.T) {
	for o, want := range map[string]bool{"-r": true, "-rf": true, "-rfv": true, "-azAZ"[:4]: true, "-zZ": true,
		"": false, "-": false, "r": false, "rf": false, "--": false, "--r": false, "-r1": false, "-1": false, "-r-": false, "-rfvx": false, "-@": false, "-[": false, "-`": false, "-{": false} {
		if got := cluster(o, 3); got != want {
			t.Errorf("%q: %v", o, got)
		}
	}
	if !cluster("-rrrrrr", 6) || cluster("-rrrrrr", 5) {
		t.Error("the most letters")
	}
}

// TestOptionSpellings: an option is found in every spelling that a program accepts, and in no other.
func TestOptionSpellings(t *testing.T) {
	check(t, "the same option", sameOption,
		[][2]string{{"-o", "-o"}, {"--output=x", "--output"}, {"--out", "--output"}, {"--recurs", "--recursive"}, {"-rf", "--recursive"}, {"-R", "--recursive"}, {"-vf", "--force"}, {"-o=x", "-o"}},
		[][2]string{{"-o", "-p"}, {"--output", "-o"}, {"--", "--output"}, {"--=x", "--output"}, {"--put", "--output"}, {"-o", "--output"}, {"-v", "--force"}, {"--outputs", "--output"}, {"output", "--output"}})
	check(t, "a letter", func(have, letter string) bool { return hasLetter(have, rune(letter[0])) },
		[][2]string{{"-rf", "r"}, {"-rf", "f"}, {"-R", "r"}, {"-r", "R"}, {"--recursive", "r"}, {"--rec", "R"}, {"--force=x", "f"}, {"-rrrrrr", "r"}},
		[][2]string{{"-rf", "v"}, {"--", "r"}, {"--=", "f"}, {"--force", "r"}, {"--verbose", "v"}, {"rf", "r"}, {"-r1", "r"}, {"-", "r"}})
	check(t, "an option among words", func(have, want string) bool { return hasOption(Lits(strings.Fields(have)), want) },
		[][2]string{{"-r -f", "-rf"}, {"-fr", "-rf"}, {"x -Rf", "-rf"}, {"--recursive --force", "-rf"}, {"-vrf", "-rf"}, {"--recurs x -f", "-rf"}, {"-o x", "-o"}, {"-exec", "-exec"}, {"-a -b -c", "-abc"}},
		[][2]string{{"-r", "-rf"}, {"-f x", "-rf"}, {"", "-rf"}, {"-e -x -c", "-exec"}, {"r f", "-rf"}, {"-a -b -c", "-abcd"}, {"-r --f1", "-rf"}})
}

// TestReadsAsCode: an interpreter without code in its arguments, a program that takes instructions,
// and one whose option makes it read a stream, take their standard input as code.
func TestReadsAsCode(t *testing.T) {
	for text, want := range map[string]bool{
		"python3": true, "python3 -": true, "python3 -u": true, "python3 -u -": true, "python3 f.py": false, "python3 -m http.server": false, "python3 -c x": false,
		"python3 -u -c x": false, "python3 f.py -": false, "perl -e x": false, "perl -E x": false, "perl -c": true, "node -p 1": false, "node --eval 1": false, "node --eval=1": false, "node -i": true,
		"sed": true, "sed -n": true, "sed s/a/b/": false, "awk": true, "awk {print}": false, "bash": false, "sh -": false, "cat": false, "cat -": false, "ssh host": true, "make": true, "psql -c x": true, "/usr/bin/python3.12": true,
		"tcl": false, "tclsh": true, "tclsh f": true, "cat /dev/stdin": true, "cat /dev/fd/3": true, "cat /proc/self/fd/0": true, "cat dev/stdin": false, "cat /dev/null": false, "xargs": true, "sudo": false,
	} {
		if got := ReadsAsCode(Lits(strings.Fields(text))); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	unknown := Word{Text: "x", Sure: Unknown}
	if !ReadsAsCode([]Word{Lit("python3"), unknown}) || ReadsAsCode([]Word{Lit("python3"), Lit("f"), unknown}) || ReadsAsCode([]Word{Lit("python3"), Lit("-c"), unknown}) || ReadsAsCode([]Word{Lit("python3"), Lit(""), Lit("f")}) {
		t.Error("a word that is not known, before and behind a file")
	}
}

// TestExpandBraces: braces are spelled out as bash does, and a range, or too many words, is refused.
func TestExpandBraces(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a": "a", "{a,b}": "a b", "x{a,b}y": "xay xby", "{a,b}{c,d}": "ac ad bc bd", "{a,{b,c}}d": "ad bd cd", "{a}": "{a}", "x{a}{b,c}": "x{a}b x{a}c", "{a,": "{a,", "a}": "a}", "{a,b}}": "a} b}",
		"{,x}": " x", "{a,b,c}": "a b c", "{{a,b},c}": "a b c", "{r,R}m": "rm Rm", "{}": "{}",
	} {
		got, ok := ExpandBraces(in)
		if strings.Join(got, " ") != want || !ok {
			t.Errorf("%q: %q, %v, want %q", in, got, ok, want)
		}
	}
	two := "{a,b}"
	if got, ok := ExpandBraces(strings.Repeat(two, 8)); len(got) != 256 || !ok {
		t.Errorf("256 words: %d, %v", len(got), ok)
	}
	for _, in := range []string{strings.Repeat(two, 9), "{1..3}", "x{a,{1..3}}", "{a..c}d"} {
		if got, ok := ExpandBraces(in); got != nil || ok {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// TestUnescape: the escapes of printf, C and Python are decoded, and an escape that is no character
// stays.
func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		`\x72m`: "rm", `\162m`: "rm", `\0162m`: "rm", `\o162m`: "rm", `\u0072m`: "rm", `\U00000072m`: "rm", `\u{72}m`: "rm", `\x{72}m`: "rm", `a\nb`: "a\nb", `a\rb`: "a\nb", `a\tb`: "a\tb",
		`a\eb`: "a b", `a\ab`: "a b", `a\vb`: "a\nb", `a\fb`: "a\nb", `a\bb`: "a b", `\U0010ffff`: "\U0010ffff", `\U00110000`: `\U00110000`, `a\qb`: `a\qb`, "plain": "plain", `\7`: "\a", `\377`: "ÿ",
	} {
		if got := unescape(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// TestTransforms: the programs, options and formats that print other text than they read.
func TestTransforms(t *testing.T) {
	for text, want := range map[string]bool{
		"tr a b": true, "rev": true, "/usr/bin/rev": true, "expr 1": true, "seq 3": true, "cat": false, "tee f": false, "head -n 1": false, "head -c 3": true, "head -c3": true, "head --bytes=3": true, "tail -nc": true, "tail --lines=3": false,
		"grep x": false, "grep -o x": true, "grep --only-matching x": true, "grep -": false, "grep o": false, "rg -r y x": true, "rg --replace y x": true, "rg -o x": true, "rg --only x": true, "rg x": false, "grep -v --color": false,
		"echo x": false, "echo -n x": true, "echo -en x": true, "echo n": false, `echo x\c`: true, `printf x\n`: false, "printf x": true, `printf %s\n`: true, "ls": false, "date +%x6d": true, "ls 6d": false, "ls zz": false, `ls \x`: true, "ls %%": true,
	} {
		if got := transforms(Lits(strings.Fields(text))); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if !transforms(Lits([]string{"printf"})) {
		t.Error("printf without a format")
	}
}

// TestIsAssignment: NAME=value and NAME+=value.
func TestIsAssignment(t *testing.T) {
	for s, want := range map[string]bool{"A=": true, "a=b": true, "_=1": true, "A1_z=x=y": true, "A+=x": true, "Z9=": true, "z0=": true, "": false, "=x": false, "A": false, "1A=": false, "A-B=": false, "A b=": false, "9=": false, "A/=": false, "A:=": false, "@=": false, "A[=": false, "`=": false, "{=": false} {
		if got := isAssignment(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

// TestReadWord: a word loses its quotes as every shell reads it; it is literal only where they
// agree, and a pattern where only wildcards are not known.
func TestReadWord(t *testing.T) {
	for text, want := range map[string]Word{
		`a`: {Text: "a", Sure: Literal}, `'a b'`: {Text: "a b", Sure: Literal}, `"a b"`: {Text: "a b", Sure: Literal}, `a\ b`: {Text: "a b", Sure: Literal}, `a'b'"c"`: {Text: "abc", Sure: Literal}, `[`: {Text: "[", Sure: Literal}, `]`: {Text: "]", Sure: Literal},
		`*.go`: {Text: "*.go", Sure: Unknown, Pattern: true}, `a?`: {Text: "a?", Sure: Unknown, Pattern: true}, `[ab]`: {Text: "[ab]", Sure: Unknown, Pattern: true}, `{a,b}`: {Text: "{a,b}", Sure: Unknown, Pattern: true}, `'*'`: {Text: "*", Sure: Literal}, `\*`: {Text: "*", Sure: Literal},
		`$X`: {Text: "", Sure: Unknown}, `a$X`: {Text: "a", Sure: Unknown}, `"a$X"`: {Text: "a", Sure: Unknown}, `$(x)`: {Text: "", Sure: Unknown}, `*$X`: {Text: "*", Sure: Unknown}, `"$X"*`: {Text: "*", Sure: Unknown},
		`~/x`: {Text: "~/x", Sure: guessed}, `a~`: {Text: "a~", Sure: Literal}, `A=~/x`: {Text: "A=~/x", Sure: guessed}, `a:~`: {Text: "a:~", Sure: guessed}, `'a'~`: {Text: "a~", Sure: Literal}, `=x`: {Text: "=x", Sure: guessed}, `a=x`: {Text: "a=x", Sure: Literal}, `'a'=x`: {Text: "a=x", Sure: Literal},
		`$'ab'`: {Text: "ab", Sure: guessed}, `$'a\nb'`: {Text: `a\nb`, Sure: Unknown}, `$"ab"`: {Text: "ab", Sure: guessed}, `"a\$b"`: {Text: "a$b", Sure: Literal}, `"a\\b"`: {Text: `a\b`, Sure: Literal}, `"a\nb"`: {Text: `a\nb`, Sure: Literal}, `"a\"b"`: {Text: `a"b`, Sure: Literal}, "\"a\\`b\"": {Text: "a`b", Sure: Literal},
		`*$'ab'`: {Text: "*ab", Sure: Unknown, Pattern: true}, `*$'a\x'`: {Text: `*a\x`, Sure: Unknown},
	} {
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader("x "+text), "")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := ReadWord(file.Stmts[0].Cmd.(*syntax.CallExpr).Args[1])
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
	if text, sure := bareText(`a\`, true); text != `a\` || sure != Unknown {
		t.Errorf("a backslash at the end: %q, %v", text, sure)
	}
}

// TestNamesOfPrograms: a command is compared by the name behind its path, and a program by its name
// without version and build.
func TestNamesOfPrograms(t *testing.T) {
	for text, want := range map[string]string{"python3.12": "python", "/usr/bin/perl5": "perl", "busybox-x86_64": "busybox", "node": "node", "7z": "7z", "x+": "x+", "a_b": "a", "g++": "g++"} {
		if got := ProgramName(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	check(t, "the same command", func(want, have string) bool { return sameCommand(want, have, "/w") },
		[][2]string{{"rm", "rm"}, {"rm", "/bin/rm"}, {"rm", "./rm"}, {"/bin/rm", "rm"}, {"/bin/rm", "/bin/./rm"}, {"./a", "/w/a"}, {"a/b", "./a/b"}, {"/W/A", "./a"}},
		[][2]string{{"rm", "rmdir"}, {"/bin/rm", "/usr/bin/rm"}, {"./a", "a"}, {"a/b", "b"}, {"./a", "/x/a"}})
	check(t, "a token", sameToken,
		[][2]string{{"x", "x"}, {"x*", "xyz"}, {"?", "x"}, {"b", "a b"}},
		[][2]string{{"x", "y"}, {"x*", "y"}, {"[", "["[:0]}, {"a*", "b/a"}, {"b", "ab"}})
	check(t, "a pattern that may be an option", mayBeOption,
		[][2]string{{"-*", "-rf"}, {"-f*", "-rf"}, {"?rf", "-rf"}, {"-[f]r", "-rf"}, {"*", "--force"}},
		[][2]string{{"-rf", "-rf"}, {"-f?x", "-rf"}, {"x*", "-rf"}, {"-e*f*e*", "-force1"}, {"[", "-rf"}})
	check(t, "letters in their order", spellsOut, [][2]string{{"arbm", "rm"}, {"rm", "rm"}, {"x", ""}}, [][2]string{{"mr", "rm"}, {"r", "rm"}, {"", "r"}})
	if !slices.Equal(Lits([]string{"a"}), []Word{Lit("a")}) {
		t.Error("words")
	}
	if got, ok := LiteralWords([]Word{Lit("a"), {Text: "b", Sure: guessed}}); got != nil || ok {
		t.Errorf("%q", got)
	}
}

// TestCodeOfInterpreters: an interpreter that gets code, or reads it, and not one that runs a file.
func TestCodeOfInterpreters(t *testing.T) {
	for text, want := range map[string]bool{
		"python3 -c x": true, "python3 -": true, "python3 f.py": false, "python3 -u f.py": false, "python3 -u -c x": true, "python3 -m http.server": false, "python3 -m": true, "perl -m x": true, "python3 /dev/stdin": true, "python3 /proc/self/fd/0": true,
		"source": true, "source f": false, ". f": false, "source /dev/stdin": true, "source /proc/x": true, "bash -c x": false, "cat": false, "ed f": true, "sqlite3 db": true, "psql db": false, "make x": false, "make -f x": false, "gmake --eval x": false, "gdb x": true, "sed s/a/b/e": true,
		"node -e x": true, "vi f": false, "vi -c x": true,
	} {
		if got := readsCode(Lits(strings.Fields(text))); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if !readsCode([]Word{Lit("python3"), {Text: "", Sure: Unknown}}) || readsCode([]Word{Lit("python3"), {Text: "*.py", Sure: Unknown, Pattern: true}}) || !readsCode([]Word{Lit("."), {Text: "", Sure: Unknown}}) {
		t.Error("a word that is not known")
	}
}

// TestSupplies: a program gets a variable of unknown value when the variable is exported and can
// change something.
func TestSupplies(t *testing.T) {
	for _, c := range []struct {
		doubt, export string
		all, want     bool
	}{
		{"X", "X", false, true}, {"X", "", true, true}, {"X", "Y", false, false}, {"X", "", false, false}, {"", "X", true, false},
		{"TZ", "TZ", false, false}, {"LC_ALL", "LC_ALL", true, false}, {"LC", "LC", false, true},
	} {
		x := Carried{exports: c.all, unsure: map[string]bool{}, exported: map[string]bool{}}
		if c.doubt != "" {
			x.doubtVariable(c.doubt)
		}
		if c.export != "" {
			x.exported[c.export] = true
		}
		if got := x.supplies(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestCodeOfWrappers: the shell text of a wrapper stands behind its option, in the same word or the
// next; an option at the end has none.
func TestCodeOfWrappers(t *testing.T) {
	h := wrapper{code: []string{"-c", "--command"}}
	for text, want := range map[string]string{
		"-c x": "x", "-cx": "x", "--command x": "x", "--command=x": "x", "-c=x": "x", "a -c x b": "x", "-c x -c y": "x y", "-c -c": "-c",
		"": "", "-c": "", "a --command": "", "-": "", "c x": "", "--c x": "", "-x c": "", "--commandx": "", "--commands=x": "", "-dx": "",
	} {
		var got []string
		for _, w := range h.texts(Lits(strings.Fields(text))) {
			got = append(got, w.Text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
