package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"waggle/internal/face/ask"
	"waggle/internal/face/tui"
	"waggle/internal/face/view/page"
	"waggle/internal/face/view/resultview"
	"waggle/operator"
	"waggle/operator/results"
)

// reviewing is the question about a member's work in lines of text, with the comments of the person.
type reviewing struct {
	l     *linear
	m     tui.Member
	diff  *results.Diff
	texts map[int]string // by the line of the diff, from 0; -1: on all of it
}

// ask asks whether to merge the work, and takes comments until it is answered. The comments that are
// sent leave texts.
func (r *reviewing) ask(ctx context.Context) (merges bool, err error) {
	name := r.m.Name
	text := fmt.Sprintf("%s has changed: %s", name, operator.VisibleOutput(r.numbered()))
	for {
		choices := []ask.Choice{{Key: 'c', Does: "comment on a line", Line: "number of the line, and the comment (Esc: none): "}}
		if n := len(r.texts); n > 0 {
			choices = append(choices, ask.Choice{Key: 's', Does: "send " + page.Count(n, "comment")})
		}
		answer, err := r.l.a.Choose(ctx, text, fmt.Sprintf("merge the work of %s?", name), choices...)
		switch {
		case err != nil:
			return false, err // it was withdrawn
		case answer.Allow:
			return true, nil
		case answer.Choice == 'c':
			text = operator.Visible(r.comment(answer.Line))
		case answer.Choice == 's':
			return false, r.send(ctx)
		default:
			r.l.a.Say("%s keeps its work: waggle review %s comments on it, waggle merge %s merges it", name, name, name)
			return false, nil
		}
	}
}

// lines are those of the diff.
func (r *reviewing) lines() []string {
	return strings.Split(strings.TrimSuffix(r.diff.Text, "\n"), "\n")
}

// numbered is the diff with the number of each line before it.
func (r *reviewing) numbered() string {
	var b strings.Builder
	b.WriteString(resultview.Changed(r.diff))
	for i, l := range r.lines() {
		fmt.Fprintf(&b, "\n%d %s", i+1, l)
	}
	return b.String()
}

// comment takes "12 text", or a text about all of it, and says what it is on. Without a text there is
// no comment on that line any more.
func (r *reviewing) comment(typed string) string {
	at, text := -1, typed
	first, rest, _ := strings.Cut(typed, " ")
	if n, err := strconv.Atoi(first); err == nil {
		if last := len(r.lines()); n < 1 || n > last {
			return fmt.Sprintf("there is no line %d: the lines are 1 to %d", n, last)
		}
		at, text = n-1, strings.TrimSpace(rest)
	}
	if text == "" {
		delete(r.texts, at)
		return "no comment there"
	}
	r.texts[at] = text
	return r.place(results.CommentsAt(r.diff.Text, map[int]string{at: text})[0])
}

// place is a comment in a line, with where it is.
func (*reviewing) place(c results.Comment) string {
	switch {
	case c.Line > 0:
		return fmt.Sprintf("comment on %s:%d, %s: %s", c.File, c.Line, c.Quoted, c.Text)
	case c.File != "":
		return fmt.Sprintf("comment on %s: %s", c.File, c.Text)
	}
	return "comment on all of it: " + c.Text
}

// said are the comments in lines.
func (r *reviewing) said() (lines []string) {
	for _, c := range results.CommentsAt(r.diff.Text, r.texts) {
		lines = append(lines, r.place(c))
	}
	return lines
}

// send sends all comments in one message.
func (r *reviewing) send(ctx context.Context) error {
	lines, err := r.l.live.Do(ctx, tui.Act{Verb: tui.Review, Team: r.m.Team, Member: r.m.Name, Diff: r.diff, Comments: r.texts})
	if err != nil {
		lines = []string{explained(err)}
	} else {
		r.texts = nil
	}
	for _, text := range lines {
		r.l.a.Say("%s", operator.Visible(text))
	}
	return nil
}
