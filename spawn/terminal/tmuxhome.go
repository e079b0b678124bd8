package terminal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The sizes of the home pane and of the panes beside it.
const (
	homeWidth, homeHeight = 80, 20
	besideWidth           = 40
)

// home is the pane that members are shown beside, in its window.
type home struct {
	id, window          string
	width, height, left int
	windowW, windowH    int
	others, ours        int // other panes of the window; those of them that are members'
}

// home reads the state of a pane.
func (t tmux) home(ctx context.Context, pane string) (home, error) {
	out, err := t.run(ctx, "list-panes", "-t", pane, "-F",
		"#{pane_id} #{window_id} #{pane_width} #{pane_height} #{pane_left} #{window_width} #{window_height} #{@waggle-session}")
	if err != nil {
		return home{}, err
	}
	var h home
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 7 {
			return home{}, fmt.Errorf("tmux said %.200q of a pane", line)
		}
		if f[0] != pane {
			h.others++
			if len(f) > 7 {
				h.ours++
			}
			continue
		}
		h.id, h.window = f[0], f[1]
		for i, to := range []*int{&h.width, &h.height, &h.left, &h.windowW, &h.windowH} {
			if *to, err = strconv.Atoi(f[2+i]); err != nil {
				return home{}, fmt.Errorf("tmux said %.200q of a pane", line)
			}
		}
	}
	if h.id == "" {
		return home{}, fmt.Errorf("tmux has no pane %s", pane)
	}
	return h, nil
}

// keeps is how wide the pane is when members are beside it: homeWidth at least, where
// the window has as much.
func (h home) keeps() int {
	most := h.windowW * 30 / 100
	if h.windowW >= homeWidth+1+besideWidth {
		most = max(most, homeWidth)
	}
	return most
}

// fits reports whether members may go beside the pane and leave it 80 columns and 20
// rows. One row is for the panes' names.
func (h home) fits() bool {
	switch {
	case h.others == 0:
		return h.windowW >= homeWidth+1+besideWidth && h.windowH-1 >= homeHeight
	case h.ours == 0:
		return true // they get a window of their own
	}
	return h.left == 0 && h.width >= homeWidth && h.height >= homeHeight
}

// TmuxFits reports whether the pane that a program with this environment runs in keeps
// at least 80 columns and 20 rows when members are shown beside it.
func TmuxFits(ctx context.Context, program string, env []string) (bool, error) {
	socket, pane, ok := InTmux(env)
	if !ok {
		return false, errors.New("this is no pane of tmux")
	}
	h, err := tmux{program, socket, env}.home(ctx, pane)
	return err == nil && h.fits(), err
}
