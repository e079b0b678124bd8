package view

import (
	"fmt"
	"slices"
	"strings"

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
