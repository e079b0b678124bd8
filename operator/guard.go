package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"waggle/control"
	"waggle/internal/claude/session"
	"waggle/record"
)

// Guard refuses a command that an agent's process gives in the operator's name: one of a member of any team of this
// root, or one of a session (trust §8). It is on record with the agent, and in the team that the command is about, s;
// nil is a command about no team. Guard stops accidents and injected text; it is no security boundary.
//
// It first moves a file that stands where STATE needs a directory to set-aside/, because the command will write there.
// It takes the process that leads as it is: that one knows the lead's agent by the kernel's word.
func (o Operator) Guard(ctx context.Context, s *State, what string) error {
	if err := o.GuardMembers(ctx, s, what); err != nil || o.Leading != nil || o.Ancestors == nil {
		return err
	}
	above, err := o.Ancestors(o.PID)
	if err != nil && len(above) == 0 {
		return err
	}
	store := session.At(o.Home.Path, o.Minter.Now)
	in, ok := store.Above(o.ClaudeDir, above, o.Called, session.Looking(o.Ancestors))
	if !ok {
		return nil
	}
	why := fmt.Sprintf("%s was called from inside session %s", what, in.Session)
	if in.Variable != "" {
		why += ", whose " + in.Variable + " it has"
	}
	refused := &Error{Kind: Refused, Op: what, Msg: why + ": only the operator may do that", Advice: "run it from your own terminal"}
	return errors.Join(refused, store.Refuse(ctx, o.Writer(), in.Session, why, o.PID), o.unverified(ctx, s, "session "+string(in.Session), why))
}

// GuardMembers is Guard for what a session may do as itself, such as reading mail and connecting as a member.
func (o Operator) GuardMembers(ctx context.Context, s *State, what string) error {
	if o.Leading != nil {
		return nil
	}
	if s != nil {
		s.Dir.Mend(o.Minter.Now())
	}
	own, ms, err := o.calledFrom(s)
	if len(ms) == 0 || err != nil {
		return err
	}
	who, from := Names(ms), string(ms[0].Name)
	if s == nil || own.Team != s.Team {
		who, from = who+" of team "+string(own.Team), from+"@"+string(own.Team)
	}
	why := fmt.Sprintf("%s was called from inside %s", what, who)
	err = &Error{Kind: Refused, Op: what, Msg: why + ": only the operator may do that", Advice: "run it from your own terminal"}
	if s != nil && s.Team != own.Team {
		err = errors.Join(err, o.unverified(ctx, s, from, why))
	}
	return errors.Join(err, o.unverified(ctx, own, string(ms[0].Name), why))
}

// CalledBy says whose process this command runs in, for people: a member, a session, or "" where none is known. It is no
// proof of anything.
func (o Operator) CalledBy() string {
	if s, ms, err := o.calledFrom(nil); err == nil && len(ms) > 0 {
		return string(ms[0].Name) + "@" + string(s.Team)
	}
	if o.Ancestors == nil {
		return ""
	}
	above, _ := o.Ancestors(o.PID) // what is not known is not said
	in, ok := session.At(o.Home.Path, o.Minter.Now).Above(o.ClaudeDir, above, o.Called, session.Looking(o.Ancestors))
	if !ok {
		return ""
	}
	return "session " + string(in.Session)[:min(8, len(in.Session))]
}

// calledFrom returns the members inside of whose process this command runs, with their team: s, or another of this root.
func (o Operator) calledFrom(s *State) (*State, []*control.Member, error) {
	if s != nil {
		if ms, err := o.Callers(s); len(ms) > 0 || err != nil {
			return s, ms, err
		}
	}
	if o.Ancestors == nil {
		return nil, nil, nil
	}
	names, err := o.Names()
	if err != nil {
		return nil, nil, nil // without a readable tree no caller can be identified
	}
	for _, name := range names {
		if s != nil && name == s.Team {
			continue
		}
		other, err := o.present(name, Act)
		if other == nil || err != nil {
			continue // broken: its own commands say so
		}
		if ms, err := o.Callers(other); len(ms) > 0 || err != nil {
			return other, ms, err
		}
	}
	return nil, nil, nil
}

// unverified records in a team that a command was given in the operator's name.
func (o Operator) unverified(ctx context.Context, s *State, from, why string) error {
	if s == nil || s.Damaged != nil {
		return nil
	}
	return s.Put(ctx, o.Writer(), record.KindUnverified, record.Unverified{
		Entry: fmt.Sprintf("command#%d-%d", o.PID, o.Minter.Now().UnixNano()), Box: "operator", From: from, Why: why})
}

// Callers returns the members whose process is the nearest ancestor of this process: none, one, or,
// when a leader's process runs several members, all of them (trust §8). A client that a person has opened
// with a member's conversation counts as the member: the same model calls from there.
func (o Operator) Callers(s *State) ([]*control.Member, error) { return o.MembersAbove(s, o.PID) }

// MembersAbove is Callers for any process.
func (o Operator) MembersAbove(s *State, pid int) ([]*control.Member, error) {
	if o.Ancestors == nil {
		return nil, nil
	}
	ids, err := o.Ancestors(pid)
	if err != nil {
		return nil, fmt.Errorf("cannot identify the calling process: %w", err)
	}
	for _, id := range ids {
		var here, live []*control.Member
		for _, m := range s.Lead.Members {
			if (m.Process == nil || !id.Is(m.Process.ID)) && (m.Borrowed == nil || !id.Is(m.Borrowed.By)) {
				continue
			}
			if here = append(here, m); m.Left == nil {
				live = append(live, m)
			}
		}
		switch {
		case len(live) > 0:
			return live, nil
		case len(here) > 0:
			return here, nil
		}
	}
	return nil, nil
}

// Names joins the names of members for people.
func Names(ms []*control.Member) string {
	var s []string
	for _, m := range ms {
		s = append(s, string(m.Name))
	}
	if len(s) > 1 {
		return "of members " + strings.Join(s, ", ") + ", who share a process"
	}
	return "member " + s[0]
}
