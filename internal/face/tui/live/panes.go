package live

import (
	"context"

	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/spawn"
	"waggle/spawn/terminal"
)

// paneTries is how often the pane of a session is followed at most, while its page is shown.
const paneTries = 3

// panes is the pane of a session that waggle did not start, as a page shows it: by one client of its tmux server, which tells of
// output. No pane is looked at by a timer.
type panes struct {
	client *terminal.PaneFollower // nil: none
	told   chan struct{}          // closed when the client has ended and the last was told
	tries  int
	failed error // of the last one
}

// followed reports whether the pane is shown by a client, or was tried often enough.
func (p *panes) followed() bool { return p.client != nil || p.tries >= paneTries }

// follow begins to follow a pane. tell is called when it has had output, and when the client has ended.
func (p *panes) follow(ctx context.Context, op operator.Operator, pane spawn.Pane, tell func()) {
	if p.tries++; p.tries > paneTries {
		return
	}
	p.client, p.failed = inspect.Of(op).Follow(ctx, pane)
	if p.failed != nil {
		p.client = nil
		tell() // the next try
		return
	}
	changed, told := p.client.Changed(), make(chan struct{})
	p.told = told
	go func() { // until the client has ended; leave waits for it
		defer close(told)
		for range changed {
			tell()
		}
		tell()
	}()
}

// screen is what the pane shows now.
func (p *panes) screen(ctx context.Context, n int) ([]string, error) {
	if p.client == nil {
		return nil, p.failed
	}
	text, err := p.client.Screen(ctx)
	if err != nil {
		p.leave()
		p.failed = err
		return nil, err
	}
	lines, _ := inspect.ScreenLines(text, n)
	return lines, nil
}

// leave ends the client.
func (p *panes) leave() {
	if p.client != nil {
		p.client.Close()
		<-p.told
		p.client = nil
	}
}
