//go:build unix

package claudetest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"waggle/internal/test/testenv"
)

// nobody is the user and group that the client runs as when the tests run as root.
const nobody = 65534

// apiKey is a key that no service knows. The client keeps its last 20 characters.
const apiKey = "sk-ant-test-waggle-claudetest-00000000000000000000"

// markName is the environment variable by which the processes of a Home are found.
const markName = "WAGGLE_CLAUDETEST"

// Home is everything that clients of one test share: their HOME, their configuration
// directory, a working directory that is a git repository, and a private tmux server.
// It is thrown away with the test, after all processes in it have been killed.
type Home struct {
	Version string
	Claude  string // the program: claude in Bin
	Root    string // all directories lie in it
	Home    string // HOME
	Config  string // CLAUDE_CONFIG_DIR
	Work    string // where sessions start: a git repository with one commit
	Bin     string // in front of PATH
	Temp    string // TMPDIR

	t      testing.TB
	model  *Model
	uid    int // -1: the user of the test
	socket string
	began  int // sessions
}

// NewHome makes a home for clients of this version, whose model is m. The questions
// that the client asks at its first start are answered in its files: onboarding,
// theme, API key, whether the directory is trusted.
//
// When the tests run as root, the client runs as nobody (65534): programs beside it
// are started with Command, and lie where that user may run them (Install).
func NewHome(t testing.TB, version string, m *Model) *Home {
	t.Helper()
	uid := -1
	if os.Geteuid() == 0 {
		uid = nobody
	}
	return newHome(t, version, m, uid)
}

// NewOwnHome is NewHome with clients of the test's own user even when that is root: for a test that
// itself acts as the client's user.
func NewOwnHome(t testing.TB, version string, m *Model) *Home {
	t.Helper()
	return newHome(t, version, m, -1)
}

func newHome(t testing.TB, version string, m *Model, uid int) *Home {
	t.Helper()
	claude := Client(t, version)
	testenv.Require(t, "git")
	// Short, as sockets lie in it; and on the disk, where an installation can be linked.
	root, err := os.MkdirTemp(testenv.Usual(), "wc")
	testenv.Must(t, err)
	root, err = filepath.EvalSymlinks(root)
	testenv.Must(t, err)
	h := &Home{
		Version: version, Claude: filepath.Join(root, "bin", "claude"), Root: root,
		Home: filepath.Join(root, "home"), Config: filepath.Join(root, "home", ".claude"),
		Work: filepath.Join(root, "work"), Bin: filepath.Join(root, "bin"), Temp: filepath.Join(root, "tmp"),
		t: t, model: m, uid: uid, socket: filepath.Join(root, "tmux"),
	}
	t.Cleanup(h.remove)
	h.own(root)
	for _, dir := range []string{h.Home, h.Config, h.Work, h.Bin, h.Temp} {
		h.mkdir(dir)
	}
	h.WriteJSON(filepath.Join(h.Config, ".claude.json"), map[string]any{
		"hasCompletedOnboarding": true, "lastOnboardingVersion": version, "theme": "dark",
		"customApiKeyResponses": map[string]any{"approved": []string{apiKey[len(apiKey)-20:]}, "rejected": []string{}},
		"projects":              map[string]any{},
	})
	h.Repo("work")
	// A hard link works also for a user who may not enter the directory of the installation.
	if err := os.Link(claude, h.Claude); err != nil {
		testenv.Must(t, os.Symlink(claude, h.Claude))
	}
	if out := strings.TrimSpace(h.output(h.Claude, "--version")); !strings.HasPrefix(out, version+" ") {
		t.Fatalf("%s --version says %q, want %s", claude, out, version)
	}
	t.Logf("claude %s", version)
	return h
}

