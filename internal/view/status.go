package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"waggle"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/record"
)

// StatusDocument is the status of a team (commands §4).
type StatusDocument struct {
	Team        string               `json:"team"`
	Notice      string               `json:"notice"` // the error of the team's directory or its journal; "" for none
	Broken      bool                 `json:"broken"` // the leader's journal is broken
	Full        bool                 `json:"full"`   // STATE takes no record now
	Leader      LeaderDocument       `json:"leader"`
	Members     []MemberDocument     `json:"members"`
	Interrupted *InterruptedDocument `json:"interrupted"` // null: no member waits for a leader
	Overlaps    []OverlapDocument    `json:"overlaps"`
	Pending     int                  `json:"pending"`
	Unread      int                  `json:"unread"` // chat for the operator
	Alarms      int                  `json:"unverified"`
	Ceiling     *CeilingDocument     `json:"ceiling"` // null: there is none
}

// LeaderDocument says whether a process leads the team.
type LeaderDocument struct {
	Led      bool   `json:"led"`
	By       string `json:"by"` // waggle, or another program
	Sandbox  string `json:"sandbox"`
	PID      int    `json:"pid"` // 0 when it is not on record
	Detached bool   `json:"detached"`
}

// MemberDocument is one member.
type MemberDocument struct {
	Name     string              `json:"name"`
	Lead     string              `json:"lead"`
	State    inspect.MemberState `json:"state"`
	Since    string              `json:"since"` // "": not known
	Why      string              `json:"why"`
	PID      int                 `json:"pid"`
	Backend  string              `json:"backend"`
	Trust    string              `json:"trust"`
	Task     string              `json:"task"`
	Pending  int                 `json:"pending"`
	Policy   uint64              `json:"policy_version"`
	Socket   string              `json:"socket"`
	Restarts uint64              `json:"restarts"`
	Ready    *record.Ready       `json:"ready"` // the report of its present start; null: it takes no work yet
	Log      string              `json:"log"`
	Worktree *WorktreeDocument   `json:"worktree"` // null: it has none
	Usage    *UsageDocument      `json:"usage"`    // null: it has none, or the system does not say
	Evidence *EvidenceDocument   `json:"evidence"`
}

// WorktreeDocument is a member's own checkout.
type WorktreeDocument struct {
	Path   string `json:"path"`
	Branch string `json:"branch"`
	Base   string `json:"base"`
}

// UsageDocument is what a member uses.
type UsageDocument struct {
	CPU       float64 `json:"cpu_s"`
	RSS       uint64  `json:"rss_bytes"`
	Processes int     `json:"processes"`
}

// InterruptedDocument is a team with dead members and no process that leads it.
type InterruptedDocument struct {
	At      string `json:"at"`
	Members int    `json:"members"`
	Pending int    `json:"pending"`
}

// OverlapDocument is a file that more than one member edited.
type OverlapDocument struct {
	File    string   `json:"file"`
	Repo    string   `json:"repo"`
	Members []string `json:"members"`
}

// Status is the document of a team's status.
func Status(st *inspect.Status) StatusDocument {
	d := StatusDocument{Team: st.Team, Notice: notice(st), Broken: st.Broken != nil, Full: st.Room != nil, Leader: leader(st.Leader),
		Members: make([]MemberDocument, 0, len(st.Members)), Overlaps: overlaps(st.Overlaps),
		Pending: st.Pending, Unread: st.Unread, Alarms: st.Alarms, Ceiling: Ceiling(st.Ceiling)}
	for _, m := range st.Members {
		d.Members = append(d.Members, member(m))
	}
	if in := st.Interrupted; in != nil {
		d.Interrupted = &InterruptedDocument{stamp(in.At), in.Members, in.Pending}
	}
	return d
}

func leader(l inspect.LeaderStatus) LeaderDocument {
	d := LeaderDocument{Led: l.Led, By: "waggle", Sandbox: "off", PID: l.PID, Detached: l.Detached}
	if l.Foreign {
		d.By, d.Sandbox = "another program", "unknown"
	}
	return d
}

func member(m inspect.MemberStatus) MemberDocument {
	d := MemberDocument{Name: m.Name, Lead: m.Lead, State: m.State, Since: stamp(m.Since), Why: m.Why, PID: m.PID, Backend: m.Backend, Trust: string(m.Trust),
		Task: m.Task, Pending: m.Pending, Policy: m.Policy, Socket: m.Socket, Restarts: m.Restarts, Ready: m.Ready, Log: m.Log,
		Worktree: (*WorktreeDocument)(m.Worktree), Evidence: evidence(m.Evidence)}
	if u := m.Usage; u != nil {
		d.Usage = &UsageDocument{u.CPU.Seconds(), u.RSS, u.Processes}
	}
	return d
}

