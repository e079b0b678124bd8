// Package live is what the full screen shows of the teams and sessions of an operator, and what its keys do there.
package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"waggle"
	"waggle/control"
	"waggle/internal/realpath"
	"waggle/internal/tui"
	"waggle/internal/view"
	"waggle/internal/view/page"
	"waggle/internal/view/resultview"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/operator/process"
	"waggle/operator/results"
	"waggle/policy"
	"waggle/record"
	"waggle/spawn"
	"waggle/task"
)

// Source is the tui.Source over the teams and sessions of an operator.
type Source struct {
	// Confine wraps the check of a merge for the sandbox of a directory; nil refuses to merge the work
	// of a confined member.
	Confine func(ctx context.Context, tree string, c results.Command) (results.Command, func() error, error)
	// Start carries out NewMember, and an Allow of one proposal, and says so in lines; nil: no member can be started. Its error is a
	// *fresh.UnacceptedError where the person has to accept the setup of the member's worktree first.
	Start func(ctx context.Context, a tui.Act) ([]string, error)
	// First returns what somebody without a member can do, in lines; nil: nothing is said.
	First func() []string
	// Step returns a next step as a person types it; nil: none is shown.
	Step func(operator.Next) string
	// Waiting gets what waits for the person at each look, with the sessions that wait at a dialog; nil: nobody does.
	Waiting func([]decide.Request)

	op    operator.Operator
	team  waggle.TeamName // "": all
	do    sync.Mutex      // one act at a time
	merge sync.Mutex      // one merge at a time, beside other acts

	last  inspect.LastLines
	folds operator.WorkerFolds // of Crew

	seen sync.Mutex               // guards the fields below
	pids []int                    // of the leaders and members that Crew saw last
	late bool                     // Crew found a lease that a dead leader still held
	logs map[tui.MemberKey]string // of the members that Crew saw working

	poked chan struct{} // a pane that is shown has had output

	page   sync.Mutex // guards the fields below
	output output
	log    logPage
}

// Of returns the tui.Source over one team, or over all teams and sessions when name is "".
func Of(op operator.Operator, name waggle.TeamName) *Source {
	return &Source{op: op, team: name, poked: make(chan struct{}, 1)}
}

func (l *Source) names() ([]waggle.TeamName, error) {
	if l.team != "" {
		return []waggle.TeamName{l.team}, nil
	}
	return l.op.Root.Names()
}

// Requests implements tui.Source. Teams that cannot be read are left out; the error names them.
func (l *Source) Requests(ctx context.Context) ([]decide.Request, error) {
	names, err := l.names()
	if err != nil {
		return nil, err
	}
	all, errs := []decide.Request{}, []error{}
	for _, name := range names {
		qs, err := decide.Of(l.op).Pending(ctx, name, false)
		if err != nil {
			if operator.KindOf(err) != operator.NotFound { // another program leads it: nothing waits here
				errs = append(errs, fmt.Errorf("team %s: %w", name, err))
			}
			continue
		}
		all = append(all, qs...)
	}
	if l.team == "" {
		_, qs, err := decide.Of(l.op).Sessions()
		if err != nil {
			errs = append(errs, err)
		}
		all = append(all, qs...)
	}
	all = slices.DeleteFunc(all, func(q decide.Request) bool { return q.Status != decide.StatusOpen && q.Kind != decide.KindDialog })
	if l.Waiting != nil {
		l.Waiting(all)
	}
	all = slices.DeleteFunc(all, func(q decide.Request) bool { return q.Kind == decide.KindDialog })
	decide.SortRequests(all)
	return all, errors.Join(errs...)
}

