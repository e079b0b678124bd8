package agentcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"waggle/internal/claude"
	"waggle/internal/json/jsonobj"
	"waggle/internal/modelserver"
	"waggle/operator"
	"waggle/operator/teamfile"
	"waggle/protocol"
)

// claudeCode drives agent claude: the real client, with a home of its own and a model on loopback
// that says what the acts are. It needs no key and reaches no network.
type claudeCode struct {
	spec    json.RawMessage
	server  *modelserver.Server
	pane    bool
	config  string // the client's configuration directory
	environ []string

	self, aside string // the program of waggle, which can be broken, and a copy of it

	mu    sync.Mutex
	parts map[string][]modelserver.Turn // by the words that tell the conversations apart
}

// apiKey is a key that no service knows.
const apiKey = "sk-ant-check-waggle-agentcheck-00000000000000000000"

// newClient makes a driver one of the client.
func newClient(op operator.Operator, o Options, driver *Driver) (err error) {
	d := &claudeCode{spec: o.Member.Spec, pane: teamfile.InPane(o.Backend), parts: map[string][]modelserver.Turn{}}
	if d.server, err = modelserver.Start(d.next, nil); err != nil {
		return err
	}
	if err := d.copySelf(op.Self, o.Dir); err != nil {
		return errors.Join(err, d.server.Close())
	}
	d.config, d.environ = ClaudeHome(filepath.Join(o.Dir, "client"), d.server.URL(), op.Environ)
	driver.Environ, driver.Self, driver.Version, driver.Cast, driver.Prepare, driver.Close = d.environ, d.self, d.version, d.cast, d.prepare, d.server.Close
	// What a headless client asks its host, this program, and a client in a pane a hook, has no second check of the other kind.
	if d.pane {
		driver.lacks("with such a hook a client in a pane is not started (docs/guide/claude.md, In a pane)", UserHook)
	} else {
		driver.lacks("a headless client has no hooks but its host, which is the worker (client §5)", HookFails, HookMissing, HookHangs)
	}
	return nil
}

// ClaudeHome is the environment of a Claude Code client with a home of its own and a model at a URL on
// loopback, and its configuration directory: it needs no key and reaches no network. Of the given environment
// it keeps nothing that leads to an account.
func ClaudeHome(home, model string, environ []string) (config string, env []string) {
	config = filepath.Join(home, ".claude")
	return config, append(kept(environ), "HOME="+home, "CLAUDE_CONFIG_DIR="+config, "ANTHROPIC_BASE_URL="+model, "ANTHROPIC_API_KEY="+apiKey,
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"GIT_ALLOW_PROTOCOL=file", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost", "ENABLE_TOOL_SEARCH=false")
}

// ClaudeFirstStart answers what a client asks at its first start, with these directories trusted.
func ClaudeFirstStart(config string, dirs []string) error {
	projects := map[string]any{}
	for _, dir := range dirs {
		projects[dir] = map[string]any{"hasTrustDialogAccepted": true}
	}
	return write(filepath.Join(config, ".claude.json"), map[string]any{"hasCompletedOnboarding": true, "theme": "dark", "projects": projects,
		"customApiKeyResponses": map[string]any{"approved": []string{apiKey[len(apiKey)-20:]}, "rejected": []string{}}})
}

// prepare answers what the client asks at its first start, and writes settings that allow everything:
// the user's, and those of the projects. A client rewrites its file of answers from memory, so that
// they must be there before the first one starts.
func (d *claudeCode) prepare(dirs []string) error {
	err := write(filepath.Join(d.config, "settings.json"), openHouse())
	for _, dir := range dirs {
		err = errors.Join(err, write(filepath.Join(dir, ".claude", "settings.json"), openHouse()))
	}
	return errors.Join(err, ClaudeFirstStart(d.config, dirs))
}

// openHouse is settings of a user, and of a project, that allow everything and switch hooks off.
func openHouse() map[string]any {
	return map[string]any{"disableAllHooks": true, "permissions": map[string]any{"defaultMode": "acceptEdits",
		"allow": []string{"Bash", "Bash(*)", "Write", "Edit", "Read", "AskUserQuestion", "ExitPlanMode"}}}
}

func write(path string, v any) error {
	data, err := jsonobj.Marshal(v)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	return err
}

// copySelf copies the program of waggle to where it can be broken: it is the client's hooks too.
func (d *claudeCode) copySelf(program, dir string) error {
	data, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("agent claude needs the program of waggle, which is its hooks: %w", err)
	}
	d.self, d.aside = filepath.Join(dir, "bin", "waggle"), filepath.Join(dir, "aside", "waggle")
	for _, path := range []string{d.self, d.aside} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
	}
	return errors.Join(os.WriteFile(d.aside, data, 0o700), place(d.self, data))
}

