package view

import (
	"waggle/internal/view/page"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/record"
)

// EndedDocument is how a team ended.
type EndedDocument struct {
	Team      string              `json:"team"`
	State     string              `json:"state"` // ended
	Members   []MemberEndDocument `json:"members"`
	Archive   string              `json:"archive"`
	Worktrees []LeftWorktree      `json:"worktrees"` // the kept worktrees of its members
}

// MemberEndDocument is how a member ended.
type MemberEndDocument struct {
	Member   string        `json:"member"`
	How      string        `json:"how"`      // handshake, stopped, died; released: waggle does not run it; stays: so, and it refused; listed: only the registry has it, and it was not asked
	Step     string        `json:"step"`     // the last step that was needed: handshake, stdin, term, kill; gone when it had ended by itself
	Rejected string        `json:"rejected"` // why it rejected its shutdown; "" without a reason
	Forced   bool          `json:"forced"`   // it was not asked
	Answered bool          `json:"answered"` // it answered its shutdown request
	Worktree *LeftWorktree `json:"worktree"` // set when it was kept; null: it has none any more
}

// LeftWorktree is the worktree of a member that has left, and why it is still there.
type LeftWorktree struct {
	Member string   `json:"member"`
	Path   string   `json:"path"`
	Branch string   `json:"branch"`
	Why    string   `json:"why"`   // 2 uncommitted files, 1 unpushed commit
	Files  []string `json:"files"` // the first of them, and of the commits
}

// MemberEnd is the document of how a member ended.
func MemberEnd(e process.MemberEnd) MemberEndDocument {
	d := MemberEndDocument{Member: e.Member, How: e.How, Step: e.Step, Rejected: e.Rejected, Forced: e.Forced, Answered: e.Answered}
	if e.Worktree != nil {
		w := leftWorktree(*e.Worktree)
		d.Worktree = &w
	}
	return d
}

func leftWorktree(k operator.KeptWorktree) LeftWorktree {
	return LeftWorktree{k.Member, k.Path, k.Branch, k.Why, k.Files}
}

// Ended is the document of how a team ended.
func Ended(r *process.DownResult) EndedDocument {
	d := EndedDocument{r.Team, r.State, make([]MemberEndDocument, 0, len(r.Members)), r.Archive, make([]LeftWorktree, 0, len(r.Worktrees))}
	for _, m := range r.Members {
		d.Members = append(d.Members, MemberEnd(m))
	}
	for _, k := range r.Worktrees {
		d.Worktrees = append(d.Worktrees, leftWorktree(k))
	}
	return d
}

// MemberEndPage says how a member ended.
func MemberEndPage(e process.MemberEnd) (p page.Page) {
	p.Line(page.Plain(e.Member + ": " + endText(e)))
	return p
}

// EndedPage says how a team ended, and which members did not end as they were asked.
func EndedPage(d *process.DownResult) (p page.Page) {
	for _, m := range d.Members {
		if m.Kind() != operator.None || m.How == record.LeftReleased || m.How == "listed" {
			p = append(p, MemberEndPage(m)...)
		}
	}
	if d.Archive == "" { // nothing can be recorded now; the text above says it
		p.Line(page.Plain("team " + d.Team + ": its processes have ended"))
	} else {
		p.Line(page.Plain("team " + d.Team + " has ended; its history is in " + d.Archive))
	}
	return p
}

// endText says how a member ended.
func endText(e process.MemberEnd) string {
	switch e.How {
	case record.LeftHandshake:
		return "ended by itself when it was asked"
	case record.LeftDied:
		return "was dead already"
	case record.LeftReleased:
		return released(e) + "it was let go: waggle does not run it"
	case "stays":
		return released(e) + "it is still a member: waggle does not run it"
	case "listed":
		return "is only in the registry: it was not asked"
	}
	s := map[string]string{"gone": "had ended", "stdin": "ended when its input was closed", "term": "ended by SIGTERM", "kill": "ended by SIGKILL"}[e.Step]
	if s == "" {
		s = "was ended: " + e.Step
	}
	switch {
	case e.Queued:
		return "it was in the queue, and had not started"
	case e.Forced:
		return s + "; it was not asked"
	case e.Rejected != "":
		return s + "; it had refused: " + e.Rejected
	}
	return s + "; it had not answered in time"
}

// released says what a member that waggle does not run answered.
func released(e process.MemberEnd) string {
	switch {
	case e.Forced:
		return ""
	case e.Rejected != "":
		return "refused to end: " + e.Rejected + "; "
	}
	return "was asked to end and did not answer; "
}
