//go:build unix

package policy_test

import (
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/policy"
)

// What texts are put together of: A and B are other texts, evil is a program that leaves a mark.
var (
	simpleTexts = []string{"ls", "ls -la", "cat a", "cat *", "cat -- *", "head -1 a b", "grep -rn x .", "grep x a", "grep -l x *", "find . -name a", "find . -type f", "find . -print0", "ls *.go", "git ls-files",
		"sort a", "sort *", "wc -l a", "wc *", "echo hi", "echo *", "printf '%s\\n' a", "sed -n 1p a", "sed p *", "awk '{print $1}' a", "cut -d: -f1 a", "cat", "tee", "tee n", "sort", "uniq", "head -2", "tr a b",
		"xargs", "xargs cat", "xargs -0 cat", "xargs -I{} cat {}", "xargs -I{} {} a", "xargs evil", "xargs -n1", "xargs env", "read -r f", "read f", "true", "cd d", "cd ..", "cd", "pwd", "test -f a", "[ -f a ]",
		"[[ -f a ]]", "[ -n \"$f\" ]", "rm a", "evil", "make", "cat ../secret", "cat ../e", "cat $f", "cat \"$f\"", "cat ${f}", "cat ${f:-../secret}", "cat $f$g", "$f", "$f a", "eval $f", "eval \"$f\"",
		"cp a n", "cp ../secret n", "cp a ../n", "mv a n", "mv a ../n", "mkdir n", "touch n ../n", "ln -s ../secret n", "date", "env cat a", "env f=evil cat a", "timeout 5 cat a", "timeout 5 evil", "command cat a", "command evil",
		"exec cat a", "exec evil", "sh -c 'cat a'", "sh -c 'evil'", "sh -c \"cat $f\"", "sh -c $f", "bash -c '$0' evil", "find . -exec cat {} +", "find . -exec evil {} \\;", "find . -name a -exec sh -c '{}' \\;",
		"find . -delete", "diff a b", "x=evil", "f=../secret", "f=evil", "f=a", "f='a b'", "f=*", "f='$(evil)'", "g=../", "IFS=x", "PATH=.", "set -e", "set -- evil", "export CI=1", "export f=evil", "alias cat=evil",
		"cat() { evil; }", "trap evil EXIT", "source a", ". ./a", "wait", "stat a", "file a", "jq . a", "od -c a", "tail -n +1 a", "nl a", "gofmt -l .", "gofmt -w .", "which evil", "type cat", "basename a", "seq 3",
		"echo evil", "echo ../secret", "printf ../secret", "cat e", "cat < a", "cat < ../secret", "cat <> n", "cat > n", "echo x >> n", "echo x > ../n", "echo x > $f", "cat 2>&1", "cat &> n", "cat >| n", "cat <<< evil",
		"rm x.go", "rm -f a", "rm ../secret", "rm $f", "rm \"$f\"", "rm *", "rm -- ../e", "rmdir d", "unlink b", "xargs rm", "mv x.go y.go", "mv x.go ..", "mv x.go ../x.go", "mv ../secret x.go", "mv x.go $f", "mv *.go d", "rm -r ../work"}
	structures = []string{"A; B", "A\nB", "A && B", "A || B", "A | B", "A | B | xargs cat", "A | xargs B", "(A)", "{ A; }", "! A", "A &", "if A; then B; fi", "if A; then B; else A; fi; B", "while read -r f; do A; done",
		"A | while read -r f; do B; done", "A | while IFS= read -r f; do cat \"$f\"; done", "for f in a b; do A; done", "for f in *; do A; done", "for f in $(A); do B; done", "for f in a evil ../secret; do A; B; done",
		"for f in a; do A; f=../secret; done; B", "until A; do B; break; done", "echo $(A)", "echo \"$(A)\"", "echo `A`", "cat $(A)", "cat \"$(A)\"", "$(A)", "x=$(A); B", "f=$(A); cat $f", "cat <(A)", "cat <<EOF\n$(A)\nEOF",
		"cat <<'EOF'\n$(A)\nEOF", "cat <<EOF | B\n$f\nEOF", "A # B", "A \\\n; B", "case $f in a) A;; *) B;; esac", "A 2>&1", "A > /dev/null", "A > n", "A < a", "time A", "CI=1 A", "f=evil A", "sh -c 'A'", "env A", "timeout 5 A",
		"command A", "find . -exec A {} +", "xargs A < a", "f=a; A; f=../secret; B", "A && f=../secret; B", "(f=../secret; A); B", "f() { A; }; f", "cd d && A", "(cd d; A); B", "[[ $(A) ]] && B", "echo ${f:-$(A)}", "echo $((A))",
		"{ A; B; } | xargs cat", "A | tee n | B", "exec 3< a; A", "A <&3", "shopt -s dotglob; A", "echo {a,b}; A", "A;;", "'A'", "\"A\"", "A $f", "A \"$f\"", "A *", "A ../secret"}
)

