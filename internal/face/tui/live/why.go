package live

import (
	"context"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"waggle/internal/face/tui"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/internal/face/view/policyview"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/protocol"
)

// why is what waggle why says: of what is asked, what the rules say of it, and below it of its member or session the
// state and the evidence.
func (l *Source) why(ctx context.Context, p tui.Page) (paper tui.Paper, err error) {
	now := l.op.Minter.Now()
	var y *inspect.Why
	switch of := inspect.Of(l.op); {
	case p.Team != decide.SessionTeam:
		y, err = of.Why(ctx, p.Team, p.Member)
	case l.proposed(p.Ask):
		return tui.Paper{Lines: []string{"it " + decide.LevelProposes}}, nil
	default:
		name, _, _ := strings.Cut(p.Member, "/") // an agent of a session is a part of it
		y, err = of.WhySession(name)
	}
	if err != nil {
		return tui.Paper{}, err
	}
	if p.Ask != "" && p.Team != decide.SessionTeam {
		if e, err := decide.Of(l.op).Explain(ctx, protocol.TeamName(p.Team), p.Ask); err != nil {
			paper.Lines = append(paper.Lines, "what is asked: "+err.Error(), "")
		} else {
			paper.Lines = append(l.text(policyview.ExplainedPage(e, now)), "")
		}
	}
	paper.Lines = append(paper.Lines, l.text(view.WhyPage(y, now))...)
	return paper, nil
}

// proposed reports that a request is a proposal.
func (l *Source) proposed(id string) bool {
	_, err := decide.Of(l.op).Proposal(id)
	return err == nil && id != ""
}

// text is a page in lines, its tables in columns. The lines may have any character.
func (l *Source) text(p page.Page) (lines []string) {
	for _, b := range p {
		if b.Table == nil {
			var text strings.Builder
			for _, s := range b.Line {
				text.WriteString(s.Text)
				if s.Next.Step != "" && l.Step != nil {
					text.WriteString(l.Step(s.Next))
				}
			}
			lines = append(lines, text.String())
			continue
		}
		lines = append(lines, columnsText(b.Table)...)
	}
	return lines
}

// columnsText are the rows of a table. The last cell may be of any width.
func columnsText(t *page.Table) (lines []string) {
	rows := t.Rows
	if len(rows) > 0 && strings.Join(t.Head, "") != "" {
		rows = append([][]string{t.Head}, rows...)
	}
	var wide []int
	for _, r := range rows {
		for i, c := range r {
			if i >= len(wide) {
				wide = append(wide, 0)
			}
			wide[i] = max(wide[i], ansi.StringWidth(c))
		}
	}
	for _, r := range rows {
		var b strings.Builder
		for i, c := range r {
			if b.WriteString(c); i < len(r)-1 {
				b.WriteString(strings.Repeat(" ", wide[i]-ansi.StringWidth(c)+2))
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}
