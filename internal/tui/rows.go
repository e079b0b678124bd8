package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle/internal/view"
	"waggle/internal/view/page"
	"waggle/internal/view/sentence"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
)

// row is a request or a member in the list. Its key stays the same for as long as it exists.
type row struct {
	key    string
	group  inspect.Group
	ask    *decide.Request // nil: a member
	member *Member         // nil: a request of somebody who is not in the crew
	task   *Task           // the newest of a member without work; nil: it had none
	lines  Lines           // that the member has added and deleted
	note   string          // what the person has to know before all else; "": nothing
	// gone says how a request that is selected was answered, or that it was, while it stays in the
	// list.
	gone string
}

func askKey(q *decide.Request) string {
	return strings.Join([]string{"ask", q.Team, q.Instance, q.Kind, q.ID}, "\x00")
}

func memberKey(team, name string) string { return "member\x00" + team + "\x00" + name }

// team and name are whose row it is.
func (r row) team() string {
	if r.ask != nil {
		return r.ask.Team
	}
	return r.member.Team
}

func (r row) name() string {
	if r.ask != nil {
		return r.ask.Member
	}
	return r.member.Name
}

// rowsOf builds the list: requests in the order of the source, then members by group. A filter leaves those with its text, and the row with the key keep, also
// as what that member asks.
func rowsOf(asks []decide.Request, c Crew, lines map[MemberKey]Lines, filter, keep string) []row {
	rows := make([]row, 0, len(asks)+len(c.Members))
	of := map[string]*Member{}
	for i := range c.Members {
		of[memberKey(c.Members[i].Team, c.Members[i].Name)] = &c.Members[i]
	}
	asking := map[string]bool{}
	for i := range asks {
		q := &asks[i]
		m := memberKey(q.Team, q.Member)
		asking[m] = true
		rows = append(rows, row{key: askKey(q), ask: q, member: of[m]})
	}
	for i := range c.Members {
		m := &c.Members[i]
		if k := memberKey(m.Team, m.Name); m.Listed(asking[k]) {
			r := row{key: k, group: m.Group(), member: m, task: newest(c.Tasks, m), lines: lines[MemberKey{m.Team, m.Name}]}
			if m.Refused != nil || m.Resolved {
				r.note = m.Due()
			}
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.group, b.group) })
	if filter == "" {
		return rows
	}
	return slices.DeleteFunc(rows, func(r row) bool {
		return r.key != keep && memberKey(r.team(), r.name()) != keep && !strings.Contains(strings.ToLower(r.text(time.Time{}, true, false)), strings.ToLower(filter))
	})
}

// newest is the last task of a member.
func newest(tasks []Task, m *Member) (last *Task) {
	for i := range tasks {
		if t := &tasks[i]; t.Team == m.Team && t.Owner == m.Name {
			last = t
		}
	}
	return last
}

// next is what a person does about a member in trouble.
func (r row) next() operator.Next {
	if r.ask != nil || r.gone != "" || r.team() == decide.SessionTeam { // a session's row has its next step
		return operator.Next{}
	}
	return r.member.Next(r.member.Team)
}

// Widths of the columns of a list that has room for them.
const (
	whoColumn = 12
	isColumn  = 8
	ageColumn = 4
)

// text is what a row says behind its risk: who, its handle or state, for how long, and what it asks
// or does; in columns, when there is room. The result may have any character.
func (r row) text(now time.Time, several, columns bool) string {
	who := r.name()
	if several && r.team() != decide.SessionTeam {
		who = r.team() + "/" + who
	}
	is, age, does := r.cells(now)
	if columns {
		return fmt.Sprintf("%-*s %-*s %*s %s", whoColumn, who, isColumn, is, ageColumn, age, does)
	}
	return strings.Join(slices.DeleteFunc([]string{who, is, age, does}, func(s string) bool { return s == "" }), " ")
}

func (r row) cells(now time.Time) (is, age, does string) {
	if r.ask != nil {
		does = short(*r.ask)
		if r.ask.Asker != "" {
			does += " (asker dead)"
		}
		if r.ask.LeadOut != "" {
			does += " (" + r.ask.LeadOut + ")"
		}
		return r.ask.Handle, page.Age(r.ask.Asked, now), does
	}
	does = r.does(now)
	if r.member.Spent != nil {
		does = sentence.Spent(*r.member.Spent) + " " + does
	}
	if l := r.lines; l != (Lines{}) {
		does = fmt.Sprintf("+%d -%d %s", l.Added, l.Deleted, does)
	}
	return brief(r.member.Stand), page.Since(r.member.Since, now), does
}

// brief is the words of a condition where there is little room: whom it waits for, what it is blocked by and until
// when it is limited are in what the row says.
func brief(s inspect.Stand) string {
	if s.Is == inspect.ConditionNeedsYou || s.Is == inspect.ConditionWaits && s.For == "" {
		return view.Words(s, time.Time{})
	}
	return string(s.Is)
}

// does is what a member works on, or what became of its last task.
func (r row) does(now time.Time) string {
	switch t := r.task; {
	case r.note != "":
		return r.note
	case t == nil || r.member.Is != inspect.ConditionWorking && !r.member.Free() && r.member.State != inspect.StateFailed:
		return view.Says(r.member.MemberStatus, now)
	case (r.member.Free() || r.member.State == inspect.StateFailed) && t.Note != "":
		return t.Subject + ": " + t.Note
	case r.member.Free():
		return t.Subject + ": " + string(t.Status)
	case r.member.Last != "":
		return t.Subject + ": " + r.member.Last
	default:
		return t.Subject
	}
}

// short describes a request in one line, the command first. Of a call that changes a file it is the file.
func short(q decide.Request) string {
	if q.Command != "" {
		return q.Command
	}
	if file := q.Edited(); file != "" {
		return q.Tool + " " + file
	}
	return view.Asks(q)
}
