package live

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"waggle/internal/face/tui"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/internal/face/view/policyview"
	"waggle/internal/face/view/resultview"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/operator/results"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/spawn/terminal"
)

// Page implements tui.Source.
func (l *Source) Page(ctx context.Context, p tui.Page) (paper tui.Paper, err error) {
	if p.Tab != tui.TabOutput {
		l.Leave()
	}
	switch {
	case p.Tab == tui.TabToday:
		return l.today(ctx)
	case p.Tab == tui.TabWhy:
		return l.why(ctx, p)
	case p.Team == decide.SessionTeam:
		return l.session(ctx, p)
	case p.Tab == tui.TabDiff:
		return l.diff(ctx, p)
	case p.Tab == tui.TabLog:
		l.page.Lock()
		defer l.page.Unlock()
		paper.Lines, err = l.log.next(ctx, l.op, p)
		return paper, err
	}
	paper.Lines, err = l.written(ctx, p)
	return paper, err
}

// written is what a member or a session has written.
func (l *Source) written(ctx context.Context, p tui.Page) ([]string, error) {
	l.page.Lock()
	defer l.page.Unlock()
	return l.output.next(ctx, l.op, p, func() { tui.Nudge(l.poked) })
}

// session is what is known of a session: its screen where it is in a pane of tmux, else how it is and from what that is
// known. It has nothing else: waggle does not run it.
func (l *Source) session(ctx context.Context, p tui.Page) (paper tui.Paper, err error) {
	if p.Tab != tui.TabOutput {
		return tui.Paper{Lines: []string{"waggle does not run this session"}}, nil
	}
	if paper.Lines, err = l.written(ctx, p); err == nil {
		return paper, nil
	}
	why, err := inspect.Of(l.op).WhySession(p.Member)
	if err != nil {
		return paper, err
	}
	for _, e := range why.Evidence {
		paper.Lines = append(paper.Lines, e.Detail)
	}
	return paper, nil
}

// Leave implements tui.Source.
func (l *Source) Leave() {
	l.page.Lock()
	defer l.page.Unlock()
	l.output.leave()
	l.output = output{}
}

// output is the output of one member, read as it grows.
type output struct {
	page tui.Page
	panes
	peek  *inspect.Peek
	tail  *inspect.Tail
	lines []string
	at    os.FileInfo // of the log when a screen was read
}

func (o *output) next(ctx context.Context, op operator.Operator, p tui.Page, tell func()) ([]string, error) {
	if o.page.Same(p) && o.followed() {
		return o.screen(ctx, p.Lines)
	}
	if o.peek == nil || !o.page.Same(p) || o.peek.Log == "" || o.moved() {
		peek, err := peekAt(ctx, op, p)
		tries := o.tries
		if !o.page.Same(p) {
			tries = 0
		}
		o.leave()
		if err != nil {
			*o = output{}
			return nil, err
		}
		*o = output{page: p, peek: peek, tail: peek.Follow(), lines: peek.Lines, panes: panes{tries: tries}}
		if peek.Pane != nil {
			o.follow(ctx, op, *peek.Pane, tell)
		}
		if peek.Log != "" {
			o.at, _ = os.Stat(peek.Log) // a log that is gone is read again
		}
		return o.lines, nil
	}
	more, err := o.tail.Next()
	o.lines = append(slices.Clip(o.lines), more...)
	o.lines = o.lines[max(0, len(o.lines)-p.Lines):]
	return o.lines, err
}

// peekAt reads what a member or a session has written.
func peekAt(ctx context.Context, op operator.Operator, p tui.Page) (*inspect.Peek, error) {
	if p.Team == decide.SessionTeam {
		return inspect.Of(op).PeekSession(ctx, p.Member, p.Lines)
	}
	return inspect.Of(op).Peek(ctx, p.Team, p.Member, p.Lines)
}

// moved reports whether a program that fills its screen has written since it was read.
func (o *output) moved() bool {
	if o.peek.Shown != inspect.ShownScreen {
		return false
	}
	now, err := os.Stat(o.peek.Log)
	return err != nil || o.at == nil || now.Size() != o.at.Size() || !os.SameFile(now, o.at)
}

// logPage is the records of one member and those of the leader about the team, read as they grow.
type logPage struct {
	page  tui.Page
	log   *operator.Log
	lines []string
}

func (g *logPage) next(ctx context.Context, op operator.Operator, p tui.Page) ([]string, error) {
	if g.log == nil || !g.page.Same(p) {
		log, err := op.OpenLog(ctx, p.Team)
		if err != nil {
			return nil, err
		}
		*g = logPage{page: p, log: log, lines: []string{}}
	}
	recs, err := g.log.Next(ctx)
	for _, r := range recs {
		if r.Name == p.Member {
			g.lines = append(g.lines, plain(view.LogLine(r)))
		}
	}
	g.lines = g.lines[max(0, len(g.lines)-p.Lines):]
	return g.lines, err
}

