package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle"
	"waggle/internal/view"
	"waggle/internal/view/page"
	"waggle/internal/view/sentence"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/task"
)

// section is a group of the list.
type section int

const (
	needsYou section = iota
	working
	done
	sections
)

func (s section) String() string { return [...]string{"Needs you", "Working", "Done"}[s] }

// row is a request or a member in the list. Its key stays the same for as long as it exists.
type row struct {
	key     string
	section section
	ask     *decide.Request // nil: a member
	member  *Member         // nil: a request of somebody who is not in the crew
	task    *Task           // the newest of a member without work; nil: it had none
	lines   Lines           // that the member has added and deleted
	note    string          // what the person has to know before all else; "": nothing
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

// rowsOf builds the list: requests in the order of the source, then members in trouble, then those that
// work, then those that are done. A filter leaves those with its text, and the row with the key keep, also
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
		if k := memberKey(m.Team, m.Name); !asking[k] || m.State == inspect.StateDead {
			r := row{key: k, member: m, task: newest(c.Tasks, m), lines: lines[MemberKey{m.Team, m.Name}]}
			switch {
			case m.Refused != nil:
				r.note = "not merged: " + m.Refused.Why
			case m.Resolved:
				r.note = "it has resolved its conflict: merge again"
			}
			r.section = r.place()
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.section, b.section) })
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

// place is the section of a member without an open request. Work that could not be merged, and a task that
// was given and is not completed, and that nobody works on, needs a person.
func (r row) place() section {
	if r.note != "" && r.member.State == inspect.StateIdle {
		return needsYou
	}
	switch r.member.State {
	case inspect.StateBlocked, inspect.StateHuman, inspect.StatePaused, inspect.StateStalled, inspect.StateDead, inspect.StateFailed, inspect.StateHeldUp:
		return needsYou
	case inspect.StateIdle:
		if r.task != nil && r.task.Status != task.Completed && r.task.Note != "" {
			return needsYou
		}
		return done
	}
	return working
}

// next is what a person does about a member in trouble.
func (r row) next() operator.Next {
	n := operator.Next{Team: waggle.TeamName(r.member.Team), Member: waggle.MemberName(r.member.Name)}
	switch {
	case r.ask != nil || r.section != needsYou || r.gone != "" || r.team() == decide.SessionTeam: // a session's row has its next step
		return operator.Next{}
	case r.note != "":
		n.Step = r.member.Refused.Step()
	case r.member.State == inspect.StateBlocked:
		n.Step = operator.NextPeekResume
	case r.member.State == inspect.StatePaused && r.member.Why == inspect.StoppedWhy:
		n.Step = operator.NextGoOn
	case r.member.Stays:
		n.Step = operator.NextResumeTeam
	default:
		n.Step = operator.NextWhy
	}
	return n
}

// NextOf is what a person does about a member in trouble, whatever its tasks are; its Step is "" for one
// that is in none, or that asks.
func NextOf(m Member) operator.Next {
	if m.State == inspect.StateHuman {
		return operator.Next{}
	}
	r := row{member: &m}
	r.section = r.place()
	return r.next()
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
	does = r.does()
	if r.member.Spent != nil {
		does = sentence.Spent(*r.member.Spent) + " " + does
	}
	if l := r.lines; l != (Lines{}) {
		does = fmt.Sprintf("+%d -%d %s", l.Added, l.Deleted, does)
	}
	return brief(r.member.State), page.Since(r.member.Since, now), does
}

// brief is the first word of a state: what it is blocked by or waits for is in what the row says.
func brief(s inspect.MemberState) string {
	word, _, _ := strings.Cut(string(s), ":")
	word, _, _ = strings.Cut(word, "-")
	return word
}

// does is what a member works on, or what became of its last task.
func (r row) does() string {
	switch t := r.task; {
	case r.note != "":
		return r.note
	case r.member.State == inspect.StateBlocked || r.member.State == inspect.StateDead:
		return r.member.Why
	case t == nil:
		return r.member.Why
	case (r.member.State == inspect.StateIdle || r.member.State == inspect.StateFailed) && t.Note != "":
		return t.Subject + ": " + t.Note
	case r.member.State == inspect.StateIdle:
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
