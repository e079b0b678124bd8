package spawn

import (
	"path"
	"slices"
	"strings"
)

// Scope says what an environment variable tells the processes that inherit it about themselves. It is true of the
// process that was started with it, and false of a process that works elsewhere or for somebody else.
type Scope int

const (
	// ScopeRepository is for variables that point git at another repository, index or set of files than those of the
	// directory it runs in. A git hook has them, and so has what it starts.
	ScopeRepository Scope = iota + 1
	// ScopeSession is for variables of one session of a coding agent: its ids, the sockets and tokens of its messages,
	// its editor. API keys, login tokens and settings are not among them.
	ScopeSession
	// ScopeTerminal is for variables that name the terminal, the pane or the window in which a process runs.
	ScopeTerminal
	// ScopeMember is for variables by which a member of waggle is called or knows its task, and for those by which a
	// person names a team and shows a token. The marks of processes ([MemberVar], that of [Command]) are not among
	// them: they say who has to end a process.
	ScopeMember
)

// scoped has every such variable, with the reason where the name does not say it. A * stands for anything.
var scoped = map[Scope][]struct{ name, why string }{
	ScopeRepository: {
		{"GIT_DIR", ""}, {"GIT_WORK_TREE", ""}, {"GIT_IMPLICIT_WORK_TREE", ""}, {"GIT_INDEX_FILE", ""}, {"GIT_COMMON_DIR", ""},
		{"GIT_OBJECT_DIRECTORY", ""}, {"GIT_ALTERNATE_OBJECT_DIRECTORIES", ""}, {"GIT_NAMESPACE", ""}, {"GIT_PREFIX", ""},
		{"GIT_CONFIG", ""}, {"GIT_CONFIG_PARAMETERS", "has the -c of the git above"}, {"GIT_GRAFT_FILE", ""}, {"GIT_SHALLOW_FILE", ""},
		{"GIT_REPLACE_REF_BASE", ""}, {"GIT_NO_REPLACE_OBJECTS", ""}, {"GIT_CEILING_DIRECTORIES", ""}, {"GIT_DISCOVERY_ACROSS_FILESYSTEM", ""},
		{"GIT_QUARANTINE_PATH", "is where a push that is not accepted yet has its objects"}, {"GIT_INTERNAL_SUPER_PREFIX", ""},
		{"GIT_LITERAL_PATHSPECS", ""}, {"GIT_GLOB_PATHSPECS", ""}, {"GIT_NOGLOB_PATHSPECS", ""}, {"GIT_ICASE_PATHSPECS", ""},
		{"GIT_ATTR_SOURCE", ""}, {"GIT_REFLOG_ACTION", "is what the git above does"},
	},
	ScopeSession: {
		// What clients of Claude Code set for their commands, hooks and teammates (observed).
		{"CLAUDECODE", "says that a client runs inside of a client: it behaves as its child"},
		{"CLAUDE_CODE_ENTRYPOINT", "says who started the parent"},
		{"CLAUDE_CODE_EXECPATH", "is the parent's program"},
		{"CLAUDE_CODE_SESSION_*", "is the parent's session: its id, its token, whether a person sits there"},
		{"CLAUDE_CODE_*_SESSION", "says that it is a child of that session"},
		{"CLAUDE_CODE_*_SESSION_*", "is the parent's team, bridge or remote session"},
		{"CLAUDE_CODE_CHILD_*", "is where children of that session write"},
		{"CLAUDE_CODE_MESSAGING_*", "is the parent's socket for mail, and its token"},
		{"CLAUDE_CODE_BRIDGE_*", "is the parent's connection to another device"},
		{"CLAUDE_CODE_*_SOCKET", "is a socket of the parent"},
		{"CLAUDE_CODE_SSE_PORT", "connects it to the parent's editor"},
		{"CLAUDE_CODE_TEAM_NAME", "makes it a member of the parent's team"},
		{"CLAUDE_CODE_AGENT_ID", "makes it a member of the parent's team"},
		{"CLAUDE_CODE_AGENT_NAME", "makes it a member of the parent's team"},
		{"CLAUDE_CODE_TASK_LIST_ID", "shares the parent's task list"},
		{"CLAUDE_EFFORT", "is the parent's effort"},
		{"CLAUDE_PID", "is the parent's process"},
		{"CLAUDE_PROJECT_DIR", "is the parent's project; a hook of the child is told its own"},
		{"CLAUDE_ENV_FILE", "is where the parent's hooks write its environment"},
		{"CLAUDE_PLUGIN_ROOT", "is of a hook of the parent"}, {"CLAUDE_PLUGIN_DATA", "is of a hook of the parent"},
		{"AI_AGENT", "names the agent that runs the parent's commands"},
		// Those of other clients.
		{"CODEX_THREAD_ID", ""}, {"CODEX_INTERNAL_*", ""},
		{"GEMINI_CLI", "says that a gemini runs it"}, {"GEMINI_SESSION_ID", ""}, {"GEMINI_PROJECT_DIR", ""}, {"GEMINI_CWD", ""},
		{"GEMINI_CLI_IDE_*", "is the editor of the parent: its port and its token"},
		{"QWEN_CODE", "says that a qwen runs it"}, {"QWEN_CODE_IDE_*", ""},
		{"OPENCODE", "says that an opencode runs it"}, {"OPENCODE_PID", ""}, {"OPENCODE_SESSION_ID", ""},
		{"CURSOR_AGENT", ""}, {"CURSOR_TRACE_ID", ""},
	},
	ScopeTerminal: {
		{"TMUX", ""}, {"TMUX_PANE", ""}, {"STY", "is the session of screen"}, {"ZELLIJ", ""}, {"ZELLIJ_*", ""},
		{"ITERM_SESSION_ID", ""}, {"TERM_SESSION_ID", ""}, {"TERM_PROGRAM", ""}, {"TERM_PROGRAM_VERSION", ""},
		{"KITTY_WINDOW_ID", ""}, {"KITTY_LISTEN_ON", ""}, {"KITTY_PID", ""}, {"WEZTERM_PANE", ""}, {"WEZTERM_UNIX_SOCKET", ""},
		{"ALACRITTY_WINDOW_ID", ""}, {"ALACRITTY_SOCKET", ""}, {"WT_SESSION", ""}, {"WINDOWID", ""},
	},
	ScopeMember: {
		{"WAGGLE_TEAM", "is the person's usual team"}, {"WAGGLE_TOKEN", "is the person's"}, {"WAGGLE_JOIN", "lets one member join"},
		{"WAGGLE_SOCKET", "calls the worker above, in the name of its member"}, {"WAGGLE_SPAWN_TOKEN", "is for that socket"},
		{"WAGGLE_CLAUDE_SECOND", "is the socket for hooks of a client in a pane"},
		{"WAGGLE_TASK_ID", ""}, {"WAGGLE_TASK_SUBJECT", ""}, {"WAGGLE_ARTIFACTS", ""},
	},
}

// InScope reports whether the variable of a name, or of a NAME=VALUE, is of one of the scopes.
func InScope(variable string, scopes ...Scope) bool {
	name, _, _ := strings.Cut(variable, "=")
	for _, s := range scopes {
		for _, v := range scoped[s] {
			if ok, _ := path.Match(v.name, name); ok { // the patterns are well-formed
				return true
			}
		}
	}
	return false
}

// Without is an environment without the variables of the scopes. A process that begins anew, as a member's does, is
// started without those of every scope: what of them is true of it is then set for it.
func Without(env []string, scopes ...Scope) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool { return InScope(v, scopes...) })
}