// Crew implements tui.Source.
func (l *Source) Crew(ctx context.Context) (c tui.Crew, err error) {
	names, err := l.names()
	if err != nil {
		return c, err
	}
	var pids []int
	late, logs := false, map[tui.MemberKey]string{}
	defer func() {
		l.seen.Lock()
		defer l.seen.Unlock()
		slices.Sort(pids)
		l.pids, l.late, l.logs = slices.Compact(pids), late, logs
	}()
	op := l.op
	op.Folds = &l.folds
	for _, name := range names {
		st, err := inspect.Of(op).Status(ctx, name)
		if err != nil {
			c.Problems = append(c.Problems, fmt.Sprintf("team %s: %v", name, err))
			continue
		}
		c.Problems = append(c.Problems, problems(st)...)
		for _, due := range l.text(view.DuePage(st)) {
			c.Problems = append(c.Problems, "team "+due)
		}
		pids = append(pids, st.Leader.PID)
		// The threads of a killed leader end after it counts as dead, and hold its lease until then.
		late = late || st.Leader.Led && st.Leader.PID > 0 && dead(st.Leader.PID)
		for _, m := range st.Members {
			one := tui.Member{Team: st.Team, MemberStatus: m}
			if m.Is == inspect.ConditionWorking {
				one.Last, logs[tui.MemberKey{Team: st.Team, Member: m.Name}] = l.last.Of(m.Log), m.Log
			}
			c.Members = append(c.Members, one)
			pids = append(pids, m.PID)
		}
		list, err := board.Of(op).Tasks(ctx, name, false)
		if err != nil {
			c.Problems = append(c.Problems, fmt.Sprintf("tasks of %s: %v", name, err))
			continue
		}
		for _, t := range list.Tasks {
			c.Tasks = append(c.Tasks, tui.Task{Team: st.Team, TaskView: t})
		}
	}
	if l.team == "" {
		_, qs, _ := decide.Of(l.op).Sessions() // Requests returns the error
		for _, q := range qs {
			if q.Kind == decide.KindDialog {
				c.Members = append(c.Members, tui.Member{Team: q.Team, MemberStatus: inspect.MemberStatus{Name: q.Member, State: inspect.StateHuman, Stand: inspect.Stand{Is: inspect.ConditionNeedsYou}, Since: q.Asked, Why: q.Reason}})
			}
		}
	}
	if len(c.Members) == 0 && l.First != nil {
		c.First = l.First()
	}
	return c, nil
}

// Said implements tui.Source.
func (l *Source) Said() map[tui.MemberKey]string {
	l.seen.Lock()
	logs := l.logs
	l.seen.Unlock()
	said := map[tui.MemberKey]string{}
	for k, log := range logs {
		said[k] = l.last.Of(log)
	}
	return said
}

// problems is what is wrong with a team as a whole.
func problems(st *inspect.Status) (lines []string) {
	say := func(text string) { lines = append(lines, fmt.Sprintf("team %s: %s", st.Team, text)) }
	switch {
	case st.Gone != nil:
		say("its directory is missing")
	case st.Broken != nil:
		say(st.Broken.Error())
	case st.Room != nil:
		say(st.Room.Error())
	case st.Interrupted != nil:
		say("nobody leads it, and members have died")
	case !st.Leader.Led && !st.Leader.Foreign && slices.ContainsFunc(st.Members, func(m inspect.MemberStatus) bool { return m.State == inspect.StateDead }):
		say("nobody leads it, and members are dead")
	case !st.Leader.Led && !st.Leader.Foreign && slices.ContainsFunc(st.Members, func(m inspect.MemberStatus) bool { return m.PID != 0 }):
		say("nobody leads it: your answers are sent, nothing else goes on")
	}
	for _, what := range st.Damage {
		say(what)
	}
	return lines
}

// Page implements tui.Source.
func (l *Source) Page(ctx context.Context, p tui.Page) (paper tui.Paper, err error) {
	if p.Tab != tui.TabOutput {
		l.Leave()
	}
	if p.Tab == tui.TabToday {
		return l.today(ctx)
	}
	if p.Tab == tui.TabWhy {
		return l.why(ctx, p)
	}
	if p.Team == decide.SessionTeam {
		return l.session(ctx, p)
	}
	if p.Tab == tui.TabDiff {
		return l.diff(ctx, p)
	}
	if p.Tab == tui.TabLog {
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
	return l.output.next(ctx, l.op, p, func() { tell(l.poked) })
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
	if over := len(o.lines) - p.Lines; over > 0 {
		o.lines = o.lines[over:]
	}
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
			g.lines = append(g.lines, logLine(r))
		}
	}
	if over := len(g.lines) - p.Lines; over > 0 {
		g.lines = g.lines[over:]
	}
	return g.lines, err
}

