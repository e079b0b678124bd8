package terminal

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"waggle/spawn"
)

// WatchOptions say which tmux is watched.
type WatchOptions struct {
	// Program is tmux, 3.2 or newer, an absolute path; Env is what it is run with.
	Program string
	Env     []string
	// Socket and Server are those of a Pane: this run of tmux and no other.
	// Required.
	Socket string
	Server spawn.Identity
}

// Event is something that happened in a server.
type Event struct {
	What Change
	// Pane is its id in that server, which is not given again; "" for Watching and
	// ServerGone.
	Pane string
	// Window is the window that the pane is in, or was last, and Name what it is
	// called. A name is a person's words, or another program's.
	Window, Name string
}

// Change is what happened.
type Change string

const (
	PaneOpened    Change = "opened"  // it was there when the watch began, is new, or runs again
	PaneExited    Change = "exited"  // its process has ended; the pane stays, to be read
	PaneClosed    Change = "closed"  // the pane is gone, with its window or without, whoever closed it
	PaneMoved     Change = "moved"   // it, or its window, is somewhere else
	WindowRenamed Change = "renamed" // its window has another name
	Watching      Change = "watching"
	ServerGone    Change = "gone"
)

// look is one pane at one moment.
type look struct {
	dead   bool
	window string
	places string // where its window is linked: sessions and indexes
	name   string
}

// lookFormat is how tmux writes one; lookMark begins each line of it.
const (
	lookMark   = "waggle-pane "
	lookFormat = lookMark + "#{pid} #{pane_id} #{pane_dead} #{window_id} #{session_id}:#{window_index} #{window_name}"
)

// looks reads what tmux wrote of all panes of a server. A pane whose window is linked
// to several sessions comes several times.
func looks(text string) (pid int, all map[string]look, err error) {
	all = map[string]look{}
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimPrefix(strings.TrimSuffix(line, "\n"), lookMark), " ", 6)
		if len(f) != 6 || !paneID(f[1]) {
			return 0, nil, fmt.Errorf("tmux said %.200q of a pane", line)
		}
		if pid, err = strconv.Atoi(f[0]); err != nil {
			return 0, nil, fmt.Errorf("tmux said %.200q of a pane", line)
		}
		l := look{dead: f[2] == "1", window: f[3], places: f[4], name: f[5]}
		if before, ok := all[f[1]]; ok {
			l.places = before.places + " " + l.places
		}
		all[f[1]] = l
	}
	return pid, all, nil
}

// changes are what happened between two looks, by pane.
func changes(before, after map[string]look) (events []Event) {
	both := maps.Clone(after)
	maps.Copy(both, before)
	for _, id := range slices.SortedFunc(maps.Keys(both), byNumber) {
		is, now := after[id]
		was, then := before[id]
		add := func(what Change, l look) {
			events = append(events, Event{What: what, Pane: id, Window: l.window, Name: l.name})
		}
		if !now {
			add(PaneClosed, was)
			continue
		}
		if !then || was.dead && !is.dead {
			add(PaneOpened, is)
		}
		if is.dead && !was.dead {
			add(PaneExited, is)
		}
		if then && (is.window != was.window || is.places != was.places) {
			add(PaneMoved, is)
		}
		if then && is.window == was.window && is.name != was.name {
			add(WindowRenamed, is)
		}
	}
	return events
}

func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
