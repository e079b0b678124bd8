package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waggle/operator"
	"waggle/operator/board"
	"waggle/task"
)

type taskListFlags struct{ all, tree bool }

func taskListCmd(a *App) *cobra.Command {
	var f taskListFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tasks: as a tree on a terminal, one a line elsewhere",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.taskList(cmd.Context(), f) },
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "also the tasks that Claude Code keeps for itself")
	cmd.Flags().BoolVar(&f.tree, "tree", false, "the tree, also where there is no terminal")
	return cmd
}

func (a *App) taskList(ctx context.Context, f taskListFlags) error {
	op, name, err := a.taskTeam()
	if err != nil {
		return err
	}
	l, err := board.Of(op).Tasks(ctx, name, f.all)
	if err != nil {
		return err
	}
	for _, p := range l.Problems {
		a.talk("%s %s", yellow("note:"), operator.Visible(p))
	}
	for i := range l.Tasks {
		spellTask(&l.Tasks[i])
	}
	if l.Hidden > 0 {
		a.talk("%s %d tasks that Claude Code keeps for itself are hidden: --all shows them", yellow("note:"), l.Hidden)
	}
	if a.flags.json {
		return a.document(map[string]any{"tasks": l.Tasks})
	}
	if len(l.Tasks) == 0 {
		a.talk("team %s has no tasks", name)
		a.talk("%s waggle task add SUBJECT%s", faint("next:"), a.scope(name))
		return nil
	}
	if f.tree || tty(a.Out) {
		a.taskTree(l)
	} else {
		a.taskRows(l)
	}
	a.talk("%s", taskCount(l))
	return nil
}

// taskRows writes one task a line, for programs that read lines.
func (a *App) taskRows(l *board.TaskList) {
	var cells [][]string
	for _, t := range l.Tasks {
		cells = append(cells, []string{string(t.ID), string(t.Status), t.Owner, t.Subject, strings.Join(idTexts(t.WaitsFor), " "), t.Note})
	}
	a.table([]string{"ID", "STATUS", "OWNER", "SUBJECT", "BLOCKED BY", "NOTE"}, cells)
}

// taskTree draws each task below one that it comes after.
func (a *App) taskTree(l *board.TaskList) {
	view := map[task.ID]board.TaskView{}
	for _, t := range l.Tasks {
		view[t.ID] = t
	}
	columns := []string{"TASK", "STATUS", "OWNER"}
	waits := slices.ContainsFunc(l.Tasks, func(t board.TaskView) bool { return len(t.WaitsFor) > 0 })
	notes := slices.ContainsFunc(l.Tasks, func(t board.TaskView) bool { return t.Note != "" })
	if waits {
		columns = append(columns, "WAITS FOR")
	}
	if notes {
		columns = append(columns, "NOTE")
	}
	var cells [][]string
	for _, b := range l.Forest {
		t := view[b.Task.ID]
		row := []string{twig(b) + string(t.ID) + " " + t.Subject, string(t.Status), t.Owner}
		if waits {
			row = append(row, strings.Join(idTexts(t.WaitsFor), " "))
		}
		if notes {
			row = append(row, t.Note)
		}
		cells = append(cells, row)
	}
	a.tableIn(columns, cells, func(row, column int, cell string) string {
		t := view[l.Forest[row].Task.ID]
		switch {
		case cell == "":
		case t.Status == task.Completed:
			return faint(cell)
		case column == 1 && t.Status == task.InProgress:
			return yellow(cell)
		case column > 2 && (columns[column] == "WAITS FOR" || strings.HasPrefix(t.Note, "failed")):
			return red(cell)
		case column == 0 && !t.Blocked && t.Status == task.Pending:
			return bold(cell)
		}
		return cell
	})
}

// twig is what stands before a task in the tree.
func twig(b task.Branch) string {
	var s strings.Builder
	for i, last := range b.Last {
		switch {
		case i < len(b.Last)-1 && last:
			s.WriteString("   ")
		case i < len(b.Last)-1:
			s.WriteString("│  ")
		case last:
			s.WriteString("└─ ")
		default:
			s.WriteString("├─ ")
		}
	}
	if b.Cyclic {
		s.WriteString("↻ ")
	}
	return s.String()
}

// taskCount sums a list up in one line.
func taskCount(l *board.TaskList) string {
	n := map[task.Status]int{}
	blocked := 0
	for _, t := range l.Tasks {
		n[t.Status]++
		if t.Blocked {
			blocked++
		}
	}
	s := fmt.Sprintf("%d of %d completed, %d in progress", n[task.Completed], len(l.Tasks), n[task.InProgress])
	if blocked > 0 {
		s += fmt.Sprintf(", %d waiting for others", blocked)
	}
	return s
}

func taskShowCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:               "show ID",
		Short:             "Show a task whole",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeTasks,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.taskTeam()
			if err != nil {
				return err
			}
			d, err := board.Of(op).Task(cmd.Context(), name, taskID(args[0]))
			if err != nil {
				return err
			}
			spellTask(&d.TaskView)
			if a.flags.json {
				return a.document(map[string]any{"task": d})
			}
			a.say("%s", taskText(d))
			return nil
		},
	}
}

// taskText writes a task for people.
func taskText(d *board.TaskDetail) string {
	var b strings.Builder
	row := func(k, v string) {
		if v != "" {
			fmt.Fprintf(&b, "%s %s\n", bold(fmt.Sprintf("%-10s", k)), operator.Visible(v))
		}
	}
	row("task", string(d.ID)+" "+d.Subject)
	row("status", string(d.Status))
	row("owner", d.Owner)
	row("doing", d.ActiveForm)
	row("after", strings.Join(idTexts(d.BlockedBy), " "))
	row("waits for", strings.Join(idTexts(d.WaitsFor), " "))
	row("before", strings.Join(idTexts(d.Blocks), " "))
	row("note", d.Note)
	if o := d.Order; o != nil {
		row("ordered", fmt.Sprintf("%s at %s, by the %s, record %d of the leader's journal", o.Member, o.At, o.By, o.Seq))
	}
	for _, k := range slices.Sorted(maps.Keys(d.Metadata)) {
		row(k, text(d.Metadata[k]))
	}
	for _, l := range strings.Split(strings.TrimRight(d.Description, "\n"), "\n") {
		fmt.Fprintf(&b, "  %s\n", operator.Visible(l))
	}
	return strings.TrimRight(b.String(), "\n ")
}

// text is a JSON string's content, and any other value as it stands.
func text(raw json.RawMessage) string {
	var s string
	if err := json.Unmarshal(raw, &s); err == nil {
		return s
	}
	return string(raw)
}