func overlaps(vs []inspect.Overlap) []OverlapDocument {
	out := make([]OverlapDocument, 0, len(vs))
	for _, v := range vs {
		out = append(out, OverlapDocument(v))
	}
	return out
}

// notice describes the error of a team's directory or its journal.
func notice(st *inspect.Status) string {
	s := gone(st.Gone)
	if st.Room != nil {
		s = fmt.Sprintf("nothing can be recorded, so nothing is decided until that is over: %v", st.Room)
	}
	if st.Broken != nil {
		s = st.Broken.Error()
	}
	for _, what := range st.Damage {
		s = strings.TrimPrefix(s+"; "+what, "; ")
	}
	return s
}

// gone describes the change of a team's directory.
func gone(n *record.Noticed) string {
	if n == nil {
		return ""
	}
	s := "its directory " + n.Path + " is gone: nothing can be sent or received"
	if n.Moved != "" {
		s += "; it was renamed to " + n.Moved
	}
	return s
}

// StatusPage is a team's status for people.
func StatusPage(st *inspect.Status, now time.Time) (p Page) {
	name := waggle.TeamName(st.Team)
	leads := "nobody leads it now; the next command that acts does what is due"
	l := leader(st.Leader)
	switch {
	case st.Leader.Foreign:
		leads = "led by " + l.By
	case l.Led:
		leads = "a process leads it"
	}
	p.line(strong(st.Team), plain("  "+leads+", sandbox "+l.Sandbox))
	switch text := notice(st); {
	case st.Broken != nil:
		p.line(warning(text), plain("  "), wholeStep(operator.Next{Step: operator.NextAcknowledgeOrDown, Team: name}))
	case st.Room != nil:
		p.line(warning(text))
	case text != "":
		p.line(warning(text), plain("  "), step(operator.NextInboxArchive.With()))
	}
	p.interrupted(st.Interrupted, name, now)
	p = append(p, CeilingPage(st.Ceiling)...)
	p.members(st.Members, now)
	p.overlaps(st.Overlaps)
	for _, n := range []struct {
		n    int
		text string
		next operator.Step
	}{
		{st.Pending, "wait for your decision", operator.NextPendingList},
		{st.Unread, "messages for you", operator.NextInboxUnread},
		{st.Alarms, "messages claimed an authority they do not have", operator.NextLogClaims},
	} {
		if n.n > 0 {
			p.line(warning(fmt.Sprintf("%d %s", n.n, n.text)), plain("  "), step(n.next.With()))
		}
	}
	return p
}

// interrupted shows the number of dead members, and the command that restarts them.
func (p *Page) interrupted(in *inspect.Interrupted, name waggle.TeamName, now time.Time) {
	if in == nil {
		return
	}
	p.line(warning(fmt.Sprintf("interrupted %s; %s can be brought back, %s pending", Clock(in.At, now), Count(in.Members, "member"), Count(in.Pending, "decision"))),
		plain("  "), wholeStep(operator.Next{Step: operator.NextResumeTeam, Team: name}))
}

func (p *Page) members(ms []inspect.MemberStatus, now time.Time) {
	if len(ms) == 0 {
		p.line(plain("no members"))
		return
	}
	t := Table{Head: []string{"MEMBER", "STATE", "SINCE", "TRUST", "PID", "TASK", "WHY"}}
	for _, m := range ms {
		name, pid := m.Name, ""
		if m.Lead != "" { // what the team file calls the agent behind the lead
			name += " (" + m.Lead + ")"
		}
		if m.PID > 0 {
			pid = strconv.Itoa(m.PID)
		}
		t.Names = append(t.Names, m.Name)
		t.Rows = append(t.Rows, []string{name, string(m.State), Since(m.Since, now), string(m.Trust), pid, m.Task, m.Why})
	}
	p.table(t)
	for _, m := range ms {
		if m.Worktree != nil {
			p.line(plain(m.Name + " works on branch " + m.Worktree.Branch + " in " + m.Worktree.Path))
		}
	}
}

// overlapsShown is how many overlaps a page names.
const overlapsShown = 10

// overlaps warns of files that more than one member edited.
func (p *Page) overlaps(vs []inspect.Overlap) {
	for _, v := range vs[:min(len(vs), overlapsShown)] {
		p.line(warning(strings.Join(v.Members, ", ")+" edit the same file:"), plain(" "+v.File))
	}
	if n := len(vs) - overlapsShown; n > 0 {
		p.line(warning(fmt.Sprintf("and %d more files", n)))
	}
}