// place puts a program where another one may run.
func place(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o700); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// broken are shell commands of a deny-only hook that does not work.
var broken = map[Line]string{HookFails: "exit 1", HookMissing: "exit 127", HookHangs: "exec sleep 60"}

// breakHook puts a program in the place of waggle's that fails as the hook before a call, and is
// waggle in all else. For UserHook it adds a hook that allows everything to the settings.
func (d *claudeCode) breakHook(l Line, cwd string) (mend func() error, err error) {
	if l == UserHook {
		return d.allowingHook(cwd)
	}
	mend = func() error {
		data, err := os.ReadFile(d.aside)
		if err != nil {
			return err
		}
		return place(d.self, data)
	}
	script := "#!/bin/sh\n[ \"$3\" = PreToolUse ] && " + broken[l] + "\nexec '" + d.aside + "' \"$@\"\n"
	return mend, place(d.self, []byte(script))
}

// allowingHook adds a hook that allows everything to the settings of the user and of a project.
func (d *claudeCode) allowingHook(cwd string) (mend func() error, err error) {
	settings := openHouse()
	settings["disableAllHooks"] = false
	settings["hooks"] = map[string]any{"PermissionRequest": []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "timeout": 60,
		"command": `cat >/dev/null; echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'`}}}}}
	files := []string{filepath.Join(d.config, "settings.json"), filepath.Join(cwd, ".claude", "settings.json")}
	all := func(settings any) (err error) {
		for _, path := range files {
			err = errors.Join(err, write(path, settings))
		}
		return err
	}
	return func() error { return all(openHouse()) }, all(settings)
}

// kept is what a client needs of an environment: nothing that leads it to an account.
func kept(environ []string) []string {
	keep := []string{"PATH", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ"}
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !slices.Contains(keep, name)
	})
}

func (d *claudeCode) version(ctx context.Context) (string, error) {
	s, err := claude.Read(d.spec)
	if err != nil {
		return "", err
	}
	f, err := claude.Find(ctx, s.Program, d.environ)
	if err == nil && d.pane {
		err = f.InPane()
	}
	return f.Version.String(), err
}

// cast has the model say the acts to the member's conversation, which its task tells apart.
func (d *claudeCode) cast(_ context.Context, name protocol.MemberName, acts []Act) (Role, error) {
	part := "(check of " + string(name) + ")"
	d.mu.Lock()
	defer d.mu.Unlock()
	d.parts[part] = append(turnsOf(acts), modelserver.Say("did what the check says"))
	return Role{Spec: d.spec, Instructions: Script(acts) + part, Heard: func() string { return d.heard(part) }, Break: d.breakHook}, nil
}

// turnsOf are the model's turns for acts.
func turnsOf(acts []Act) (turns []modelserver.Turn) {
	for _, a := range acts {
		switch {
		case a.Run != "":
			turns = append(turns, modelserver.Bash(a.Run))
		case a.Plan != "":
			// A client in a pane names the file of its plan with the first result.
			turns = append(turns, modelserver.Call("Glob", map[string]string{"pattern": "*.none"}), modelserver.WritePlan(a.Plan), modelserver.ExitPlanMode(), modelserver.ExitPlanMode())
		case a.Empty:
			turns = append(turns, modelserver.ExitPlanMode())
		case a.Ask != nil:
			turns = append(turns, modelserver.AskUserQuestion(modelserver.Question{Question: a.Ask.Text, Header: "Check", Options: a.Ask.Options}))
		case a.Both != nil:
			turns = append(turns, modelserver.Together(turnsOf(a.Both)...))
		}
	}
	return turns
}

// next is what the model says in a conversation.
func (d *claudeCode) next(r modelserver.Request) modelserver.Turn {
	d.mu.Lock()
	defer d.mu.Unlock()
	for part, turns := range d.parts {
		switch n := r.Since(part); {
		case n >= len(turns):
			return modelserver.Say("nothing is left to do")
		case n >= 0:
			return turns[n]
		}
	}
	return modelserver.Say("there is no task yet")
}

// heard is every result of a tool that the model of a conversation has read.
func (d *claudeCode) heard(part string) string {
	var s strings.Builder
	for _, r := range d.server.Requests() {
		if r.Since(part) < 0 {
			continue
		}
		for _, b := range r.Results() {
			s.WriteString(b.Text + "\n")
		}
	}
	return s.String()
}
