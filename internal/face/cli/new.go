package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waggle/agent"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/cli/teamcmd"
	"waggle/internal/face/view"
	"waggle/internal/face/view/fileview"
	"waggle/operator"
	"waggle/operator/fresh"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/policy"
	"waggle/protocol"
)

// newFlags are the flags of waggle new.
type newFlags struct {
	want       fresh.Want
	name, mode string
	file       string
	noSetup    bool
	parts      partsFlag
	edit       bool
	plan       bool
	wait       time.Duration
	atOnce     int
	issue, pr  int
	yes        bool
	propose    bool
}

func newCmd(a *app.App) *cobra.Command {
	var n newFlags
	cmd := &cobra.Command{
		Use:   `new [AGENT] "TASK" | new [AGENT] NAME --parts`,
		Short: "Start one agent on one task, on a branch of its own, without a team file",
		Long: `Start a new member with one task. The command takes the team of this directory and opens
one when none is up; a process in the background leads it. The member works in a git
worktree on a branch of its own; outside of a checkout, and before its first commit, only
--here starts it (exit 2). Its name is derived from the task. The command returns when the
member is ready, or after a second. Repeat it for each further task.

AGENT is claude, or exec: its task is a shell command. Without AGENT it is claude when no
other coding agent is installed; else exit 2 with the command for each that is (codex,
gemini and opencode are programs of an exec member, --command; nobody is asked about
what their tools do).
With - for TASK, each line of the standard input is a task for a member of its own. With
--edit the task is written in your editor; its first line is the subject.

Its branch begins at HEAD and is merged into the branch that you are on; --base REF begins
it at another commit or branch, and a branch is what it is then merged into. --branch NAME
works on an existing branch, also one that only a remote has; it stays after a merge.

--issue N and --pr N read an issue or a pull request of the repository by your gh. The
agent gets its text, quoted and named as the words of others, behind TASK, which may be
left out. The command shows the text and asks first; --yes does not ask, and without a
terminal that is exit 3. --pr fetches the branch of the pull request and works on it.

Of waggle.yaml, here or in a parent in the checkout, the command reads only worktree:
and check: at its top level: what a worktree gets before its member starts, and what
must succeed before its task is done and before its work is merged. It shows them and
asks, once for a team and a text of the file; without a terminal that is exit 3. --file
names the file and consents to it. A team that waggle up started has what its file said
then. The members of the file are started by waggle up.

Three of a team's members that this command made work at once, or --at-once of them from
then on. The others are queued: each starts when one of those that work has ended its
task, or has gone. waggle resume NAME starts one before its turn, waggle stop NAME takes
it out.

--attempts 3 starts three members that each do the whole task: compare them with
waggle compare and waggle diff, keep one with waggle merge, end the others with waggle
stop, which keeps their worktrees. --split starts one member
that proposes the parts of the task as a plan and does nothing else; when you have
approved the plan, NAME --parts starts a member for each part.

--propose starts nothing and changes nothing of the repository: it puts the task on record
as a proposal, which pending shows with a handle. You start it with approve HANDLE, which
does what this command would, or refuse it with deny HANDLE. Agents may do this; their
text is quoted to the member as the words of others, never yours. Five wait in a
directory, each for three days. With --wait D the command waits for the answer: exit 3
when there is none, 6 when it is refused. --json: {"id","handle","state","dir","by",
"agent","task","expires_at","team","members","reason"}; state is open, starting, started,
denied or expired.

--json: {"team","opened","dir","members":[{"name","agent","session","task","subject",
"branch","worktree","copied","setup","state","queue","why","split","attempt",
"attempts"}]}. state is ready, starting, queued (queue is its place), blocked (its
worktree's setup failed) or failed; blocked and failed are exit 1; with --plan planned,
and worktree is empty where the team would be opened.`,
		Args: app.Arguments(0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("at-once") && n.atOnce == 0 {
				n.atOnce = -1 // nobody at once is no wish
			}
			if n.propose {
				return propose(cmd.Context(), a, cmd, n, args)
			}
			return runNew(cmd.Context(), a, n, args)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&n.edit, "edit", "e", false, "write the task in your editor")
	f.IntVar(&n.want.Attempts, "attempts", 1, "how many members do the whole task, each by itself")
	f.IntVar(&n.atOnce, "at-once", 0, "how many of the team's new members work at once, from now on (3 at first)")
	f.BoolVar(&n.propose, proposeFlag, false, "start nothing: put it before the person, who starts it with waggle approve; also from inside of an agent")
	f.BoolVar(&n.want.Split, "split", false, "one member proposes the parts of the task as a plan")
	f.Var(&n.parts, "parts", "start a member for each part of the approved plan of member NAME")
	f.Lookup("parts").NoOptDefVal = "true"
	app.PlanFlag(cmd, &n.plan, "show the members, branches and worktrees that would be made, and start nothing")
	f.StringVar(&n.name, "name", "", "the member's name (default: derived from the task)")
	f.BoolVar(&n.want.Here, "here", false, "work in this directory itself, without a worktree")
	f.StringVar(&n.want.Begin.Base, "base", "", "the commit or branch at which its branch begins; a branch is what merge goes into")
	f.StringVar(&n.want.Begin.Branch, "branch", "", "an existing branch to work on, also one that only a remote has")
	f.IntVar(&n.issue, "issue", 0, "the number of the issue that the task is about, which gh reads; TASK is added to it")
	f.IntVar(&n.pr, "pr", 0, "the number of the pull request to go on with, on its branch; waggle pr then pushes to it")
	f.BoolVar(&n.yes, "yes", false, "do not ask whether the agent gets the text of the issue or pull request")
	f.DurationVar(&n.wait, "wait", time.Second, "how long to wait until it is ready, with --propose until it is answered")
	f.StringVar(&n.file, "file", "", "the team file whose worktree: and check: apply, accepted by this")
	f.BoolVar(&n.noSetup, "no-setup", false, "read no team file for the worktree and its check")
	f.Var(checkFlag{&n.want.Check}, "check", "command that must succeed before the task is done")
	f.StringVar(&n.want.Model, "model", "", "the model that it must have")
	f.StringVar(&n.mode, "permission-mode", "", "its permission mode")
	f.StringVar(&n.want.Backend, "backend", operator.BackendProcess, "where its process runs")
	f.StringArrayVar(&n.want.Command, "command", nil, "argument of the program that an exec member runs; repeat it for each argument")
	app.OneOf(cmd, "backend", operator.Backends()...)
	cmd.ValidArgsFunction = cobra.FixedCompletions(newAgents(), cobra.ShellCompDirectiveNoFileComp)
	return cmd
}

// newAgents are the agents that a task without a team file can have.
func newAgents() []string {
	return slices.DeleteFunc(agent.Kinds(), func(k string) bool { return k == "script" })
}

func runNew(ctx context.Context, a *app.App, n newFlags, args []string) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	wants, err := n.wants(ctx, a, op, args)
	if err != nil {
		return err
	}
	opt, err := newOptions(a, op)
	if err != nil {
		return err
	}
	if n.file != "" && n.noSetup {
		return &operator.Error{Kind: operator.Usage, Op: "new", Msg: "--file names a setup and --no-setup leaves it out: give one of them"}
	}
	opt.Wait, opt.File, opt.NoSetup, opt.AtOnce = n.wait, n.file, n.noSetup, n.atOnce
	noteUnread(ctx, a, op, opt.Dir)
	if n.plan {
		st, err := fresh.Of(op).Plan(ctx, wants, opt)
		if err != nil {
			return agentAdvice(err)
		}
		return a.Give(st, view.FreshPlanPage(st))
	}
	st, err := fresh.Of(op).New(ctx, wants, opt)
	if st == nil {
		return agentAdvice(err)
	}
	return errors.Join(err, sayStarted(a, st))
}

