package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/operator"
	"waggle/operator/inspect"
)

func statusCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "status [TEAM]",
		Short: "How a team is: each member's state, since when, and why",
		Long: `How a team is: each member's state, since when, and why. A state is one of starting,
working, waiting-human (you have to answer it), waiting-peer (another member, or the
lead's agent, has to do something first), waiting-background (a command of it runs
silently, or outlived its turn), idle, stalled (its process is stopped or does not
apply what it is ordered), dead (its process is gone) and unknown, with the reason.
waggle why NAME lists what says so. It records nothing and sends nothing: when nobody
leads it shows what is due, and the next command that acts (approve, send, task add) does it.

Without a team it shows every team here and the sessions that you started yourself, as
the client registers them and its hooks report (waggle hooks install): what each waits
for, since when, and in which tmux pane.

--json: {"team","notice","leader":{"led","by","sandbox","pid","detached"},"members":
[{"name","lead","state","since","why","pid","backend","trust","task","pending",
"policy_version","socket","restarts","ready","log","worktree","usage",
"evidence"}],"interrupted",
"pending","unread","unverified","ceiling"}. ready is what its process found itself to
be: {"epoch","agent","model","mode","policy_version","cwd","worktree","backend"}, or
null; usage is {"cpu_s","rss_bytes","processes"} of its process and what runs below
it, or null. Without a team and with one team here, "sessions" is added; with several,
or none, the document is {"teams":[…],"sessions":[{"team","session","client","name",
"under","pid","state","since","why","handles","pane","cwd","version","hook",
"takes_words","trust"}]}. interrupted is {"at","members","pending"} when members died and nobody leads,
else null.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeTeams,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				a.flags.team = args[0]
			}
			if a.flags.team == "" {
				return a.statusAll(cmd.Context())
			}
			op, name, err := a.team()
			if err != nil {
				return err
			}
			return a.status(cmd.Context(), op, name)
		},
	}
}

func (a *App) status(ctx context.Context, op operator.Operator, name waggle.TeamName) error {
	st, err := inspect.Of(op).Status(ctx, name)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.document(st)
	}
	lead := "nobody leads it now; the next command that acts does what is due"
	switch {
	case st.Leader.By != "waggle":
		lead = "led by " + st.Leader.By
	case st.Leader.Led:
		lead = "a process leads it"
	}
	a.say("%s  %s, sandbox %s", bold(string(name)), lead, st.Leader.Sandbox)
	if st.Broken {
		a.say("%s  %s", yellow(operator.Visible(st.Notice)), faint("waggle audit acknowledge --team "+string(name)+"; waggle down --force "+string(name)))
	} else if st.Full {
		a.say("%s", yellow(operator.Visible(st.Notice)))
	} else if st.Notice != "" {
		a.say("%s  %s", yellow(operator.Visible(st.Notice)), faint("waggle inbox NAME --archive"+a.scope(name)))
	}
	a.sayInterrupted(st, name)
	a.sayCeiling(st.Ceiling)
	var rows [][]string
	for _, m := range st.Members {
		pid := ""
		if m.PID > 0 {
			pid = strconv.Itoa(m.PID)
		}
		rows = append(rows, []string{rowName(m), string(m.State), a.since(m.Since), m.Trust, pid, m.Task, m.Why})
	}
	if len(rows) > 0 {
		colors := memberColors(ctx, op, name)
		a.tableIn([]string{"MEMBER", "STATE", "SINCE", "TRUST", "PID", "TASK", "WHY"}, rows, func(row, column int, cell string) string {
			if column != 0 {
				return cell
			}
			return inColor(colors[st.Members[row].Name], cell)
		})
	} else {
		a.say("no members")
	}
	for _, m := range st.Members {
		if m.Worktree != nil {
			a.say("%s works on branch %s in %s", m.Name, m.Worktree.Branch, operator.Visible(m.Worktree.Path))
		}
	}
	a.sayOverlaps(st.Overlaps)
	for _, n := range []struct {
		n    int
		text string
		next string
	}{
		{st.Pending, "wait for your decision", "waggle pending"},
		{st.Unread, "messages for you", "waggle inbox --unread"},
		{st.Alarms, "messages claimed an authority they do not have", "waggle log --kind unverified"},
	} {
		if n.n > 0 {
			a.say("%s  %s", yellow(fmt.Sprintf("%d %s", n.n, n.text)), faint(n.next+a.scope(name)))
		}
	}
	return nil
}

// sayInterrupted says that nobody brought back what died, and what does.
func (a *App) sayInterrupted(st *inspect.Status, name waggle.TeamName) {
	in := st.Interrupted
	if in == nil {
		return
	}
	at := ""
	if t, err := waggle.ParseTime(in.At); err == nil {
		at = " " + clock(t.Local(), a.Now().Local())
	}
	a.say("%s  %s", yellow(fmt.Sprintf("interrupted%s; %s can be brought back, %s pending", at, count(in.Members, "member"), count(in.Pending, "decision"))),
		faint("waggle resume "+string(name)))
}

// clock is a time of day, with the date when it is not today's.
func clock(t, now time.Time) string {
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("2006-01-02 15:04")
}

// overlapsShown is how many overlaps status names.
const overlapsShown = 10

// sayOverlaps warns of files that several members edited.
func (a *App) sayOverlaps(vs []inspect.Overlap) {
	for _, v := range vs[:min(len(vs), overlapsShown)] {
		a.say("%s %s", yellow(strings.Join(v.Members, ", ")+" edit the same file:"), operator.Visible(v.File))
	}
	if n := len(vs) - overlapsShown; n > 0 {
		a.say("%s", yellow(fmt.Sprintf("and %d more files", n)))
	}
}

// scope repeats the flags that a next command needs.
func (a *App) scope(name waggle.TeamName) string {
	s := ""
	if a.flags.root != "" {
		s += " --root " + a.flags.root
	}
	if a.flags.state != "" {
		s += " --state " + a.flags.state
	}
	if a.flags.team != "" {
		s += " --team " + string(name)
	}
	return s
}

func (a *App) since(ts string) string {
	t, err := waggle.ParseTime(ts)
	if err != nil {
		return ""
	}
	return operator.Age(a.Now().Sub(t).Truncate(time.Second))
}

// bare is waggle without a command: what to try, or how things are.
func (a *App) bare(ctx context.Context) error {
	op, err := a.op()
	if err != nil {
		return err
	}
	if a.flags.team != "" {
		name, err := op.Pick(a.flags.team)
		if err != nil {
			return err
		}
		return a.status(ctx, op, name)
	}
	names, err := op.Root.Names()
	if err != nil {
		return err
	}
	if len(names) > 1 && !a.flags.json {
		if err := a.teamList(ctx); err != nil {
			return err
		}
		rows, _, _ := a.sessions(op)
		a.sessionTable(rows)
		return nil
	}
	if len(names) > 0 {
		return a.statusAll(ctx)
	}
	rows, _, err := a.sessions(op)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.document(map[string]any{"teams": []string{}, "sessions": rows})
	}
	if len(rows) > 0 {
		a.sessionTable(rows)
		return nil
	}
	a.say("There is no team here yet. Try:\n")
	a.say("  waggle demo            a scripted team shows every flow, in under a minute")
	if a.hooked() {
		a.say("  claude                 its questions are in waggle pending: the hooks are installed")
	} else {
		a.say("  waggle hooks install   see and answer the questions of your own Claude sessions")
	}
	a.say("  waggle init            write a team file for this directory")
	a.say("  waggle doctor          what works on this machine")
	return nil
}

// rowName is a member's name, with what the team file calls the agent behind the lead.
func rowName(m inspect.MemberStatus) string {
	if m.Lead == "" {
		return m.Name
	}
	return m.Name + " (" + operator.Visible(m.Lead) + ")"
}
