// Package spawn starts the processes of members, watches them and ends them, and
// only them: what it may signal is what was recorded when it was started, known
// by pid, start time and boot, never by name.
//
// Two calls carry most programs:
//
//	p, err := spawn.ProcessBackend().Start(ctx, spec) // record p.Identity()
//	rung, err := spawn.StopTree(ctx, id, spawn.Grace{})
//
// [Backend] is the seam: a place where a member's process can run. A process that
// a backend started does not depend on its starter; it keeps running, and keeps
// writing its log, when the starter dies. Whoever comes next reads the recorded
// [Identity] and can say whether exactly that process runs, and end it.
//
// [Stop] is a ladder: SIGTERM to the process group, a wait, SIGKILL, a wait, and
// a look whether the group is gone. [StopTree] also ends the descendants that
// moved to other groups. Both refuse, with [ErrNotOurs], a group that holds this
// process or one of its ancestors, and leave a recycled pid alone.
//
// [Identity.Life] and [UsageOf] say how a process is and what it uses; [WaitGone] waits for its
// end, whoever started it. [Orphans] finds what the commands of killed programs left
// behind, by marks in the environment ([MemberVar] and one that [Command] sets).
//
// [InProcess] runs a func of this program instead of a process, behind the same
// interface. It ends by [Process.Stop] only.
//
// [Command] is the other way to run something: a child command of an agent that
// ends, with its whole group, when its context does.
//
// What an agent can do against this: on Unix a process may leave its group and
// its parent. [Subreaper] keeps such processes within reach on Linux; elsewhere
// they are found only as long as their parents live. A hostile process that runs
// as the same user can always escape; that is what a sandbox is for.
//
// # Platforms
//
// Linux reads /proc, macOS the process table through sysctl. On Windows a
// "group" is the tree of a process: SIGTERM is CTRL_BREAK, which reaches only
// processes of the same console, SIGKILL is TerminateProcess on the handle of the
// verified process. Elsewhere the package compiles and reports
// [errors.ErrUnsupported].
package spawn
