package view

import (
	"strings"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/proposal"
)

// ProposalDocument is a proposal as its proposer is told.
type ProposalDocument struct {
	ID      string    `json:"id"`
	Handle  string    `json:"handle"`
	State   string    `json:"state"` // open, starting, started, denied or expired
	Dir     string    `json:"dir"`
	By      string    `json:"by"` // as far as it is known
	Agent   string    `json:"agent"`
	Task    string    `json:"task"`
	Expires time.Time `json:"expires_at"`
	Team    string    `json:"team"`    // of what was started
	Members []string  `json:"members"` // that were started
	Reason  string    `json:"reason"`  // why it was denied
}

// Proposal is the document of a proposal.
func Proposal(p proposal.Proposal, now time.Time) ProposalDocument {
	return ProposalDocument{p.ID, p.Handle(), string(p.Now(now)), p.Dir, p.By, p.Agent, p.Task, p.Expires(), p.Team, append([]string{}, p.Members...), p.Reason}
}

// ProposalPage says what a proposal is, and what the person does with it.
func ProposalPage(p proposal.Proposal, now time.Time) (pg page.Page) {
	switch state := p.Now(now); state {
	case proposal.Started:
		pg.Line(page.Strong(p.Handle()), page.Plain("  started "+strings.Join(p.Members, ", ")+" in team "+p.Team))
	case proposal.Denied:
		pg.Line(page.Strong(p.Handle()), page.Plain("  refused"+operator.Suffix(p.Reason)))
	default:
		pg.Line(page.Strong(p.Handle()), page.Plain("  proposal  "+p.Line()))
		pg.Line(page.Plain("nothing is started: the person does that, until "+page.Moment(p.Expires(), now)+", with "), page.Step(operator.Next{Step: operator.NextApproveOf, ID: p.Handle()}))
	}
	return pg
}
