package policy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"waggle/internal/fs/realpath"
	"waggle/internal/test/testenv"
	"waggle/policy"
)

func realTemp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	return dir
}

func fileCall(tool, file, cwd string) policy.Call {
	raw, err := json.Marshal(map[string]string{"file_path": file})
	if err != nil {
		panic(err)
	}
	return policy.Call{Tool: tool, Input: raw, Cwd: cwd}
}

var linkTree = []string{
	"proj/a.go", "proj/src/a.go", "proj/src/deep/b.go", "proj/.git/hooks/", "proj/.git/config", "proj/secret/key", "proj/.github/workflows/ci.yml",
	"home/.bashrc", "home/.ssh/id", "home/notes/n.md", "home/proj2/a.go", "rtmp/x/a.go", "lib/a.go", "teams/t.yml",
	// Links that a repository can contain.
	"proj/file -> a.go", "proj/in -> src", "proj/rc -> ../home/.bashrc", "proj/out -> ../home", "proj/abs -> {T}/home/notes",
	"proj/hooks -> .git/hooks", "proj/ci -> .github/workflows", "proj/loop -> pool", "proj/pool -> loop", "proj/chain -> chain2", "proj/chain2 -> out",
	"proj/new -> ../home/new", "proj/newin -> src/new", "proj/door -> secret", "proj/src/up -> ..", "proj/team -> ../teams/t.yml", "proj/~ -> ../home",
	"proj/self -> ../linkproj", "proj/dot -> .", "proj/deny -> secret/key",
	// Links of the machine.
	"linkproj -> proj", "linkhome -> home", "linktmp -> rtmp", "linkup -> .", "home/link2 -> proj2",
}

type pathCase struct {
	name, cwd, path string
	allow           string // a rule beside mode acceptEdits; "" for none
	deny            string // a rule beside mode bypassPermissions
	allowed, denied policy.Decision
}

