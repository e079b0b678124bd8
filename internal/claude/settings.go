package claude

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"waggle/internal/claude/claudeaccount"
	"waggle/internal/json/jsonobj"
)

// asks are the tools about which the client asks, whatever the user's settings allow: all that do more
// than read. About a tool that is not listed here, and that no other setting allows, the client asks
// anyway.
var asks = []string{
	"Bash", "BashOutput", "KillShell", "KillBash", "PowerShell", "Monitor",
	"Edit", "MultiEdit", "Write", "NotebookEdit",
	"WebFetch", "WebSearch",
	"Agent", "Task", "Skill", "SlashCommand", "Workflow",
	"SendMessage", "TeamCreate", "TeamDelete",
	"CronCreate", "CronDelete", "RemoteTrigger", "EnterWorktree", "ExitWorktree",
	"mcp__*",
}

// reads are the tools that plainly read. A headless client asks about them too: what may be read, the
// team's rules say.
var reads = []string{"Read", "NotebookRead", "Glob", "Grep", "LS"}

// hookSeconds is how long the client waits for the hook of a tool call, and watchSeconds after what
// time the hook's shell kills a program that hangs. HookWait, in which the program ends by itself, is
// shorter.
const (
	hookSeconds  = 25
	watchSeconds = 22
)

// writeSettings writes the private settings of a headless session into dir: ask rules that beat the user's allow
// rules, and no hooks of the user's or of a project, because one that allows a request would answer
// before the host, and one that changes a call's input would change what was approved. The hook of the
// host itself (initialize) runs all the same. confined says that the client or its shell commands run
// in a sandbox, in which it cannot make one of its own; prefix is the program that runs those commands
// in it, "" for a client that is inside.
func writeSettings(dir string, confined bool, prefix string) (file string, err error) {
	data, err := settings(slices.Concat(asks, reads), nil, confined, prefix)
	return settingsFile(dir, data, err)
}

// settingsFile writes settings into dir, unless they could not be made.
func settingsFile(dir string, data []byte, err error) (file string, _ error) {
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "settings.json")
	return file, os.WriteFile(file, data, 0o600)
}

// PaneSettings writes those of a session in a pane, for a program that is its hooks. A
// PermissionRequest waits for its answer for a day beside the dialog, which is left when it fails; so
// does an Elicitation, whose dialog comes only then. The other events are evidence. prefix is the program
// that runs its shell commands in a sandbox, "" where there is none; version is the client's.
func PaneSettings(program, prefix string, version Version) ([]byte, error) {
	hooks := map[string]command{}
	for _, event := range events {
		limit := reportSeconds
		if AsksPerson(event) {
			limit = askSeconds
		}
		hooks[event] = command{"command", memberHook(program, event), limit}
	}
	hooks[preToolUse] = denyOnly(hookCommand(program))
	ask := asks
	if !version.before(withoutOld) {
		ask = slices.DeleteFunc(slices.Clone(asks), func(tool string) bool { return slices.Contains(old, tool) })
	}
	return settings(ask, hooks, prefix != "", prefix)
}

// old are tools of earlier clients. Later ones, since withoutOld at the latest, show a warning about a rule
// for a tool that they do not have.
var (
	old        = []string{"MultiEdit", "SlashCommand"}
	withoutOld = Version{2, 1, 329}
)

// memberHook is the command of a hook that reports an event.
func memberHook(program, event string) string {
	return quoted(program) + " hook claude " + event + " " + MemberHook
}

// MemberHook is the last argument of hooks that these settings give: the user's own settings may have
// hooks of waggle too, which tell the worker nothing.
const MemberHook = "member"

// How long the client waits for the hook of a request, and for one that only reports.
const (
	askSeconds    = 24 * 60 * 60
	reportSeconds = 20
)

type command struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
}

// denyOnly is a hook that blocks the call when its program fails, and when it has not ended after
// watchSeconds: the client runs the call when a hook takes longer than hookSeconds.
func denyOnly(hook string) command {
	script := "exec 3<&0; " + hook + " <&3 & p=$!; " +
		"{ trap 'kill $s; exit' TERM; sleep " + strconv.Itoa(watchSeconds) + " & s=$!; wait $s && kill -9 $p; } 3<&- </dev/null >/dev/null 2>&1 & w=$!; " +
		"wait $p; r=$?; kill $w 2>/dev/null; exit $r"
	return command{"command", "/bin/sh -c " + quoted(script) + " || exit 2", hookSeconds}
}

func settings(ask []string, hooks map[string]command, confined bool, prefix string) ([]byte, error) {
	s := map[string]any{"permissions": map[string]any{"ask": ask}, "disableAllHooks": len(hooks) == 0}
	if len(hooks) > 0 {
		events := map[string]any{}
		for event, c := range hooks {
			events[event] = []any{map[string]any{"hooks": []command{c}}}
		}
		s["hooks"] = events
	}
	if confined {
		s["sandbox"] = map[string]any{"enabled": false}
	}
	if prefix != "" {
		s["env"] = map[string]string{prefixVar: prefix} // over that of the user's and the project's settings
	}
	return jsonobj.Marshal(s)
}

// hookCommand is the command of the deny-only hook for a program, quoted for a shell.
func hookCommand(program string) string { return quoted(program) + " hook claude " + preToolUse }

func quoted(program string) string { return "'" + strings.ReplaceAll(program, "'", `'\''`) + "'" }

// plansIn is where a client with this environment keeps the plans of its plan mode.
func plansIn(env []string) string {
	if config := claudeaccount.Of(env).Config; config != "" {
		return filepath.Join(config, "plans")
	}
	return ""
}
