package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator/board"
	"waggle/protocol"
	"waggle/task"
)

// TaskDocument is a task of a list.
type TaskDocument struct {
	board.TaskView
	Team protocol.TeamName `json:"team"`
}

// TaskPage is a task for people.
func TaskPage(d *board.TaskDetail, now time.Time, spell page.Spell) (p page.Page) {
	row := func(k, v string) {
		if v != "" {
			p.Line(page.Strong(fmt.Sprintf("%-10s", k)), page.Plain(" "+v))
		}
	}
	row("task", string(d.ID)+" "+d.Subject)
	row("status", string(d.State))
	row("owner", d.Owner)
	row("doing", d.ActiveForm)
	row("after", texts(d.BlockedBy, " "))
	row("waits for", texts(d.WaitsFor, " "))
	row("before", texts(d.Blocks, " "))
	row("note", spell.Sentence(d.Note))
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

// texts are ids or names for people.
func texts[T ~string](ids []T, between string) string {
	return strings.Join(protocol.Strings(ids), between)
}