// pathCases: cwd, path and rules are below the root of linkTree where they say {T}.
var pathCases = []pathCase{
	// A tree without links.
	{"plain", "{T}/proj", "a.go", "", "Write(src/**)", allow, allow},
	{"plain, denied", "{T}/proj", "src/a.go", "", "Write(src/**)", allow, deny},
	{"new file", "{T}/proj", "src/none/x", "", "Write(src/none/*)", allow, deny},
	{"outside", "{T}/proj", "{T}/home/x", "", "Write({T}/home/**)", ask, deny},
	{"outside with a rule", "{T}/proj", "{T}/lib/a.go", "Write({T}/lib/**)", "Write(../lib/**)", allow, deny},
	{"git hook", "{T}/proj", ".git/hooks/pre-commit", "Write(**)", "Write(**/hooks/*)", ask, deny},
	{"workflow", "{T}/proj", ".github/workflows/ci.yml", "Write(**)", "Write(.github/**)", ask, deny},
	{"workflow that is spelled out", "{T}/proj", ".github/workflows/ci.yml", "Write(.github/workflows/*)", "Write(*)", allow, allow},
	{"team file by its path", "{T}/proj", "{T}/teams/t.yml", "Write({T}/teams/*)", "Write({T}/teams/t.yml)", ask, deny},
	{"team file that is spelled out", "{T}/proj", "{T}/teams/t.yml", "Write({T}/teams/t.yml)", "Write({T}/proj/**)", allow, allow},
	// Links of the repository.
	{"link to a file inside", "{T}/proj", "file", "", "Write(a.go)", allow, deny},
	{"link to a directory inside", "{T}/proj", "in/a.go", "", "Write(src/**)", allow, deny},
	{"link inside, denied by its own name", "{T}/proj", "in/a.go", "", "Write(in/**)", allow, deny},
	{"the file behind a denied link", "{T}/proj", "src/a.go", "", "Write(in/**)", allow, deny},
	{"link inside, new file", "{T}/proj", "in/x/y", "", "Write(src/x/*)", allow, deny},
	{"link to .bashrc", "{T}/proj", "rc", "", "Write({T}/home/**)", ask, deny},
	{"link to .bashrc with a rule for it", "{T}/proj", "rc", "Write(rc)", "Write(/**/.bashrc)", ask, deny},
	{"link to home", "{T}/proj", "out/.bashrc", "", "Write({T}/home/.bashrc)", ask, deny},
	{"link to home with a rule for it", "{T}/proj", "out/x", "Write(out/**)", "Write({T}/home/*)", ask, deny},
	{"link to home with rules for both", "{T}/proj", "out/x", "Write({T}/home/**)", "Write(out/*)", ask, deny},
	{"absolute link out", "{T}/proj", "abs/n.md", "Write(**)", "Write({T}/home/notes/**)", ask, deny},
	{"link to the hooks", "{T}/proj", "hooks/pre-commit", "", "Write(.git/**)", ask, deny},
	{"link to the hooks with a rule for it", "{T}/proj", "hooks/pre-commit", "Write(hooks/**)", "Write(.git/hooks/*)", ask, deny},
	{"link to the hooks with a rule for all", "{T}/proj", "hooks/pre-commit", "Write(**)", "Write(hooks/*)", ask, deny},
	{"link to the workflows", "{T}/proj", "ci/ci.yml", "Write(**)", "Write(.github/**)", ask, deny},
	{"circle", "{T}/proj", "loop/x", "Write(**)", "Write(src/**)", ask, ask},
	{"link to a link out", "{T}/proj", "chain/.bashrc", "", "Write({T}/home/**)", ask, deny},
	{"link to a file that is not there, out", "{T}/proj", "new", "", "Write({T}/home/new)", ask, deny},
	{"link to a file that is not there, in", "{T}/proj", "newin", "", "Write(src/new)", allow, deny},
	{"denied directory by a link", "{T}/proj", "door/key", "", "Write(secret/**)", allow, deny},
	{"denied file by a link", "{T}/proj", "deny", "", "Write(secret/key)", allow, deny},
	{"link up that stays", "{T}/proj", "src/up/a.go", "", "Write(a.go)", allow, deny},
	{".. after a link that stays", "{T}/proj", "in/../a.go", "", "Write(src/**)", allow, allow},
	{".. after a link that leaves", "{T}/proj", "out/../lib/a.go", "", "Write({T}/lib/**)", ask, deny},
	{".. after a link, as text", "{T}/proj", "out/../a.go", "Write(**)", "Write(a.go)", ask, deny},
	{".. after a link, as neither", "{T}/proj", "out/../a.go", "", "Write(src/**)", ask, ask},
	{"link to the team file", "{T}/proj", "team", "Write(**)", "Write({T}/teams/**)", ask, deny},
	{"a link named ~", "{T}/proj", "~/.bashrc", "Write(**)", "Write({T}/home/**)", ask, deny},
	{"link to the directory itself", "{T}/proj", "dot/dot/a.go", "", "Write(a.go)", allow, deny},
	{"link out and back in", "{T}/proj", "self/a.go", "", "Write(a.go)", allow, deny},
	// A linked cwd, home or tmp.
	{"linked cwd", "{T}/linkproj", "a.go", "", "Write(src/**)", allow, allow},
	{"linked cwd, denied", "{T}/linkproj", "src/a.go", "", "Write(src/**)", allow, deny},
	{"linked cwd, denied by its real name", "{T}/linkproj", "src/a.go", "", "Write({T}/proj/src/**)", allow, deny},
	{"linked cwd, rule", "{T}/linkproj", "src/a.go", "Write(src/**)", "Write(lib/**)", allow, allow},
	{"linked cwd, absolute path by the link", "{T}/linkproj", "{T}/linkproj/a.go", "", "Write({T}/proj/*)", allow, deny},
	{"linked cwd, absolute path by its real name", "{T}/linkproj", "{T}/proj/a.go", "", "Write({T}/linkproj/*)", allow, deny},
	{"real cwd, absolute path by the link", "{T}/proj", "{T}/linkproj/a.go", "", "Write(a.go)", ask, deny},
	{"linked cwd, hooks", "{T}/linkproj", "hooks/x", "Write(**)", "Write(.git/**)", ask, deny},
	{"linked cwd, home", "{T}/linkproj", "out/x", "Write(**)", "Write({T}/linkhome/**)", ask, deny},
	{"linked cwd, .. as text", "{T}/linkproj", "../lib/a.go", "Write(../lib/*)", "Write({T}/lib/*)", allow, deny},
	{"cwd behind two links", "{T}/linkup/linkproj", "a.go", "Write(a.go)", "Write({T}/proj/a.go)", allow, deny},
	{"cwd in a link", "{T}/linkproj/src", "deep/b.go", "", "Write({T}/proj/src/**)", allow, deny},
	{"rule by another name of the project, link out", "{T}/proj", "{T}/home/x", "Write({T}/linkproj/out/**)", "Write({T}/linkproj/out/*)", ask, deny},
	{"rule by another name of the project, link in", "{T}/proj", "{T}/linkproj/in/a.go", "Write({T}/linkproj/src/**)", "Write({T}/linkproj/in/*)", ask, deny},
	{"rule by another name of the project", "{T}/proj", "{T}/linkproj/src/a.go", "Write({T}/linkproj/src/**)", "Write({T}/linkproj/src/*)", allow, deny},
	{"linked home by the link", "{T}/proj", "{T}/linkhome/notes/n.md", "Write({T}/linkhome/notes/**)", "Write({T}/home/notes/**)", allow, deny},
	{"linked home by its real name", "{T}/proj", "{T}/home/notes/n.md", "Write({T}/linkhome/notes/**)", "Write({T}/linkhome/**)", allow, deny},
	{"linked home, rule by its real name", "{T}/proj", "{T}/linkhome/notes/n.md", "Write({T}/home/notes/**)", "Write({T}/linkhome/notes/*)", ask, deny},
	{"linked home, guarded", "{T}/proj", "{T}/linkhome/.bashrc", "Write({T}/linkhome/**)", "Write({T}/home/.*)", ask, deny},
	{"project in a linked home", "{T}/linkhome/proj2", "a.go", "", "Write({T}/home/proj2/**)", allow, deny},
	{"project behind a link in a linked home", "{T}/linkhome/link2", "a.go", "Write(*.go)", "Write({T}/home/proj2/a.go)", allow, deny},
	{"~ with a linked home", "{T}/proj", "~/notes/n.md", "Write({T}/linkhome/**)", "Write({T}/home/notes/**)", ask, deny},
	{"linked tmp", "{T}/linktmp/x", "a.go", "", "Write({T}/rtmp/**)", allow, deny},
	{"linked tmp, rule by the link", "{T}/proj", "{T}/linktmp/x/a.go", "Write({T}/linktmp/**)", "Write({T}/linktmp/x/*)", allow, deny},
	{"linked tmp by its real name", "{T}/proj", "{T}/rtmp/x/a.go", "Write({T}/linktmp/**)", "Write({T}/rtmp/x/*)", allow, deny},
	{"linked tmp, elsewhere", "{T}/proj", "{T}/linktmp/x/a.go", "Write({T}/lib/**)", "Write({T}/lib/**)", ask, allow},
}

