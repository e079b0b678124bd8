package terminal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle/internal/backoff"
	"waggle/spawn"
)

// TmuxBell rings in the tmux in which a program was started: in that run of that server, and in that pane. It
// types nothing. Its methods are for one goroutine.
type TmuxBell struct {
	t      tmux
	pane   string
	server spawn.Identity
	shown  bool
}

// NewTmuxBell returns the bell of the pane in which a program with this environment runs; program is tmux. The
// error says why there is none. Where shown is true, the pane itself shows why it rings, and it does not ring
// while a client shows it.
func NewTmuxBell(program string, env []string, shown bool) (*TmuxBell, error) {
	socket, pane, ok := InTmux(env)
	if !ok {
		return nil, errors.New("this is no pane of tmux")
	}
	_, pid, _ := tmuxVar(env)
	server, err := identify(pid)
	if err != nil {
		return nil, fmt.Errorf("the tmux server of this pane has ended, or cannot be seen: %w", err)
	}
	return &TmuxBell{tmux{program, socket, env}, pane, server, shown}, nil
}

// rang begins the options of a window whose bell flag is ours, one for each that has rung and is not quiet: a flag
// that another program has set is not removed.
const rang = "@waggle-rang-"

// rangOf is the option of one that rings from this pane: sessions in the panes of one window ring by one name.
func (b *TmuxBell) rangOf(who string) string {
	return rang + strings.TrimPrefix(b.pane, "%") + "-" + strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, who)
}

// rung are the options of a window, or of that of a pane, that begin with rang.
func (b *TmuxBell) rung(ctx context.Context, target string) (names []string, err error) {
	out, err := b.t.run(ctx, "show-options", "-w", "-t", target)
	for line := range strings.Lines(out) {
		if name, _, _ := strings.Cut(line, " "); strings.HasPrefix(name, rang) {
			names = append(names, name)
		}
	}
	return names, err
}

func (b *TmuxBell) unset(ctx context.Context, target, option string) error {
	_, err := b.t.run(ctx, "set-option", "-w", "-u", "-t", target, option)
	return err
}

// at is where the pane is now.
type at struct {
	tty              string
	flagged, inSight bool
}

// where finds the pane; nil: it is closed, or its program has ended.
func (b *TmuxBell) where(ctx context.Context) (*at, error) {
	if !b.server.Alive() {
		return nil, errors.New("the tmux server of this pane has ended")
	}
	out, err := b.t.run(ctx, "list-panes", "-a", "-F",
		"#{pid} #{pane_id} #{pane_dead} #{window_bell_flag} #{&&:#{pane_active},#{&&:#{window_active},#{session_attached}}} #{pane_tty}")
	if err != nil {
		return nil, err
	}
	var here *at
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		switch {
		case len(f) > 0 && f[0] != fmt.Sprint(b.server.PID):
			return nil, fmt.Errorf("another tmux server runs at %s", b.t.socket)
		case len(f) != 6 || f[1] != b.pane || f[2] != "0":
			continue
		case here == nil:
			here = &at{tty: f[5]}
		}
		here.flagged, here.inSight = here.flagged || f[3] == "1", here.inSight || f[4] == "1"
	}
	return here, nil
}

// Ring rings the pane's bell for somebody, by which tmux flags its window unless that is in sight, and shows a text for
// some seconds to every client of the server. What rings for nobody ("") is not taken back. It is an error when the pane
// is closed and there is no client.
func (b *TmuxBell) Ring(ctx context.Context, who, text string) error {
	here, err := b.where(ctx)
	if err != nil || here != nil && here.inSight && b.shown {
		return err
	}
	if here != nil {
		err = b.ring(ctx, who, here)
	}
	clients, cerr := b.t.run(ctx, "list-clients", "-F", "#{client_name}")
	if cerr == nil && here == nil && clients == "" {
		return errors.New("the pane of this program is closed, and nobody looks at its tmux")
	}
	text = strings.ReplaceAll(plain(text), "%", "_") // tmux expands times too
	for c := range strings.Lines(clients) {
		cerr = errors.Join(cerr, b.show(ctx, strings.TrimSuffix(c, "\n"), text))
	}
	return errors.Join(err, cerr)
}

// show shows a text to a client. What the client shows stands still meanwhile, before tmux 3.6; before 3.2 the user's
// display-time counts.
func (b *TmuxBell) show(ctx context.Context, client, text string) (err error) {
	for _, how := range [][]string{{"-C", "-d", "5000"}, {"-d", "1500"}, nil} {
		if _, err = b.t.run(ctx, slices.Concat([]string{"display-message"}, how, []string{"-c", client, text})...); err == nil || ctx.Err() != nil {
			break
		}
	}
	return err
}

// ring rings, and records that the flag that the window has by it is ours.
func (b *TmuxBell) ring(ctx context.Context, who string, here *at) error {
	names, err := b.rung(ctx, b.pane)
	if !here.flagged { // somebody has looked at the window since
		for _, name := range names {
			err = errors.Join(err, b.unset(ctx, b.pane, name))
		}
	}
	if err = errors.Join(err, bell(here.tty)); err != nil || who == "" || here.flagged && len(names) == 0 {
		return err
	}
	for range 10 { // tmux reads the bell when it gets to it; in sight, and where the user wants no flags, there is none
		now, err := b.where(ctx)
		if err != nil || now == nil {
			return err
		}
		if now.flagged {
			_, err := b.t.run(ctx, "set-option", "-w", "-t", b.pane, b.rangOf(who), "1")
			return err
		}
		if !backoff.Pause(ctx, 20*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

// Quiet removes the flag that Ring has set, when nobody else has rung in that window and where no other window of the
// session has one: tmux removes the flags of a whole session only. Otherwise the flag stays until somebody looks at the
// window. It finds the window by what Ring has recorded there, though the pane was moved or closed since; nothing is left
// of a window that was closed, or of a server that has ended.
func (b *TmuxBell) Quiet(ctx context.Context, who string) error {
	if !b.server.Alive() {
		return nil
	}
	if _, err := b.where(ctx); err != nil {
		return err
	}
	own := b.rangOf(who)
	out, err := b.t.run(ctx, "list-windows", "-a", "-F", "#{window_id} #{session_id} #{"+own+"}")
	if err != nil {
		return err
	}
	sessions := map[string][]string{}
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 3 {
			sessions[f[0]] = append(sessions[f[0]], f[1])
		}
	}
	for window, in := range sessions {
		err = errors.Join(err, b.quiet(ctx, window, own, in))
	}
	return err
}

// quiet is Quiet for one window, which these sessions have.
func (b *TmuxBell) quiet(ctx context.Context, window, own string, sessions []string) error {
	names, err := b.rung(ctx, window)
	if err != nil || !slices.Contains(names, own) {
		return err
	}
	if err := b.unset(ctx, window, own); err != nil || len(names) > 1 {
		return err
	}
	const flagged = "#{W:#{?window_bell_flag,#{window_id},}#{?window_activity_flag,+,}#{?window_silence_flag,+,}}"
	for _, s := range sessions {
		// kill-session -C ends nothing: it removes the flags.
		_, serr := b.t.run(ctx, "if-shell", "-F", "-t", s+":"+window, "#{==:"+flagged+",#{window_id}}", "kill-session -C -t '"+s+"'")
		err = errors.Join(err, serr)
	}
	return err
}
