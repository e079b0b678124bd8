package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonobj"
	"waggle/internal/json/jsontext"
	"waggle/journal"
	"waggle/record"
	"waggle/spawn"
)

// The hooks' evidence is beside the journal in small files without a flush: it names calls and
// describes rows. Losing it loses no answer.
const (
	callsDir  = "calls"  // calls that were announced, by the hash of the call: tool_use_id, agent and what it does, a line each
	agentsDir = "agents" // the last event of the session (selfFile) and of each teammate
	selfFile  = "self"
)

// Seen is the last event of a session, or of a teammate in it, that a hook saw.
type Seen struct {
	Event   string    `json:"event"`
	At      time.Time `json:"at"`
	Agent   string    `json:"agent,omitempty"`
	Name    string    `json:"name,omitempty"`
	Tool    string    `json:"tool,omitempty"`
	Note    string    `json:"note,omitempty"` // type of a notification
	Message string    `json:"message,omitempty"`
	Mode    string    `json:"permission_mode,omitempty"` // of the last event that had one
	// Of the session itself, from an earlier event where the last one does not have it: the client's file of
	// the conversation, once it was there, and the processes of which one is the session's terminal, where
	// its own process runs several sessions.
	Transcript string           `json:"transcript,omitempty"`
	Terminals  []spawn.Identity `json:"terminals,omitempty"`
}

// remember keeps the tool_use_id of a call that is about to be asked or run.
func (h Hook) remember(e Event) error {
	if e.ToolUseID == "" || e.Tool == "" {
		return nil
	}
	return quick(filepath.Join(h.Store.Path(e.Session), callsDir, callName(e)), []byte(strings.Join([]string{e.ToolUseID, oneLine(e.Agent), e.does()}, "\n")))
}

// does is what a call does, in a line: its command, or its tool and file.
func (e Event) does() string {
	if command := oneLine(jsontext.TextAt(e.Input, "command")); command != "" {
		return command
	}
	return oneLine(e.Tool + " " + jsontext.TextAt(e.Input, "file_path"))
}

// running is the newest call of the session itself that was announced after a time and has not ended, and when; "" is
// none. One that was denied in the session's dialog counts until the turn ends.
func (s *Session) running(after time.Time) (does string, since time.Time) {
	dir := filepath.Join(s.Dir, callsDir)
	ents, _ := os.ReadDir(dir) // no hook has announced a call where it is missing
	for _, e := range ents {
		info, err := e.Info()
		if err != nil || strings.HasPrefix(e.Name(), ".") || !info.ModTime().After(after) || !info.ModTime().After(since) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if lines := strings.SplitN(string(b), "\n", 3); err == nil && len(lines) == 3 && lines[1] == "" {
			does, since = lines[2], info.ModTime()
		}
	}
	return does, since
}

// recall is the tool_use_id of the last announcement of this very call.
func (h Hook) recall(s *Session, e Event) string {
	if e.ToolUseID != "" {
		return e.ToolUseID
	}
	b, err := os.ReadFile(filepath.Join(s.Dir, callsDir, callName(e)))
	id, _, _ := strings.Cut(string(b), "\n")
	if err != nil || len(id) > 200 {
		return ""
	}
	return id
}

// ran closes the request of a call that ran.
func (h Hook) ran(ctx context.Context, e Event) error {
	_ = os.Remove(filepath.Join(h.Store.Path(e.Session), callsDir, callName(e))) // it may not be there
	s, err := h.Store.Open(e.Session)
	if err != nil {
		return err
	}
	if !s.any(func(r *Request) bool { return ranIs(r, e) }) {
		return nil
	}
	return s.append(ctx, h.writer(e.Session), func(f *Fold) ([]journal.Draft, error) {
		var ds []journal.Draft
		for _, r := range f.Requests {
			if !ranIs(r, e) {
				continue
			}
			why, inDialog := "it ran", r.State == StateOpen || r.State == StateDecided || r.State == StateClosed
			switch {
			case inDialog:
				why = "it was allowed in the session's own dialog, and ran"
			case r.Decided.Decision == record.DecisionDeny:
				why, inDialog = "it ran: it was allowed in the session's own dialog before the denial came", true
			}
			ds = append(ds, closing(r, why, inDialog))
		}
		return ds, nil
	})
}

// ranIs reports whether an event is about the call of a request.
func ranIs(r *Request, e Event) bool {
	if r.over() && (!r.Closed.Unsaid || r.Ask.ToolUseID == "" || e.ToolUseID == "") || r.Agent != e.Agent || r.Ask.Tool != e.Tool {
		return false
	}
	if r.Ask.ToolUseID != "" && e.ToolUseID != "" {
		return r.Ask.ToolUseID == e.ToolUseID
	}
	return r.Ask.Input == string(e.Input)
}

