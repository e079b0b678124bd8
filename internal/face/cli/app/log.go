package app

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"waggle/operator"
)

// log is where the packages below log what goes on beside a command. A file, which a process in the background has for its
// stderr, and WAGGLE_DEBUG get records; a person gets warnings in words.
func (a *App) log() *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.LevelWarn}
	if a.Env("WAGGLE_DEBUG") != "" {
		options.Level = slog.LevelDebug
		return slog.New(slog.NewTextHandler(a.Err, options))
	}
	if f := File(a.Err); f != nil {
		if at, err := f.Stat(); err == nil && at.Mode().IsRegular() {
			return slog.New(slog.NewTextHandler(a.Err, options))
		}
	}
	return slog.New(&words{a: a, mu: &sync.Mutex{}})
}

// words is a slog.Handler that says warnings and errors in a line each.
type words struct {
	a     *App
	mu    *sync.Mutex
	attrs []slog.Attr
}

func (w *words) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// WithGroup has no effect: a sentence has no groups.
func (w *words) WithGroup(string) slog.Handler { return w }

func (w *words) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &words{w.a, w.mu, append(w.attrs[:len(w.attrs):len(w.attrs)], attrs...)}
}

// Handle implements slog.Handler: "note: the message (member ann, path /p): the error".
func (w *words) Handle(_ context.Context, r slog.Record) error {
	var with []string
	text, err := r.Message, ""
	add := func(at slog.Attr) bool {
		switch v := at.Value.Resolve().String(); {
		case at.Key == "stack" || v == "":
		case at.Key == "err":
			err = ": " + v
		default:
			with = append(with, at.Key+" "+v)
		}
		return true
	}
	for _, at := range w.attrs {
		add(at)
	}
	r.Attrs(add)
	if len(with) > 0 {
		text += " (" + strings.Join(with, ", ") + ")"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.a.Talk("%s", fold(Yellow("note:")+" "+operator.Visible(text+err), w.a.errWidth()))
	return nil
}
