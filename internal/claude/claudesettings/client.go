package claudesettings

import (
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

func (c Client) known() Client {
	if c == "" {
		return Claude
	}
	return c
}

// Title is the client's own name.
func (c Client) Title() string {
	switch c {
	case Codex:
		return "Codex"
	case Gemini:
		return "Gemini CLI"
	}
	return "Claude Code"
}

// Dir is where the client keeps the settings of a user with this environment and home directory.
func (c Client) Dir(env func(key string) string, home string) string {
	switch c {
	case Codex:
		if dir := env("CODEX_HOME"); dir != "" {
			return dir
		}
		return filepath.Join(home, ".codex")
	case Gemini:
		if dir := env("GEMINI_CLI_HOME"); dir != "" {
			home = dir
		}
		return filepath.Join(home, ".gemini")
	}
	if dir := env("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(home, ".claude")
}

// UserFile is the file of the settings of all sessions of a user, in the directory of Dir.
func (c Client) UserFile(dir string) string {
	if c == Codex {
		return filepath.Join(dir, "hooks.json")
	}
	return filepath.Join(dir, "settings.json")
}

// ProjectFile is the file of the settings of the sessions in a repository: with Claude those of this user
// alone, with the others those of everybody who has the repository.
func (c Client) ProjectFile(top string) string {
	if c.known() == Claude {
		local, _ := LocalFiles(top)
		return local
	}
	return c.UserFile(filepath.Join(top, "."+string(c)))
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

// Trust is what a person has to do in a client before it runs the hooks of its settings, "" for nothing.
func (c Client) Trust() string {
	if c == Codex {
		return "Codex asks you to trust each hook and skips it until then: see /hooks in Codex"
	}
	return ""
}
