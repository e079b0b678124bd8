// Package claudeaccount knows where the Claude Code client keeps its configuration, its sessions and its
// login, and gives a client in a sandbox a configuration directory of its own, from which nothing that it
// writes decides what other sessions run.
//
//	a := claudeaccount.Of(env)
//	config, err := a.Move(own, dir) // before the client starts
//	err = a.Renewed(own)            // after it has ended
package claudeaccount

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"waggle/agent"
	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonobj"
	"waggle/spawn"
)

// Account is where a client keeps its configuration, its sessions and its login.
type Account struct {
	Config string // the directory; "": none is known
	Global string // .claude.json
}

// Of is the account of clients with an environment.
func Of(env []string) Account {
	home := spawn.Getenv(env, "HOME")
	switch config := spawn.Getenv(env, "CLAUDE_CONFIG_DIR"); {
	case filepath.IsAbs(config):
		return Account{filepath.Clean(config), filepath.Join(config, globalName)}
	case filepath.IsAbs(home):
		return Account{filepath.Join(home, ".claude"), filepath.Join(home, globalName)}
	}
	return Account{}
}

const (
	globalName = ".claude.json"
	loginName  = ".credentials.json"
)

// Names in the configuration directory.
var (
	// read is what a client in a sandbox finds as it is, and cannot change.
	read = strings.Fields("settings.json settings.local.json CLAUDE.md agents commands skills plugins output-styles rules hooks workflows themes keybindings.json remote-settings.json")
	// closed is what concerns other sessions: what they say, what they run, and how they are reached.
	closed = strings.Fields("teams tasks projects sessions session-env shell-snapshots file-history history.jsonl paste-cache image-cache backups debug todos")
)

// Secrets are the variables that log a client in.
var Secrets = strings.Fields("ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN ANTHROPIC_FOUNDRY_API_KEY AWS_BEARER_TOKEN_BEDROCK")

// services are the hosts of the client's own service: its models, and the renewal of its login.
var services = strings.Fields("api.anthropic.com console.anthropic.com platform.claude.com")

// Hosts are those that a client with an environment cannot work without; nil: the environment names none that
// can be read.
func Hosts(env []string) (list []agent.HostPort) {
	if base := spawn.Getenv(env, "ANTHROPIC_BASE_URL"); base != "" {
		u, err := url.Parse(base)
		if err != nil || u.Hostname() == "" {
			return nil // the client will say so
		}
		port := cmp.Or(u.Port(), map[string]string{"http": "80"}[u.Scheme], "443")
		return []agent.HostPort{{Name: strings.ToLower(u.Hostname()), Port: port}}
	}
	for _, name := range services {
		list = append(list, agent.HostPort{Name: name, Port: "443"})
	}
	return list
}

// Needs is what a client in a sandbox that works in dir finds of the account, and what is hidden from it.
func (a Account) Needs(dir string) (n agent.Needs) {
	if a.Config == "" {
		return n
	}
	n.Shell = []string{filepath.Join(a.Config, "shell-snapshots")} // the user's aliases and functions
	n.Readable = []string{a.Config}
	for _, name := range slices.Concat(read, []string{loginName}) {
		n.Readable = append(n.Readable, filepath.Join(a.Config, name))
	}
	for _, name := range slices.Concat(closed, []string{globalName}) {
		n.Hidden = append(n.Hidden, filepath.Join(a.Config, name))
	}
	n.Writable = []string{a.sessions(dir)}
	n.Files = []string{filepath.Join(a.Config, loginName)}
	return n
}

// sessions is where the sessions of a directory are kept.
func (a Account) sessions(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return filepath.Join(a.Config, "projects", slug(dir))
}

// slug is the name that a client gives to the sessions of a directory.
func slug(dir string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, dir)
}

// insideName is the configuration directory of a client in a sandbox, in what it may write.
const insideName = "claude"

// Move makes the configuration directory of a client in a sandbox, anew: what it only reads and the
// sessions of its directory are links into the account, .claude.json is a copy, and everything else is
// its own. So nothing that it writes decides what other sessions run. own belongs to the client, so no
// link in it is followed.
func (a Account) Move(own, dir string) (config string, err error) {
	root, err := os.OpenRoot(own)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if err := errors.Join(root.RemoveAll(insideName), root.Mkdir(insideName, 0o700), root.Mkdir(insideName+"/projects", 0o700)); err != nil {
		return "", err
	}
	links := map[string]string{"projects/" + filepath.Base(a.sessions(dir)): a.sessions(dir)}
	for _, name := range slices.Concat(read, []string{loginName}) {
		links[name] = filepath.Join(a.Config, name)
	}
	for name, to := range links {
		if _, err := os.Stat(to); err != nil {
			continue // the account has none
		}
		if err := root.Symlink(to, insideName+"/"+name); err != nil {
			return "", err
		}
	}
	data, err := os.ReadFile(a.Global)
	if err == nil {
		err = root.WriteFile(insideName+"/"+globalName, data, 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return filepath.Join(own, insideName), nil
}

// maxLogin is how large the file of a login may be.
const maxLogin = 64 << 10

// Renewed takes a login over that the client has renewed by replacing the link: without it the user's
// other sessions would be logged out.
func (a Account) Renewed(own string) error {
	root, err := os.OpenRoot(own)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Lstat(insideName + "/" + loginName)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxLogin {
		return nil // as it was, or none
	}
	f, err := root.OpenFile(insideName+"/"+loginName, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxLogin))
	if err != nil {
		return err
	}
	path, err := filepath.EvalSymlinks(filepath.Join(a.Config, loginName))
	if err != nil {
		return nil // a login that was not there before is none of the user's
	}
	old, err := os.ReadFile(path)
	if err != nil || bytes.Equal(old, data) {
		return nil
	}
	if _, err := jsonobj.Parse(data); err != nil {
		return fmt.Errorf("the client's login: %w", err)
	}
	return atomicfile.WriteFile(path, data, atomicfile.Options{})
}
