package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/record"
)

// row is a request or a member in the list. Its key stays the same for as long as it exists.
type row struct {
	key    string
	group  inspect.Group
	ask    *decide.Request // nil: a member
	done   *Done           // what has ended or is kept; nil: it is neither
	member *Member         // nil: a request of somebody who is not in the crew
	task   *Task           // the newest of a member without work; nil: it had none
	lines  Lines           // that the member has added and deleted
	note   string          // what the person has to know before all else; "": nothing
	// gone says how a request that is selected was answered, or that it was, while it stays in the
	// list.
	gone string
	fate *decide.Fate // what became of the request then; nil: it is not known yet, or was answered here
}

// ended says how a row that is gone has ended.
func (r row) ended(now time.Time) string {
	if r.fate == nil || r.fate.How == "" {
		return r.gone
	}
	return FateText(*r.fate, now)
}

// FateText says what became of a request, in one line that may have any character.
func FateText(f decide.Fate, now time.Time) string {
	text := f.How
	if !f.At.IsZero() {
		text += " at " + page.Clock(f.At, now)
	}
	return strings.TrimSuffix(text+": "+f.Said, ": ")
}

func askKey(q *decide.Request) string {
	return strings.Join([]string{"ask", q.Team, q.Instance, q.Kind, q.ID}, "\x00")
}

func memberKey(team, name string) string { return "member\x00" + team + "\x00" + name }

// of is whose row it is, and since when it is what it is; zero: that is not known.
func (r row) of() (MemberKey, time.Time) {
	switch {
	case r.ask != nil:
		return MemberKey{r.ask.Team, r.ask.Member}, r.ask.Asked.Time
	case r.done != nil:
		return MemberKey{r.done.Team, r.done.Member}, r.done.At
	}
	return MemberKey{r.member.Team, r.member.Name}, r.member.Since
}

func (r row) team() string { k, _ := r.of(); return k.Team }
func (r row) name() string { k, _ := r.of(); return k.Member }

// rowsOf builds the list: requests in the order of the source, then members by group, then what is done. A filter leaves those with its text, and the row with the key keep, also
// as what that member asks.
func rowsOf(asks []decide.Request, c Crew, done []Done, lines map[MemberKey]Lines, filter, keep string) []row {
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
			r := row{key: k, group: m.Group(), member: m, task: newest(c.Tasks, m.Team, m.Name), lines: lines[MemberKey{m.Team, m.Name}]}
			if m.Refused != nil || m.Resolved {
				r.note = m.Due()
			}
			rows = append(rows, r)
		}
	}
	for i := range done {
		d := &done[i]
		r := row{key: strings.Join([]string{"done", d.Kind, d.Team, d.Member, d.ID, d.Path}, "\x00"), group: inspect.GroupDone, done: d}
		if d.Member != "" {
			r.task = newest(c.Tasks, d.Team, d.Member)
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.group, b.group) })
	if filter == "" {
		return rows
	}
	return slices.DeleteFunc(rows, func(r row) bool {
		return r.key != keep && memberKey(r.team(), r.name()) != keep && !strings.Contains(strings.ToLower(r.text()), strings.ToLower(filter))
	})
}

// newest is the last task of a member.
func newest(tasks []Task, team, name string) (last *Task) {
	for i := range tasks {
		if t := &tasks[i]; t.Team == team && t.Owner == name {
			last = t
		}
	}
	return last
}

// who is whose it is: a team, or a member of a team.
func (d *Done) who() string {
	return view.KeptOf(process.Kept{Team: d.Team, Member: d.Member})
}

// told reports that a tab says more about a member that has left.
func (r row) told(t Tab) bool { return t == TabWhy && r.done.Kind == DoneMember }

// became is what became of something that is done, with that of the last task.
func (r row) became() string {
	if r.task == nil {
		return r.done.Says
	}
	return fmt.Sprintf("%s: %s; %s", r.task.Subject, r.task.Status, r.done.Says)
}