func (s *Session) any(of func(*Request) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.fold.Requests, of)
}

// turnOver closes what an agent asked in the turn that has ended.
func (h Hook) turnOver(ctx context.Context, e Event, event string) error {
	of := func(r *Request) bool { return !r.over() && r.Agent == e.Agent }
	if event == "TeammateIdle" && e.Teammate != "" {
		of = func(r *Request) bool { return !r.over() && r.AgentName == e.Teammate }
	}
	return h.closeAll(ctx, e, event, of, "its turn ended: it was answered in the session's own dialog")
}

// closeAll closes the requests that of is true for, and keeps the event that shows it.
func (h Hook) closeAll(ctx context.Context, e Event, event string, of func(*Request) bool, evidence string) error {
	s, err := h.Store.Open(e.Session)
	if err != nil {
		return err
	}
	if s.any(of) {
		err = s.append(ctx, h.writer(s.ID), func(f *Fold) ([]journal.Draft, error) { return closeAll(f, of, evidence), nil })
	}
	return errors.Join(err, h.note(e, event))
}

// note keeps the last event of a session or of a teammate in it.
func (h Hook) note(e Event, event string) error {
	of := selfFile
	if who := cmp.Or(e.Agent, e.Teammate); who != "" {
		of = fileName(who)
	}
	path := filepath.Join(h.Store.Path(e.Session), agentsDir, of)
	last := readSeen(path)
	now := Seen{Event: event, At: h.Store.Now(), Agent: e.Agent, Name: cmp.Or(e.Teammate, e.AgentType), Tool: e.Tool, Note: e.Note, Message: oneLine(e.Message), Mode: cmp.Or(e.Mode, last.Mode)}
	if of == selfFile {
		now.Transcript, now.Terminals = last.Transcript, last.Terminals
		if _, err := os.Stat(e.Transcript); err == nil && filepath.IsAbs(e.Transcript) {
			now.Transcript = e.Transcript
		}
		if event == "UserPromptSubmit" { // its person is at the terminal
			now.Terminals = h.terminals(e)
		}
	}
	b, err := jsonobj.Marshal(now)
	if err != nil {
		return err
	}
	return quick(path, b)
}

// terminals are the processes of which one is the session's terminal, nil where its own process is.
func (h Hook) terminals(e Event) []spawn.Identity {
	if h.Client != Codex || h.Terminals == nil {
		return nil
	}
	if s, err := h.Store.Open(e.Session); err == nil {
		if p := s.Process(); p != nil && p.Shared {
			return h.Terminals(e.Cwd)
		}
	}
	return nil
}

// prompted closes what the client asked in the session's own dialog: its person types the next words.
func (h Hook) prompted(ctx context.Context, e Event) error {
	of := func(r *Request) bool { return r.Left() && r.Agent == e.Agent }
	return h.closeAll(ctx, e, "UserPromptSubmit", of, "its person has typed the next words: it was answered in the session's own dialog")
}

// readSeen reads one last event; it is zero when there is none, or it cannot be read.
func readSeen(path string) (one Seen) {
	if b, err := os.ReadFile(path); err != nil || json.Unmarshal(b, &one) != nil {
		return Seen{}
	}
	return one
}

// Mode is the permission mode of the session itself at its last event or request that named one, "" when
// none did.
func (s *Session) Mode() string {
	last := readSeen(filepath.Join(s.Dir, agentsDir, selfFile))
	mode, at := last.Mode, last.At
	for _, r := range s.Requests() {
		if r.Agent == "" && r.Mode != "" && (mode == "" || r.At.After(at)) {
			mode, at = r.Mode, r.At
		}
	}
	return mode
}

// LastSeen reads the last events of a session and of its teammates. A file that cannot be read is
// left out.
func (s *Session) LastSeen() []Seen {
	ents, err := os.ReadDir(filepath.Join(s.Dir, agentsDir))
	if err != nil {
		return nil
	}
	var out []Seen
	for _, e := range ents {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if one := readSeen(filepath.Join(s.Dir, agentsDir, e.Name())); one.Event != "" {
			out = append(out, one)
		}
	}
	return out
}

// fileName is an agent's id as a file name.
func fileName(id string) string {
	return "a-" + callName(Event{Agent: id})
}

// quick replaces a small file, without a flush, and makes its directory.
func quick(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.WriteFile(path, data, atomicfile.Options{})
}
