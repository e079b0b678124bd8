package tui

import (
	"context"
	"time"

	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/fresh"
	"waggle/operator/inspect"
	"waggle/operator/results"
	"waggle/record"
)

// Source loads what the screen shows and does what a person decides there.
type Source interface {
	// Requests returns the open requests of every team and session, riskiest first, then oldest.
	Requests(ctx context.Context) ([]decide.Request, error)
	// Crew returns the members and the tasks of every team.
	Crew(ctx context.Context) (Crew, error)
	// Said returns the last line of output of each member that the last Crew has as working.
	Said() map[MemberKey]string
	// Page returns what a tab shows about a member.
	Page(ctx context.Context, p Page) (Paper, error)
	// Leave says that no page is shown any more.
	Leave()
	// Do carries out one act and describes its result in lines, the first one for all of it.
	Do(ctx context.Context, a Act) ([]string, error)
	// Matches tests a rule with the last calls of a team.
	Matches(ctx context.Context, q decide.Request, rule string) (decide.Suggestion, error)
	// Changed returns a request as it would be with another input: with its own digest and risk.
	Changed(ctx context.Context, q decide.Request, input string) (decide.Request, error)
	// Earlier compares a plan with the revision before it, as a unified diff, and the change of a file with
	// the file as it is now; "" when there is none.
	Earlier(ctx context.Context, q decide.Request) (string, error)
	// Seldom returns what costs runs of git or long reads, and is read less often.
	Seldom(ctx context.Context) (Seldom, error)
	// Fate returns what became of a request that is not asked any more.
	Fate(ctx context.Context, q decide.Request) (decide.Fate, error)
	// Done returns what has ended lately and what is kept, in the order in which it is shown. It is read seldom: it looks
	// at every process and worktree.
	Done(ctx context.Context) ([]Done, error)
}

// MemberKey names a member of a team.
type MemberKey struct{ Team, Member string }

// Lines are numbers of lines of a diff.
type Lines struct{ Added, Deleted int }

// Seldom is what is read less often than all else.
type Seldom struct {
	Lines map[MemberKey]Lines // that each member has added and deleted in its worktree
	Today record.Usage        // of all teams of this machine
}

// Paper is what a tab shows about a member.
type Paper struct {
	Lines []string
	// Diff is what the member changed, on the tab Diff: the lines are a summary and those of its text.
	Diff *results.Diff
}

// Crew is everything that is not a request.
type Crew struct {
	Members []Member
	Tasks   []Task
	// Problems are what is wrong with teams as a whole, and what the person has to look at beside the rows, one line each.
	Problems []string
	// First is what a person without a member can do, one line each; nil where there is one.
	First []string
}

// Member is a member of a team, or a session that waits at a dialog of its own.
type Member struct {
	Team string
	inspect.MemberStatus
	Last string // the last line of its output while it works; it may have any character
}

// Done is a team that has ended, a member that has left, or something that is kept.
type Done struct {
	Kind         string // team, member, or what is kept: worktree, process, pane, command
	Team, Member string // Member "": of none
	ID, Path     string // tell one from another
	At           time.Time
	Says         string // what became of it, or why it is kept; it may have any character
	Do           operator.Next
}

// Kinds of what is done. What is kept has those of process.Kept.
const (
	DoneTeam   = "team"
	DoneMember = "member"
)

// Task is a task of a team.
type Task struct {
	Team string
	board.TaskView
}

// Page names a tab of a member.
type Page struct {
	Tab          Tab
	Team, Member string
	Ask          string // on the tab Why: the id of what it asks, "": the member alone
	Lines        int    // at most so many, the last ones
}

// Tab is a part of what the right side shows.
type Tab int

// The tabs, in their order on the screen.
const (
	TabAsk Tab = iota
	TabOutput
	TabDiff
	TabLog
	TabWhy
	TabTasks
	TabToday
	tabs
)

// String returns the title of a tab.
func (t Tab) String() string {
	return [...]string{"Ask", "Output", "Diff", "Log", "Why", "Tasks", "Today"}[t]
}

// Act is one thing that a person does on the screen.
type Act struct {
	Verb Verb
	// Requests are answered, each exactly as it was shown: one, or those of a batch.
	Requests []decide.Request
	Reason   string   // of a denial
	Words    []string // the answers to an agent's questions
	// Rule is learned from an allow, and ends at End, unless that is zero, and with the task where Task is set.
	Rule string
	Task bool
	Wide bool // the rule applies to the team, else to the member that asked
	End  time.Time

	Team, Member string // of a message, a task, a review or a merge
	Text         string
	// Input is what runs instead of what was asked, after it was shown.
	Input string
	// Setup is what was shown and accepted for the worktree of NewMember; nil: nothing was. NoSetup
	// starts it without.
	Setup   *fresh.Found
	NoSetup bool
	// Diff is what was reviewed, Comments what was written on its lines, by their number.
	Diff     *results.Diff
	Comments map[int]string
}

// Starts reports an allow of a proposal, which starts its member.
func (a Act) Starts() bool {
	return a.Verb == Allow && len(a.Requests) == 1 && a.Requests[0].Kind == decide.KindProposal
}

// Verb is the kind of an act.
type Verb int

// The verbs.
const (
	Allow Verb = iota
	Deny
	Words
	Message
	NewTask
	NewMember // does Text, the first line of which is its subject
	Review
	Merge
)
