package cmdline

import (
	"fmt"
	"strings"
	"testing"
)

// shown writes a reading as one line: commands as words, ? for what is not known, o for an output, n for names of
// files, * as it is; redirections, directories and inner commands in brackets.
func shown(r Reading) string {
	var parts []string
	for _, c := range r.Commands {
		parts = append(parts, shownCommand(c))
	}
	for _, u := range r.Unclear {
		parts = append(parts, "!"+u.Why)
	}
	return strings.Join(parts, "; ")
}

func shownWords(ws []Word) string {
	var out []string
	for _, w := range ws {
		switch {
		case w.Sure == Literal && (w.Text == "" || strings.ContainsAny(w.Text, " \n")):
			out = append(out, fmt.Sprintf("%q", w.Text))
		case w.Sure != Unknown, w.Pattern:
			out = append(out, w.Text)
		case w.Below:
			out = append(out, "<n>")
		case w.Output:
			out = append(out, w.Text+"<o>")
		default:
			out = append(out, w.Text+"<?>")
		}
	}
	return strings.Join(out, " ")
}

func shownCommand(c Command) string {
	s := strings.TrimSpace(shownWords(c.Assigns) + " " + shownWords(c.Words))
	if len(c.Reads) > 0 {
		s += " [<" + shownWords(c.Reads) + "]"
	}
	if len(c.Writes) > 0 {
		s += " [>" + shownWords(c.Writes) + "]"
	}
	if c.Document {
		s += " [doc]"
	}
	if len(c.Dirs) > 1 {
		s += " [in" + strings.Join(c.Dirs, ",") + "]"
	}
	if c.After != "" {
		s += " [after " + c.After + "]"
	}
	if c.Inner != nil {
		s += " {" + shown(*c.Inner) + "}"
	}
	return s
}