// next is what a person does about a member in trouble.
func (r row) next() operator.Next {
	if r.done != nil {
		return r.done.Do
	}
	if r.ask != nil || r.gone != "" || r.team() == decide.SessionTeam { // a session's row has its next step
		return operator.Next{}
	}
	return r.member.Next(r.member.Team)
}

// cells is what a row says behind its mark. They may have any character.
type cells struct {
	who, is, age, does string
	file               string // that does ends with: its end is worth more than its beginning
	lines              Lines
	cost               string
}

// text is all of a row that a filter looks in.
func (r row) text() string {
	c := r.cells(time.Time{}, true)
	return strings.Join([]string{c.who, c.is, c.does, c.file, c.cost}, " ")
}

func (r row) cells(now time.Time, several bool) (c cells) {
	if d := r.done; d != nil {
		return cells{who: d.who(), is: d.Kind, age: ageText(d.At, now), does: r.became()}
	}
	if c.who = r.name(); several && r.team() != decide.SessionTeam {
		c.who = r.team() + "/" + c.who
	}
	if q := r.ask; q != nil {
		c.is, c.age = q.Handle, ageText(q.Asked.Time, now)
		switch c.does, c.file = asksFor(*q); {
		case q.Asker != "" && q.Kind == decide.KindProposal:
			c.does = "(begun) " + c.does
		case q.Asker != "":
			c.does = "(asker dead) " + c.does
		}
		if q.LeadOut != "" {
			c.does = "(" + q.LeadOut + ") " + c.does
		}
		return c
	}
	c.is, c.age, c.does, c.lines = brief(r.member.Stand), ageText(r.member.Since, now), r.does(now), r.lines
	if u := r.member.Spent; u != nil && u.Source != "" {
		c.cost = fmt.Sprintf("$%d.%02d", u.CostMicros/1e6, u.CostMicros%1e6/1e4)
	}
	return c
}

// columns are the widths of the columns of the list; 0: it has none of this kind.
type columns struct{ who, is, age int }

// ageColumn is the width of the ages, leastText what a row keeps for what is asked or done.
const (
	ageColumn = 3
	leastText = 12
)

// columnsOf are the columns of rows w columns wide. Where there is little room, the state goes first: the group says it,
// and the right side has the handle.
func columnsOf(rows []row, w int, several bool) columns {
	c := columns{age: ageColumn}
	most := w * 3 / 10
	if w >= 56 {
		c.is, most = 9, 16
	}
	for _, r := range rows {
		n := ansi.StringWidth(r.name())
		if several && r.team() != decide.SessionTeam {
			n += 1 + ansi.StringWidth(r.team())
		}
		if c.who = max(c.who, min(n, most)); c.who == most {
			break
		}
	}
	return c
}

// paint draws the cells of a row in w columns. What is cut first: the cost, the lines, the end of what is asked or done
// (of a file the beginning), the name. A plain one has no styles.
func (c cells) paint(to columns, w int, plain bool) string {
	of := func(s style, text string) string {
		if plain {
			return text
		}
		return s.of(text)
	}
	var b strings.Builder
	b.WriteString(fitEnds(visible(c.who, w), to.who) + " ")
	if to.is > 0 {
		b.WriteString(fit(visible(c.is, w), to.is) + " ")
	}
	b.WriteString(of(faint, strings.Repeat(" ", max(0, to.age-len(c.age)))+c.age) + " ")
	room := w - ansi.StringWidth(b.String())
	does, file := visible(c.does, w), visible(c.file, 4*w)
	if file != "" {
		file = " " + fitEnd(file, min(ansi.StringWidth(file), room-ansi.StringWidth(does)-1))
	}
	text := does + file
	var extra [3]string
	if c.lines != (Lines{}) {
		extra[0], extra[1] = fmt.Sprintf(" +%d", c.lines.Added), fmt.Sprintf(" -%d", c.lines.Deleted)
	}
	if c.cost != "" {
		extra[2] = " " + c.cost
	}
	left := room - len(strings.Join(extra[:], ""))
	if left < min(leastText, ansi.StringWidth(text)) {
		left, extra[2] = left+len(extra[2]), ""
	}
	if left < min(leastText, ansi.StringWidth(text)) {
		left, extra[0], extra[1] = room, "", ""
	}
	b.WriteString(fit(text, left) + of(good, extra[0]) + of(bad, extra[1]) + of(faint, extra[2]))
	return b.String()
}

