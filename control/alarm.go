package control

import (
	"waggle/journal"
	"waggle/message"
	"waggle/policy"
	"waggle/protocol"
)

// AlarmEntry names an entry of a member's mailbox in the leader's journal: the member's name and
// then the entry's identity. Entries of the lead's own mailbox have no name before them.
func AlarmEntry(name protocol.MemberName, entry string) string { return string(name) + " " + entry }

// Alarm judges an entry of the mailbox of a member that obeys files (trust: file): the member may
// do what the entry says, and this journal cannot prevent it. An entry in the lead's name that
// carries authority and that this journal does not have is an alarm: one audit record, which names
// the mailbox (trust §1). Any other entry, and one that was recorded before, yields no draft.
func (l *Leader) Alarm(name protocol.MemberName, in message.Incoming) []journal.Draft {
	in.Box, in.Entry = name, AlarmEntry(name, in.Entry)
	if l.Owns(in.Entry) || !in.IsControl() || !protocol.SameName(protocol.MemberName(in.Envelope.From), protocol.Lead) {
		return nil
	}
	kind := in.Decoded.Kind
	if kind != protocol.KindInvalid {
		if ok, _ := policy.MaySend(kind, policy.RoleLeader, policy.RoleWorker, policy.ChannelJournal); !ok {
			return nil
		}
	}
	if m := l.current[name]; m != nil && len(l.Vouches(m.Instance, kind, in.SHA256())) > 0 {
		return nil
	}
	return in.Deny("in the lead's name, and its journal does not have it; " + string(name) + " may obey it all the same")
}
