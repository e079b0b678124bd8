package teamcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"waggle/internal/face/cli/app"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/spawn/terminal"
)

func Attach(a *app.App) *cobra.Command {
	var keys bool
	cmd := &cobra.Command{
		Use:   "attach [NAME]",
		Short: "Attach to a member's terminal, or lead a team again",
		Long: `Without NAME, attach takes over a team that a background process leads, or that has no
leader: it shows what happened meanwhile (waggle recap) and leads from then on, as
waggle up does.

With NAME, it shows a member's terminal, also one in a pane. Your keys do not reach it,
except with --type; Ctrl-] leaves it, and the member goes on. With --type every key
reaches it, Ctrl-C too, which ends what runs there. Then tmux shows a member's pane, and
its own detach key leaves it; inside of that tmux you are in the pane itself. A session of
yours in tmux is shown by its name, @NAME, pid or id, and so is an adopted one.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return comeBack(cmd.Context(), a)
			}
			name, err := protocol.ParseMember(strings.TrimPrefix(args[0], "@"))
			if err != nil {
				err = &operator.Error{Kind: operator.Usage, Op: "attach", Err: err}
			}
			op, team, terr := a.Team()
			var h *terminal.Held
			if err = cmp.Or(err, terr); err == nil {
				h, err = process.Of(op).Terminal(cmd.Context(), team, name)
			}
			if err != nil {
				if done, err := attachSession(cmd.Context(), a, team, args[0], !keys); done {
					return err
				}
				return err
			}
			p := h.Place.Pane
			switch {
			case p != nil && keys && app.Tty(a.In) && app.Tty(a.Out):
				argv, err := process.Of(op).ShowPane(*p, false)
				if err != nil {
					return err
				}
				return interactive(cmd.Context(), a, argv)
			case h.Place.Socket == "":
				return &operator.Error{Kind: operator.NotFound, Op: "attach", Msg: fmt.Sprintf("%s is shown in its pane only", name),
					Next: operator.Next{Step: operator.NextTypePane, Team: team, Member: name}}
			}
			return attach(cmd.Context(), a, string(name), a.Scope(team), h, !keys)
		},
	}
	cmd.Flags().BoolVar(&keys, "type", false, "pass your keys to the terminal")
	return cmd
}

// attachSession shows the tmux pane of a session, or of an adopted member; done is false when word names none.
func attachSession(ctx context.Context, a *app.App, team protocol.TeamName, word string, look bool) (done bool, err error) {
	op, err := a.Op()
	if err != nil {
		return false, nil
	}
	named := inspect.Of(op).SessionNamed(ctx, team, word)
	if named == "" {
		return false, nil
	}
	pane, err := inspect.Of(op).SessionPane(ctx, "attach", named)
	if err != nil {
		return true, err
	}
	if !app.Tty(a.In) || !app.Tty(a.Out) {
		return true, &operator.Error{Kind: operator.Usage, Op: "attach", Msg: fmt.Sprintf("session %s is in pane %s of tmux, which needs a terminal", word, pane.ID), Next: operator.Next{Step: operator.NextPeek, Member: protocol.MemberName(word)}}
	}
	argv, err := process.Of(op).ShowPane(pane, look)
	if err != nil {
		return true, err
	}
	return true, interactive(ctx, a, argv)
}

// interactive runs another program on this terminal.
func interactive(ctx context.Context, a *app.App, argv []string) error {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	back, err := a.Asker.Lend()
	if err != nil {
		return err
	}
	defer back()
	c.Stdin, c.Stdout, c.Stderr, c.Env = a.In, app.File(a.Out), app.File(a.Err), a.Environ
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", argv[0], err)
	}
	return nil
}

// attach shows a terminal on this terminal, or, when this is none, as a stream.
func attach(ctx context.Context, a *app.App, name, scope string, h *terminal.Held, look bool) error {
	s := terminal.Screen{Out: a.Out}
	in, ok := a.In.(*os.File)
	if ok && app.Tty(a.In) && app.Tty(a.Out) {
		back, err := a.Asker.Lend()
		if err != nil {
			return err
		}
		defer back()
		fd := int(in.Fd())
		if w, h, err := term.GetSize(fd); err == nil {
			s.Size = terminal.Size{Cols: uint16(w), Rows: uint16(h)}
		}
		how := "every key reaches it, Ctrl-C too; Ctrl-] leaves it"
		if look {
			how = "Ctrl-] leaves it; your keys do not reach it, --type passes them"
		}
		old, err := term.MakeRaw(fd)
		if err != nil {
			return fmt.Errorf("attach: %w", err)
		}
		defer func() { _ = term.Restore(fd, old) }()
		// After MakeRaw: before it Ctrl-C, which people press once they read this, would end the command.
		a.Talk("attached to %s; %s\r\n", operator.Visible(name), how)
		resized, stop := sizes(in)
		defer stop()
		s.In, s.Resized = in, resized
		if look {
			n := operator.Visible(name)
			s.In = &onlyDetach{r: in, say: func() {
				a.Talk("\r\nCtrl-] leaves %s, which goes on; your keys do not reach it:\r\nwaggle attach %s%s --type passes them\r\nwaggle stop %s%s ends it\r\n", n, n, scope, n, scope)
			}}
		}
	}
	err := terminal.Attach(ctx, h.Place.Socket, s)
	switch {
	case errors.Is(err, terminal.ErrDetached), errors.Is(err, context.Canceled):
		a.Talk("\r\nleft %s, which goes on", operator.Visible(name))
		return nil
	case err == nil:
		a.Talk("\r\n%s has ended", operator.Visible(name))
	}
	return err
}

// onlyDetach passes only the key that detaches. It calls say for the first other key, and for each
// Ctrl-C, by which people try to leave.
type onlyDetach struct {
	r    io.Reader
	say  func()
	said bool
}

// interrupt is Ctrl-C on a terminal in raw mode; escape begins what a terminal itself answers to what a
// member's program asks it.
const (
	interrupt = 0x03
	escape    = 0x1b
)

func (o *onlyDetach) Read(b []byte) (int, error) {
	buf := make([]byte, len(b))
	for {
		n, err := o.r.Read(buf)
		for _, c := range buf[:n] {
			switch {
			case c == terminal.Detach:
				b[0] = c
				return 1, err
			case c == interrupt || !o.said && buf[0] != escape:
				o.said = true
				o.say()
			}
		}
		if err != nil {
			return 0, err
		}
	}
}
