package operator

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
