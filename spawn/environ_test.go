package spawn_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/spawn"
)

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
	must(t, err)
	for name := range strings.FieldsSeq(string(out)) {
		// The settings that it counts are the person's; where a repository is cannot be set by them.
		if name != "GIT_CONFIG_COUNT" && !spawn.InScope(name, spawn.ScopeRepository) {
			t.Errorf("%s is of a repository, and stays", name)
		}
	}
}
