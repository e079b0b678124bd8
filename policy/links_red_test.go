package policy_test

import (
	"path/filepath"
	"testing"

	"waggle/internal/fs/realpath"
	"waggle/internal/test/testenv"
	"waggle/policy"
)

// TestLinkedDirectoryIsLeft: cd through a link of the repository leaves the working directory, and
// no rule allows the commands behind it.
func TestLinkedDirectoryIsLeft(t *testing.T) {
	root := realTemp(t)
	testenv.Tree(t, root, linkTree...)
	cwd := filepath.Join(root, "proj")
	p := policy.Policy{Allow: policy.MustRules("Bash(cd:*)", "Bash(pushd:*)", "Bash(go test:*)", "Bash(git status:*)")}
	for text, want := range map[string]policy.Decision{
		"cd out && git status": ask, "cd abs; go test .": ask, "pushd out && git status": ask, "cd " + cwd + "/out && go test .": ask,
		"cd src && go test .": allow, "cd in && go test .": allow, "cd " + cwd + "/src && go test .": allow,
	} {
		c := bash(text)
		c.Cwd, c.Links = cwd, realpath.Disk{}
		if v := p.Judge(c); v.Decision != want {
			t.Errorf("%q: %+v, want %s", text, v, want)
		}
	}
}

// TestPlanReadsFollowLinks: the files that plan mode lets a shell text read are judged like Read,
// with links resolved.
func TestPlanReadsFollowLinks(t *testing.T) {
	root := realTemp(t)
	testenv.Tree(t, root, linkTree...)
	p := policy.Policy{Mode: policy.ModePlan, Deny: policy.MustRules("Read(secret/**)")}
	for text, want := range map[string]policy.Decision{
		"cat a.go": allow, "cat in/a.go": allow, "cat rc": ask, "cat out/.bashrc": ask, "cd out && cat .bashrc": ask, "grep -r x abs": ask, "cat secret/key": deny,
	} {
		c := bash(text)
		c.Cwd, c.Links = filepath.Join(root, "proj"), realpath.Disk{}
		if v := p.Judge(c); v.Decision == allow != (want == allow) {
			t.Errorf("%q: %+v, want %s", text, v, want)
		}
	}
}

// TestGuardedInOtherSpellings: names that Windows resolves to a guarded one.
func TestGuardedInOtherSpellings(t *testing.T) {
	p := policy.Policy{Mode: policy.ModeAcceptEdits, Allow: policy.MustRules("Edit(src/**)")}
	for _, file := range []string{".git /hooks/x", ".git./config", ".git::$INDEX_ALLOCATION/hooks/x", "GIT~1/hooks/x", "src/.git /x", "src/GIT~1/hooks/x", ".cargo/config.toml", ".yarnrc.yml"} {
		if v := p.Judge(fileCall("Edit", file, "/proj")); v.Decision == allow {
			t.Errorf("%q: %+v", file, v)
		}
	}
}
