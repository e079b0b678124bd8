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

// Tasks is the document of the lists of one team or several.
func Tasks(spell func(protocol.TeamName) page.Spell, ls ...*board.TaskList) any {
	var all []page.Told
	for _, l := range ls {
		for _, t := range l.Tasks {
			all = append(all, page.Told{Doc: TaskDocument{t, l.Team}, Spell: spell(l.Team)})
		}
	}
	return map[string]any{"tasks": all}
}

// TasksPage has one task a line, for programs that read lines.
func TasksPage(l *board.TaskList, spell page.Spell) (p page.Page) {
	t := page.Table{Head: []string{"ID", "STATUS", "OWNER", "SUBJECT", "BLOCKED BY", "NOTE"}}
	for _, v := range l.Tasks {
		t.Rows = append(t.Rows, []string{string(v.ID), string(v.State), v.Owner, v.Subject, texts(v.WaitsFor, " "), spell.Sentence(v.Note)})
	}
	p.Table(t)
	return p
}

// TaskTreePage draws each task below one that it comes after, and has the notes of tasks below all: they name
// commands, which no column may cut.
func TaskTreePage(l *board.TaskList, spell page.Spell) (p page.Page) {
	of := map[task.ID]board.TaskView{}
	for _, t := range l.Tasks {
		of[t.ID] = t
	}
	t := page.Table{Head: []string{"TASK", "STATUS", "OWNER"}}
	waits := slices.ContainsFunc(l.Tasks, func(t board.TaskView) bool { return len(t.WaitsFor) > 0 })
	if waits {
		t.Head = append(t.Head, "WAITS FOR")
	}
	for _, b := range l.Forest {
		v := of[b.Task.ID]
		row := []string{twig(b) + string(v.ID) + " " + v.Subject, string(v.State), v.Owner}
		if waits {
			row = append(row, texts(v.WaitsFor, " "))
		}
		t.Rows, t.Roles = append(t.Rows, row), append(t.Roles, taskRoles(v, t.Head))
	}
	p.Table(t)
	for _, b := range l.Forest {
		v := of[b.Task.ID]
		if note := spell.Sentence(v.Note); note != "" {
			p.Line(page.Plain(string(v.ID)+"  "), page.Span{Role: noteRole(v), Text: note})
		}
	}
	return p
}

// taskRoles are the roles of the cells of a task's row.
func taskRoles(t board.TaskView, head []string) []page.Role {
	roles := make([]page.Role, len(head))
	for i, h := range head {
		switch {
		case t.Status == task.Completed:
			roles[i] = page.RoleFaint
		case h == "STATUS" && t.Status == task.InProgress:
			roles[i] = page.RoleWarning
		case h == "STATUS" && (t.State == board.StateFailed || t.State == board.StateBlocked):
			roles[i] = page.RoleBad
		case h == "WAITS FOR":
			roles[i] = page.RoleBad
		case i == 0 && !t.Blocked && t.Status == task.Pending:
			roles[i] = page.RoleStrong
		}
	}
	return roles
}

// noteRole is the role of a task's note.
func noteRole(t board.TaskView) page.Role {
	switch {
	case t.Status == task.Completed:
		return page.RoleFaint
	case strings.HasPrefix(t.Note.Text, "failed"):
		return page.RoleBad
	}
	return page.RolePlain
}

// twig is the part of the tree's drawing before a task.
func twig(b task.Branch) string {
	var s strings.Builder
	for i, last := range b.Last {
		switch {
		case i < len(b.Last)-1 && last:
			s.WriteString("   ")
		case i < len(b.Last)-1:
			s.WriteString("│  ")
		case last:
			s.WriteString("└─ ")
		default:
			s.WriteString("├─ ")
		}
	}
	if b.Cyclic {
		s.WriteString("↻ ")
	}
	return s.String()
}

