package reportview

import (
	"fmt"
	"strings"
	"time"

	"waggle/internal/view/page"
	"waggle/internal/view/sentence"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/supervise"
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
	heading(&b, "Tasks", len(r.Tasks))
	for _, t := range r.Tasks {
		taskText(&b, t)
	}
	heading(&b, "Calls", len(r.Requests))
	for _, q := range r.Requests {
		what := q.Tool + " " + string(q.Input)
		if q.Host != "" {
			what = "network " + q.Host
		} else if q.Kind == decide.KindQuestion {
			what = "question"
		} else if q.Tool == "" {
			what = "plan"
		}
		rule := ""
		if q.Rule != "" {
			rule = " (" + operator.Visible(q.Rule) + ")"
		}
		fmt.Fprintf(&b, "  %-12s %-5s by %s%s  %s\n", operator.Visible(q.Member), q.Decision, q.By, rule, operator.Visible(what))
	}
	heading(&b, "Members", len(r.Members))
	for _, m := range r.Members {
		memberText(&b, m)
	}
	heading(&b, "Files that several members edited", len(r.Overlaps))
	for _, v := range r.Overlaps {
		fmt.Fprintf(&b, "  %s: %s\n", operator.Visible(v.File), operator.Visible(strings.Join(v.Members, ", ")))
	}
	fmt.Fprintf(&b, "\nJournals: %s\n", r.State)
	return b.String()
}

// totals are the numbers of calls, plans and questions and of their answers, and what all members have used.
func totals(r *supervise.Report) string {
	var calls, allowed, denied, plans, questions int
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
		switch q.Decision {
		case record.DecisionAllow:
			allowed++
		case record.DecisionDeny:
			denied++
		}
	}
	var parts []string
	if calls > 0 {
		parts = append(parts, fmt.Sprintf("%s: %d allowed, %d denied", page.Count(calls, "call"), allowed, denied))
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
func tookText(d time.Duration) string {
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}

// taskText is a task, with the end of its output when it is not completed.
func taskText(b *strings.Builder, t supervise.TaskReport) {
	fmt.Fprintf(b, "  %s  %-10s %-12s %s", t.ID, t.Status, operator.Visible(t.Owner), operator.Visible(t.Subject))
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
func memberText(b *strings.Builder, m supervise.MemberReport) {
	fmt.Fprintf(b, "  %-12s pid %-7d %s, left: %s\n", operator.Visible(m.Name), m.PID, m.Trust, m.Left)
	if m.Files != "" {
		fmt.Fprintf(b, "  %-12s files in %s\n", "", operator.Visible(m.Files))
	}
	if m.Spent != nil {
		fmt.Fprintf(b, "  %-12s used %s\n", "", sentence.Spent(*m.Spent))
	}
	if m.Unread != "" {
		fmt.Fprintf(b, "  %-12s its journal cannot be read to the end, its work and calls are as far as it was: %s\n", "", operator.Visible(m.Unread))
	}
	if w := m.Worktree; w != nil && w.Kept {
		fmt.Fprintf(b, "  %-12s worktree kept: %s: %s (branch %s)\n", "", operator.Visible(w.Why), operator.Visible(w.Path), operator.Visible(w.Branch))
		for _, f := range w.Files {
			fmt.Fprintf(b, "  %-12s   %s\n", "", operator.Visible(f))
		}
	} else if w != nil {
		fmt.Fprintf(b, "  %-12s its worktree was clean and is removed\n", "")
	}
}