func logLine(r operator.LogRecord) string {
	var b strings.Builder
	for _, s := range view.LogLine(r) {
		b.WriteString(s.Text)
	}
	return b.String()
}

// diff is what a member has changed in its worktree.
func (l *Source) diff(ctx context.Context, p tui.Page) (tui.Paper, error) {
	d, err := results.Of(l.op).Diff(ctx, p.Team, p.Member)
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
		lines = append(lines, "  kept: "+strings.Join(slices.DeleteFunc([]string{k.Kind, k.Team, k.Member, k.Path, k.Why}, func(s string) bool { return s == "" }), "  "))
	}
	return tui.Paper{Lines: lines}, nil
}

// Done implements Source: teams that have ended lately, members that have left lately, and what is kept. A member whose
// work is kept has one row. What cannot be read is left out: Crew says why.
func (l *Source) Done(ctx context.Context) ([]tui.Done, error) {
	since := l.op.Minter.Now().Add(-inspect.Lately)
	ended, err := inspect.Of(l.op).EndedSince(since)
	if err != nil {
		return nil, err
	}
	var kept []process.Kept
	if c, err := process.Of(l.op).GC(ctx, l.team, false); err == nil {
		kept = c.Kept // inside of a member's process it is refused, and nothing is listed
	}
	var done []tui.Done
	for _, e := range ended {
		if l.team == "" || e.Team == string(l.team) {
			done = append(done, tui.Done{Kind: tui.DoneTeam, Team: e.Team, ID: e.ID, At: e.At, Says: "ended: " + view.EndedText(e, kept),
				Do: operator.Next{Step: operator.NextReadEnded, Team: waggle.TeamName(e.Team)}})
		}
	}
	names, err := l.names()
	if err != nil {
		return done, err
	}
	for _, name := range names {
		done = append(done, l.left(ctx, name, since, kept)...)
	}
	for _, k := range kept {
		if k.Do.Step == "" && k.Kind == process.GarbageWorktree && k.Member != "" {
			k.Do = operator.Next{Step: operator.NextMergeAgain, Team: waggle.TeamName(k.Team), Member: waggle.MemberName(k.Member)}
		}
		done = append(done, tui.Done{Kind: k.Kind, Team: k.Team, Member: k.Member, ID: k.ID, Path: k.Path, Says: "kept: " + k.Why, Do: k.Do})
	}
	return done, nil
}

// left are the members of a team that have left lately, the last first, and have left nothing behind.
func (l *Source) left(ctx context.Context, name waggle.TeamName, since time.Time, kept []process.Kept) (done []tui.Done) {
	s, err := l.op.State(ctx, name)
	if err != nil || s == nil {
		return nil
	}
	for _, m := range s.Lead.Members {
		again := func(o *control.Member) bool { return o.Left == nil && o.Name == m.Name }
		behind := func(k process.Kept) bool { return k.Team == string(name) && k.Member == string(m.Name) }
		if m.Left == nil || m.LeftAt.Before(since) || slices.ContainsFunc(s.Lead.Members, again) || slices.ContainsFunc(kept, behind) {
			continue
		}
		done = append(done, tui.Done{Kind: tui.DoneMember, Team: string(name), Member: string(m.Name), ID: string(m.Instance), At: m.LeftAt,
			Says: view.LeftText(inspect.EndedMember{How: m.Left.How, Detail: m.Left.Detail}),
			Do:   operator.Next{Step: operator.NextWhy, Team: name, Member: m.Name}})
	}
	slices.SortStableFunc(done, func(a, b tui.Done) int { return b.At.Compare(a.At) })
	return done
}

