package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"waggle/internal/view/page"
	"waggle/operator/board"
	"waggle/task"
)

// TaskDocument is a task of the list.
type TaskDocument struct {
	ID        task.ID     `json:"id"`
	Subject   string      `json:"subject"`
	Owner     string      `json:"owner"`
	Status    task.Status `json:"status"`         // as the file has it: of a failed or blocked task pending
	State     string      `json:"state"`          // status, failed or blocked
	BlockedBy []task.ID   `json:"blocked_by"`     // as the file has it: also those that are done
	Blocked   bool        `json:"blocked"`        // one of blocked_by is neither completed nor removed
	WaitsFor  []task.ID   `json:"waits_for"`      // the tasks of blocked_by that are open
	Note      string      `json:"note"`           // what the board does not show, and what to do about it
	Team      string      `json:"team,omitempty"` // in lists
}

// TaskDetailDocument is one task whole.
type TaskDetailDocument struct {
	TaskDocument
	Description string                     `json:"description"`
	ActiveForm  string                     `json:"active_form"`
	Blocks      []task.ID                  `json:"blocks"`
	Metadata    map[string]json.RawMessage `json:"metadata"`
	Order       *TaskOrderDocument         `json:"order"` // null: no member has an order from waggle
}

// TaskOrderDocument is the newest order for a task.
type TaskOrderDocument struct {
	Member string `json:"member"`
	Seq    uint64 `json:"seq"`
	At     string `json:"at"`
	By     string `json:"by"`
	Sent   bool   `json:"sent"` // the message is in the member's mailbox
	SHA256 string `json:"sha256"`
	Check  string `json:"check,omitempty"` // decides whether it is done
}

// OneTaskDocument is what shows one task.
type OneTaskDocument struct {
	Task TaskDetailDocument `json:"task"`
}

// OneTask is the document of one task.
func OneTask(d *board.TaskDetail, spell page.Spell) OneTaskDocument {
	out := TaskDetailDocument{TaskDocument: taskDocument(d.TaskView, spell), Description: d.Description, ActiveForm: d.ActiveForm, Blocks: list(d.Blocks), Metadata: d.Metadata}
	if out.Metadata == nil {
		out.Metadata = map[string]json.RawMessage{}
	}
	if o := d.Order; o != nil {
		out.Order = &TaskOrderDocument{string(o.Member), o.Seq, page.Stamp(o.At), string(o.By), o.Sent, o.SHA256, o.Check}
	}
	return OneTaskDocument{out}
}

func taskDocument(t board.TaskView, spell page.Spell) TaskDocument {
	return TaskDocument{t.ID, t.Subject, t.Owner, t.Status, stateText(t), list(t.BlockedBy), t.Blocked, list(t.WaitsFor), spell.Sentence(t.Note, t.Do), ""}
}

// list is a list that is never null.
func list[T any](in []T) []T { return append([]T{}, in...) }

// TaskPage is a task for people.
func TaskPage(d *board.TaskDetail, now time.Time, spell page.Spell) (p page.Page) {
	row := func(k, v string) {
		if v != "" {
			p.Line(page.Strong(fmt.Sprintf("%-10s", k)), page.Plain(" "+v))
		}
	}
	row("task", string(d.ID)+" "+d.Subject)
	row("status", stateText(d.TaskView))
	row("owner", d.Owner)
	row("doing", d.ActiveForm)
	row("after", texts(d.BlockedBy, " "))
	row("waits for", texts(d.WaitsFor, " "))
	row("before", texts(d.Blocks, " "))
	row("note", spell.Sentence(d.Note, d.Do))
	if o := d.Order; o != nil {
		row("ordered", fmt.Sprintf("%s at %s, by the %s, record %d of the leader's journal", o.Member, page.Clock(o.At, now), o.By, o.Seq))
		row("check", o.Check)
	}
	for _, k := range slices.Sorted(maps.Keys(d.Metadata)) {
		if k == task.MetaReleased {
			continue // the note says it
		}
		row("file: "+k, content(d.Metadata[k]))
	}
	if words := strings.TrimRight(d.Description, "\n "); words != "" {
		for _, l := range strings.Split(words, "\n") {
			p.Line(page.Plain("  " + l))
		}
	}
	return p
}

// content is a JSON string's content, and any other value in one line.
func content(raw json.RawMessage) string {
	var s string
	if err := json.Unmarshal(raw, &s); err == nil {
		return s
	}
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		return string(raw)
	}
	return line.String()
}

// texts are ids for people.
func texts(ids []task.ID, between string) string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = string(id)
	}
	return strings.Join(out, between)
}
