// Package resultview puts what became of members' work into pages: the difference, its review, the
// comparison of attempts, the merge and the pull request.
//
//	d, err := results.Of(op).Diff(ctx, team, member, results.DiffOptions{})
//	return a.Give(d, resultview.DiffStatPage(d))
package resultview

import (
	"fmt"
	"strings"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator/mail"
	"waggle/operator/results"
)

// DiffStatPage lists the changed files of a member.
func DiffStatPage(d *results.Diff) (p page.Page) {
	t := page.Table{Head: []string{"FILE", "+", "-", ""}}
	uncommitted := map[string]bool{}
	for _, f := range d.Uncommitted {
		uncommitted[f] = true
	}
	for _, f := range d.Files {
		var what []string
		if f.Binary {
			what = append(what, "binary")
		}
		if uncommitted[f.Path] {
			what = append(what, "not committed")
		}
		t.Rows = append(t.Rows, []string{f.Path, fmt.Sprint(f.Added), fmt.Sprint(f.Deleted), strings.Join(what, ", ")})
	}
	p.Rows(t)
	p.Line(page.Plain(Changed(d)))
	return p
}

// Changed sums a diff up: "3 files, +10 -2, since 0123456789ab", or "in turn 2".
func Changed(d *results.Diff) string {
	added, deleted := d.Lines()
	when := fmt.Sprintf("since %.12s", d.Base)
	if d.Turn > 0 {
		when = fmt.Sprintf("in turn %d", d.Turn)
	}
	s := fmt.Sprintf("%s, +%d -%d, %s", page.Count(len(d.Files), "file"), added, deleted, when)
	if d.More {
		s += ", cut"
	}
	return s
}

// ComparePage is a row for each member.
func ComparePage(cs []results.Compared) (p page.Page) {
	t := page.Table{Head: []string{"MEMBER", "STATE", "FILES", "+", "-", "CHECK", "TASK"}}
	for _, c := range cs {
		state := c.State
		if c.Working {
			state = "working"
		}
		check := "-"
		switch {
		case c.Check == nil:
		case c.Check.Status == 0:
			check = "passed"
		default:
			check = "failed"
		}
		changed := fmt.Sprint(len(c.Files))
		if c.Cut {
			changed += ", cut"
		}
		t.Rows = append(t.Rows, []string{c.Member, state, changed, fmt.Sprint(c.Added), fmt.Sprint(c.Deleted), check, c.Task})
	}
	p.Table(t)
	return p
}

// AbortedPage says that a merge was taken back.
func AbortedPage(m *results.Aborted) (p page.Page) {
	p.Line(page.Plain(fmt.Sprintf("%s  the merge is taken back: %s is at %.7s as before; the work is on %s", m.Member, m.Into, m.At, m.Branch)))
	return p
}

// MergePlanPage says what a merge would do.
func MergePlanPage(m *results.MergePlan) page.Page {
	p := DiffStatPage(m.Diff)
	if m.Check != "" {
		p.Line(page.Plain("would run on the result: " + m.Check))
	}
	p.Line(page.Plain(fmt.Sprintf("would merge %s into %s (%s)", m.Diff.Branch, m.Into, m.How)))
	p.Line(page.Faint("nothing was changed, and nothing tried: only the merge shows whether it conflicts"))
	return p
}

// MergedPage says what a merge did.
func MergedPage(m *results.Merged) (p page.Page) {
	if m.Message != "" {
		p.Line(page.Plain("committed " + page.Count(len(m.Files), "file") + ":"))
		for _, l := range strings.Split(strings.TrimRight(m.Message, "\n"), "\n") {
			p.Line(page.Faint("  | " + l))
		}
	}
	if said := hooksText(m); said != "" {
		p.Line(page.Plain(said))
	}
	words := []page.Span{page.Plain(m.Member + "  ")}
	say := func(s ...page.Span) { words = append(words, append(s, page.Plain("   "))...) }
	if c := m.Check; c != nil {
		in := ""
		if c.Confined {
			in = " in the sandbox"
		}
		how := " " + took(c.Took) + in
		if c.Status == 0 {
			say(page.Plain(c.Command+" "), page.Good("ok"), page.Plain(how))
		} else {
			say(page.Plain(c.Command+" "), page.Bad("failed"), page.Plain(how))
		}
	}
	switch {
	case len(m.Conflict) > 0:
		say(page.Plain(m.Into+" as it was: "), page.Bad("conflict"), page.Plain(" in "+results.Some(m.Conflict)))
	case m.Changed:
		say(page.Good(fmt.Sprintf("%s %.7s..%.7s", m.Into, m.Before, m.Result)))
	case m.Removed || m.Kept != "":
		say(page.Plain(fmt.Sprintf("%s has all of %s already", m.Into, m.Branch)))
	default: // the error says why
		say(page.Plain(m.Into + " as it was"))
	}
	if m.Untouched > 0 {
		say(page.Plain(fmt.Sprintf("your %s untouched", page.Count(m.Untouched, "changed file"))))
	}
	if m.Stopped {
		say(page.Plain("member stopped"))
	}
	switch {
	case m.Removed:
		say(page.Plain("worktree removed"))
	case m.Kept != "":
		say(page.Plain("worktree "), page.Warning("kept"), page.Plain(": "+m.Kept))
	}
	p.Line(words[:len(words)-1]...)
	return p
}

