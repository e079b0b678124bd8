package claudesettings

import (
	"path/filepath"
	"runtime"
	"time"

	"waggle/internal/fs/gitdir"
)

// StoreIn is the store of a STATE for the settings of a client.
func StoreIn(state string, c Client, now func() time.Time) Store {
	return Store{Dir: filepath.Join(state, "hooks"), Now: now, Client: c}
}

// SourcesIn are the settings files of a session in a directory, of the user with these
// settings.
func SourcesIn(user, cwd string) Sources {
	s := Sources{Managed: managedFile()}
	if top := gitdir.Top(cwd); top != "" {
		local, shared := LocalFiles(top)
		s.Files = append(s.Files, local, shared)
	}
	s.Files = append(s.Files, user)
	return s
}

// LocalFiles are a repository's settings of this user, and those for everybody.
func LocalFiles(top string) (local, shared string) {
	dir := filepath.Join(top, ".claude")
	return filepath.Join(dir, "settings.local.json"), filepath.Join(dir, "settings.json")
}

// managedFile are those of an administrator, as Claude Code documents their place.
func managedFile() string {
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/ClaudeCode/managed-settings.json"
	case "windows":
		return `C:\Program Files\ClaudeCode\managed-settings.json`
	}
	return "/etc/claude-code/managed-settings.json"
}

// InstalledSince is the time of the first install that a session of these sources has, zero
// when it is not known; false when the hooks are in none of its settings.
func (s Store) InstalledSince(sources Sources) (since time.Time, installed bool) {
	for _, path := range sources.Files {
		l, err := s.Look(path)
		if err != nil || !l.Installed {
			continue // a file that cannot be read has no hooks; another check reports it
		}
		if !installed || !l.Since.IsZero() && (since.IsZero() || l.Since.Before(since)) {
			since = l.Since
		}
		installed = true
	}
	return since, installed
}
