package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"waggle/policy"
)

// risks checks the risk of shell texts.
func risks(t *testing.T, all map[policy.Risk][]string) {
	t.Helper()
	for want, texts := range all {
		for _, text := range texts {
			if got := policy.RiskOf(bash(text)); got != want {
				t.Errorf("%q is %s, want %s", text, got, want)
			}
		}
	}
}

func TestRiskOfShell(t *testing.T) {
	risks(t, map[policy.Risk][]string{
		policy.RiskLow: {
			"ls -la", "cat go.mod", "git status", "git log --oneline | head -5", "git diff", "git -C sub status", "git branch",
			"git remote -v", "git stash list", "git worktree list", "grep -r x .", "rg x && wc -l a", "echo hello", "pwd",
			"find . -name '*.go'", "go version", "go list ./...", "go env GOPATH", "cd sub && ls", "ls 2>/dev/null",
			"sed -n 1,5p a.txt", "sort a", "awk '{print $1}' a", "sh -c 'ls'", "/bin/ls", "true", "npm ls", "head -c 10 /etc/hosts",
			"python3 --version", "ls &", "for f in *.go; do cat $f; done", "x=a; cat $x",
		},
		policy.RiskMedium: {
			"go test ./...", "go build ./...", "go vet ./...", "make", "npm test", "npm run build", "cargo build", "git commit -m x", "git add -A",
			"git checkout -b x", "git merge dev", "git tag v1", "mkdir -p out", "touch a", "cp a b", "mv a b", "chmod +x a.sh", "chmod 0644 a",
			"echo x > out.txt", "ls >> log", "ls $HOME", "sed -i s/a/b/ x.go", "sort -o a a",
			"python3 -m pytest", "tee out.txt", "find . -exec cat {} +", "env CI=1 go test ./...", "timeout 60 go test ./...",
			"git stash", "go mod verify", "git rebase main",
		},
		policy.RiskHigh: {
			"rm -rf /", "rm x", "rm -r dir", "/bin/rm x", "git status && rm x", "echo $(rm x)", "f() { rm x; }; f", "xargs rm", "sh -c 'rm x'", "find . -delete", "find . -exec rm {} +",
			"git push", "git push --force", "git -C x push", "git reset --hard", "git reset --hard HEAD~1", "git clean -fdx", "git checkout -- .", "git branch -D x",
			"git stash drop", "git rebase -x make HEAD~2", "git -c core.pager=x log", "git restore a", "git fetch", "git clone x", "git remote add x y", "git config user.name x", "git tag -d v1",
			"dd if=a of=b", "mkfs.ext4 /dev/sda", "chmod -R 777 .", "chmod u+s x", "chmod 4755 x", "chown root x", "shutdown now", "reboot", "kill -9 1", "truncate -s 0 a",
			"sudo ls", "doas ls", "su -c ls", "curl http://x", "wget x", "ssh host", "nc -l 1", "npm install", "npm ci", "yarn", "pip install x", "python3 -m pip install x",
			"python3 -m http.server", "go get x", "go mod tidy", "go install x", "cargo install x", "docker run x", "kubectl get pods", "gh pr create", "apt-get update", "npx x",
			"curl x | sh", "echo ls | sh", "sh", "$X", "$(echo ls)", "eval ls", "source x", "python3 -c 'print(1)'", "python3", "echo 1 | python3 -", "perl -ne 'x' a", "node -e 1",
			"awk 'BEGIN{system(\"x\")}'", "echo x > /etc/passwd", "echo x > ../a", "echo x > ~/.bashrc", "echo x > $F", "cp a /usr/bin/x", "mv a ../b", "tee /etc/x", "mkdir /opt/x",
			"echo x > .git/hooks/pre-commit", "cp a .git/hooks/x", "ls 'unterminated", "ls $(", "", "# only a comment", "ls\r\nls", "ls\x00", "crontab x", "systemctl stop x", "terraform apply",
			"python3 script.py", "./run.sh", "./rm", "some-tool", "git log --output=x", "env X=1 go test ./...",
			"x=rm; x=ls & $x y", "x=/etc/passwd; x=out & echo hi > $x", "read PWD <<< /etc; echo x > $PWD/x", "y='path[$(touch a)]'; exit y",
			"y='path[$(touch a)]'; printf '%*s' y z", "y='path[$(touch a)]'; [ -t y ]", "for f in x*; do find $f; done", "for f in x*; do sort $f; done", "for f in .e*; do cat \"$f\"; done",
			"x=.e; cat $x*", "find . -name f {-delete,-print}", "sort {-o,f} a", "git log {--output=x,a}", "read -r GIT_PAGER <<< evil; git log", "cd .git; touch hooks/pre-commit",
			"find . -execdir rm {} +", "command -p -- rm x", "ls < CLAUDE.md > /dev/stdin", "timeout {5,rm} ls", "command $(echo 'rm y ')-- ls", "echo ${PIPESTATUS[0]:+$GITHUB_TOKEN}",
			"cp -t/etc x", "mktemp -p/etc", "tar xf a.tar -C /etc", "tar cf /etc/x.tar f", "patch -d /etc -p1 -i x", "git -C /etc add .", "make -C /etc", "npm test --prefix=/etc", "go run /etc/x.go", "pytest /etc/x",
			"git init /etc/x", "cp x \"$HOME/.bashrc\"", "cp x $(echo /etc/passwd)", "xxd -ps a b", "tree -Po x b",
			"go clean -cache", "ls > /dev/sda", "perl -e 1", "bun x y",
		},
	})
}

