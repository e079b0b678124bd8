package cmdline_test

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"waggle/internal/cmdline"
	"waggle/internal/test/testenv"
)

// TestLookUp: the facts of a command whose words need a reader of their own: its risk, whether it
// writes its operands, whether it runs another; "" where a word may do more.
func TestLookUp(t *testing.T) {
	for text, want := range map[string]string{
		// sed
		"sed s/a/b/ x":                  "low x",
		"sed -n 's/a/b/p;2d' x":         "low x",
		"sed 's/a/b/;e'":                "",
		"sed 's/a/b/;w f'":              "",
		"sed 's/a/b/e'":                 "",
		"sed 's/a/b/w f'":               "",
		"sed 'y/a/b/;e'":                "",
		"sed 'y/a/b/g'":                 "",
		"sed 's/a/b/ ; 3p'":             "low",
		"sed 's/[/]/b/ p'":              "",
		"sed 's/a/b'":                   "",
		"sed 's;a;b;'":                  "",
		"sed 's\\a\\b\\'":               "",
		`sed 's/\/e/b/g'`:               "low",
		"sed '2q;e'":                    "",
		"sed '1,$p;/x/!d'":              "low",
		"sed '1a e'":                    "", // text to the end, or a line of commands
		"sed '/[/p;a]/e x'":             "",
		"sed 's/[^]/a/;/]/s|/w F|x|' a": "",
		"sed p -e p":                    "",
		"sed p -n":                      "",
		"sed -i s/a/b/ w../x":           "",
		"sed 's/[/]/b/'":                "",
		"sed '/a/,/b/!d' x":             "low x",
		"sed '/^[^a-z]*$/d' x":          "low x",
		"sed s/é/e/ x":                  "", // its bytes are other characters elsewhere
		"sed 'r f'":                     "",
		"sed 'p\ne'":                    "",
		"sed -i s/a/b/ x":               "medium writes x",
		"sed -i.bak s/a/b/ x y":         "medium writes x y",
		"sed -i.b/k s/a/b/ x":           "",
		"sed -e p -e e":                 "",
		"sed -e p -e d x":               "low x",
		"sed -e":                        "",
		"sed -e $X":                     "",
		"sed $X":                        "",
		"sed p $X":                      "",
		"sed p *.go":                    "", // a file may be named as an option
		"sed p x*.go":                   "low x*.go",
		"sed -f f x":                    "",
		"sed":                           "",
		// awk
		"awk '{print $1}' x":              "low x",
		"awk -F: '{print}' x":             "low x",
		"awk -F : '{print}' x":            "low x",
		"awk -F":                          "",
		"awk -v a=1 '{print}'":            "low",
		"awk -va=1 '{print}'":             "low",
		"awk -va '{print}'":               "",
		"awk '{system(\"x\")}'":           "",
		"awk '{print > \"x\"}'":           "",
		"awk '{print | \"x\"}'":           "",
		"awk '/a|b/ {print}'":             "low",
		"awk '$1 || $2'":                  "low",
		"awk -f x":                        "",
		"awk '$3>5{print}' x":             "low x",
		"awk '{if ($3>5) n++}'":           "low",
		"awk '{print $3>5}'":              "",
		"awk '{print a/b}'":               "low",
		"awk '{print a/b/c}'":             "",
		"awk '{print a++ /b/}'":           "",
		"awk '{print f(1)}'":              "",
		"awk '{print ARGV[1]}'":           "",
		"awk '{getline}'":                 "",
		"awk '{print}' x=1":               "",
		"awk '(x=/,/) | c'":               "",
		"awk 'BEGIN{x=1system (\"x\")}'":  "",
		"awk 'BEGIN{x = f (1)}'":          "",
		"awk '{print x / \"/; y } #\" }'": "",
		"awk '/[^]/ && x /1/'":            "",
		"awk 1 /inet/tcp/0/example.org/1": "",
		"awk $X":                          "",
		"awk":                             "",
		// find and fd
		"find . -name '*.go'":         "low . -name *.go",
		"find . -maxdepth 2":          "low . -maxdepth 2",
		"find . -delete":              "",
		"find . -newer -1":            "low . -newer",
		"find $X":                     "",
		"find . -exec ls {} ';'":      "medium carries .",
		"find . -exec ls {} ';' -o":   "",
		"find . -execdir ls {} + -ls": "",
		"find . -ok ls":               "medium carries .",
		"fd -e go x":                  "low x",
		"fd -x rm":                    "",
		// tar
		"tar tf a.tar":        "low",
		"tar -tf a.tar":       "low",
		"tar tvzf a.tar":      "low",
		"tar xf a.tar":        "medium writes",
		"tar -x -f a.tar":     "medium writes",
		"tar xtf a.tar":       "medium writes",
		"tar tOf a.tar":       "medium writes",
		"tar -c -f a.tar x":   "medium writes x",
		"tar --checkpoint -x": "",
		"tar $X":              "",
		"tar":                 "",
		// others
		"chmod 600 x":           "medium writes 600 x",
		"chmod -R 600 x":        "high",
		"chmod --recursive 6 x": "high",
		"chmod u+s x":           "high",
		"chmod 4755 x":          "high",
		"printf %s x":           "low %s x",
		"printf -v a x":         "",
		"printf -- %s":          "low -- %s",
		"printf $X":             "",
		"printf":                "low",
		"test -v 'a[$(x)]'":     "",
		"test -v a":             "low -v a",
		"test -f $X":            "low -f",
		"test $X a":             "low  a",
		"test $X 'a[0]'":        "low  a[0]",
		"[ -R $X ]":             "",
		"command -v ls":         "low",
		"command -V ls":         "low",
		"command ls":            "low carries",
		"command -p ls":         "low carries",
		"command -- ls":         "low carries",
		"command -x ls":         "",
		"command $X":            "",
		"command":               "",
		"set -e":                "low",
		"set -euo pipefail":     "low",
		"set +e":                "low",
		"set -x":                "",
		"set -":                 "",
		"set e":                 "",
		"set $X":                "",
	} {
		t.Run(text, func(t *testing.T) {
			file, err := cmdline.ParseShell(text)
			testenv.Must(t, err)
			words, ok := cmdline.CommandWords(file.Stmts[0].Cmd.(*syntax.CallExpr))
			if !ok {
				t.Fatal("no words")
			}
			f, ok := cmdline.LookUp(words)
			got := ""
			if ok {
				got = string(f.Risk)
				if f.Write {
					got += " writes"
				}
				if f.Carrier {
					got += " carries"
				}
				for _, w := range f.Operands {
					got += " " + w.Text
				}
			}
			if got = strings.TrimSpace(got); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