// Seldom implements tui.Source. A member whose worktree cannot be read has no lines.
func (l *Source) Seldom(ctx context.Context) (tui.Seldom, error) {
	names, err := l.names()
	if err != nil {
		return tui.Seldom{}, err
	}
	all := map[tui.MemberKey]tui.Lines{}
	for _, name := range names {
		s, err := l.op.State(ctx, name)
		if err != nil || s == nil {
			continue // Crew says why
		}
		for _, m := range s.Lead.Members {
			if m.Left != nil || m.Joined.Worktree == nil {
				continue
			}
			if d, err := results.Of(l.op).Diff(ctx, string(name), string(m.Name)); err == nil {
				added, deleted := d.Lines()
				all[tui.MemberKey{Team: string(name), Member: string(m.Name)}] = tui.Lines{Added: added, Deleted: deleted}
			}
		}
	}
	return tui.Seldom{Lines: all, Today: inspect.Of(l.op).Today(l.op.Minter.Now())}, nil
}

// Matches implements tui.Source.
func (l *Source) Matches(ctx context.Context, q decide.Request, rule string) (decide.Suggestion, error) {
	r, err := policy.ParseRule(rule)
	if err != nil {
		return decide.Suggestion{}, err
	}
	return decide.Of(l.op).Matches(ctx, waggle.TeamName(q.Team), r)
}

// Changed implements tui.Source.
func (l *Source) Changed(ctx context.Context, q decide.Request, input string) (decide.Request, error) {
	var other *decide.Request
	var err error
	if q.Team == decide.SessionTeam {
		other, err = decide.Of(l.op).SessionChanged(q.Handle, input)
	} else {
		other, err = decide.Of(l.op).Changed(ctx, waggle.TeamName(q.Team), q.Handle, input)
	}
	switch {
	case err != nil:
		return q, err
	case other == nil:
		return q, &operator.Error{Kind: operator.NotFound, Op: "approve", Msg: q.Handle + " is not asked any more"}
	}
	return *other, nil
}

// Earlier implements tui.Source.
func (l *Source) Earlier(ctx context.Context, q decide.Request) (string, error) {
	switch {
	case q.EditedPath() != "":
		return inFile(q), nil
	case q.Revision < 2:
		return "", nil
	}
	plans, err := decide.Of(l.op).Plans(ctx, waggle.TeamName(q.Team), true)
	if err != nil {
		return "", err
	}
	var before *decide.Request
	for i := range plans {
		if p := &plans[i]; p.Instance == q.Instance && p.Task == q.Task && p.Revision < q.Revision && (before == nil || p.Revision > before.Revision) {
			before = p
		}
	}
	if before == nil {
		return "", nil
	}
	return decide.DiffPlans(before, &q), nil
}

// Fate implements tui.Source.
func (l *Source) Fate(ctx context.Context, q decide.Request) (decide.Fate, error) {
	return decide.Of(l.op).Fate(ctx, q)
}

// maxFile is the size of the largest file that a change is compared with.
const maxFile = 1 << 20

// inFile is what a call changes in its file as that is now.
func inFile(q decide.Request) string {
	text, err := realpath.ReadFile(q.EditedPath(), maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && q.Tool == "Write":
		return "the file is new"
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case err != nil:
		return "it cannot be compared: " + err.Error()
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return "it cannot be compared: the file is no text"
	}
	return q.InFile(string(text))
}

// Do implements tui.Source. Acts are carried out one after the other.
func (l *Source) Do(ctx context.Context, a tui.Act) ([]string, error) {
	if a.Verb == tui.Merge {
		l.merge.Lock()
		defer l.merge.Unlock()
		return l.merged(ctx, a)
	}
	l.do.Lock()
	defer l.do.Unlock()
	if a.Verb == tui.NewMember || a.Starts() {
		if l.Start == nil {
			return nil, errors.New("no member can be started here")
		}
		return l.Start(ctx, a)
	}
	var text string
	var err error
	switch a.Verb {
	case tui.Message:
		text, err = l.send(ctx, a)
	case tui.NewTask:
		text, err = l.assign(ctx, a)
	case tui.Review:
		text, err = l.review(ctx, a)
	default:
		text, err = l.answer(ctx, a)
	}
	return []string{text}, err
}

func (l *Source) assign(ctx context.Context, a tui.Act) (string, error) {
	res, err := board.Of(l.op).AddTask(ctx, waggle.TeamName(a.Team), board.NewTask{Subject: firstLine(a.Text), Description: a.Text, Owner: waggle.MemberName(a.Member), Typed: true})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("task %s is %s's", res.Task.ID, a.Member), nil
}

