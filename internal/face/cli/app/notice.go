package app

import (
	"io"
	"strings"

	"waggle/internal/notice"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/supervise"
)

// Settings are the user's settings of notices.
func (a *App) Settings() (notice.Settings, error) {
	state, err := a.StatePath()
	return notice.Settings{State: state}, err
}

// Place is where this program can show a notice. Its terminal is that of stderr.
func (a *App) Place() notice.Place {
	p := notice.Place{Env: a.MemberEnviron()}
	if f := File(a.Err); f != nil && Tty(f) && !a.Flags.Quiet {
		p.Terminal = io.Writer(f)
	}
	return p
}

// Notifier tells of what waits by some channels.
func (a *App) Notifier(state string, o notice.Options, channels ...notice.Channel) *notice.Notifier {
	s := notice.Settings{State: state}
	o.Channels, o.Now, o.Do = notice.Here(channels...), a.Now, StepText(operator.NextPendingList.With())
	o.On = func() bool {
		on, _ := s.On() // a file that says nothing leaves them on; waggle notify says so
		return on
	}
	o.Failed = func(channel string, err error) { s.Failed(channel, err, a.Now()) }
	return notice.Start(o)
}

// Notices tells of what waits in the team that this process leads. waiting is LeadOptions.Waiting; end is called when
// it leads no more, with whether the team has ended.
func (a *App) Notices(op operator.Operator) (waiting func(*operator.State, []supervise.Waiting), end func(ended bool)) {
	var n *notice.Notifier
	waiting = func(s *operator.State, all []supervise.Waiting) {
		if n == nil {
			n = a.Notifier(op.Home.Path, notice.Options{Kept: func(string) string { return s.Dir.Notified() }}, notice.Channels(a.Place())...)
		}
		ws := make([]notice.Wait, len(all))
		for i, w := range all {
			ws[i] = notice.Wait{ID: strings.Join([]string{string(w.Key.Instance), string(w.Key.Kind), string(w.Key.ID)}, " "), Who: string(w.Member)}
		}
		n.Waiting(map[string][]notice.Wait{string(s.Team): ws})
	}
	return waiting, func(ended bool) {
		if n == nil {
			return
		}
		if ended {
			n.Waiting(nil)
		}
		n.Close()
	}
}

// ScreenNotices tells of what waits in teams and sessions, by the terminal of a screen.
func (a *App) ScreenNotices(op operator.Operator, w io.Writer) (waiting func([]decide.Request), end func()) {
	n := a.Notifier(op.Home.Path, notice.Options{Shown: true}, notice.Terminal(notice.Place{Env: a.Environ, Terminal: w}))
	return func(qs []decide.Request) {
		all := map[string][]notice.Wait{}
		for _, q := range qs {
			all[q.Team] = append(all[q.Team], notice.Wait{ID: strings.Join([]string{q.Instance, q.Kind, q.ID}, " "), Who: q.Member})
		}
		n.Waiting(all)
	}, n.Close
}