// took is how long a check ran.
func took(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// hooksText says whether the person's git hooks ran, "" where there are none.
func hooksText(m *results.Merged) string {
	switch {
	case !m.Hooked && len(m.Hooks) == 0:
		return ""
	case m.NoHooks != "":
		return "your git hooks did not run: " + m.NoHooks
	case len(m.Hooks) == 0:
		return "no git hook ran"
	}
	return "your git hooks ran: " + strings.Join(m.Hooks, ", ")
}

// PulledPage says where a pull request is.
func PulledPage(r *results.Pulled) (p page.Page) {
	if r.Message != "" {
		p.Line(page.Plain(fmt.Sprintf("committed %s: %s", page.Count(len(r.Files), "file"), strings.SplitN(r.Message, "\n", 2)[0])))
	}
	what := "has the new commits"
	if r.Changed {
		what = "made"
	}
	p.Line(page.Plain(fmt.Sprintf("pushed %s to %s; pull request %s: %s", r.Branch, r.Remote, what, r.URL)))
	return p
}

// PullBody is the text of a pull request: what the member was asked to do, and what it changed.
func PullBody(r results.Report) string {
	var b strings.Builder
	if len(r.Tasks) > 0 {
		b.WriteString("## Tasks\n\n")
		for _, t := range r.Tasks {
			mark := " "
			if t.State == results.TaskDone {
				mark = "x"
			}
			fmt.Fprintf(&b, "- [%s] %s", mark, strings.ReplaceAll(t.Subject, "\n", " "))
			if t.State == results.TaskFailed {
				b.WriteString(" (failed)")
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	b.WriteString("## Commits\n\n")
	for _, c := range r.Commits {
		fmt.Fprintf(&b, "- %s\n", c)
	}
	if r.Earlier {
		b.WriteString("- and earlier commits\n")
	}
	fmt.Fprintf(&b, "\n## Files\n\n%s\n\n", Changed(&r.Diff))
	for _, f := range r.Files {
		fmt.Fprintf(&b, "- `%s` +%d -%d\n", f.Path, f.Added, f.Deleted)
	}
	fmt.Fprintf(&b, "\nMade by %s of team %s, which waggle runs.\n", r.Member, r.Team)
	return b.String()
}

// ReviewDocument is a review that was sent.
type ReviewDocument struct {
	Team     string            `json:"team"`
	Member   string            `json:"member"`
	Comments []results.Comment `json:"comments"`
	Results  []mail.Sent       `json:"results"` // null: there was nothing to send
}

// ReviewSheet is what a person gets in an editor: how to comment, and the diff.
func ReviewSheet(d *results.Diff) string {
	return fmt.Sprintf(`%s by %s: %s
Write a comment on lines of its own below the line that it is about.
Save and leave: all comments become one message. Without a comment nothing is sent.

%s`, d.Branch, d.Member, Changed(d), d.Text)
}

// ReviewText is the message of a review.
func ReviewText(d *results.Diff, cs []results.Comment) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Review of your work on %s (compared with %.12s): %s.\n", d.Branch, d.Base, page.Count(len(cs), "comment"))
	for _, c := range cs {
		b.WriteString("\n")
		switch {
		case c.Line > 0 && c.Deleted:
			fmt.Fprintf(&b, "%s:%d (deleted)\n", c.File, c.Line)
		case c.Line > 0:
			fmt.Fprintf(&b, "%s:%d\n", c.File, c.Line)
		case c.File != "":
			fmt.Fprintf(&b, "%s\n", c.File)
		}
		if c.Quoted != "" {
			fmt.Fprintf(&b, "> %s\n", c.Quoted)
		}
		b.WriteString(c.Text + "\n")
	}
	return b.String()
}
