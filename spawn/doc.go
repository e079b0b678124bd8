// Package spawn starts the processes of members, watches them and ends them, and only them: it
// signals only processes that were recorded when they were started, identified by pid, start time
// and boot, never by name.
//
// Two calls carry most programs:
//
//	p, err := spawn.ProcessBackend().Start(ctx, spec) // record p.Identity()
//	rung, err := spawn.StopTree(ctx, id, spawn.Grace{})
//
// A [Backend] is a place where a member's process can run. A process that a backend started does
// not depend on its starter; it keeps running, and keeps writing its log, when the starter dies.
// Any later process reads the recorded [Identity], can say whether exactly that process runs, and
// can end it.
//
// [Stop] sends SIGTERM to the process group, waits, sends SIGKILL, waits, and checks that the group
// is gone. [StopTree] also ends the descendants that moved to other groups. Both refuse, with
// [ErrNotOurs], a group that holds this process or one of its ancestors, and do not signal a
// recycled pid.
//
// [Identity.State] and [UsageOf] report the state of a process and what it uses; [WaitGone] waits
// for its end, whoever started it. [Orphans] finds the processes that commands of killed programs
// left running, by marks in the environment ([MemberVar] and one that [Command] sets).
//
// [InProcess] runs a func of this program instead of a process, behind the same interface. Only
// [Process.Stop] ends it.
//
// [Command] runs a child command of an agent that ends, with its whole group, when its context
// does.
//
// On Unix a process may leave its group and its parent. [Subreaper] keeps such processes within
// reach on Linux; elsewhere they are found only as long as their parents live. A hostile process
// that runs as the same user can always escape; only a sandbox prevents that.
//
// # Platforms
//
// Linux reads /proc, macOS the process table through sysctl. On Windows a "group" is the tree of a
// process: SIGTERM is CTRL_BREAK, which reaches only processes of the same console, SIGKILL is
// TerminateProcess on the handle of the verified process. Elsewhere the package compiles and
// reports [errors.ErrUnsupported].
package spawn