// review sends what was written on the lines of a diff as one message.
func (l *Source) review(ctx context.Context, a tui.Act) (string, error) {
	if _, err := results.Of(l.op).Reviewed(ctx, a.Team, a.Member); err != nil {
		return "", err
	}
	cs := results.CommentsAt(a.Diff.Text, a.Comments)
	a.Text = resultview.ReviewText(a.Diff, cs)
	if _, err := l.send(ctx, a); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s sent to %s in one message", page.Count(len(cs), "comment"), a.Member), nil
}

// mergeGrace is the time that a member has to end by itself after its work was merged.
const mergeGrace = 10 * time.Second

// merged merges a member's work into the branch that its worktree was made from.
func (l *Source) merged(ctx context.Context, a tui.Act) ([]string, error) {
	m, err := results.Of(l.op).Merge(ctx, a.Team, a.Member, results.MergeOptions{Message: a.Text, Grace: mergeGrace, Confine: l.Confine})
	if m == nil {
		return nil, err
	}
	lines := []string{fmt.Sprintf("merged %s into %s", m.Member, m.Into)}
	if err != nil && !m.Changed {
		lines[0] = fmt.Sprintf("%s was not merged, %s is as it was", m.Member, m.Into)
	}
	for _, block := range resultview.MergedPage(m) {
		var b strings.Builder
		for _, s := range block.Line {
			b.WriteString(s.Text)
		}
		lines = append(lines, b.String())
	}
	if c := m.Check; c != nil && c.Status != 0 {
		lines = append(lines, strings.Split(strings.TrimSpace(c.Tail), "\n")...)
	}
	return lines, err
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

func (l *Source) send(ctx context.Context, a tui.Act) (string, error) {
	to, err := waggle.ParseAddress(a.Member)
	if err != nil {
		return "", err
	}
	sent, err := mail.Of(l.op).Send(ctx, waggle.TeamName(a.Team), mail.Message{To: to, Text: a.Text})
	for _, s := range sent {
		err = errors.Join(err, s.Err())
	}
	return "sent to " + a.Member, err
}

// via is the face in the record of a decision.
const via = "top"

// answer decides requests, each exactly as it was shown, team by team.
func (l *Source) answer(ctx context.Context, a tui.Act) (string, error) {
	of := map[string][]decide.Request{}
	var teams []string
	for _, q := range a.Requests {
		if of[q.Team] == nil {
			teams = append(teams, q.Team)
		}
		of[q.Team] = append(of[q.Team], q)
	}
	var texts []string
	var errs []error
	for _, team := range teams {
		one := a
		one.Requests = of[team]
		text, err := l.answerTeam(ctx, team, one)
		texts, errs = append(texts, text), append(errs, err)
	}
	return strings.Join(texts, "; "), errors.Join(errs...)
}

func (l *Source) answerTeam(ctx context.Context, team string, a tui.Act) (string, error) {
	answers := make([]decide.Answer, len(a.Requests))
	for i, q := range a.Requests {
		// The handle, because the asker chooses the id and could choose another's handle.
		answers[i] = decide.Answer{ID: q.Handle, Digest: q.Digest, Allow: a.Verb != tui.Deny, Reason: a.Reason, Words: a.Words, UpdatedInput: a.Input, Via: via}
	}
	if team == decide.SessionTeam {
		return l.answerSessions(ctx, a, answers)
	}
	var lesson *decide.Lesson
	if a.Rule != "" {
		r, err := policy.ParseRule(a.Rule)
		if err != nil {
			return "", err
		}
		lesson = &decide.Lesson{Rule: r, Team: a.Wide, End: a.End, Task: a.Task}
		answers[0].Lesson = lesson
	}
	results, err := decide.Of(l.op).Decide(ctx, waggle.TeamName(team), answers)
	if err != nil {
		return "", err
	}
	text, err := said(a.Requests, results)
	if err != nil || lesson == nil {
		return text, err
	}
	if _, err := decide.Of(l.op).Learn(ctx, waggle.TeamName(team), results, *lesson); err != nil {
		return "", fmt.Errorf("%s, but without the rule: %w", text, err)
	}
	return text + ", and from now on by " + a.Rule, nil
}

func (l *Source) answerSessions(ctx context.Context, a tui.Act, answers []decide.Answer) (string, error) {
	var results []decide.Decided
	for _, one := range answers {
		d, err := decide.Of(l.op).DecideSession(ctx, one, one.Words)
		if err != nil {
			return "", err
		}
		if d != nil {
			results = append(results, *d)
		}
	}
	return said(a.Requests, results)
}

// said describes results in a line.
func said(qs []decide.Request, results []decide.Decided) (string, error) {
	var errs []error
	n, word := 0, ""
	for _, d := range results {
		if d.Err() != nil {
			errs = append(errs, d.Err())
			continue
		}
		n++
		word = d.Decision
		switch {
		case d.Voted:
			word = "allow, one vote of two"
		case !d.Changed:
			word += " already, by " + d.By
		case !d.Delivered:
			word += ", decided, not yet delivered"
		}
	}
	if len(qs) == 1 && n == 1 {
		return qs[0].Handle + " " + word, nil
	}
	return fmt.Sprintf("%s %s", page.Count(n, "request"), word), errors.Join(errs...)
}

// watchEvery is how often the files and the processes are looked at when the system reports no change.
const watchEvery = 5 * time.Second

// beginEvery is that while a directory is not there yet, which the system does not watch, or a lease of a dead leader is held.
const beginEvery = 500 * time.Millisecond

// Watch returns two channels. The first gets a value soon after a journal, a task or a process has changed, or a team has
// come or gone; the second after a member has written output, too. Values that were not received are merged into one. Both are
// closed after ctx has ended.
func (l *Source) Watch(ctx context.Context) (changes, output <-chan struct{}) {
	c, o := make(chan struct{}, 1), make(chan struct{}, 1)
	go func() { // it ends with ctx; its readers wait for the channels to be closed
		defer close(c)
		defer close(o)
		defer l.Leave()
		for ctx.Err() == nil {
			l.watch(ctx, c, o)
		}
	}()
	return c, o
}

// tell puts a value into a channel of Watch.
func tell(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// watch reports changes until the directories to watch are others.
func (l *Source) watch(ctx context.Context, changes, output chan<- struct{}) {
	dirs := l.dirs()
	ctx, stop := context.WithCancel(ctx)
	every, late := watchEvery, l.unsettled()
	if late || slices.ContainsFunc(dirs, func(d string) bool { _, err := os.Stat(d); return err != nil }) {
		every = beginEvery
	}
	nudges, err := mailbox.Watch(ctx, mailbox.WatchOptions{Interval: every, Match: shown}, dirs...)
	if err != nil {
		stop()
		return
	}
	defer func() {
		stop()
		for range nudges { // until the watcher has ended
		}
	}()
	clock := l.op.Minter.Now
	seen, wrote := stamp(dirs)
	known := map[int]spawn.Identity{}
	lived, looked := l.living(known), clock()
	tell(changes) // what changed before the watch began
	tell(output)
	for {
		select {
		case <-l.poked:
			tell(output)
			continue
		case _, ok := <-nudges:
			if !ok {
				return
			}
		}
		began := clock()
		now, nowWrote := stamp(dirs)
		lives := lived
		if began.Sub(looked) >= beginEvery || now != seen {
			lives, looked = l.living(known), began
		}
		switch {
		case now != seen || lives != lived || late || l.unsettled():
			seen, lived, wrote = now, lives, nowWrote
			tell(changes)
			tell(output)
			if late != l.unsettled() || !slices.Equal(dirs, l.dirs()) {
				return
			}
		case nowWrote != wrote:
			wrote = nowWrote
			tell(output)
		}
		pause(ctx, min(restful*clock().Sub(began), mostRest))
	}
}

// restful is how many times as long as a look the pause behind it is.
const restful = 10

// mostRest is the longest pause from one look at the files to the next one.
const mostRest = 100 * time.Millisecond

// pause lets time pass.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// unsettled reports whether Crew has to look again although nothing changed since.
func (l *Source) unsettled() bool {
	l.seen.Lock()
	defer l.seen.Unlock()
	return l.late
}

// dead reports whether a process is gone, or has ended and was not reaped yet.
func dead(pid int) bool {
	id, err := spawn.Identify(pid)
	if err != nil {
		return errors.Is(err, spawn.ErrGone)
	}
	return ended(id)
}

func ended(id spawn.Identity) bool {
	alive, err := id.Check()
	return err == nil && !alive
}

// living are the processes that Crew saw last, with those that have ended since. Their end changes no
// file when nobody leads. known are those that were looked at before.
func (l *Source) living(known map[int]spawn.Identity) string {
	l.seen.Lock()
	defer l.seen.Unlock()
	maps.DeleteFunc(known, func(pid int, _ spawn.Identity) bool { return !slices.Contains(l.pids, pid) })
	var b []byte
	for _, pid := range l.pids {
		if pid <= 0 {
			continue
		}
		id, ok := known[pid]
		if !ok {
			id, _ = spawn.Identify(pid) // of one that is gone there is nothing
			known[pid] = id
		}
		b = fmt.Appendln(b, pid, id.Start, id.PID == 0 || ended(id))
	}
	return string(b)
}

// dirs are the directories of the journals of every team and session, and those that have them. Of one that is not there
// yet it is the one in which it is made.
func (l *Source) dirs() []string {
	dirs := l.wanted()
	for i, d := range dirs {
		for _, above := range []string{l.op.Root.Path, l.op.Home.Path} {
			if _, err := os.Stat(d); errors.Is(err, fs.ErrNotExist) && filepath.Dir(d) == above {
				dirs[i] = above
			}
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

func (l *Source) wanted() []string {
	dirs := []string{filepath.Join(l.op.Root.Path, "teams"), filepath.Join(l.op.Home.Path, "sessions"), decide.Of(l.op).Proposals().Dir}
	names, err := l.names()
	if err != nil {
		return dirs
	}
	for _, name := range names {
		known, _ := l.op.Home.Find(l.op.RootURL, name) // what cannot be read is shown by Requests
		for _, d := range known {
			dirs = append(dirs, d.Journals().Path)
		}
		dirs = append(dirs, l.op.Root.TasksDir(name))
	}
	beside := []string{} // the records of worktrees: merges are in them
	for _, name := range names {
		known, _ := l.op.Home.Find(l.op.RootURL, name)
		for _, d := range known {
			if _, err := os.Stat(d.Worktrees()); err == nil {
				beside = append(beside, d.Worktrees())
			}
		}
	}
	for _, d := range slices.Clone(dirs[1:]) {
		entries, err := os.ReadDir(d)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.IsDir() && shown(e.Name()) {
				dirs = append(dirs, filepath.Join(d, e.Name()))
			}
		}
	}
	return append(dirs, beside...)
}

// shown reports whether a change of a file may change the screen. A member writes its task-status.json
// every ten seconds, whether anything has changed or not.
func shown(name string) bool {
	return !strings.HasPrefix(name, ".") && name != "task-status.json"
}

// stamp is what the files in some directories look like: their names, sizes and times. Those of members' output are apart.
func stamp(dirs []string) (files, output string) {
	var b, out []byte
	for _, d := range dirs {
		entries, err := os.ReadDir(d)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			b = fmt.Appendln(b, err)
		}
		b = append(append(b, d...), '\n')
		for _, e := range entries {
			if !shown(e.Name()) {
				continue
			}
			to := &b
			if strings.HasPrefix(e.Name(), task.LogName) {
				to = &out
			}
			*to = append(append(*to, e.Name()...), ' ')
			if !e.IsDir() {
				if info, err := e.Info(); err == nil {
					*to = strconv.AppendInt(append(strconv.AppendInt(*to, info.Size(), 10), ' '), info.ModTime().UnixNano(), 10)
				}
			}
			*to = append(*to, '\n')
		}
	}
	return string(b), string(out)
}

var _ tui.Source = (*Source)(nil)