// Repo makes a git repository with one commit at a path below Root and returns its
// directory.
func (h *Home) Repo(name string) string {
	h.t.Helper()
	dir := filepath.Join(h.Root, name)
	h.mkdir(dir)
	h.output("git", "-C", dir, "init", "-q", "-b", "main")
	h.output("git", "-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "first")
	h.trust(dir)
	return dir
}

// trust answers for a directory whether it is trusted. 2.1.150 asks once for all that
// is below; later versions ask for each git repository. Answer before the session
// starts: a running client rewrites the file from what it has in memory.
func (h *Home) trust(dir string) {
	h.t.Helper()
	h.Known(func(file map[string]any) {
		projects, ok := file["projects"].(map[string]any)
		if !ok {
			h.t.Fatalf(".claude.json has no projects: %v", file)
		}
		projects[dir] = map[string]any{"hasTrustDialogAccepted": true}
	})
}

// Known changes the file in which the client keeps what it knows, .claude.json.
func (h *Home) Known(change func(file map[string]any)) {
	h.t.Helper()
	path := filepath.Join(h.Config, ".claude.json")
	data, err := os.ReadFile(path)
	testenv.Must(h.t, err)
	var file map[string]any
	if err := json.Unmarshal(data, &file); err != nil {
		h.t.Fatalf("%s: %v", path, err)
	}
	change(file)
	h.WriteJSON(path, file)
}

// Settings writes the user's settings file.
func (h *Home) Settings(settings map[string]any) {
	h.t.Helper()
	h.WriteJSON(filepath.Join(h.Config, "settings.json"), settings)
}

// Hooks are settings in which each event runs a command for every tool, for at most
// so many seconds.
func Hooks(seconds int, commands map[string]string) map[string]any {
	hooks := map[string]any{}
	for event, command := range commands {
		hooks[event] = []any{map[string]any{
			"hooks": []any{map[string]any{"type": "command", "command": command, "timeout": seconds}},
		}}
	}
	return map[string]any{"hooks": hooks}
}

// Script writes a shell script into Bin and returns its path.
func (h *Home) Script(name, body string) string {
	h.t.Helper()
	path := filepath.Join(h.Bin, name)
	h.WriteFile(path, "#!/bin/sh\n"+body, 0o755)
	return path
}

// Install copies a program into Bin, where the client's user may run it, and returns
// its path.
func (h *Home) Install(program string) string {
	h.t.Helper()
	data, err := os.ReadFile(program)
	testenv.Must(h.t, err)
	path := filepath.Join(h.Bin, filepath.Base(program))
	h.WriteFile(path, string(data), 0o755)
	return path
}

// WriteJSON writes a file that belongs to the client's user.
func (h *Home) WriteJSON(path string, v any) {
	h.t.Helper()
	data, err := json.MarshalIndent(v, "", "  ")
	testenv.Must(h.t, err)
	h.WriteFile(path, string(data), 0o600)
}

// WriteFile writes a file that belongs to the client's user. No process sees half of it.
func (h *Home) WriteFile(path, content string, mode fs.FileMode) {
	h.t.Helper()
	temp := path + ".new"
	testenv.Must(h.t, testenv.WriteFile(temp, []byte(content), mode))
	h.own(temp)
	testenv.Must(h.t, os.Rename(temp, path))
}

// WaitFile waits until the file is there and not empty, and returns its content.
func (h *Home) WaitFile(path string) string {
	h.t.Helper()
	var data []byte
	Until(h.t, func() string { return "no file " + path }, func() bool {
		data, _ = os.ReadFile(path)
		return len(data) > 0
	})
	return string(data)
}

// Command is a program that runs beside the sessions: as their user, with their
// environment, in Work, and killed with them.
func (h *Home) Command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = h.Work, h.Env()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if h.uid >= 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(h.uid), Gid: uint32(h.uid)}
	}
	return cmd
}

// Env is the environment of the sessions, and all of it.
func (h *Home) Env() []string {
	return []string{
		markName + "=" + h.Root,
		"HOME=" + h.Home,
		"CLAUDE_CONFIG_DIR=" + h.Config,
		"TMPDIR=" + h.Temp,
		"PATH=" + h.Bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"SHELL=/bin/sh",
		"USER=tester",
		"LANG=C.UTF-8",
		"TERM=xterm-256color",
		"ANTHROPIC_BASE_URL=" + h.model.URL(),
		"ANTHROPIC_API_KEY=" + apiKey,
		"DISABLE_AUTOUPDATER=1",
		"DISABLE_TELEMETRY=1",
		"DISABLE_ERROR_REPORTING=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		// It clones its marketplace and asks its makers' services in spite of that:
		// both must fail at once, and alike on every machine.
		"GIT_ALLOW_PROTOCOL=file",
		"HTTPS_PROXY=http://127.0.0.1:9",
		"NO_PROXY=127.0.0.1,localhost",
		"ENABLE_TOOL_SEARCH=false", // else the model must search for SendMessage and others first
	}
}

// output runs a program that must succeed.
func (h *Home) output(program string, args ...string) string {
	h.t.Helper()
	out, err := h.Command(program, args...).CombinedOutput()
	if err != nil {
		h.t.Fatalf("%s %q as user %d: %v: %s", program, args, h.uid, err, out)
	}
	return string(out)
}

func (h *Home) mkdir(dir string) {
	h.t.Helper()
	testenv.Must(h.t, os.MkdirAll(dir, 0o700))
	h.own(dir)
}

func (h *Home) own(path string) {
	h.t.Helper()
	if h.uid < 0 {
		return
	}
	testenv.Must(h.t, os.Chown(path, h.uid, h.uid))
}

func (h *Home) remove() {
	h.Kill()
	if h.t.Failed() && os.Getenv("WAGGLE_CLAUDE_KEEP") != "" {
		h.t.Logf("kept: %s", h.Root)
		return
	}
	if err := os.RemoveAll(h.Root); err != nil {
		h.t.Errorf("the client's files stay: %v", err)
	}
}

// Registered is an entry of the registry of sessions, sessions/PID.json.
type Registered struct {
	PID       int    `json:"pid"`
	SessionID string `json:"sessionId"`
	Cwd       string `json:"cwd"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	// Status is idle, busy or waiting; WaitingFor is then "permission prompt", or "input
	// needed" for a question of 2.1.329.
	Status     string `json:"status"`
	WaitingFor string `json:"waitingFor"`
	// Socket takes messages; "" before 2.1.224.
	Socket string `json:"messagingSocketPath"`
}

// Registry reads the entry of a session's process, if there is one.
func (h *Home) Registry(pid int) (Registered, bool) {
	h.t.Helper()
	data, err := os.ReadFile(filepath.Join(h.Config, "sessions", fmt.Sprintf("%d.json", pid)))
	if err != nil {
		return Registered{}, false
	}
	var r Registered
	// The client writes the file in place: half of it is no entry.
	return r, json.Unmarshal(data, &r) == nil
}
