package inspect

import (
	"context"
	"time"

	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/process"
	"waggle/protocol"
)

// EndedStatus is how a team ended, and what is kept of it.
type EndedStatus struct {
	Team    string                  `json:"team"`
	State   string                  `json:"state"` // ended
	ID      string                  `json:"id"`    // of its record; a later team of the name has another
	Opened  time.Time               `json:"opened"`
	At      time.Time               `json:"ended_at"`
	How     string                  `json:"how"` // down, run, deleted, replaced
	Members []EndedMember           `json:"members"`
	Tasks   []EndedTask             `json:"tasks"`
	Kept    []operator.KeptWorktree `json:"worktrees"` // worktrees and branches that are still there; path "": only the branch is
	Pending int                     `json:"pending"`   // 0: nothing waits
	Dir     string                  `json:"dir"`       // of its journals and its archive
}

// EndedMember is how a member of an ended team left.
type EndedMember struct {
	Name   string    `json:"name"`
	State  string    `json:"state"` // left
	How    string    `json:"how"`   // "": no record says so
	Detail string    `json:"detail"`
	At     time.Time `json:"at"`
	Lead   string    `json:"-"` // the team file's name of the agent behind the lead; "" of a member
}

// EndedTask is a task of an ended team, as it was at the end.
type EndedTask struct {
	ID      string          `json:"id"`
	Subject string          `json:"subject"`
	Owner   string          `json:"owner"`
	State   board.TaskState `json:"state"`
	Note    string          `json:"note"` // what the board does not show
}

// EndedStatus returns how a team ended. The operator must be one of operator.EndedTeam.
func (o Operator) EndedStatus(ctx context.Context, name protocol.TeamName) (*EndedStatus, error) {
	s, err := o.Open(ctx, name, operator.Act)
	if err != nil {
		return nil, err
	}
	st := &EndedStatus{Team: string(name), State: "ended", ID: o.Reads.ID(), How: s.Lead.Ended.How, Members: []EndedMember{}, Tasks: []EndedTask{}, Dir: s.Dir.Path}
	if st.Opened, st.At, err = Span(s); err != nil {
		return nil, err
	}
	for _, m := range s.Lead.Members {
		e := EndedMember{Name: string(m.Name), Lead: m.Joined.Lead, State: "left"}
		if m.Left != nil {
			e.At, e.How, e.Detail = m.LeftAt, m.Left.How, m.Left.Detail
		}
		st.Members = append(st.Members, e)
	}
	list, err := board.Of(o.Operator).Tasks(ctx, name, false)
	if err == nil { // the rest is shown when the archive has no task list
		for _, t := range list.Tasks {
			st.Tasks = append(st.Tasks, EndedTask{ID: string(t.ID), Subject: t.Subject, Owner: t.Owner, State: t.State, Note: t.Note.Text})
		}
	}
	st.Kept, err = process.Of(o.Operator).KeptWorktrees(ctx, s)
	return st, err
}
