package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"

	"waggle/internal/face/tui"
	"waggle/internal/face/view/page"
	"waggle/internal/face/view/resultview"
	"waggle/internal/fs/realpath"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/mail"
	"waggle/operator/results"
	"waggle/policy"
	"waggle/protocol"
)

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
	subject, _, _ := strings.Cut(a.Text, "\n")
	res, err := board.Of(l.op).AddTask(ctx, protocol.TeamName(a.Team), board.NewTask{Subject: subject, Description: a.Text, Owner: protocol.MemberName(a.Member), Typed: true})
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
		lines = append(lines, plain(block.Line))
	}
	if c := m.Check; c != nil && c.Status != 0 {
		lines = append(lines, strings.Split(strings.TrimSpace(c.Tail), "\n")...)
	}
	return lines, err
}

func (l *Source) send(ctx context.Context, a tui.Act) (string, error) {
	to, err := protocol.ParseAddress(a.Member)
	if err != nil {
		return "", err
	}
	sent, err := mail.Of(l.op).Send(ctx, protocol.TeamName(a.Team), mail.Message{To: to, Text: a.Text})
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
	var lesson *decide.Lesson
	if a.Rule != "" && team != decide.SessionTeam {
		r, err := policy.ParseRule(a.Rule)
		if err != nil {
			return "", err
		}
		lesson = &decide.Lesson{Rule: r, Team: a.Wide, End: a.End, Task: a.Task}
		answers[0].Lesson = lesson
	}
	results, err := decide.Of(l.op).Decide(ctx, protocol.TeamName(team), answers)
	if err != nil {
		return "", err
	}
	text, err := said(a.Requests, results)
	if err != nil || lesson == nil {
		return text, err
	}
	if _, err := decide.Of(l.op).Learn(ctx, protocol.TeamName(team), results, *lesson); err != nil {
		return "", fmt.Errorf("%s, but without the rule: %w", text, err)
	}
	return text + ", and from now on by " + a.Rule, nil
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

// Matches implements tui.Source.
func (l *Source) Matches(ctx context.Context, q decide.Request, rule string) (decide.Suggestion, error) {
	r, err := policy.ParseRule(rule)
	if err != nil {
		return decide.Suggestion{}, err
	}
	return decide.Of(l.op).Matches(ctx, protocol.TeamName(q.Team), r)
}

// Changed implements tui.Source.
func (l *Source) Changed(ctx context.Context, q decide.Request, input string) (decide.Request, error) {
	other, err := decide.Of(l.op).Changed(ctx, protocol.TeamName(q.Team), q.Handle, input)
	if err != nil {
		return q, err
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
	plans, err := decide.Of(l.op).Plans(ctx, protocol.TeamName(q.Team), true)
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