func TestRiskOfTools(t *testing.T) {
	for _, c := range []struct {
		tool, input string
		want        policy.Risk
	}{
		{"Read", `{"file_path":"a"}`, policy.RiskLow},
		{"Read", `{"file_path":"/etc/hosts"}`, policy.RiskLow},
		{"Glob", `{"pattern":"**"}`, policy.RiskLow},
		{"Grep", `{"pattern":"x"}`, policy.RiskLow},
		{"LS", `{"path":"/"}`, policy.RiskLow},
		{"TaskList", `{}`, policy.RiskLow},
		{"Edit", `{"file_path":"a"}`, policy.RiskMedium},
		{"Write", `{"file_path":"/work/api/x/y"}`, policy.RiskMedium},
		{"NotebookEdit", `{"notebook_path":"a.ipynb"}`, policy.RiskMedium},
		{"SendMessage", `{"to":"x"}`, policy.RiskMedium},
		{"TaskCreate", `{}`, policy.RiskMedium},
		{"ExitPlanMode", `{}`, policy.RiskMedium},
		{"Edit", `{"file_path":"/etc/hosts"}`, policy.RiskHigh},
		{"Edit", `{"file_path":"../x"}`, policy.RiskHigh},
		{"Edit", `{}`, policy.RiskHigh},
		{"Write", `{"file_path":".git/config"}`, policy.RiskHigh},
		{"Write", `{"file_path":"sub/.claude/settings.json"}`, policy.RiskHigh},
		{"WebFetch", `{"url":"https://x.org"}`, policy.RiskHigh},
		{"WebSearch", `{"query":"x"}`, policy.RiskHigh},
		{"mcp__gh__get", `{}`, policy.RiskHigh},
		{"SomethingNew", `{}`, policy.RiskHigh},
		{"Read", `{"file_path":"a","file_path":"b"}`, policy.RiskHigh},
		{"Bash", `{}`, policy.RiskHigh},
		{"Bash", `{"command":"ls","dangerouslyDisableSandbox":true}`, policy.RiskHigh},
	} {
		if got := policy.RiskOf(call(c.tool, c.input)); got != c.want {
			t.Errorf("%s %s is %s, want %s", c.tool, c.input, got, c.want)
		}
	}
	if r := policy.Risks(); strings.Join([]string{string(r[0]), string(r[1]), string(r[2])}, " ") != "low medium high" {
		t.Errorf("%v", r)
	}
}

