package spawn_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/spawn"
)

func init() {
	scenarios["self"] = func() error {
		path, err := spawn.Self(os.Environ())
		fmt.Print(path)
		return err
	}
}

// TestSelf: the path to record is a link that leads to the program, and no version's own where there is a link.
func TestSelf(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there")
	}
	dir, err := filepath.EvalSymlinks(testenv.DiskDir(t))
	testenv.Must(t, err)
	test, err := os.Executable()
	testenv.Must(t, err)
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for _, d := range []string{"cellar/1.0/bin", "cellar/1.1/bin", "bin", "other", "script"} {
		testenv.Must(t, os.MkdirAll(in(d), 0o755))
	}
	program := in("cellar/1.0/bin/waggle")
	if err := os.Link(test, program); err != nil {
		b, rerr := os.ReadFile(test)
		testenv.Must(t, rerr)
		testenv.Must(t, testenv.Executable(program, b))
	}
	testenv.Must(t, testenv.Executable(in("cellar/1.1/bin/waggle"), []byte("#!/bin/sh\n")))
	testenv.Must(t, testenv.Executable(in("script/waggle"), []byte("#!/bin/sh\nexec "+program+" \"$@\"\n")))
	testenv.Must(t, os.Symlink("../cellar/1.0/bin/waggle", in("bin/waggle")))
	testenv.Must(t, os.Symlink("../cellar/1.0/bin/waggle", in("bin/w")))
	testenv.Must(t, os.Symlink("../cellar/1.1/bin/waggle", in("other/waggle")))
	testenv.Must(t, os.Symlink("1.0", in("cellar/current")))
	for _, c := range []struct{ argv0, path, cwd, want string }{
		{"waggle", "bin", ".", "bin/waggle"},                                    // by its name
		{"waggle", "other:bin", ".", program},                                   // called by a path of another PATH
		{in("bin/w"), "", ".", "bin/w"},                                         // by a link
		{"./waggle", "", "bin", "bin/waggle"},                                   // by a relative one
		{"./bin/waggle", "", "script", program},                                 // that leads nowhere here
		{in("cellar/current/bin/waggle"), "", ".", "cellar/current/bin/waggle"}, // a directory is the link
		{program, "bin", ".", "bin/waggle"},                                     // by its file, and PATH has a link
		{program, "script", ".", program},                                       // PATH has another program
		{program, "other", ".", program},                                        // a link to another version
		{program, "", ".", program},                                             // nothing but the file
		{"", "bin", ".", "bin/waggle"}, {"nonsense", "bin", ".", "bin/waggle"},  // whoever starts it says what it likes
		{"/proc/self/exe", "", ".", program},
	} {
		if !filepath.IsAbs(c.want) {
			c.want = in(c.want)
		}
		var path string
		for _, d := range filepath.SplitList(c.path) {
			path += string(filepath.ListSeparator) + in(d)
		}
		cmd := exec.Cmd{Path: program, Args: []string{c.argv0}, Dir: in(c.cwd), Env: []string{scenarioEnv + "=self", "PATH=" + path}}
		out, err := cmd.Output()
		if err != nil || string(out) != c.want {
			t.Errorf("called %q in %s with PATH %q: %s, %v, want %s", c.argv0, c.cwd, c.path, out, err, c.want)
		}
	}
}

// TestWithout: what tells a process where it runs and for whom goes, by its scope; keys, login tokens, settings and
// marks stay.
func TestWithout(t *testing.T) {
	t.Parallel()
	of := map[spawn.Scope][]string{
		spawn.ScopeRepository: {"GIT_DIR=/x/.git", "GIT_WORK_TREE=/x", "GIT_INDEX_FILE=/x/.git/index", "GIT_CONFIG_PARAMETERS='a.b=c'"},
		spawn.ScopeSession: {"CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=s", "CLAUDE_CODE_SESSION_ACCESS_TOKEN=t", "CLAUDE_CODE_CHILD_SESSION=1", "CLAUDE_CODE_PARENT_SESSION_ID=p",
			"CLAUDE_CODE_BRIDGE_SESSION_ID=b", "CLAUDE_CODE_MESSAGING_SOCKET=/s", "CLAUDE_CODE_MESSAGING_TOKEN=t", "CLAUDE_CODE_OTHER_SOCKET=/s", "CODEX_THREAD_ID=c", "GEMINI_CLI_IDE_AUTH_TOKEN=g"},
		spawn.ScopeTerminal: {"TMUX=/s,1,0", "TMUX_PANE=%0", "ITERM_SESSION_ID=w0t0p0:A", "TERM_SESSION_ID=w0t0p0:A", "ZELLIJ_PANE_ID=1"},
		spawn.ScopeMember:   {"WAGGLE_TEAM=t", "WAGGLE_TOKEN=x", "WAGGLE_SOCKET=/s", "WAGGLE_SPAWN_TOKEN=x", "WAGGLE_TASK_ID=1", "WAGGLE_ARTIFACTS=/a"},
	}
	stays := []string{"PATH=/bin", "A=GIT_DIR=x", "TERM=xterm", "ANTHROPIC_API_KEY=k", "CLAUDE_CODE_OAUTH_TOKEN=k", "CLAUDE_CONFIG_DIR=/c", "CLAUDE_CODE_MAX_RETRIES=1",
		"CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS=1", "OPENAI_API_KEY=k", "CODEX_HOME=/c", "CODEX_API_KEY=k", "GEMINI_API_KEY=k", "GEMINI_CLI_TRUST_WORKSPACE=1", "GH_TOKEN=k", "SSH_AUTH_SOCK=/s",
		"GIT_AUTHOR_NAME=a", "GIT_CONFIG_GLOBAL=/g", "GIT_CONFIG_COUNT=0", "GIT_SSL_CAINFO=/c", "WAGGLE_STATE=/s", "WAGGLE_SANDBOX=off", "WAGGLE_PORT_BASE=1", spawn.MemberMark("x"), "WAGGLE_COMMAND=1.2.3"}
	all, every := slices.Clone(stays), []spawn.Scope{}
	for scope, env := range of {
		all, every = append(all, env...), append(every, scope)
		if got := spawn.Without(append(slices.Clone(stays), env...), scope); !slices.Equal(got, stays) {
			t.Errorf("scope %v: %q stays", scope, got[min(len(stays), len(got)):])
		}
	}
	if got := spawn.Without(all, every...); !slices.Equal(got, stays) {
		t.Errorf("%q", got)
	}
	if got := spawn.Without(all); !slices.Equal(got, all) {
		t.Errorf("of no scope: %q", got)
	}
}

// TestRepositoryVariables compares with git's own list of the variables that are of one repository.
func TestRepositoryVariables(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(testenv.Require(t, "git"), "rev-parse", "--local-env-vars").Output()
	testenv.Must(t, err)
	for name := range strings.FieldsSeq(string(out)) {
		// The settings that it counts are the person's; where a repository is cannot be set by them.
		if name != "GIT_CONFIG_COUNT" && !spawn.InScope(name, spawn.ScopeRepository) {
			t.Errorf("%s is of a repository, and stays", name)
		}
	}
}