// TestRead: what a text is read as.
func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"ls -la":                                         "ls -la",
		"a | b && c || d; e\nf # g":                      "a; b; c; d; e; f",
		"go test ./... 2>&1 | tail -20":                  "go test ./...; tail -20",
		"a >/dev/null 2>&1 </dev/null":                   "a",
		"a > out 2>>log < in":                            "a [<in] [>out log]",
		"CI=1 npm test":                                  "CI=1 npm test",
		"cd pkg && go test; cd /work/x":                  "cd pkg; go test [in,pkg]; cd /work/x [in,pkg]",
		"cd .. && ls":                                    "cd ..; ls [after cd ..]",
		"cd /etc; ls":                                    "cd /etc; ls [after cd /etc]",
		"timeout 60 nice -n 5 go test x":                 "timeout 60 nice -n 5 go test x {nice -n 5 go test x {go test x}}",
		"env CI=1 npm test":                              "env CI=1 npm test {CI=1 npm test}",
		"env -i x":                                       "env -i x",
		"command -v go":                                  "command -v go",
		"exec go test":                                   "exec go test {go test}",
		"sh -c 'a | b'":                                  "sh -c \"a | b\" {a; b}",
		"sh -c \"f() { a; }\"":                           "sh -c \"f() { a; }\" {a; !a function}",
		"for f in a.go b.go; do go vet $f; done":         "go vet a.go; go vet b.go",
		"for f in *.go; do wc \"$f\"; done; cat $f":      "wc *.go; cat <?>",
		"for f in 'a b' '-x'; do cat $f \"$f\"; done":    "cat <?> \"a b\"; cat -x -x",
		"x=a; for f in b; do cat $x; x=$f; done":         "cat <?>",
		"x=1; y=a/b; cat $x ${y}z; cat \"$y\"$z":         "cat 1 a/bz; cat a/b<?>",
		"if a; then x=1; else b; fi; cat $x":             "a; b; cat <?>",
		"a && x=1; cat $x":                               "a; cat <?>",
		"a && x=1 && cat $x":                             "a; cat 1",
		"(x=1; cat $x); cat $x":                          "cat 1; cat <?>",
		"x=1 | cat; cat $x":                              "cat; cat <?>",
		"PATH=. ls":                                      "PATH=. ls",
		"PATH=.; ls":                                     "ls; !PATH is set, which programs may read",
		"x=$(git ls-files '*.go'); wc $x":                "git ls-files *.go; wc <n>",
		"wc -l $(git ls-files '*.go') $(date)":           "git ls-files *.go; date; wc -l <n> <o>",
		"echo $? $HOME \"$$\"":                           "echo 0<o> <?> 0<o>",
		"echo \"$PWD/x\"":                                "echo /work/x",
		"find . -name '*.go' | grep -v a | xargs wc":     "find . -name *.go; grep -v a; xargs wc {wc <n>}",
		"find . | head -2 other | xargs cat":             "find .; head -2 other; xargs cat {cat <o>}",
		"{ echo /etc/x; find .; } | xargs cat":           "echo /etc/x; find .; xargs cat {cat <o>}",
		"echo /etc/x && find . -name '*.py' | xargs cat": "echo /etc/x; find . -name *.py; xargs cat {cat <n>}",
		"ls *.md | xargs -I{} cp {} b/{}":                "ls *.md; xargs -I{} cp {} b/{} {cp <n> b/{}<o>}",
		"find . -name x -exec grep -l a {} +":            "find . -name x -exec grep -l a {} + {grep -l a <n>}",
		"find . -exec a {} \\; -exec b {} \\;":           "find . -exec a {} ; -exec b {} ;",
		"find . -name '*.c' | while IFS= read -r f; do cat \"$f\"; done": "find . -name *.c; read -r f; cat <n>",
		"while read f; do cat $f; done < list":                           " [<list]; read f; cat <o>",
		"git commit -m \"$(cat <<'EOF'\na $b\n\nc\nEOF\n)\"":             "cat [doc]; git commit -m <o>",
		"cat > a.txt <<EOF\n$x\nEOF":                                     "cat [>a.txt] [doc]; !a document with a part that is not known before it runs",
		"cat <<EOF\n$(rm x)\nEOF":                                        "rm x; cat [doc]",
		"a <<< \"$(b)\"":                                                 "b; a [doc]",
		"a $(b `c`) \"$(d)\"":                                            "c; b <o>; d; a <o> <o>",
		"case a in a*) b;; *) c $(d);; esac":                             "b; d; c <o>",
		"[[ -f a && -n $x ]] && a":                                       "a",
		"[[ $x -eq 1 ]]":                                                 "!a comparison in [[ ]] that shells read differently",
		"[[ -n $(a) ]]":                                                  "a",
		"while ! a; do sleep 1; done":                                    "a; sleep 1",
		"a &":                                                            "a; !a command in the background (&)",
		"f() { a; }; f":                                                  "a; f; !a function",
		"diff <(a) b":                                                    "a; diff <n> b",
		"echo ${x:-$(rm y)}":                                             "rm y; echo <?>; !an expansion that is not understood",
		"echo ${x:=a} ${!x} ${a[b]} $((1+x))":                            "echo <?> <?> <?> <?>; !an expansion that is not understood; !an expansion that is not understood; !an expansion that is not understood; !an expansion that is not understood",
		"echo ${x%.go}":                                                  "echo <?>",
		"$x a":                                                           "<?> a; !a command that is not known before it runs",
		"export CI=1; a":                                                 "a",
		"export X=1; a":                                                  "export X=1; a [after export]",
		"alias a=b; a":                                                   "alias a=b; a [after alias]",
		"while a; do source b; done":                                     "a [after source]; source b [after source]; !a loop that sets what is not known",
		"mkdir -p src/{a,b*}":                                            "mkdir -p src/{a,b*}",
		"a \\\n  b \"c\\\nd\"":                                           "a b cd",
		"set -euo pipefail; a":                                           "set -euo pipefail; a",
		"set -- a; b":                                                    "set -- a; b [after set]",
		"for x in; do a $x & done":                                       "a <?>; !a command in the background (&)",
		"for x; do a; done":                                              "a; !a loop over words that are not in the text",
		"for ((i=0;i<3;i++)); do a; done":                                "a; !a loop without a list",
		"for PATH in a; do b; done":                                      "b; !PATH is set, which programs may read",
		"a 3>&1":                                                         "a; !a redirection of another stream",
		"a >&b":                                                          "a [><?>]; !a redirection to another stream",
		"i=0; while [ $i -lt 3 ]; do a $i; i=$((i+1)); done": "[ 0<o> -lt 3 ]; a 0<o>",
		"i=0; i=a; b $((i+1))":                               "b <?>; !an expansion that is not understood",
		"time a":                                             "a",
		"a <b | (c; d) >e":                                   "a [<b];  [>e]; c; d",
		"":                                                   "!there is no command",
	} {
		got := shown(Read(text, "/work", func(string) bool { return true }))
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}