// sayStarted shows what was started, with what is next in its team. The error is that of members that were not.
func sayStarted(a *app.App, st *fresh.Started) error {
	return errors.Join(a.Give(st, nil, func() { a.ShowPage(view.FreshPage(st), st.Team, nil) }), notStarted(st))
}

// agentWords are the words between waggle new and the task that start an agent. The programs that are no agent kind read
// the task from their standard input.
var agentWords = map[string]string{
	"claude":   "claude",
	"codex":    "--command codex --command exec --command -",
	"gemini":   "--command gemini",
	"opencode": "--command opencode --command run",
}

// agentAdvice adds to an error about the agent the command for each that is installed.
func agentAdvice(err error) error {
	var which *fresh.AgentError
	var e *operator.Error
	if !errors.As(err, &which) || !errors.As(err, &e) || len(which.Installed) == 0 {
		return err
	}
	var commands []string
	for _, name := range which.Installed {
		commands = append(commands, `waggle new `+agentWords[name]+` "TASK"`)
	}
	said := *e
	said.Advice = strings.Join(commands, "; ")
	return &said
}

// newOptions are the options of fresh.New of this invocation.
func newOptions(a *app.App, op operator.Operator) (fresh.Options, error) {
	dir, err := os.Getwd()
	if err != nil {
		return fresh.Options{}, err
	}
	team := a.Flags.Team
	if team == "" {
		team = a.Env("WAGGLE_TEAM")
	}
	return fresh.Options{Dir: dir, Team: team, Env: a.Environ, Note: a.SayNote,
		Accept: func(ctx context.Context, found fresh.Found) error { return acceptSetup(ctx, a, found) },
		Lead:   func(t protocol.TeamName) []string { return teamcmd.Own(a, op, "lead", t) },
		Begin: func(t protocol.TeamName, m protocol.MemberName) []string {
			return append(teamcmd.Own(a, op, "begin", t), string(m))
		}}, nil
}

