// Package boxes opens the mailboxes of a team as everything in waggle opens them:
// where they are (array or jsonl, and for teams of old clients under another
// spelling of the name), and with what the team's dialect wants done to read
// entries. The store knows neither teams nor dialects, the registry no store.
package boxes

import (
	"waggle"
	"waggle/internal/atomicfile"
	"waggle/mailbox"
	"waggle/team"
)

// Of returns the mailboxes of a team. The team need not be there: what is sent to
// it then fails.
func Of(r team.Root, name waggle.TeamName) mailbox.Boxes {
	b := mailbox.Boxes{Team: r.TeamDir(name), Inboxes: r.InboxesDir(name)}
	if t, err := team.Open(r, name, atomicfile.Options{}); err == nil {
		b.Inboxes = t.InboxesDir()
	}
	if team.DialectOf(name) == team.DialectSession {
		b.Retention = mailbox.Prune
	}
	return b
}
