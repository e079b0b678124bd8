package claude

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"waggle/agent"
	"waggle/spawn"
)

// ShellEvent is the event of the hook program that is the prefix of a client's shell commands.
const ShellEvent = "Shell"

// prefixVar is the client's variable for a program that it starts in place of every shell command, with
// the command's text as its argument: commands of the model, hooks and MCP servers.
const prefixVar = "CLAUDE_CODE_SHELL_PREFIX"

// Shells runs the shell commands of a client that runs outside of its member's sandbox: the client's
// prefix starts each command as Shells prepares it. The hooks of its private settings run as they are.
// A command for which nothing can be prepared fails.
type Shells struct {
	listener
	box     agent.Shell
	dir     string   // private
	own     []string // texts of hooks that run outside
	guarded []string
	came    atomic.Bool // a command has come by the prefix
}

// prefixServer is a tool server that a headless client starts before its first turn, which shows that
// it starts what it starts by the prefix. It ends at once and has no tools. In a pane the hooks show it.
const prefixServer = "waggle-prefix"

// shellTools are the tools that start shell commands.
var shellTools = []string{"Bash", "PowerShell", "Monitor"}

// ListenShells serves the prefix of a client that works in work. dir is a private directory, program
// the hook program.
func ListenShells(box agent.Shell, dir, work, program string) (*Shells, error) {
	guarded, err := projectSettings(box, work)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "x")
	s := &Shells{box: box, dir: dir, own: hookTexts(program), guarded: guarded}
	if err := os.WriteFile(s.Prefix(), []byte(prefixScript(program, path)), 0o700); err != nil {
		return nil, err
	}
	if err := s.serve(path, s.one); err != nil {
		return nil, err
	}
	return s, nil
}

// shellsOf serves the prefix of a client at a place; nil: its shell commands run as it does.
func shellsOf(p agent.Place, dir, work, program string) (*Shells, error) {
	if p.Shell == nil {
		return nil, nil
	}
	s, err := ListenShells(*p.Shell, dir, work, program)
	if err != nil {
		return nil, fmt.Errorf("the sandbox of the client's shell commands: %w", err)
	}
	return s, nil
}

// Prefix is the program that the client starts for its shell commands; "" without one.
func (s *Shells) Prefix() string {
	if s == nil {
		return ""
	}
	return filepath.Join(s.dir, "shell")
}

// refuse denies the shell commands of a client that starts nothing by the prefix.
func (s *Shells) refuse(tool string) string {
	if s == nil || !slices.Contains(shellTools, tool) || s.came.Load() {
		return ""
	}
	return "this client does not start its shell commands by " + prefixVar + ", so that no sandbox would hold this one"
}

// Environ is what the client's environment has for it.
func (s *Shells) Environ() []string {
	return []string{prefixVar + "=" + s.Prefix(), "TMPDIR=" + s.box.Tmp}
}

// close ends it: commands that run are ended.
func (s *Shells) close() error {
	if s == nil {
		return nil
	}
	return s.listener.close()
}

// prefixScript is the text of Prefix. The hook that denies must block its call also when the program is
// gone.
func prefixScript(program, socket string) string {
	run := quoted(program) + " hook claude " + ShellEvent + " -- " + quoted(socket) + ` "$1"`
	return "#!/bin/sh\ncase \"$1\" in\n" + quoted(denyOnly(hookCommand(program)).Command) + ") " + run + " || exit 2; exit 0;;\nesac\nexec " + run + "\n"
}

// hookTexts are the texts of the hooks in the private settings.
func hookTexts(program string) []string {
	list := []string{denyOnly(hookCommand(program)).Command}
	for _, event := range events {
		list = append(list, memberHook(program, event))
	}
	return list
}

// settingsName is the directory of a project's settings, which name programs that the client runs.
const settingsName = ".claude"

