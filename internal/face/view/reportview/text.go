// Package reportview puts the report of a run, or of a team that was up, into a document, a text, JUnit XML and the
// annotations of GitHub Actions.
//
//	rep, err := supervise.Of(op).Run(ctx, file, options)
//	return reportview.Text(rep, exit)
package reportview

import (
	"fmt"
	"strings"
	"time"

	"waggle/internal/face/view/page"
	"waggle/internal/face/view/sentence"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/supervise"
	"waggle/policy"
	"waggle/record"
	"waggle/task"
)

// ReportText is the report of a run for people: report.txt.
func Text(r *supervise.Report, exit int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "team %s: exit %d, %s\nsandbox: %s\n", r.Team, exit, r.Reason, r.Sandbox)
	if r.Took > 0 {
		fmt.Fprintf(&b, "took: %s\n", tookText(r.Took))
	}
	if text := totals(r); text != "" {
		b.WriteString(text + "\n")
	}
	width := nameWidth(r)
	heading(&b, "Tasks", len(r.Tasks))
	for _, t := range r.Tasks {
		taskText(&b, t, width)
	}
	heading(&b, "Calls", len(r.Requests))
	for _, q := range r.Requests {
		rule := ""
		if q.Rule != "" {
			rule = " (" + operator.Visible(q.Rule) + ")"
		}
		how := fmt.Sprintf("%-5s by %s%s", q.Decision, q.By, rule)
		switch {
		case q.Closed:
			how = "closed: " + operator.Visible(q.Reason)
		case q.Decision == "":
			how = "unanswered"
		}
		fmt.Fprintf(&b, "  %-*s  %s  %s\n", width, operator.Visible(q.Member), how, operator.Visible(asked(q)))
	}
	heading(&b, "Members", len(r.Members))
	for _, m := range r.Members {
		memberText(&b, m, width)
	}
	heading(&b, "Files that several members edited", len(r.Overlaps))
	for _, v := range r.Overlaps {
		fmt.Fprintf(&b, "  %s: %s\n", operator.Visible(v.File), operator.Visible(strings.Join(v.Members, ", ")))
	}
	fmt.Fprintf(&b, "\nJournals: %s\n", r.State)
	return b.String()
}

// nameWidth is that of the column with names of members.
func nameWidth(r *supervise.Report) int {
	width := 3
	for _, t := range r.Tasks {
		width = max(width, len(operator.Visible(t.Owner)))
	}
	for _, q := range r.Requests {
		width = max(width, len(operator.Visible(q.Member)))
	}
	for _, m := range r.Members {
		width = max(width, len(operator.Visible(m.Name)))
	}
	return width
}

// asked is what a request was about: a shell text without the JSON around it.
func asked(q supervise.RequestReport) string {
	switch text := decide.CommandOf(policy.Call{Tool: q.Tool, Input: q.Input}); {
	case q.Host != "":
		return "network " + q.Host
	case q.Kind == decide.KindQuestion:
		return "question"
	case q.Tool == "":
		return "plan"
	case text != "":
		return q.Tool + " " + text
	}
	return q.Tool + " " + string(q.Input)
}

// totals are the numbers of calls, plans and questions and of their answers, and what all members have used.
func totals(r *supervise.Report) string {
	var calls, allowed, denied, closed, plans, questions int
	for _, q := range r.Requests {
		switch {
		case q.Kind == decide.KindQuestion:
			questions++
			continue
		case q.Host == "" && q.Tool == "":
			plans++
			continue
		}
		calls++
		switch {
		case q.Closed:
			closed++
		case q.Decision == record.DecisionAllow:
			allowed++
		case q.Decision == record.DecisionDeny:
			denied++
		}
	}
	var parts []string
	if calls > 0 {
		parts = append(parts, fmt.Sprintf("%s: %d allowed, %d denied", page.Count(calls, "call"), allowed, denied))
	}
	if closed > 0 {
		parts[0] += fmt.Sprintf(", %d closed unanswered", closed)
	}
	if plans > 0 {
		parts = append(parts, page.Count(plans, "plan"))
	}
	if questions > 0 {
		parts = append(parts, page.Count(questions, "question"))
	}
	var used record.Usage
	for _, m := range r.Members {
		if m.Spent != nil {
			used = used.Plus(*m.Spent)
		}
	}
	if used.Source != "" {
		parts = append(parts, "used "+sentence.Spent(used))
	}
	return strings.Join(parts, "; ")
}

