package operator

// Notes that a person should look at.
const (
	NoteOverlap = "edit the same file:" // Member is several of them
	NoteSwept   = "swept"               // a process that a member left behind was ended: pid, what it ran, why
	NoteNotOurs = "not ours"            // a process with a member's mark that is not the member's, and is kept
	NoteKept    = "worktree kept:"      // and why, and where
)

// Note is one thing that happened in a run.
type Note struct {
	What   string // started, assigned, asked, decided, completed, failed, left, unverified, …
	Member string
	Text   string
	Next   Next // what to do about it
}
