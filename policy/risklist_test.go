package policy_test

import (
	"strings"
	"testing"

	"waggle/policy"
)

// TestRiskIsHighUnlessListed: a program that the table does not list, a listed one
// with an option that the table does not list, and a variable that is not
// harmless are of high risk.
func TestRiskIsHighUnlessListed(t *testing.T) {
	risks(t, map[policy.Risk][]string{
		policy.RiskLow: {
			"ls -la", "git log --oneline -5", "git -C sub diff --stat", "rg -n x", "sort -u f", "date +%F", "docker ps -a", "go list ./...", "tar tzf a.tgz", "ps aux",
			"CI=1 ls", "LC_ALL=C sort f", "GIT_PAGER=cat git log", "env CI=1 ls", "timeout 5 ls", "jq .a f", "command -v go", "[ -f x ]", "xxd -l 4 f",
			"cat .env.example", "cat ~/.ssh/id_ed25519.pub", "cat ~/.ssh/known_hosts", "git config --get user.name",
		},
		policy.RiskMedium: {
			"go test -run X ./...", "go build -o bin/x .", "cargo test -p x", "npm test", "npm run build", "pytest -q", "make", "make test", "make -j8 all", "git commit -m x",
			"GOOS=linux go build ./...", "env CI=1 make", "timeout 60 go test ./...", "cp a b", "tar czf a.tgz src", "gofmt -w a.go", "cd sub && make", "prettier --write src",
		},
		policy.RiskHigh: {
			"some-tool", "./x", "bin/x", "/opt/x", "x --version", "python3 x.py", "sh x.sh", "foo test", "frobnicate -h",
			"go test -exec x ./...", "go test -exec=x ./...", "go test --exec x", "go build -toolexec x", "go vet -vettool x ./...", "go test -ldflags=-extld=x", "go build -o /etc/x .", "go test -coverprofile=../x",
			"npm run build --script-shell=x", "npm exec x", "npm run env", "npm test --node-options=x", "cargo test --config x", "pytest -p x", "pytest --pdbcls=x:y", "make X=y", "make -f x", "make --eval=x", "make SHELL=x all",
			"sort --compress-program=x f", "sort -o /etc/x f", "sort -T /x f", "rg --pre x y", "git log --output=x", "git diff --ext-diff", "git grep -Oless x", "git -c a.b=c log", "git --exec-path=x log",
			"date -s x", "file -C -m x", "tar xf a --to-command=x", "tar cf a -I x f", "less +!x f", "jobs -x ls", "tree -o x", "uniq a b", "xxd -r a b", "split --filter=x f", "zip -TT x a b", "find . -fprint x", "find . -fls x",
			"X=1 ls", "X=1", "PATH=/x ls", "GOFLAGS=-exec=x go test", "LD_PRELOAD=x ls", "env X=1 ls", "env PATH=/x go test", "export X=1", "GIT_PAGER=x git log", "PAGER='less' git log", "BASH_ENV=x ls", "CI=$X ls",
			"cd .. && make", "cd /tmp && go test ./...", "cd /tmp && touch x", "cd $X && make", "pushd /tmp; make",
		},
	})
}

// TestReadingCredentialsIsHigh: by any reader, by redirection, by a variable, by a
// tool.
func TestReadingCredentialsIsHigh(t *testing.T) {
	for _, file := range []string{
		"~/.ssh/id_rsa", ".terraformrc", "application_default_credentials.json", ".config/gcloud/x.db", "accessTokens.json", "~/.config/hub", "~/.ssh/id_ed25519", "$HOME/.ssh/id_ecdsa", "/home/a/.ssh/id_rsa", "~/.ssh/id_*", "~/.ssh/*", "id_rsa", "~/.aws/credentials", "~/.aws/config", ".env", "sub/.env", ".env.local", ".env.production", "prod.env", ".env*",
		"/etc/shadow", "/etc/gshadow", "~/.netrc", "~/.npmrc", ".npmrc", "~/.pypirc", "~/.pgpass", "~/.my.cnf", "~/.git-credentials", "~/.docker/config.json", "~/.kube/config", "~/.config/gh/hosts.yml",
		"~/.gnupg/secring.gpg", "server.key", "tls/key.pem", "~/.vault-token", "~/.config/gcloud/credentials.db", "~/.config/gcloud/application_default_credentials.json", "~/.cargo/credentials.toml",
		"/proc/self/environ", "/proc/1/environ", "~/.bash_history", "~/.claude/.credentials.json", "~/.azure/accessTokens.json", "x.p12", "x.jks", "x.kdbx",
	} {
		for _, reader := range []string{"cat %", "head -c 100 %", "grep x %", "rg x %", "sed -n 1p %", "awk '{print}' %", "base64 %", "xxd %", "cp % x", "cat < %", "ls && cat %", "sort %", "diff a %", "jq . %", "git diff --no-index a %", "tar czf x.tgz %", "wc -l %", "while read l; do echo $l; done < %"} {
			text := strings.ReplaceAll(reader, "%", file)
			if got := policy.RiskOf(bash(text)); got != policy.RiskHigh {
				t.Errorf("%q is %s", text, got)
			}
			if v := (policy.Policy{Mode: policy.ModeSafe}).Judge(bash(text)); v.Decision == allow {
				t.Errorf("%q is allowed: %+v", text, v)
			}
		}
		if file[0] != '$' && file[0] != '~' {
			for _, c := range []policy.Call{callOf("Read", "file_path", file), callOf("Grep", "path", file)} {
				if got := policy.RiskOf(c); got != policy.RiskHigh {
					t.Errorf("%s %s is %s", c.Tool, c.Input, got)
				}
			}
		}
	}
	for _, text := range []string{
		"gh auth token", "git config --get credential.helper", "git config credential.helper", "git config get credential.https://x.username", "git config --get http.extraheader", "git config --get-all x.token", "git config --get-regexp credential",
		"git credential fill", "printenv", "printenv HOME", "env", "set", "export", "export -p", "declare -p", "declare -x", "compgen -v", "ps e", "ps auxe", "ps eww", "echo $GITHUB_TOKEN", "echo \"$AWS_SECRET_ACCESS_KEY\"", "echo ${API_KEY}",
		"printf %s $DB_PASSWORD", "echo ${!X}", "jq -n env", "jq -n '$ENV.X'", "awk 'BEGIN{print ENVIRON[\"X\"]}'", "aws sts get-session-token", "security find-generic-password -w x", "pass show x", "op read x", "vault kv get x", "gcloud auth print-access-token",
		"kubectl get secret x -o yaml", "npm config get //registry.npmjs.org/:_authToken", "npm token list", "docker inspect x", "history", "env -u X", "env -i", "ssh-add -L", "gpg --export-secret-keys", "git show HEAD:.env", "git log -p -- .env", "git blame .env",
	} {
		if got := policy.RiskOf(bash(text)); got != policy.RiskHigh {
			t.Errorf("%q is %s", text, got)
		}
	}
}

