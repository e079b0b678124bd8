//go:build unix

package cmdline_test

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/cmdline"
	"waggle/internal/test/testenv"
)

// Programs of sed and awk, harmless ones and such as write, run and read, and the parts that are put into them.
var (
	sedTexts = []string{"s/a/b/", "s|a|b|g;p", "/a/p", "$!N;P;D", "1,3d", "/a/,/b/!d", "s/[^/]/x/g", "s/[/]/w F/", "s/a[/]b/c/;w F", "/[/p;a]/e touch F", "w F", "e touch F", "s/a/touch F/e",
		"s/a/b/w F", "s/a/b/gw F", "r ../secret", "1r ../secret", "R ../secret", "s,a,b,I", "a x", "y/a/b/;w F", "s/\\//b/;w F", "s/x/\\/;w F", "{p;w F\n}", "s#a#b#;e touch F", "/a/s//w F/p", "p;e touch F", "s/[^]/a/;/]/s|/w F|x|", "s/[^]/a/;/]/s|/;1e touch F #|x|", "s/[]]/w F/;p"}
	sedParts = []string{"/", "|", "[", "]", "[/]", "\\", "\\/", "e", "w F", ";", " ", "g", "p", "$", "!", "s", "{", "}", "\n", "#", "^", ",", "a", "[[:space:]]"}
	awkTexts = []string{"{print $1}", "/a/ {print $NF}", "NR>1 {s+=$2} END {print s/NR}", "$1 ~ /=/ {n++} END{print n}", "{if ($1 > 5) print}", "{x=\"F\"; print x}", "BEGIN{print \"a\" > \"F\"}",
		"{x=\"F\"; print $1 > x}", "{print | \"touch F\"}", "BEGIN{system(\"touch F\")}", "BEGIN{while ((getline l < \"../secret\") > 0) print l}", "BEGIN{getline l < \"../secret\"; print l}",
		"BEGIN{ARGV[1]=\"../secret\";ARGC=2}{print}", "BEGIN{f=\"F\"; x=4; y=2; print x++ / y > f / 1}", "BEGIN{f=\"F\"; print (1) / 2 > f}", "BEGIN{c=\"touch F\";print (x=/,/) | substr(c,/z/)}",
		"BEGIN{print \"evil #}\" > \"F\"}", "{print(1)(2) > \"F\"}", "BEGIN{if (1) print 1 > \"F\"}", "{print $/a/ > \"F\"}", "BEGIN{\"touch F\" | getline}", "BEGIN{printf(\"a\") > \"F\"}", "BEGIN{f=\"F\"; print 1 /2 > f}/x/",
		"BEGIN{print length / 2 > \"F\"} /a/", "BEGIN{print a[1] / 2 >> \"F\"}", "BEGIN{close(\"F\")}{print toupper($0), length($1)}", "BEGIN{x=1system (\"touch F\")}", "BEGIN{while(1getline l <\"../secret\") print l}",
		"BEGIN{x=\"touch F\"; print length / \"/; system(x) } #\" }", "BEGIN{x=\"touch F\"} /[^]/ && a[1] ~ / || system(x) /1"}
	awkParts = []string{"/", "/ /", "\"", "\\", ">", ">>", "|", "||", "(", ")", "{", "}", ";", "#", "[", "]", "++", "--", "$", "x", "1", "=", "~", ",", " ", "/a/", "if (1)", "print", "in", "!", "\n", "\"F\"", "? 1 :", "[^]", "1system (\"touch F\")", "length /"}
)

// spliced is a text with parts put in, and pieces taken out.
func spliced(random *rand.Rand, texts, parts []string) string {
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	text := pick(texts)
	for range random.IntN(4) {
		at := random.IntN(len(text) + 1)
		switch random.IntN(4) {
		case 0:
			text = text[:at] + text[min(len(text), at+1+random.IntN(3)):]
		case 1:
			text += pick([]string{"", ";", " "}) + pick(texts)
		default:
			text = text[:at] + pick(parts) + text[at:]
		}
	}
	return text
}

// A program of sed or awk that is read as one that only reads changes no file and reads no other: it is run, in a
// directory of its own.
func TestTextsOnlyRead(t *testing.T) {
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	for name, text := range map[string]string{"secret": "the secret\n", "tree/a": "a b\nb a\n= /\n", "tree/b": "touch F\n"} {
		testenv.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		testenv.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, program := range []string{"sed", "gsed", "awk", "gawk", "mawk"} {
		texts, parts := sedTexts, sedParts
		if strings.HasSuffix(program, "awk") {
			texts, parts = awkTexts, awkParts
		}
		at, err := exec.LookPath(program)
		if err != nil {
			continue
		}
		t.Run(program, func(t *testing.T) {
			random := rand.New(rand.NewPCG(testenv.Seed(t), 1))
			ran, right, tries := 0, 0, 0
			for ran < testenv.Sizes(40, 150, 20000) && tries < 5_000_000 {
				tries++
				text := spliced(random, texts, parts)
				argv := []string{program, text, "a", "b"}
				f, ok := cmdline.LookUp(cmdline.Lits(argv))
				if !ok || f.Risk != cmdline.RiskLow || f.Carrier {
					continue
				}
				ran++
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				cmd := exec.CommandContext(ctx, at, argv[1:]...)
				cmd.Dir, cmd.Env = tree, []string{"PATH=" + os.Getenv("PATH")}
				out, err := cmd.CombinedOutput() // a program that is wrong, or has no end, does nothing either
				cancel()
				if err == nil {
					right++
				}
				if strings.Contains(string(out), "the secret") {
					t.Fatalf("%q reads another file: %s", text, out)
				}
				entries, err := os.ReadDir(tree)
				testenv.Must(t, err)
				for _, e := range entries {
					if !slices.Contains([]string{"a", "b"}, e.Name()) {
						t.Fatalf("%q writes %s", text, e.Name())
					}
				}
			}
			if right < ran/4 {
				t.Errorf("of %d programs %d are read, and of these %d are right", tries, ran, right)
			}
		})
	}
}
