package decidecmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/notice"
	"waggle/operator"
)

func Notify(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notify",
		Short: "Show how you learn that somebody waits; test it, turn it off",
		Long: `Show whether notices are on, and which channels are here. They are on until you turn them
off. The process that leads a team tells you that somebody waits for you, without a screen
open: after a second, at most once a team in 10 s, and only of what is new. A notice names
the team and the members, never what they ask for.

  terminal  the bell, and a notification (OSC 9 or OSC 777) where the terminal
            knows one
  tmux      the bell of the pane in which you gave the command, which flags its
            window, and a message in the clients of that server; the flag goes
            when nothing waits
  desktop   notify-send where there is a session bus and a display; osascript
            on macOS

waggle top and pending --follow ring the bell of their own terminal. The hook of a session
of yours (waggle hooks install) rings in the tmux of the session, unless its pane is in
sight.

--json: {"on","changed","channels":[{"name","state","why"}],"trouble"}; state is here or
missing, after test also sent or failed.`,
		RunE: func(*cobra.Command, []string) error { return sayNotify(a, false, nil) },
	}
	on, off := a.Turns("Send notices", "Send no notices", func(_ context.Context, op operator.Operator, on bool) error {
		s := notice.Settings{State: op.Home.Path}
		changed, err := s.Turn(on)
		if err != nil {
			e := &operator.Error{Kind: operator.Failed, Op: "notify", Err: err}
			if _, err := s.On(); err != nil {
				e.Advice = s.Advice()
			}
			return e
		}
		return sayNotify(a, changed, nil)
	})
	test := &cobra.Command{
		Use:   "test",
		Short: "Send one notice through each channel that is here",
		Long: `Send one notice through each channel that is here, also when notices are off, and say what
became of it. Exit 1 when a channel fails or none is here.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sent := map[string]error{}
			err := testNotify(cmd.Context(), a, sent)
			return errors.Join(sayNotify(a, false, sent), err)
		},
	}
	cmd.AddCommand(test, off, on)
	return cmd
}

// testNotify sends one notice through each channel, and keeps how that has ended.
func testNotify(ctx context.Context, a *app.App, sent map[string]error) error {
	s, err := a.Settings()
	if err != nil {
		return err
	}
	failed := false
	for _, c := range notice.Here(notice.Channels(a.Place())...) {
		err := notice.Test(ctx, c)
		s.Failed(c.Name, err, a.Now())
		sent[c.Name], failed = err, failed || err != nil
	}
	switch {
	case len(sent) == 0:
		return &operator.Error{Kind: operator.Failed, Op: "notify", Msg: "no channel is here: nothing tells you that somebody waits", Advice: "start teams inside tmux, or look with waggle pending"}
	case failed:
		return app.ExitError(app.ExitFailed)
	}
	return nil
}

// sayNotify prints the state of notices. sent is how the channels of a test have ended; nil: there was none.
func sayNotify(a *app.App, changed bool, sent map[string]error) error {
	s, err := a.Settings()
	if err != nil {
		return err
	}
	on, err := s.On()
	if err != nil {
		a.Talk("%s %s", app.Yellow("note:"), operator.Visible(err.Error()))
	}
	d := view.NotifyDocument{On: on, Changed: changed, Channels: []view.NotifyChannel{}, Trouble: s.LastTrouble()}
	for _, c := range notice.Channels(a.Place()) {
		one := view.NotifyChannel{Name: c.Name, State: "here"}
		if c.Missing != nil {
			one.State, one.Why = "missing", c.Missing.Error()
		} else if err, tried := sent[c.Name]; tried && err != nil {
			one.State, one.Why = "failed", err.Error()
		} else if tried {
			one.State = "sent"
		}
		d.Channels = append(d.Channels, one)
	}
	return a.Give(d, view.NotifyPage(d))
}
