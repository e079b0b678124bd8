package policy_test

import (
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/fs/realpath"
	"waggle/internal/test/testenv"
	"waggle/policy"
)

// TestRemoves: where files below the directory may be edited, they may be moved and removed one by one; what lies
// below a directory, what is guarded and what lies elsewhere asks.
func TestRemoves(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.go", "b.txt", "src/x.go", "src/y.o", "src/CLAUDE.md", "build/app", ".gitattributes"} {
		testenv.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		testenv.Must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "out")); err != nil {
		t.Skip(err)
	}
	for text, want := range map[string]policy.Decision{
		"rm a.go":                             allow,
		"rm -f build/app && ls":               allow,
		"rm -v -- b.txt":                      allow,
		"rmdir build":                         allow,
		"unlink a.go":                         allow,
		"git mv a.go src/z.go && git status":  allow,
		"git rm -q a.go":                      allow,
		"mv a.go . && mv a.go c.go":           allow,
		"mv a.go c.go":                        allow,
		"mv -n a.go b.txt src/":               allow,
		"for f in a.go b.txt; do rm $f; done": allow,

		"rm -r build":                        ask,
		"rm -rf build":                       ask,
		"rm -fr build":                       ask,
		"rm --recursive build":               ask,
		"rm .gitattributes":                  ask,
		"rm src/CLAUDE.md":                   ask,
		"rm src/CLAUDE*":                     ask,
		"rm .git*":                           ask,
		"rm *":                               ask,
		"rm src/*.o":                         ask,
		"rm ../x":                            ask,
		"rm /tmp/x":                          ask,
		"rm out/hosts":                       ask,
		"rm ~/x":                             ask,
		"rm $X":                              ask,
		"rm $(cat b.txt)":                    ask,
		"rmdir -p build/x":                   ask,
		"mv src lib":                         ask,
		"mv .git x.go":                       ask,
		"mv a.go .github":                    ask,
		"mv a.go .git/hooks/x.go":            ask,
		"mv a.go src/CLAUDE.md":              ask,
		"git mv a.go .github/workflows/x.go": ask,
		"git mv src lib":                     ask,
		"git rm -r src":                      ask,
		"git rm '*.go'":                      ask,
		"git -C .. mv a.go b.go":             ask,
		"./git mv a.go b.go":                 ask,
		"mv a.go k.go && echo x > k.go":      ask,
		"mv a.go src; cat src/x.go":          ask,
		"mv a.go ../x.go":                    ask,
		"mv -t src a.go":                     ask,
		"mv --backup a.go b.txt":             ask,
		"mv out/hosts.txt a.go":              ask,
		"mv a.go out":                        ask,
		"xargs rm < b.txt":                   ask,
		"find . -name '*.o' -delete":         ask,
		"truncate -s 0 a.go":                 ask,
		"shred a.go":                         ask,
		"chmod +x a.go":                      ask,
	} {
		c := bash(text)
		c.Cwd, c.Links = dir, realpath.Disk{}
		if v := (policy.Policy{Mode: policy.ModeAcceptEdits}).Judge(c); v.Decision != want {
			t.Errorf("%s: %s by %s: %s", text, v.Decision, v.Rule, v.Why)
		}
		for _, m := range []policy.Mode{policy.ModeDefault, policy.ModePlan, policy.ModeSafe} {
			if v := (policy.Policy{Mode: m}).Judge(c); v.Decision == allow {
				t.Errorf("mode %s, %s: %s", m, text, v.Rule)
			}
		}
		denied := policy.Policy{Mode: policy.ModeAcceptEdits, Deny: policy.MustRules("Write(a.go)", "Write(build/**)", "Write(src/**)", "Write(b.txt)")}
		if v := denied.Judge(c); v.Decision == allow {
			t.Errorf("denied files, %s: %s", text, v.Rule)
		}
	}
}

