package decidecmd

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/mailbox"
	"waggle/operator"
)

// logView selects the records that are shown.
type logView struct {
	kind, member string
	follow       bool
}

func Log(a *app.App) *cobra.Command {
	var v logView
	cmd := &cobra.Command{
		Use:   "log [TEAM]",
		Short: "What happened, from the journals",
		Long: `What happened, from the journals, in order of time. TEAM is a name, or the id of a
team that was (<team>-<8 hex digits>); a deleted team is still on record. Of a team that
another program leads, or led, it is what was done from here. --json:
{"records":[{"time","journal","name","seq","writer","kind","body"}]}; with --follow one
record a line.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompletePast,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, of, err := Past(a, args)
			if err != nil {
				return err
			}
			l, err := op.OpenLog(cmd.Context(), of)
			if err != nil {
				return err
			}
			if v.follow {
				return follow(cmd.Context(), a, l, v)
			}
			recs, broken := l.Next(cmd.Context())
			if err := logAll(a, v.of(recs)); err != nil {
				return err
			}
			return broken
		},
	}
	cmd.Flags().StringVar(&v.kind, "kind", "", "only records of this kind")
	cmd.Flags().StringVar(&v.member, "member", "", "only this member's journal (leader for the leader's)")
	cmd.Flags().BoolVarP(&v.follow, "follow", "f", false, "go on and show what is recorded")
	return cmd
}

// Past returns the name of the record that an argument or --team gives, "" for the only one.
func Past(a *app.App, args []string) (operator.Operator, string, error) {
	op, err := a.Op()
	if len(args) > 0 {
		return op, args[0], err
	}
	return op, a.Flags.Team, err
}

// of returns the selected records.
func (v logView) of(recs []operator.LogRecord) []operator.LogRecord {
	return slices.DeleteFunc(recs, func(r operator.LogRecord) bool {
		return v.kind != "" && r.Kind != v.kind || v.member != "" && r.Name != v.member
	})
}

func logAll(a *app.App, recs []operator.LogRecord) error {
	return a.Give(view.Log(recs), view.LogPage(recs))
}

// followEvery is how often a followed log is read when the system reports no change.
const followEvery = 500 * time.Millisecond

// follow prints new records until ctx ends, or a journal is broken.
func follow(ctx context.Context, a *app.App, l *operator.Log, v logView) error {
	for {
		recs, err := l.Next(ctx)
		for _, r := range v.of(recs) {
			if !a.Flags.JSON {
				a.Say("%s", a.Spelled(view.LogLine(r), ""))
			} else if err := a.Line(view.LogRecord(r)); err != nil {
				return err
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil // Ctrl-C is how one stops following
		case err != nil:
			return err
		}
		if err := untilGrown(ctx, a, l); err != nil {
			return err
		}
	}
}

// untilGrown waits until a journal has grown, at most followEvery.
func untilGrown(ctx context.Context, a *app.App, l *operator.Log) error {
	watch, cancel := context.WithCancel(ctx)
	nudges, err := mailbox.Watch(watch, mailbox.WatchOptions{Interval: followEvery}, l.Dirs()...)
	if err != nil {
		cancel()
		return err
	}
	defer func() {
		cancel()
		for range nudges { // until the watcher has ended
		}
	}()
	select {
	case <-ctx.Done():
	case <-nudges:
	}
	return nil
}