// plain is the text of a line, without the commands of its next steps.
func plain(line page.Line) string {
	var b strings.Builder
	for _, s := range line {
		b.WriteString(s.Text)
	}
	return b.String()
}

// diff is what a member has changed in its worktree.
func (l *Source) diff(ctx context.Context, p tui.Page) (tui.Paper, error) {
	d, err := results.Of(l.op).Diff(ctx, p.Team, p.Member, results.DiffOptions{})
	if err != nil {
		return tui.Paper{}, err
	}
	lines := []string{resultview.Changed(d)}
	if d.Text != "" {
		lines = append(lines, strings.Split(strings.TrimSuffix(d.Text, "\n"), "\n")...)
	}
	return tui.Paper{Lines: lines, Diff: d}, nil
}

// today is what the operator decided since midnight, and what teams have left behind.
func (l *Source) today(ctx context.Context) (tui.Paper, error) {
	names, err := l.names()
	if err != nil {
		return tui.Paper{}, err
	}
	now := l.op.Minter.Now()
	y, m, d := now.Date()
	midnight := time.Date(y, m, d, 0, 0, 0, 0, now.Location())
	var decided []decide.Request
	n := map[string]int{}
	for _, name := range names {
		qs, err := decide.Of(l.op).Pending(ctx, name, true)
		if err != nil {
			continue // Crew says why
		}
		for _, q := range qs {
			if a := q.Answer; a != nil && a.By == string(policy.RoleOperator) && !a.At.Before(midnight) {
				n[a.Decision]++
				decided = append(decided, q)
			}
		}
	}
	slices.SortStableFunc(decided, func(a, b decide.Request) int { return b.Answer.At.Compare(a.Answer.At) })
	lines := []string{fmt.Sprintf("You decided today: %d allowed, %d denied", n[record.DecisionAllow], n[record.DecisionDeny])}
	for _, q := range decided {
		lines = append(lines, fmt.Sprintf("  %s  %-5s  %s  %s/%s: %s (%s)", page.Clock(q.Answer.At, now), q.Answer.Decision, q.Handle, q.Team, q.Member, tui.Short(q), q.Risk))
	}
	left, err := process.Of(l.op).GC(ctx, l.team, false)
	if err != nil {
		return tui.Paper{Lines: lines}, err
	}
	lines = append(lines, "", fmt.Sprintf("Left behind: %s to clean up, %d kept", page.Count(len(left.Found), "item"), len(left.Kept)))
	for _, g := range left.Found {
		lines = append(lines, "  "+strings.Join(slices.DeleteFunc([]string{g.Kind, g.Team, g.Member, g.Path, g.Argv, g.Why}, func(s string) bool { return s == "" }), "  "))
	}
	for _, k := range left.Kept {
		lines = append(lines, "  kept: "+strings.Join(slices.DeleteFunc([]string{k.Kind, k.Team, k.Member, k.Path, k.Why.Text}, func(s string) bool { return s == "" }), "  "))
	}
	return tui.Paper{Lines: lines}, nil
}

// paneTries is how often the pane of a session is followed at most, while its page is shown.
const paneTries = 3

// panes is the pane of a session that waggle did not start, as a page shows it: by one client of its tmux server, which tells of
// output. No pane is looked at by a timer.
type panes struct {
	client *terminal.PaneFollower // nil: none
	told   chan struct{}          // closed when the client has ended and the last was told
	tries  int
	failed error // of the last one
}

// followed reports whether the pane is shown by a client, or was tried often enough.
func (p *panes) followed() bool { return p.client != nil || p.tries >= paneTries }

// follow begins to follow a pane. tell is called when it has had output, and when the client has ended.
func (p *panes) follow(ctx context.Context, op operator.Operator, pane spawn.Pane, tell func()) {
	if p.tries++; p.tries > paneTries {
		return
	}
	p.client, p.failed = inspect.Of(op).Follow(ctx, pane)
	if p.failed != nil {
		p.client = nil
		tell() // the next try
		return
	}
	changed, told := p.client.Changed(), make(chan struct{})
	p.told = told
	go func() { // until the client has ended; leave waits for it
		defer close(told)
		for range changed {
			tell()
		}
		tell()
	}()
}

// screen is what the pane shows now.
func (p *panes) screen(ctx context.Context, n int) ([]string, error) {
	if p.client == nil {
		return nil, p.failed
	}
	text, err := p.client.Screen(ctx)
	if err != nil {
		p.leave()
		p.failed = err
		return nil, err
	}
	lines, _ := inspect.ScreenLines(text, n)
	return lines, nil
}

// leave ends the client.
func (p *panes) leave() {
	if p.client != nil {
		p.client.Close()
		<-p.told
		p.client = nil
	}
}

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