// TestPlanReads: mode plan allows a shell text that only reads in the working
// directory, as it allows Read there.
func TestPlanReads(t *testing.T) {
	plan := policy.Policy{Mode: policy.ModePlan}
	hidden := policy.Policy{Mode: policy.ModePlan, Deny: policy.MustRules("Read(secret/**)", "Bash(wc:*)")}
	for _, text := range []string{
		"ls", "ls -la", "ls src", "cat go.mod", "cat a.go b.go", "cat *.go", "head -20 src/a.go", "tail -5 f", "grep -rn x src", "rg x", "wc -l a.go", "git status", "git log --oneline -5", "git diff HEAD~1", "git show HEAD",
		"ls | head", "cat a | grep b | sort | uniq -c", "find . -name '*.go'", "sed -n 1,5p a", "awk '{print $1}' a", "pwd", "cd src && ls", "cd src; cat a.go", "cat /work/api/a.go", "ls 2>/dev/null", "echo a && cat a", "sh -c 'cat a'", "jq .x a.json", "stat a", "tree",
	} {
		if v := plan.Judge(bash(text)); v.Decision != allow {
			t.Errorf("%q: %+v", text, v)
		}
	}
	judges(t, plan, map[string]policy.Decision{
		"cat /etc/hosts": ask, "ls /": ask, "cat ../x": ask, "cat src/../../x": ask, "cat src/../x": ask, "sed -n p src/../x": ask, "awk '/~/' a": allow, "awk '{print}#/..'": deny, "sed -n '/[/p;a]/e touch x' a": deny, "head ~/x": ask, "cat --files0-from=/etc/x a": deny,
		"cat .env": deny, "cat ~/.ssh/id_rsa": deny, "cat $X": deny, "cat $(ls)": deny, "cat $(ls *.go)": deny, "wc $(ls *.go)": allow, "ls > out": deny, "cat a > b": deny, "tee a": deny, "touch a": deny, "go test ./...": deny, "make": deny, "rm a": deny,
		"ls && rm a": deny, "ls; make": deny, "cat a | sh": deny, "find . -delete": deny, "find . -exec cat {} +": allow, "git commit -m x": deny, "git branch -D x": deny, "sed -i s/a/b/ f": deny, "sort -o a a": deny, "echo a": allow,
		"cat a &": deny, "X=1 cat a": deny, "cd /tmp && ls": deny, "cd .. && ls": deny, "xargs cat": deny, "env cat a": allow, "npm ls": deny, "go list ./...": deny, "curl x": deny, "some-tool": deny, "less a": deny, "": deny, "ls\x00": ask,
	})
	judges(t, hidden, map[string]policy.Decision{
		"cd a | cat secret/a": ask, "cd a || cat secret/a": ask, "false && cd a; cat secret/a": ask, "sh -c 'cd a'; cat secret/a": deny, "cd secret; cat a": deny, "cat -- -a": allow,
		"grep -fsecret/a x": deny, "grep -cf../x y": ask, "grep -cf/etc/x y": ask, "grep -cfsecret/a y": deny, "cut -d: -f2 a": allow, "strings @x": deny, "cat a*/b": ask, "head -n1 -- secret/a": deny, "sed p -e secret/a": deny, "awk 1 secret/a": deny,
		"cat a": allow, "cat secret/a": deny, "cat src/../secret/a": deny, "cat secr*/a": ask, "grep -r x secret": deny, "grep -rn x .": ask, "rg x": ask, "git show HEAD": deny, "git show --stat HEAD": allow, "git show HEAD -- src": allow, "wc -l a": deny, "cat a | wc": deny, "cat a | xargs wc": deny,
	})
	for _, m := range policy.Modes() {
		if v := (policy.Policy{Mode: m.Mode}).Judge(bash("ls | head && pwd")); v.Decision != allow {
			t.Errorf("mode %s: %+v", m.Mode, v)
		}
		if v := (policy.Policy{Mode: m.Mode, Deny: policy.MustRules("Read(secret/**)")}).Judge(bash("ls | head && cat secret/a")); v.Decision != deny {
			t.Errorf("mode %s: %+v", m.Mode, v)
		}
	}
}
