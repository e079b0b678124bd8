// Package crashtest kills teams: real processes of the real program, over real
// files, ended by SIGKILL at moments that a seed chooses. What lies in the journals,
// mailboxes and task files right after is compared with what the team is once it was
// brought back. The members live in processes, in tmux, in worktrees, or in the process
// that leads.
package crashtest
