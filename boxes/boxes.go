// Package boxes opens the mailboxes of a team as everything in waggle opens them:
// where they are (array or jsonl, and for teams of old clients under another
// spelling of the name), and with what the team's dialect wants done to read
// entries. The store knows neither teams nor dialects, the registry no store.
package boxes

import (
	"path/filepath"

	"waggle/mailbox"
	"waggle/protocol"
	"waggle/team"
)

// Of returns the mailboxes of a team. The team need not exist: then sending to it fails.
func Of(r team.Root, name protocol.TeamName) mailbox.Boxes {
	b := mailbox.Boxes{Team: r.TeamDir(name), Inboxes: r.InboxesDir(name), Queue: r.Queue(name)}
	if t, err := team.Open(r, name, team.Options{}); err == nil {
		b.Inboxes = t.InboxesDir()
	}
	if team.DialectOf(name) == team.DialectSession {
		b.Retention = mailbox.Prune
	}
	return b
}

// MailDir is where in a team's private archive the read mail of a member goes.
func MailDir(archive string, member protocol.MemberName) string {
	return filepath.Join(archive, "mail", string(member))
}

// Kept says where the owner of a mailbox in a team that waggle leads puts what it has
// read, when that becomes much. A Claude Code session's mailboxes are its own.
func Kept(name protocol.TeamName, archive string, member protocol.MemberName) mailbox.Archive {
	if team.DialectOf(name) == team.DialectSession {
		return mailbox.Archive{}
	}
	return mailbox.Archive{Dir: MailDir(archive, member)}
}