// TestSuggestTo: what a policy lacks for a text is proposed, and nothing for what no rule of it changes.
func TestSuggestTo(t *testing.T) {
	p := policy.Policy{Mode: policy.ModeAcceptEdits, Allow: policy.MustRules("Bash(go build:*)"), Deny: policy.MustRules("Bash(git push:*)")}
	for text, want := range map[string]string{
		"go build ./... && go test ./... | tail -3": "[Bash(go build ./... && go test ./... | tail -3) Bash(go test ./...:*) Bash(go test:*)]",
		"go build ./... && git push":                "[]",
		"mkdir -p out && make all":                  "[Bash(mkdir -p out && make all) Bash(make all:*)]",
	} {
		if got := fmt.Sprint(p.Suggest(bash(text))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := (policy.Policy{Mode: policy.ModePlan}).Suggest(bash("go test ./...")); got != nil {
		t.Errorf("mode plan: %v", got)
	}
}

func TestSuggest(t *testing.T) {
	for _, c := range []struct {
		call policy.Call
		want string // joined by " | "
	}{
		{bash("go test ./..."), "Bash(go test ./...) | Bash(go test ./...:*) | Bash(go test:*)"},
		{bash("npm run test"), "Bash(npm run test) | Bash(npm run test:*)"},
		{bash("npm test"), "Bash(npm test)"},
		{bash("git commit -m 'a b'"), "Bash(git commit -m 'a b') | Bash(git commit -m:*) | Bash(git commit:*)"},
		{bash("make"), "Bash(make)"},
		{bash("ls -la"), "Bash(ls -la) | Bash(ls -la:*) | Bash(ls:*)"},
		{bash("rm -rf build"), "Bash(rm -rf build)"},
		{bash("git push origin"), "Bash(git push origin)"},
		{bash("sudo ls"), "Bash(sudo ls)"},
		{bash("timeout 5 go test ./..."), "Bash(timeout 5 go test ./...) | Bash(go test ./...:*) | Bash(go test:*)"},
		{bash("cd pkg && CI=1 go test ./... 2>&1 | tail -20"), "Bash(cd pkg && CI=1 go test ./... 2>&1 | tail -20) | Bash(go test ./...:*) | Bash(go test:*)"},
		{bash("for f in a b; do go vet $f; done"), "Bash(for f in a b; do go vet $f; done) | Bash(go vet:*)"},
		{bash("go vet ./a && go vet ./b"), "Bash(go vet ./a && go vet ./b) | Bash(go vet:*)"},
		{bash("git commit -m \"$(cat a)\""), "Bash(git commit -m \"$(cat a)\") | Bash(git commit -m:*) | Bash(git commit:*)"},
		{bash("go test ./... && frobnicate"), "Bash(go test ./... && frobnicate)"},
		{bash("git -C sub add x"), "Bash(git -C sub add x)"},
		{bash("mvn -q test"), "Bash(mvn -q test)"},
		{bash("docker compose ps"), "Bash(docker compose ps) | Bash(docker compose ps:*)"},
		{bash("git rebase --continue"), "Bash(git rebase --continue)"},
		{bash("sort -o out f"), "Bash(sort -o out f)"},
		{bash("chmod +x f"), "Bash(chmod +x f)"},
		{bash("cp a b"), "Bash(cp a b)"},
		{bash("git config --get x"), "Bash(git config --get x)"},
		{bash("pytest -q"), "Bash(pytest -q) | Bash(pytest -q:*) | Bash(pytest:*)"},
		{bash("f() { go test; }; f"), "Bash(f() { go test; }; f)"},
		{bash("python3 x.py"), "Bash(python3 x.py)"},
		{bash("go vet && go test"), "Bash(go vet && go test)"},
		{bash("ls *.go"), ""},
		{bash("ls $X"), "Bash(ls $X)"},
		{bash("ls 'x"), ""},
		{bash("ls\r"), ""},
		{call("Edit", `{"file_path":"src/a.go"}`), "Edit(src/a.go) | Edit(src/**)"},
		{call("Edit", `{"file_path":"/work/api/src/[id].ts"}`), `Edit(src/\[id\].ts) | Edit(src/**)`},
		{call("Edit", `{"file_path":"a.go"}`), "Edit(a.go)"},
		{call("Edit", `{"file_path":"/etc/hosts"}`), "Edit(/etc/hosts)"},
		{call("Write", `{"file_path":".git/config"}`), "Write(.git/config)"},
		{call("Read", `{"file_path":"/etc/ssl/x"}`), "Read(/etc/ssl/x) | Read(/etc/ssl/**)"},
		{call("Read", `{"file_path":"~/x"}`), ""},
		{call("Read", `{}`), ""},
		{call("WebFetch", `{"url":"https://x.org/a"}`), "WebFetch(domain:x.org)"},
		{call("WebFetch", `{"url":"nope"}`), ""},
		{call("mcp__gh__get", `{}`), "mcp__gh__get"},
		{call("ExitPlanMode", `{}`), ""},
		{call("Bash", `{}`), ""},
	} {
		var got []string
		for _, r := range policy.Suggest(c.call) {
			got = append(got, r.String())
			if v := (policy.Policy{Allow: []policy.Rule{r}}).Judge(c.call); v.Decision != allow {
				t.Errorf("%s: %s does not allow it: %+v", c.call.Input, r, v)
			}
		}
		if s := strings.Join(got, " | "); s != c.want {
			t.Errorf("%s: %s, want %s", c.call.Input, s, c.want)
		}
	}
}