// fitEnds is fit that keeps the beginning and the end of a name: names that begin alike end with a number. Of team/name it
// keeps the end.
func fitEnds(text string, w int) string {
	n := ansi.StringWidth(text)
	if n <= w || strings.Contains(text, "/") {
		return fitEnd(text, w)
	}
	return fit(ansi.Truncate(text, w-w/3, "…")+ansi.TruncateLeft(text, n-w/3, ""), w)
}

// fitEnd is fit that keeps the end of the text.
func fitEnd(text string, w int) string {
	if n := ansi.StringWidth(text); n > w && w > 1 {
		text = "…" + ansi.TruncateLeft(text, n-w+1, "")
	}
	return fit(text, w)
}

// ageText is how long ago a time was, in the largest of minutes, hours and days that it has: what changes with each second would be
// drawn each second.
func ageText(t, now time.Time) string {
	n, unit := ageOf(t, now)
	switch {
	case t.IsZero():
		return ""
	case n == 0:
		return "now"
	}
	return fmt.Sprint(n, map[time.Duration]string{time.Minute: "m", time.Hour: "h", day: "d"}[unit])
}

// ageEnds is when the age of a time is another one; zero for none.
func ageEnds(t, now time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	n, unit := ageOf(t, now)
	return t.Add(time.Duration(n+1) * unit)
}

const day = 24 * time.Hour

func ageOf(t, now time.Time) (n int64, unit time.Duration) {
	d := max(0, now.Sub(t))
	switch {
	case d < time.Hour:
		unit = time.Minute
	case d < 2*day:
		unit = time.Hour
	default:
		unit = day
	}
	return int64(d / unit), unit
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
	case (r.member.Free() || r.member.State == inspect.StateFailed) && t.Note.Text != "":
		return t.Subject + ": " + t.Note.Text
	case r.member.Free():
		return t.Subject + ": " + string(t.Status)
	case r.member.Last != "":
		return t.Subject + ": " + r.member.Last
	default:
		return t.Subject
	}
}

// asksFor is what a request asks for in a few words; of a call that changes or reads a file, file is that file.
func asksFor(q decide.Request) (what, file string) {
	switch {
	case q.Command != "":
		return q.Command, ""
	case q.Kind == decide.KindProposal:
		task, _, _ := strings.Cut(q.Proposed().Task, "\n")
		return "new: " + task, ""
	case len(q.Questions) > 0:
		if n := len(q.Questions) - 1; n > 0 {
			return fmt.Sprintf("%s (and %d more)", q.Questions[0].Text, n), ""
		}
		return q.Questions[0].Text, ""
	case q.Plan != "":
		first, _, _ := strings.Cut(strings.TrimLeft(q.Plan, "\n"), "\n")
		return fmt.Sprintf("plan %d: %s", q.Revision, strings.TrimLeft(first, "# ")), ""
	case q.Host != "":
		return "net " + decide.ShownHost(q.Host, q.Port), ""
	case q.Tool == "":
		return view.Asks(q), ""
	}
	what = decide.Brief(protocol.Kind(q.Kind), record.Ask{Tool: q.Tool, Input: string(q.Input), Cwd: q.Cwd})
	if q.Edited() != "" {
		file, _ = strings.CutPrefix(what, q.Tool+" ")
		if q.Tool == "MultiEdit" || q.Tool == "NotebookEdit" {
			return "Edit", file
		}
		return q.Tool, file
	}
	if name, ok := strings.CutPrefix(what, "mcp__"); ok { // of a server
		what = strings.Replace(name, "__", " ", 1)
	}
	return what, ""
}

// Short describes a request in one line, the command first. Of a call that changes a file it is the file.
func Short(q decide.Request) string {
	what, file := asksFor(q)
	return strings.TrimSuffix(what+" "+file, " ")
}
