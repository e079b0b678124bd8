package operator

import "waggle/record"

// Values of Note.What that a person should act on.
const (
	NoteOverlap = "edit the same file:" // Note.Member lists the members that edit the file
	NoteSwept   = "swept"               // a process that a member left behind was ended; Note.Text has its pid, its program and the reason
	NoteNotOurs = "not ours"            // a process has a member's mark, is not the member's, and was not ended
	NoteKept    = "worktree kept:"      // Note.Text has the reason and the path
)

// Note is one event of a team, for the person who watches a run.
type Note struct {
	What   string // started, assigned, asked, decided, completed, failed, left, unverified, …
	Member string
	Text   string
	Next   Next // what to do about it
}

// KeptWorktree is the worktree of a member that has left, and why it is still there.
type KeptWorktree struct {
	Member string          `json:"member"`
	Path   string          `json:"path"`
	Branch string          `json:"branch"`
	Why    string          `json:"why"`   // 2 uncommitted files, 1 unpushed commit
	Files  []string        `json:"files"` // the first of them, and of the commits
	Owner  record.Instance `json:"-"`
}

// String returns reason and path: "2 uncommitted files: PATH".
func (k KeptWorktree) String() string { return k.Why + ": " + k.Path }