// TestPathCases: verdicts of an allowing and a denying policy on paths through links, on a real
// tree; the record of the resolved paths gives the same verdicts when the tree is gone.
func TestPathCases(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths with a drive letter are not judged")
	}
	root := realTemp(t)
	testenv.Tree(t, root, linkTree...)
	at := func(s string) string { return strings.ReplaceAll(s, "{T}", root) }
	type judged struct {
		name string
		p    policy.Policy
		c    policy.Call
		want policy.Decision
	}
	var recorded []judged
	linked, asked := 0, 0
	for _, c := range pathCases {
		if strings.Contains(c.cwd+c.path+c.allow+c.deny, "{T}/link") || strings.HasPrefix(c.path, "~") {
			linked++
		}
		p := policy.Policy{Mode: policy.ModeAcceptEdits}
		if c.allow != "" {
			p.Allow = policy.MustRules(at(c.allow))
		}
		d := policy.Policy{Mode: policy.ModeBypassPermissions, Deny: policy.MustRules(at(c.deny))}
		call := fileCall("Write", at(c.path), at(c.cwd))
		call.Links, call.Home, call.Guarded = realpath.Disk{}, at("{T}/linkhome"), []string{at("{T}/teams/t.yml")}
		for _, j := range []judged{{c.name + ", allow", p, call, c.allowed}, {c.name + ", deny", d, call, c.denied}} {
			v := j.p.Judge(j.c)
			if v.Decision != j.want {
				t.Errorf("%s: %s in %s: %s (%s: %s), want %s", j.name, c.path, c.cwd, v.Decision, v.Rule, v.Why, j.want)
			}
			if v.Decision == policy.Ask {
				asked++
			}
			j.c.Links, j.c.Home = policy.Recorded(policy.RealPaths(j.c, j.p)), "" // the record holds what "~" was read as
			recorded = append(recorded, j)
		}
	}
	testenv.Must(t, os.RemoveAll(filepath.Join(root, "proj")))
	for _, j := range recorded {
		if v := j.p.Judge(j.c); v.Decision != j.want {
			t.Errorf("%s, from the record: %+v, want %s", j.name, v, j.want)
		}
	}
	if len(pathCases) < 60 || linked < 20 {
		t.Errorf("%d cases, %d of them with a linked cwd, home or tmp", len(pathCases), linked)
	}
	testenv.Measured(t, "%d paths through links, %d of them with a linked cwd, home or tmp: %d verdicts as expected, %d of them ask; the same %d from the record", len(pathCases), linked, len(recorded), asked, len(recorded))
}