// TestRiskInOwnTree: removing and installing is medium in a tree of the member's own, where it stays inside; elsewhere it
// is high.
func TestRiskInOwnTree(t *testing.T) {
	for text, want := range map[string]policy.Risk{
		"rm build/x":                        policy.RiskMedium,
		"rm -rf build node_modules && make": policy.RiskMedium,
		"rmdir build":                       policy.RiskMedium,
		"npm install":                       policy.RiskMedium,
		"npm install -D vitest @types/node": policy.RiskMedium,
		"npm ci --no-audit":                 policy.RiskMedium,
		"npm install three.js lodash@4.17":  policy.RiskMedium,
		"pnpm install --frozen-lockfile":    policy.RiskMedium,

		"rm -rf .":                       policy.RiskHigh,
		"rm -rf ./":                      policy.RiskHigh,
		"rm -rf src/..":                  policy.RiskHigh,
		"rm -rf ../x":                    policy.RiskHigh,
		"rm -rf /tmp/x":                  policy.RiskHigh,
		"rm -rf .git":                    policy.RiskHigh,
		"rm -rf *":                       policy.RiskHigh,
		"rm -rf $X":                      policy.RiskHigh,
		"rm":                             policy.RiskHigh,
		"cd .. && rm -rf build":          policy.RiskHigh,
		"npm install -g x":               policy.RiskHigh,
		"npm install --prefix /usr x":    policy.RiskHigh,
		"npm install git+ssh://x/y":      policy.RiskHigh,
		"npm install ../x":               policy.RiskHigh,
		"npm publish":                    policy.RiskHigh,
		"pip install x":                  policy.RiskHigh,
		"npm install @x/y@git+ssh://e/y": policy.RiskHigh,
		"npm install @/../../evil":       policy.RiskHigh,
		"npm install evil.tgz":           policy.RiskHigh,
		"npm install ..":                 policy.RiskHigh,
		"./npm install":                  policy.RiskHigh,
		"sub/rm -rf build":               policy.RiskHigh,
		"rm -rf /work/api":               policy.RiskHigh,
		"rm -rf .github":                 policy.RiskHigh,
		"git push":                       policy.RiskHigh,
		"rm -rf build; git push --force": policy.RiskHigh,
		"chmod -R 777 build":             policy.RiskHigh,
	} {
		c := bash(text)
		if policy.RiskOf(c) != policy.RiskHigh {
			t.Errorf("%s is no high risk in a checkout that others have", text)
		}
		c.OwnTree = true
		if got := policy.RiskOf(c); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestMovesWhole: a directory that is moved takes with it what a rule denies, also where its name looks like a file's.
func TestMovesWhole(t *testing.T) {
	for _, deny := range []string{"Read(three.js/in.txt)", "Write(three.js/in.txt)", "Edit(three.js/**)"} {
		p := policy.Policy{Mode: policy.ModeAcceptEdits, Allow: policy.MustRules("Bash(mv:*)", "Bash(git mv:*)", "Bash(cp:*)"), Deny: policy.MustRules(deny)}
		for _, text := range []string{"mv three.js four.js", "git mv three.js four.js", "mv three.js x && cat x/in.txt"} {
			if v := p.Judge(bash(text)); v.Decision == allow {
				t.Errorf("deny %s, %s: %s", deny, text, v.Rule)
			}
		}
		for _, text := range []string{"mv a.go b.go", "git mv src/a.go b.go", "cp a.go b.go"} {
			if v := p.Judge(bash(text)); v.Decision != allow {
				t.Errorf("deny %s, %s: %s", deny, text, v.Why)
			}
		}
	}
	guarded := policy.Policy{Mode: policy.ModeAcceptEdits, Allow: policy.MustRules("Bash(git mv:*)", "Bash(cp:*)", "Bash(mkdir:*)", "Bash(cp a .git/hooks/x)")}
	judges(t, guarded, map[string]policy.Decision{
		"git mv b.txt .github/workflows/x.yml": ask, "git mv gh .github": ask, "cp b.txt CLAUDE.md": ask, "mkdir .git": ask, "cp -r hooks .husky": ask,
		"git mv b dir": allow, "cp -r a b": allow, "cp a .git/hooks/x": allow,
	})
}