// heading begins a list of n lines, if there are any.
func heading(b *strings.Builder, of string, n int) {
	if n > 0 {
		b.WriteString("\n" + of + "\n")
	}
}

// tookText is a duration as people read it: to the tenth of a second, above a minute to the second.
func tookText(s operator.Seconds) string {
	d := time.Duration(s)
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}

// taskText is a task, with the end of its output when it is not completed.
func taskText(b *strings.Builder, t supervise.TaskReport, width int) {
	fmt.Fprintf(b, "  %s  %-10s %-*s  %s", t.ID, t.Status, width, operator.Visible(t.Owner), operator.Visible(t.Subject))
	why := t.Why
	switch status := ""; {
	case t.ExitCode != nil:
		if status = fmt.Sprintf("exit status %d", *t.ExitCode); why == status {
			why = ""
		}
		if t.Took > 0 {
			status = tookText(t.Took) + ", " + status
		}
		fmt.Fprintf(b, " (%s)", status)
	case t.Took > 0:
		fmt.Fprintf(b, " (%s)", tookText(t.Took))
	}
	fmt.Fprintf(b, "%s\n", operator.Suffix(operator.Visible(why)))
	if t.Status == string(task.Completed) || t.OutputTail == "" {
		return
	}
	for _, line := range strings.Split(strings.TrimRight(t.OutputTail, "\n"), "\n") {
		fmt.Fprintf(b, "     | %s\n", operator.Visible(strings.ReplaceAll(line, "\t", "    ")))
	}
}

// memberText shows a member, and the state of its worktree.
func memberText(b *strings.Builder, m supervise.MemberReport, width int) {
	pid := "no process"
	if m.PID > 0 {
		pid = fmt.Sprintf("pid %d", m.PID)
	}
	fmt.Fprintf(b, "  %-*s  %-11s %s, left: %s%s\n", width, operator.Visible(m.Name), pid, record.Level(m.Trust).Words(), m.Left, operator.Suffix(operator.Visible(m.Why)))
	if m.Files != "" {
		fmt.Fprintf(b, "  %-*s  files in %s\n", width, "", operator.Visible(m.Files))
	}
	if m.Spent != nil {
		fmt.Fprintf(b, "  %-*s  used %s\n", width, "", sentence.Spent(*m.Spent))
	}
	if m.Unread != "" {
		fmt.Fprintf(b, "  %-*s  its journal cannot be read to the end, its work and calls are as far as it was: %s\n", width, "", operator.Visible(m.Unread))
	}
	if w := m.Worktree; w != nil && w.Kept {
		fmt.Fprintf(b, "  %-*s  worktree kept: %s: %s (branch %s)\n", width, "", operator.Visible(w.Why), operator.Visible(w.Path), operator.Visible(w.Branch))
		for _, f := range w.Files {
			fmt.Fprintf(b, "  %-*s    %s\n", width, "", operator.Visible(f))
		}
	} else if w != nil {
		fmt.Fprintf(b, "  %-*s  its worktree was clean and is removed\n", width, "")
	}
}

// Document is the result of a run (commands §4): report.json.
type Document struct {
	Team string `json:"team"`
	Exit int    `json:"exit"`
	*supervise.Report
}

// Of returns the document of a run that ends with an exit code.
func Of(r *supervise.Report, exit int) Document { return Document{r.Team, exit, r} }
