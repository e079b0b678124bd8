package claudesettings

import (
	"cmp"
	"path/filepath"

	"waggle/internal/fs/gitdir"
)

// Client is a program that keeps hooks in settings of this form: its word in their commands. The zero
// value is Claude.
type Client string

// The clients.
const (
	Claude Client = "claude"
	Codex  Client = "codex"
	Gemini Client = "gemini"
)

// Clients are all of them.
var Clients = []Client{Claude, Codex, Gemini}

// kind is what a client has of its own.
type kind struct {
	title    string
	variable string // names the directory of a user's settings, with Gemini the home directory that has it
	dir      string // of these settings in a home directory
	file     string // of the settings in a directory
	events   []Event
	trust    string
}

var kinds = map[Client]kind{
	Claude: {"Claude Code", "CLAUDE_CONFIG_DIR", ".claude", "settings.json", claudeEvents, ""},
	Codex: {"Codex", "CODEX_HOME", ".codex", "hooks.json", codexEvents,
		"Codex asks you to trust each hook and skips it until then: see /hooks in Codex"},
	Gemini: {"Gemini CLI", "GEMINI_CLI_HOME", ".gemini", "settings.json", geminiEvents, ""},
}

func (c Client) known() Client { return cmp.Or(c, Claude) }

func (c Client) kind() kind {
	if k, ok := kinds[c]; ok {
		return k
	}
	return kinds[Claude]
}

// Title is the client's own name.
func (c Client) Title() string { return c.kind().title }

// Events are the events with a hook, in the order in which they are written. The first is the one that
// says that a session waits for its person.
func (c Client) Events() []Event { return c.kind().events }

// Trust is what a person has to do in a client before it runs the hooks of its settings, "" for nothing.
func (c Client) Trust() string { return c.kind().trust }

// Dir is where the client keeps the settings of a user with this environment and home directory.
func (c Client) Dir(env func(key string) string, home string) string {
	kind := c.kind()
	if dir := env(kind.variable); dir != "" {
		if c != Gemini {
			return dir
		}
		home = dir
	}
	return filepath.Join(home, kind.dir)
}

// UserFile is the file of the settings of all sessions of a user, in the directory of Dir.
func (c Client) UserFile(dir string) string { return filepath.Join(dir, c.kind().file) }

// ProjectFile is the file of the settings of the sessions in a repository: with Claude those of this user
// alone, with the others those of everybody who has the repository.
func (c Client) ProjectFile(top string) string {
	if c.known() == Claude {
		local, _ := LocalFiles(top)
		return local
	}
	return c.UserFile(filepath.Join(top, c.kind().dir))
}

// Files are the settings files of a user's sessions in a directory, the deciding one first; dir is that of
// Dir. Those of an administrator are not among them.
func (c Client) Files(dir, cwd string) (files []string) {
	if c.known() == Claude {
		return SourcesIn(c.UserFile(dir), cwd).Files
	}
	if top := gitdir.Top(cwd); top != "" {
		files = append(files, c.ProjectFile(top))
	}
	return append(files, c.UserFile(dir))
}

// Off returns the setting that keeps all hooks of the client from running in a directory, nil when none is
// known; dir is that of Dir. Codex has its switch in another file, which is not read. problems are files
// that cannot be read.
func (c Client) Off(dir, cwd string) (off *Off, problems []error) {
	switch c {
	case Codex:
		return nil, nil
	case Gemini:
		decided := false
		problems = c.each(c.Files(dir, cwd), func(path string, f *file) {
			if v := f.doc.Root.Get("hooksConfig").Get("enabled"); v != nil && !decided {
				decided = true
				if string(f.doc.Raw(v)) == "false" {
					off = &Off{path, "hooksConfig.enabled"}
				}
			}
		})
		return off, problems
	}
	return SourcesIn(c.UserFile(dir), cwd).Off()
}