// acceptSetup shows what new worktrees get by a team file that was only found, and asks.
func acceptSetup(ctx context.Context, a *app.App, found fresh.Found) error {
	return a.Agree(ctx, fileview.PreparationText(found), "prepare worktrees so?",
		&operator.Error{Kind: operator.Question, Op: "new", Msg: "found " + found.File.Path + ", and nobody said that its worktree: may run",
			Advice: "--file " + fromHere(found.File.Path) + " accepts it, --no-setup goes on without it"},
		&operator.Error{Kind: operator.Refused, Op: "new", Msg: "nothing was started", Advice: "--no-setup starts without it"})
}

// fromHere is a path as a person types it in this directory.
func fromHere(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if rel, err := filepath.Rel(dir, path); err == nil {
		return rel
	}
	return path
}

// noteUnread says that a team file of the directory plays no part.
func noteUnread(ctx context.Context, a *app.App, op operator.Operator, dir string) {
	if _, err := teamfile.ReadFile(filepath.Join(dir, "waggle.yaml")); err != nil || a.Flags.Team != "" {
		return
	}
	if up, err := fresh.Of(op).Here(ctx, dir); err == nil && up == "" {
		a.Talk("%s members, tasks and policy of waggle.yaml are not read; waggle up starts its team, and waggle new adds to that", app.Faint("note:"))
	}
}

