package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/team"
)

// team examines one team of the root.
func (d *doctor) team(ctx context.Context, n protocol.TeamName) []Finding {
	what := teamWhat(n)
	reg, err := team.Open(d.op.Root, n, team.Options{})
	if err != nil {
		return []Finding{found(what, Problem, err.Error())}
	}
	cfg, err := reg.Load(ctx)
	if err != nil {
		return []Finding{advised(what, Problem, err.Error(), "look at "+d.op.Root.ConfigPath(n))}
	}
	s, err := d.op.Open(ctx, n, operator.Act)
	by := "another program's"
	if err != nil && !operator.Unled(err) {
		return []Finding{todo(what, Problem, err.Error(), operator.Next{Step: operator.NextLog, Team: n})}
	}
	if s != nil {
		by = "led by waggle"
	}
	out := []Finding{found(what, OK, fmt.Sprintf("%s dialect, %s, %d members", cfg.Dialect(), by, len(cfg.Members)))}
	for _, p := range cfg.Problems() {
		out = append(out, advised(what, Problem, p, "look at "+d.op.Root.ConfigPath(n)))
	}
	for _, p := range cfg.Notes() {
		out = append(out, found(what, Note, p))
	}
	for _, p := range d.op.Root.Check(n) {
		out = append(out, advised(what, Problem, p, "chmod -R go-w "+d.op.Root.TeamDir(n)))
	}
	for _, odd := range d.op.Oddities(n, s) {
		switch {
		case odd.Held > 0 && slices.Contains(d.op.Boxes(n).Dirs(), filepath.Dir(odd.Path)): // mailbox says it
		case odd.Held > 0:
			out = append(out, advised(what, Note, odd.String(), "it frees itself when its holder is gone"))
		case odd.At.IsZero():
			out = append(out, advised(what, Problem, odd.String(), "look who made it; the next process that wants the lock sets it aside"))
		default:
			out = append(out, advised(what, Note, odd.String(), "look who made it, and remove it"))
		}
	}
	if s != nil {
		for _, m := range inspect.Of(d.op).Unheard(ctx, s) {
			out = append(out, todo(what, Note, string(m.Name)+" "+inspect.UnheardText, operator.Next{Step: operator.NextHear, Team: n, Member: m.Name}))
		}
		out = append(out, d.merges(s)...)
		if claims := inspect.Unverified(s); claims > 0 {
			out = append(out, todo(what, Note, fmt.Sprintf("%d messages claimed an authority they do not have", claims), operator.Next{Step: operator.NextLogUnverified, Team: n}))
		}
	}
	return append(append(out, d.mailboxes(ctx, n, cfg)...), d.messages(ctx, n)...)
}

// merges finds merges whose process was killed: while one moved the files of a checkout, git finds its index.lock there.
func (d *doctor) merges(s *operator.State) (out []Finding) {
	open, err := inspect.Of(d.op).OpenMerges(s, nil)
	if err != nil {
		out = append(out, found(teamWhat(s.Team), Problem, err.Error()))
	}
	for _, m := range open {
		out = append(out, todo(teamWhat(s.Team), Problem, m.Why+"; until it is ended, git may find index.lock in a checkout", operator.Next{Step: operator.NextMergeOpen, Team: s.Team, Member: protocol.MemberName(m.Member)}))
	}
	return out
}

// messages finds messages that no member will read.
func (d *doctor) messages(ctx context.Context, n protocol.TeamName) []Finding {
	msgs, err := mail.Of(d.op).Messages(ctx, n, false)
	if err != nil {
		return []Finding{found(teamWhat(n), Problem, err.Error())}
	}
	dead := 0
	for _, m := range msgs {
		if m.State == mail.DeadLetter || m.State == mail.Erased {
			dead++
		}
	}
	if dead == 0 {
		return nil
	}
	return []Finding{todo(teamWhat(n), Note, fmt.Sprintf("%d messages have no reader", dead), operator.Next{Step: operator.NextDeadLetters, Team: n})}
}

// mailboxes finds mailboxes without a member, held locks, and entries that cannot be read.
func (d *doctor) mailboxes(ctx context.Context, n protocol.TeamName, cfg *team.Config) []Finding {
	what := teamWhat(n)
	names, err := d.op.Boxes(n).Names()
	if err != nil {
		return []Finding{found(what, Problem, err.Error())}
	}
	var out []Finding
	if to, moving, err := d.op.Boxes(n).Moving(); err != nil {
		out = append(out, found(what, Problem, err.Error()))
	} else if moving {
		out = append(out, todo(what, Note, fmt.Sprintf("its mailboxes are being moved to the layout %s, or that was cut short", to),
			operator.Next{Step: operator.NextMigrate, Team: n, Text: fmt.Sprint(to)}))
	}
	for _, m := range names {
		out = append(out, d.mailbox(ctx, n, cfg, m)...)
	}
	return out
}

func (d *doctor) mailbox(ctx context.Context, n protocol.TeamName, cfg *team.Config, m protocol.MemberName) (out []Finding) {
	what, look := teamWhat(n), operator.Next{Step: operator.NextInboxOf, Team: n, Member: m}
	if _, ok := cfg.Member(m); !ok {
		out = append(out, todo(what, Note, fmt.Sprintf("mailbox %s belongs to no member", m), look))
	}
	in, err := mail.Of(d.op).Inbox(ctx, n, m, false)
	if err != nil {
		return append(out, found(what, Problem, err.Error()))
	}
	if st, err := os.Lstat(in.Path + ".lock"); err == nil && st.IsDir() {
		since := "since a time in the future"
		if held := d.op.Minter.Now().Sub(st.ModTime()).Truncate(time.Second); held >= 0 {
			since = "since " + operator.Age(held)
		}
		out = append(out, advised(what, Note, in.Path+" is locked "+since, "it frees itself when its holder is gone"))
	}
	for _, r := range in.Reports {
		out = append(out, found(what, Problem, r))
	}
	for _, e := range in.Entries {
		if e.Entry.Err != nil {
			out = append(out, todo(what, Problem, fmt.Sprintf("mailbox %s, entry %d: %v", m, e.Index, e.Entry.Err), look))
		}
	}
	return out
}
