package session

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"waggle/spawn"
)

// Terminals are the processes of this user that show a session of Codex in a terminal: those that work in a
// directory, else all.
func Terminals(cwd string) []spawn.Identity {
	ents, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all, here []spawn.Identity
	for _, e := range ents {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		argv := spawn.Argv(pid)
		if len(argv) == 0 || filepath.Base(argv[0]) != string(Codex) || slices.Contains(argv, "app-server") {
			continue
		}
		if mine, err := spawn.Mine(pid); err != nil || !mine {
			continue
		}
		id, err := spawn.Identify(pid)
		if err != nil {
			continue
		}
		all = append(all, id)
		if dir, err := os.Readlink("/proc/" + e.Name() + "/cwd"); err == nil && dir == cwd {
			here = append(here, id)
		}
	}
	if here != nil {
		return here
	}
	return all
}