// notStarted is the error of members that were not started.
func notStarted(st *fresh.Started) error {
	var names []string
	step := operator.NextWhy
	for _, m := range st.Members {
		if m.State != fresh.StateFailed && m.State != fresh.StateBlocked {
			continue
		}
		if names = append(names, string(m.Name)); len(names) == 1 && m.State == fresh.StateBlocked {
			step = operator.NextPeekResume
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &operator.Error{Kind: operator.Failed, Op: "new", Msg: "did not start: " + strings.Join(names, ", "), Next: operator.Next{Step: step, Team: st.Team, Member: protocol.MemberName(names[0])}}
}

// wants reads the tasks of the command line.
func (n newFlags) wants(ctx context.Context, a *app.App, op operator.Operator, args []string) (wants []fresh.Want, err error) {
	usage := func(format string, args ...any) error {
		return &operator.Error{Kind: operator.Usage, Op: "new", Msg: fmt.Sprintf(format, args...), Advice: `waggle new "TASK", or waggle new AGENT "TASK"`}
	}
	w := n.want
	if n.mode != "" {
		if w.Mode, err = policy.ParseMode(n.mode); err != nil {
			return nil, usage("%v", err)
		}
	}
	if n.name != "" {
		if w.Name, err = protocol.ParseNewMember(n.name); err != nil {
			return nil, usage("%v", err)
		}
	}
	if n.parts.of != "" {
		if len(args) > 1 || len(args) == 1 && !slices.Contains(newAgents(), args[0]) {
			return nil, usage("--parts=%s names the member already: %q is one too many", n.parts.of, args[len(args)-1])
		}
		args = append(slices.Clone(args), n.parts.of)
	}
	if len(args) == 2 || len(args) == 1 && (n.edit || slices.Contains(newAgents(), args[0])) {
		if w.Agent = args[0]; !slices.Contains(newAgents(), w.Agent) {
			return nil, usage("agent %q is not one of %s; a task of several words is in quotes", w.Agent, strings.Join(newAgents(), ", "))
		}
		args = args[1:]
	}
	switch {
	case n.about() && (n.edit || n.parts.on):
		return nil, usage("--issue and --pr go with a task on the command line")
	case n.edit && (len(args) > 0 || n.parts.on):
		return nil, usage("give the task, --edit or NAME --parts, one of them")
	case n.parts.on && len(args) == 0:
		return nil, usage("--parts needs the member whose plan has the parts")
	case n.parts.on:
		return n.ofParts(ctx, a, op, w, args[0])
	case n.edit:
		w.Task, err = editedTask(ctx, a)
		return []fresh.Want{w}, err
	case n.about() && (n.issue > 0 && n.pr > 0 || n.issue < 0 || n.pr < 0 || len(args) > 0 && args[0] == "-"):
		return nil, usage("give one issue or one pull request, by its number, and one task")
	case n.about():
		if len(args) > 0 {
			w.Task = args[0]
		}
		w.Source, err = n.source(ctx, a, op)
		return []fresh.Want{w}, err
	case len(args) == 0:
		return nil, usage("the task is missing")
	case args[0] != "-":
		w.Task = args[0]
		return []fresh.Want{w}, nil
	}
	if w.Name != "" {
		return nil, usage("--name is for one task")
	}
	in := bufio.NewScanner(io.LimitReader(a.In, operator.MaxYAML))
	in.Buffer(nil, operator.MaxYAML)
	for in.Scan() {
		if w.Task = strings.TrimSpace(in.Text()); w.Task != "" {
			wants = append(wants, w)
		}
	}
	return wants, in.Err()
}

// about reports a task that is about an issue or a pull request.
func (n newFlags) about() bool { return n.issue != 0 || n.pr != 0 }

// source reads the issue or pull request, shows its text, and asks whether the agent gets it.
func (n newFlags) source(ctx context.Context, a *app.App, op operator.Operator) (*fresh.Source, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	kind, number := fresh.SourceIssue, n.issue
	if n.pr > 0 {
		kind, number = fresh.SourcePull, n.pr
	}
	s, err := fresh.Of(op).Source(ctx, dir, kind, number)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("%s by %s, %s:\n\n%s\n", s.Name(), operator.Visible(s.Author), operator.Visible(s.URL), s.Quoted())
	if n.yes || n.plan {
		a.Talk("%s", text)
		return s, nil
	}
	return s, a.Agree(ctx, text, "give the agent this text?",
		&operator.Error{Kind: operator.Question, Op: "new", Msg: "nobody said that an agent gets the text of " + s.Name() + ", which others wrote",
			Advice: fmt.Sprintf("gh %s view %d shows it; --yes gives it to the agent", kind, number)},
		&operator.Error{Kind: operator.Refused, Op: "new", Msg: "nothing was started"})
}

// partsFlag is --parts, a flag without a value whose member is an argument, and --parts=NAME.
type partsFlag struct {
	on bool
	of string // the member of --parts=NAME
}

// String implements pflag.Value.
func (p *partsFlag) String() string { return strconv.FormatBool(p.on) }

// Type implements pflag.Value: help shows it as a flag without a value.
func (p *partsFlag) Type() string { return "bool" }

// Set implements pflag.Value.
func (p *partsFlag) Set(s string) error {
	on, err := strconv.ParseBool(s)
	if err == nil {
		*p = partsFlag{on: on}
		return nil
	}
	name, err := protocol.ParseNewMember(s)
	*p = partsFlag{on: true, of: string(name)}
	return err
}

// ofParts are the tasks of the parts of an approved plan.
func (n newFlags) ofParts(ctx context.Context, a *app.App, op operator.Operator, w fresh.Want, planner string) ([]fresh.Want, error) {
	opt, err := newOptions(a, op)
	if err != nil {
		return nil, err
	}
	team, err := fresh.Of(op).TeamOf(ctx, opt)
	if err != nil {
		return nil, err
	}
	parts, err := fresh.Of(op).Parts(ctx, team, planner)
	var wants []fresh.Want
	for _, p := range parts {
		w.Task = p
		wants = append(wants, w)
	}
	return wants, err
}

// editedTask lets the person write a task in an editor.
func editedTask(ctx context.Context, a *app.App) (string, error) {
	path, text, err := edit(ctx, a, "new", "task.md", "", `give the task: waggle new "TASK"`)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(filepath.Dir(path))
	if strings.TrimSpace(text) == "" {
		err = &operator.Error{Kind: operator.Usage, Op: "new", Msg: "nothing was written, so nothing is started"}
	}
	return text, err
}

// beginCmd is the hidden command that waggle new starts for each member.
func beginCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:    "begin NAME",
		Short:  "Start a member that has joined (started by waggle itself)",
		Hidden: true,
		RunE: app.InTeam(a.Team, func(ctx context.Context, op operator.Operator, team protocol.TeamName, args []string) error {
			return supervise.Of(op).Begin(ctx, team, protocol.MemberName(args[0]), supervise.LeadOptions{Note: a.SayNote})
		}),
	}
}
