package mail

import (
	"waggle/operator"
	"waggle/protocol"
	"waggle/team"
)

// BackendAdopted is the backend of a member that waggle did not start.
const BackendAdopted = "adopted"

// ThroughSession reports whether words to an adopted member go to the messaging socket of its session, "" for none: nothing in it
// reads the mailbox. A process that took over an entry of the team has a client that does.
func ThroughSession(socket string, e team.Member) bool {
	return socket != "" && e.BackendType == BackendAdopted
}

// throughSession directs a letter for an adopted member to its session.
func (o Operator) throughSession(s *operator.State, cfg *team.Config, l *letter, m Message) {
	if s == nil || l.to.Scheme != protocol.SchemeMember || l.res.err != nil {
		return
	}
	e, ok := cfg.Member(l.to.Member)
	mem, is := s.Lead.Member(l.to.Member)
	if !ok || !is || mem.Agent != BackendAdopted || mem.Left != nil || mem.Process == nil || operator.Gone(mem.Process.ID) {
		return
	}
	r, ok := o.sessionRows().OfProcess(mem.Process.ID.PID)
	if !ok || !ThroughSession(r.Socket, *e) {
		return
	}
	if err := wordsOnly(m); err != nil {
		l.fail(Refused, err)
		return
	}
	l.to, l.res.team = protocol.Address{Scheme: protocol.SchemeUDS, Target: r.Socket}, ""
}