// projectSettings are the settings that the client reads in its directory, which no command may change.
// A directory whose settings the member's commands could have written before is refused.
func projectSettings(box agent.Shell, work string) ([]string, error) {
	if slices.Contains(box.Settings, filepath.Join(work, settingsName)) {
		return []string{filepath.Join(work, mcpName)}, nil
	}
	root, err := os.OpenRoot(work)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := root.Mkdir(settingsName, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	info, err := root.Lstat(settingsName)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a directory of its own")
	}
	for _, name := range []string{"settings.json", "settings.local.json"} {
		if err == nil {
			if _, e := root.Lstat(settingsName + "/" + name); !errors.Is(e, fs.ErrNotExist) {
				err = fmt.Errorf("it has a %s that the member's commands could have written", name)
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s decides what the client runs outside of the sandbox: %w; give the task another directory", filepath.Join(work, settingsName), err)
	}
	return []string{filepath.Join(work, settingsName), filepath.Join(work, mcpName)}, nil
}

// mcpName has a project's MCP servers.
const mcpName = ".mcp.json"

// shellAsk is what the prefix asks, and shellSaid what it is told: first the process to start, then, for
// a shellEnded, how the command has ended.
type (
	shellAsk struct {
		Command string   `json:"command"`
		Shell   string   `json:"shell"`
		Dir     string   `json:"dir"`
		Env     []string `json:"env"`
	}
	shellSaid struct {
		Error  string   `json:"error,omitempty"`
		Argv   []string `json:"argv,omitempty"`
		Env    []string `json:"env,omitempty"`
		Ended  bool     `json:"ended,omitempty"`
		Code   *int     `json:"code,omitempty"` // absent: that of the process
		Signal string   `json:"signal,omitempty"`
		Note   string   `json:"note,omitempty"` // for its stderr
	}
	shellEnded struct {
		Output string `json:"output"` // its end, where the client has the output written to files
	}
)

// maxShellLine bounds a line of that protocol. The text of a command is at most one argument of a
// program, and an environment some more.
const maxShellLine = 8 << 20

// one serves one command. Who started it may be gone.
func (s *Shells) one(_ context.Context, c net.Conn) {
	r := bufio.NewReader(io.LimitReader(c, 2*maxShellLine))
	line, err := r.ReadBytes('\n')
	if err != nil {
		return
	}
	var ask shellAsk
	if err := json.Unmarshal(line, &ask); err != nil || ask.Command == "" {
		_ = send(c, shellSaid{Error: "the command is not understood"})
		return
	}
	s.came.Store(true)
	if slices.Contains(s.own, ask.Command) {
		_ = send(c, shellSaid{Argv: []string{"/bin/sh", "-c", ask.Command}, Env: ask.Env})
		if _, err := r.ReadBytes('\n'); err == nil {
			_ = send(c, shellSaid{Ended: true})
		}
		return
	}
	p, err := s.prepare(ask)
	if err != nil {
		_ = send(c, shellSaid{Error: err.Error()})
		return
	}
	_ = send(c, shellSaid{Argv: p.Argv, Env: p.Env})
	line, err = r.ReadBytes('\n') // when the process has ended, or the one that started it
	if err != nil {
		_ = p.End() // it has ended already, or Close ends it
	}
	var end shellEnded
	_ = json.Unmarshal(line, &end) // of another program, or cut: no output is known
	exit, err := p.Close()
	said := shellSaid{Ended: true}
	how := spawn.Exit{}
	switch {
	case err != nil:
		said.Error = err.Error()
	case exit != nil:
		said.Code, said.Signal, how = &exit.Code, exit.Signal, *exit
	}
	if p.Note != nil {
		said.Note = p.Note(how, end.Output)
	}
	_ = send(c, said)
}

// prepare prepares a command without the variables that lead to this member's worker.
func (s *Shells) prepare(ask shellAsk) (agent.Prepared, error) {
	env := slices.DeleteFunc(ask.Env, func(kv string) bool {
		return strings.HasPrefix(kv, SecondVar+"=") || strings.HasPrefix(kv, prefixVar+"=")
	})
	shell := ask.Shell
	if !filepath.IsAbs(shell) {
		shell = "/bin/sh"
	}
	return s.box.Prepare(spawn.Command{Argv: []string{shell, "-c", ask.Command}, Dir: ask.Dir, Env: env}, s.guarded)
}

// errShells means that the worker prepares no commands: the command did not run.
var errShells = errors.New("the sandbox of this member does not answer, and the command did not run")

// codeShells is the exit code of a prefix whose command did not run, or whose worker is gone.
const codeShells = 125

// Prefixed runs a shell command as the prefix of a client, in the worker's sandbox, and returns its exit
// code. The command has the standard streams of this process. It is ended when the worker is gone.
func Prefixed(ctx context.Context, socket, command string, environ []string) (code int, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return codeShells, err
	}
	c, err := dial(ctx, socket)
	if err != nil {
		return codeShells, fmt.Errorf("%w: %w", errShells, err)
	}
	defer c.Close()
	if err := send(c, shellAsk{Command: command, Shell: spawn.Getenv(environ, "SHELL"), Dir: dir, Env: environ}); err != nil {
		return codeShells, fmt.Errorf("%w: %w", errShells, err)
	}
	r := bufio.NewReader(io.LimitReader(c, 2*maxShellLine))
	said, err := heard(r)
	if err != nil {
		return codeShells, fmt.Errorf("%w: %w", errShells, err)
	}
	return started(ctx, c, r, said, dir)
}

// started runs the process of a prepared command, and asks the worker how the command has ended.
func started(ctx context.Context, c net.Conn, r *bufio.Reader, said shellSaid, dir string) (int, error) {
	if len(said.Argv) == 0 {
		return codeShells, errShells
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, said.Argv[0], said.Argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = said.Env, dir, os.Stdin, os.Stdout, os.Stderr
	type end struct {
		said shellSaid
		err  error
	}
	ended := make(chan end, 1)
	files := writtenTo(os.Stdout, os.Stderr)
	if err := cmd.Start(); err != nil {
		return codeShells, fmt.Errorf("%w: %w", errShells, err)
	}
	go func() {
		said, err := heard(r)
		if err != nil {
			cancel() // the worker is gone, or it has nothing that runs
		}
		ended <- end{said, err}
	}()
	_ = cmd.Wait() // its state has the result
	var output strings.Builder
	for _, f := range files {
		output.WriteString(f.tail() + "\n")
	}
	_ = send(c, shellEnded{output.String()}) // the worker may be gone
	e := <-ended
	if e.err != nil {
		return codeShells, fmt.Errorf("the sandbox of this member is gone, and the command was ended: %w", e.err)
	}
	_, _ = io.WriteString(os.Stderr, e.said.Note) // its reader may be gone
	return e.said.status(cmd.ProcessState), nil
}

// outputTail is the length of the end of a command's output, in bytes, that the worker is told.
const outputTail = 4 << 10

// written is a regular file to which a command writes its output, and its size before.
type written struct {
	info fs.FileInfo
	name string
}

// writtenTo looks at the files of the standard streams. Of a pipe the end is not known.
func writtenTo(streams ...*os.File) (files []written) {
	for _, f := range streams {
		info, err := f.Stat()
		if err == nil && info.Mode().IsRegular() && !slices.ContainsFunc(files, func(w written) bool { return os.SameFile(w.info, info) }) {
			files = append(files, written{info, fmt.Sprintf("/dev/fd/%d", f.Fd())})
		}
	}
	return files
}

// tail is the end of what the file has now and had not before.
func (w written) tail() string {
	f, err := os.Open(w.name) // anew: a stream is open for writing only
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from := max(w.info.Size(), info.Size()-outputTail)
	part, _ := io.ReadAll(io.NewSectionReader(f, from, outputTail)) // what can be read of it
	return string(part)
}

// heard reads one line of the worker.
func heard(r *bufio.Reader) (said shellSaid, err error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return said, err
	}
	if err := json.Unmarshal(line, &said); err != nil {
		return said, err
	}
	if said.Error != "" {
		return said, errors.New(said.Error)
	}
	return said, nil
}

// status is the exit code of a shell for a command that has ended.
func (s shellSaid) status(process *os.ProcessState) int {
	switch {
	case s.Code != nil && s.Signal == "":
		return *s.Code
	case s.Code == nil && process.Exited():
		return process.ExitCode()
	}
	return 128 + 15 // by a signal, whose number is not told
}
