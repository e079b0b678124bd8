package session

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"waggle/spawn"
)

// A process may run the turns of several sessions, each in a terminal of its own: Codex starts one such
// process for all of them. It outlives them, its environment is that of the first, and it is the ancestor
// of every hook. So nothing of one of its sessions follows from the process but that none runs without it.

// hosts reports whether a process of a client runs several sessions.
func (c Client) hosts(id spawn.Identity) bool {
	return c == Codex && id.PID > 0 && slices.Contains(spawn.Argv(id.PID), "app-server")
}

// goneTerminal is why a request takes no answer whose client asks nobody any more.
const goneTerminal = "its terminal is gone; nothing was delivered"

// terminalGone reports whether every terminal has certainly ended that the session can be in. Its last
// prompt came from one of them.
func (s *Session) terminalGone(l Liveness) bool {
	at := readSeen(filepath.Join(s.Dir, agentsDir, selfFile)).Terminals
	return len(at) > 0 && !slices.ContainsFunc(at, func(id spawn.Identity) bool { return !l.dead(id) })
}

// transcriptGone reports whether the client's file of the conversation was there and is no more.
func (s *Session) transcriptGone() bool {
	path := readSeen(filepath.Join(s.Dir, agentsDir, selfFile)).Transcript
	if path == "" {
		return false
	}
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// runs reports whether the newest process of a session runs it still, as far as is known: that process is
// alive, and the session has a terminal and a conversation.
func (s *Session) runs(l Liveness) bool {
	p := s.Process()
	return p != nil && p.Process.PID != 0 && !l.dead(p.Process) && !s.terminalGone(l) && !s.transcriptGone()
}