// TaskCount counts a list in one line.
func TaskCount(l *board.TaskList) string {
	n := map[string]int{}
	blocked := 0
	for _, t := range l.Tasks {
		n[string(t.State)]++
		if t.Blocked && t.State != board.StateBlocked {
			blocked++
		}
	}
	s := fmt.Sprintf("%d of %d completed, %d in progress", n[string(task.Completed)], len(l.Tasks), n[string(task.InProgress)])
	for _, state := range []board.TaskState{board.StateFailed, board.StateBlocked} {
		if n := n[string(state)]; n > 0 {
			s += fmt.Sprintf(", %d %s", n, state)
		}
	}
	if blocked > 0 {
		s += fmt.Sprintf(", %d waiting for others", blocked)
	}
	return s
}

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

// TaskStep is a step on a task.
type TaskStep int

// The steps of tasks.
const (
	TaskAdded TaskStep = iota
	TaskAssigned
	TaskClaimed
	TaskMoved // to another status
	TaskReleased
)

// TaskResultPage shows the outcome of a step on a task.
func TaskResultPage(r *board.TaskResult, did TaskStep) (p page.Page) {
	t := r.Task
	owner := t.Owner
	var what string
	switch did {
	case TaskAdded:
		what = "on the list" + assigned(r)
	case TaskAssigned:
		what = owner + "'s" + assigned(r)
	case TaskClaimed:
		what = fmt.Sprintf("%s's, %s: %s", owner, t.Status, t.Subject)
	case TaskMoved:
		what = string(t.Status)
	case TaskReleased:
		what = "nobody's"
	}
	switch {
	case r.Changed:
		p.Line(page.Plain("task "), page.Strong(string(t.ID)), page.Plain(" is "+what))
	case owner != "":
		p.Line(page.Plain(fmt.Sprintf("task %s was %s already, %s's", t.ID, t.Status, owner)))
	default:
		p.Line(page.Plain(fmt.Sprintf("task %s was %s already", t.ID, t.Status)))
	}
	return p
}

// TaskWaits names the tasks that a task waits for, "" for none.
func TaskWaits(r *board.TaskResult) string {
	if len(r.Task.WaitsFor) == 0 || r.Task.Status != task.Pending {
		return ""
	}
	return "it waits for " + texts(r.Task.WaitsFor, ", ")
}

// assigned shows how an owner gets a task.
func assigned(r *board.TaskResult) string {
	switch owner := r.Task.Owner; {
	case r.Ordered:
		return fmt.Sprintf(", and %s was ordered to do it", owner)
	case owner != "":
		return fmt.Sprintf(", and %s was told", owner)
	}
	return ""
}

// TaskLinksPage says what a task comes after.
func TaskLinksPage(r *board.TaskResult) (p page.Page) {
	after := "no other"
	if len(r.Task.BlockedBy) > 0 {
		after = texts(r.Task.BlockedBy, ", ")
	}
	p.Line(page.Plain("task "), page.Strong(string(r.Task.ID)), page.Plain(" comes after "+after))
	return p
}

// ReleasedPage names tasks that were released.
func ReleasedPage(ids []task.ID) page.Page { return idsPage("given back: ", ids) }

// RemovedPage names tasks that were removed.
func RemovedPage(ids []task.ID) page.Page { return idsPage("removed: ", ids) }

// idsPage is empty where there are no ids.
func idsPage(what string, ids []task.ID) (p page.Page) {
	if len(ids) > 0 {
		p.Line(page.Plain(what + texts(ids, ", ")))
	}
	return p
}

// ArtifactsPage has a row for each file.
func ArtifactsPage(rows []board.ArtifactRow, now time.Time) (p page.Page) {
	t := page.Table{Head: []string{"MEMBER", "KIND", "SIZE", "AGE", "PATH"}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{string(r.Member), r.Kind, Size(r.Size), page.Since(r.Modified, now), r.Path})
	}
	p.Rows(t)
	return p
}

// Size is a number of bytes for people.
func Size(n int64) string {
	const k = 1 << 10
	switch {
	case n < k:
		return fmt.Sprintf("%d B", n)
	case n < k*k:
		return fmt.Sprintf("%.1f KiB", float64(n)/k)
	case n < k*k*k:
		return fmt.Sprintf("%.1f MiB", float64(n)/(k*k))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(k*k*k))
}