// composed is a text of some depth.
func composed(random *rand.Rand, depth int) string {
	if depth == 0 || random.IntN(5) == 0 {
		return simpleTexts[random.IntN(len(simpleTexts))]
	}
	var b strings.Builder
	for _, r := range structures[random.IntN(len(structures))] {
		if r == 'A' || r == 'B' {
			b.WriteString(composed(random, depth-1))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// TestWhatIsAllowedRuns puts texts together and runs those that are allowed without a rule, in a tree of their own: no
// program runs but those that read and print, nothing outside is read or written, and nothing at all is written where the
// mode does not let Write write.
func TestWhatIsAllowedRuns(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	dir := t.TempDir()
	work, mark := filepath.Join(dir, "work"), filepath.Join(dir, "mark")
	tree := map[string]string{"secret": "the secret\n", "e": "the secret of another place\n", "work/a": "x evil\n../secret\nevil\n$(evil)\n", "work/b": "a\nb\n", "work/d/a": "x d\n", "work/x.go": "package x\n",
		"work/a b": "a b\n", "work/evil x": "x\n", "work/-n": "x\n", "work/e": "evil\n"}
	fill := func() {
		for name, text := range tree {
			writeFile(t, filepath.Join(dir, name), text, 0o644)
		}
		for _, name := range []string{"evil", "make", "curl", "python3", "node", "ssh", "n"} {
			writeFile(t, filepath.Join(dir, "bin", name), "#!/bin/sh\necho \"$0 $*\" >>'"+mark+"'\n", 0o755)
		}
	}
	fill()
	env := []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
	random := rand.New(rand.NewPCG(testenv.Seed(t), 7))
	for _, mode := range []policy.Mode{policy.ModePlan, policy.ModeAcceptEdits} {
		ran, tries := 0, 0
		for ran < testenv.Sizes(20, 60, 4000) && tries < 2_000_000 {
			tries++
			text := composed(random, 1+random.IntN(3))
			raw, err := json.Marshal(map[string]string{"command": text})
			testenv.Must(t, err)
			if (policy.Policy{Mode: mode}).Judge(policy.Call{Tool: "Bash", Input: raw, Cwd: work}).Decision != policy.Allow {
				continue
			}
			ran++
			out, _ := runScratch(work, env, text) // a text that fails may do harm before
			if strings.Contains(out, "the secret") {
				t.Fatalf("mode %s allows %q, which reads outside: %s", mode, text, out)
			}
			if said, err := os.ReadFile(mark); err == nil {
				t.Fatalf("mode %s allows %q, which runs %s", mode, text, said)
			}
			if changed := changes(t, dir, tree, mode == policy.ModeAcceptEdits); changed != "" {
				t.Fatalf("mode %s allows %q, which changes %s", mode, text, changed)
			}
			if mode == policy.ModeAcceptEdits {
				testenv.Must(t, os.RemoveAll(work))
				fill()
			}
		}
		testenv.Measured(t, "mode %s: of %d texts %d are allowed and ran", mode, tries, ran)
	}
}

// changes names a file that differs from the tree; below the working directory too, unless it may be edited.
func changes(t *testing.T, dir string, tree map[string]string, edits bool) (changed string) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil || strings.HasPrefix(name, "bin/") || edits && strings.HasPrefix(name, "work/") {
			return err
		}
		text, err := os.ReadFile(file)
		if want, ok := tree[name]; !ok || string(text) != want {
			changed = name
		}
		seen++
		return err
	})
	testenv.Must(t, err)
	outside := 0
	for name := range tree {
		if !strings.HasPrefix(name, "work/") {
			outside++
		}
	}
	if changed == "" && (seen != len(tree) && !edits || edits && seen != outside) {
		return "the tree: a file is gone"
	}
	return changed
}
