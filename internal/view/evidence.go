package view

import (
	"waggle/internal/view/page"
	"waggle/operator/inspect"
)

// EvidenceDocument is what the state of a member rests on. Times are "" where there is none.
type EvidenceDocument struct {
	Process  ProcessDocument   `json:"process"`
	Journal  JournalDocument   `json:"journal"`
	Orders   OrdersDocument    `json:"orders"`
	Mailbox  MailboxDocument   `json:"mailbox"`
	Output   OutputDocument    `json:"output"`
	Terminal *TerminalDocument `json:"terminal"`
	Died     *DiedDocument     `json:"died"`
	Tools    []ToolDocument    `json:"tools"`
	Stopping string            `json:"stopping"`
}

// ProcessDocument is what the process table says of the recorded process.
type ProcessDocument struct {
	PID     int    `json:"pid"`
	Start   string `json:"start"`
	Epoch   uint64 `json:"epoch"`
	Since   string `json:"since"`
	State   string `json:"state"` // running, stopped, gone, none, unknown
	Problem string `json:"problem"`
}

// JournalDocument is what the member's own journal says.
type JournalDocument struct {
	State    string `json:"state"`
	LastKind string `json:"last_kind"`
	LastAt   string `json:"last_at"`
	Problem  string `json:"problem"`
}

// OrdersDocument is about orders of the lead that the member has not applied.
type OrdersDocument struct {
	Unapplied int    `json:"unapplied"`
	Oldest    string `json:"oldest_at"`
	WatchedMS int64  `json:"watched_ms"`
}

// MailboxDocument is what is unread in the member's mailbox.
type MailboxDocument struct {
	Control int    `json:"unread_control"`
	Chat    int    `json:"unread_chat"`
	Oldest  string `json:"oldest_control_at"`
	Problem string `json:"problem"`
}

// OutputDocument is the member's output.log.
type OutputDocument struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	At   string `json:"at"`
}

// TerminalDocument is the report of the holder of the member's terminal.
type TerminalDocument struct {
	Socket string `json:"socket"`
	Pane   string `json:"pane"`
	Server string `json:"server"`
	Holder string `json:"holder"`
	Ended  bool   `json:"ended"`
	Exit   string `json:"exit"`
}

// DiedDocument is the end of a process as it is on record.
type DiedDocument struct {
	At      string `json:"at"`
	Detail  string `json:"detail"`
	Restart string `json:"restart_at"`
	GaveUp  bool   `json:"gave_up"`
}

// ToolDocument is a command that a dead process of a member has left running.
type ToolDocument struct {
	PID  int    `json:"pid"`
	Argv string `json:"argv"`
}

func evidence(g *inspect.Evidence) *EvidenceDocument {
	if g == nil {
		return nil
	}
	d := &EvidenceDocument{
		Process:  ProcessDocument{g.Process.PID, g.Process.Start, g.Process.Epoch, page.Stamp(g.Process.Since), g.Process.State, g.Process.Problem},
		Journal:  JournalDocument{g.Journal.State, g.Journal.LastKind, page.Stamp(g.Journal.LastAt), g.Journal.Problem},
		Orders:   OrdersDocument{g.Orders.Unapplied, page.Stamp(g.Orders.Oldest), g.Orders.Watched.Milliseconds()},
		Mailbox:  MailboxDocument(g.Mailbox),
		Output:   OutputDocument{g.Output.Path, g.Output.Size, page.Stamp(g.Output.At)},
		Terminal: (*TerminalDocument)(g.Terminal),
		Tools:    make([]ToolDocument, 0, len(g.Tools)),
		Stopping: g.Stopping,
	}
	if g.Died != nil {
		d.Died = &DiedDocument{page.Stamp(g.Died.At), g.Died.Detail, page.Stamp(g.Died.Restart), g.Died.GaveUp}
	}
	for _, t := range g.Tools {
		d.Tools = append(d.Tools, ToolDocument(t))
	}
	return d
}