// TestLinksOfCommands: a deny rule finds a command behind a link, and the risk of a
// write is that of the file it reaches.
func TestLinksOfCommands(t *testing.T) {
	root := realTemp(t)
	testenv.Tree(t, root, append([]string{"bin/danger", "proj/tool -> ../bin/danger", "proj/ok"}, linkTree...)...)
	for _, c := range []struct {
		text, deny string
		want       policy.Decision
		risk       policy.Risk
	}{
		{"./ok x", "Bash(danger:*)", allow, policy.RiskHigh},
		{"./tool x", "Bash(danger:*)", deny, policy.RiskHigh},
		{"echo a && ./tool x", "Bash(" + root + "/bin/danger:*)", deny, policy.RiskHigh},
		{"./loop x", "Bash(danger:*)", ask, policy.RiskHigh},
		{root + "/bin/danger", "Bash(" + root + "/proj/tool:*)", deny, policy.RiskHigh},
		{"echo x > src/y", "Bash(danger:*)", allow, policy.RiskMedium},
		{"echo x > rc", "Bash(danger:*)", allow, policy.RiskHigh},
		{"cp a.go hooks/pre-commit", "Bash(danger:*)", allow, policy.RiskHigh},
		{"cp a.go in/b.go", "Bash(danger:*)", allow, policy.RiskMedium},
	} {
		raw, err := json.Marshal(map[string]string{"command": c.text})
		testenv.Must(t, err)
		call := policy.Call{Tool: "Bash", Input: raw, Cwd: root + "/proj", Links: realpath.Disk{}}
		p := policy.Policy{Mode: policy.ModeBypassPermissions, Deny: policy.MustRules(c.deny)}
		if v := p.Judge(call); v.Decision != c.want {
			t.Errorf("%s under %s: %+v, want %s", c.text, c.deny, v, c.want)
		}
		if r := policy.RiskOf(call); r != c.risk {
			t.Errorf("%s: risk %s, want %s", c.text, r, c.risk)
		}
	}
}
