package telemetry

import (
	"context"
	"log/slog"

	"waggle/machine"
)

// Slog returns an observer that logs every transition at level Info, with the
// time of its record.
func Slog(l *slog.Logger) machine.Observer {
	return func(o machine.Observation) {
		ctx := context.Background()
		if !l.Enabled(ctx, slog.LevelInfo) {
			return
		}
		r := slog.NewRecord(o.Time, slog.LevelInfo, "transition", 0)
		r.AddAttrs(
			slog.String("team", string(o.Team)),
			slog.String("machine", o.Machine),
			slog.String("member", o.Member),
			slog.String("instance", string(o.Instance)),
			slog.String("row", o.Row),
			slog.String("from", string(o.From)),
			slog.String("event", string(o.On)),
			slog.String("to", string(o.To)),
			slog.Uint64("seq", o.Seq),
		)
		if o.Request != "" {
			r.AddAttrs(slog.String("request", o.Request))
		}
		_ = l.Handler().Handle(ctx, r) // there is nobody to tell that a log cannot be written
	}
}
