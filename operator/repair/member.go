package repair

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"waggle/control"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/process"
	"waggle/operator/supervise"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/task"
)

// member lets a member with a broken journal continue as a new instance with a journal
// of its own: it has no grant, order or request of the old one, whose journal stays where it is.
// Its process is ended and a new one started. Its tasks are released, because only the broken
// journal knew what of them was done.
func (o Operator) member(ctx context.Context, name protocol.TeamName, member string, seq uint64, lo supervise.LeadOptions) (*Broken, error) {
	s, err := o.Open(ctx, name, operator.Lead("an acknowledgement"))
	if err != nil {
		return nil, err
	}
	m, err := decide.Member(s, member)
	if err != nil {
		return nil, err
	}
	b, at, err := memberBreak(s, m)
	if err == nil {
		err = b.named(seq)
	}
	if err != nil {
		return nil, err
	}
	if p := m.Process; p != nil && p.ID.Inside && p.ID.Alive() {
		return nil, &operator.Error{Kind: operator.Refused, Op: "repair", Msg: fmt.Sprintf("%s runs inside process %d, which only ends as a whole", m.Name, p.ID.PID),
			Next: operator.Next{Step: operator.NextDown, Team: name}}
	}
	if _, err := s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) { return s.Lead.Stop(m, process.StopForced), nil }); err != nil {
		return nil, err
	}
	process.Sweeps(s, lo.Note)
	rung, err := process.Of(o.Operator).EndDamagedMember(ctx, s, m)
	if err != nil {
		return nil, err
	}
	if err := o.giveBack(ctx, s, []*control.Member{m}, "its member goes on without what its journal lost"); err != nil {
		return nil, err
	}
	box, err := o.lying(ctx, name, m.Name)
	if err != nil {
		return nil, err
	}
	id, err := o.Minter.UID()
	if err != nil {
		return nil, err
	}
	_, err = s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		if m.Left != nil {
			return nil, &operator.Error{Kind: operator.Refused, Op: "repair", Msg: fmt.Sprintf("%s was ended meanwhile", m.Name), Next: operator.Next{Step: operator.NextSpawnAgain, Member: m.Name}}
		}
		ds := append([]journal.Draft{b.known(at, filepath.Join("journal", b.Journal))}, unasked(s.Lead, m)...)
		return append(ds, journal.Draft{Kind: record.KindLeft, Must: true, Body: record.Left{Instance: m.Instance, How: record.LeftStopped, Detail: rung}},
			again(m, record.Instance(id), box)), nil
	})
	if err != nil {
		return nil, err
	}
	b.Acknowledged, b.Kept, b.Members = true, s.Dir.JournalOf(b.Journal), []string{string(m.Name)}
	now, err := decide.Member(s, member)
	if err != nil {
		return b, err
	}
	return b, supervise.Of(o.Operator).Bring(ctx, s, []*control.Member{now}, lo)
}

// unasked closes the open requests of a member: the process that waited for an answer has ended,
// and the new instance asks again.
func unasked(l *control.Leader, m *control.Member) (ds []journal.Draft) {
	for _, q := range l.Pending() {
		if q.Instance == m.Instance {
			ds = append(ds, journal.Draft{Kind: record.KindClosed, Must: true, Body: record.Closed{Key: &q.Key, Evidence: "a journal was broken, and the operator let it go on without its end"}})
		}
	}
	return ds
}

// again returns a member as a new instance. The entries in its mailbox were for the old instance.
func again(m *control.Member, i record.Instance, box []string) journal.Draft {
	j := m.Joined
	j.Instance, j.Baseline = i, box
	if j.Mode != "" {
		j.Mode = j.Mode.Meet(policy.ModeDefault)
	}
	return journal.Draft{Kind: record.KindJoined, Must: true, Body: j}
}

// lying lists the entries in a member's mailbox. A mailbox that cannot be read counts
// as empty.
func (o Operator) lying(ctx context.Context, name protocol.TeamName, member protocol.MemberName) (ids []string, err error) {
	box, err := o.Boxes(name).Open(member, mailbox.Options{})
	if err != nil {
		return nil, err
	}
	entries, err := box.Entries(ctx)
	if err != nil {
		return nil, fmt.Errorf("mailbox of %s: %w", member, err)
	}
	for _, e := range entries {
		ids = append(ids, e.ID.String())
	}
	return ids, nil
}

// giveBack releases the tasks of members whose orders are gone.
func (o Operator) giveBack(ctx context.Context, s *operator.State, ms []*control.Member, why string) error {
	board, err := task.Open(o.Root.TasksDir(s.Team), s.Team, task.Options{})
	if err != nil {
		return err
	}
	names := map[protocol.MemberName]bool{}
	for _, m := range ms {
		if m.Trust != record.FileTrust && !m.Leads() {
			names[m.Name] = true
		}
	}
	for _, n := range slices.Sorted(maps.Keys(names)) {
		if _, err := board.ReleaseNoted(ctx, n, task.NewReleased(n, why, o.Minter.Now())); err != nil {
			return err
		}
	}
	return nil
}
