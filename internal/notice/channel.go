package notice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"waggle/internal/cut"
	"waggle/operator"
	"waggle/spawn"
	"waggle/spawn/terminal"
)

// Notice is the text of a notice. What members may choose is visible text in it (operator.Visible).
type Notice struct {
	Team  string // "": of a test, which is not withdrawn
	Title string // "waggle: 2 wait in api"
	Body  string // "ann, ben: waggle pending"; who waits, and the command that shows it
}

// Sessions stands for the team of the sessions that waggle does not run, as in lists.
const Sessions = "-"

// of is the notice of what waits in a team.
func of(team string, waits []Wait, count int, do string) Notice {
	verb, in := "wait", "in "+operator.Visible(team)
	if count == 1 {
		verb = "waits"
	}
	if team == Sessions {
		in = "in your sessions"
	}
	var who []string
	for _, w := range waits {
		if name := cut.Runes(operator.Visible(w.Who), 40); name != "" && !slices.Contains(who, name) {
			who = append(who, name)
		}
	}
	slices.Sort(who)
	if len(who) > 3 {
		who = append(who[:2], fmt.Sprintf("%d more", len(who)-2))
	}
	return Notice{Team: team, Title: fmt.Sprintf("waggle: %d %s %s", count, verb, in), Body: cmp.Or(strings.Join(who, ", "), "somebody") + ": " + do}
}

// line is a notice in one line.
func (n Notice) line() string { return n.Title + " (" + n.Body + ")" }

// Channel is one way to reach a person. It is used from one goroutine.
type Channel struct {
	Name    string // in waggle notify
	Missing error  // why it cannot be used here; nil: it can
	Show    func(ctx context.Context, n Notice) error
	// Withdraw takes back the notice of a team, as far as the channel can.
	Withdraw func(ctx context.Context, team string) error
}

// Test shows a notice of a test.
func Test(ctx context.Context, c Channel) error {
	ctx, cancel := context.WithTimeout(ctx, channelWait)
	defer cancel()
	return c.Show(ctx, Notice{Title: "waggle: a test", Body: "so you learn that somebody waits"})
}

// Place is where notices can be shown.
type Place struct {
	// Env is the environment of the person's own command: it names the tmux and the desktop.
	Env []string
	// Terminal is the person's terminal, nil: there is none.
	Terminal io.Writer
	// Shown: the pane in which this program runs shows itself what waits.
	Shown bool
}

// Channels are all channels of a place, also those that are missing there. Where tmux rings the pane, the terminal
// does not.
func Channels(p Place) []Channel {
	t, x := Terminal(p), Tmux(p)
	if t.Missing == nil && x.Missing == nil {
		t.Missing = errors.New("tmux rings its bell")
	}
	return []Channel{t, x, Desktop(p)}
}

// Here are the channels that can be used.
func Here(cs ...Channel) []Channel {
	return slices.DeleteFunc(slices.Clone(cs), func(c Channel) bool { return c.Missing != nil })
}

// Terminal is a bell and, where the terminal knows one, a notification by OSC 9 or OSC 777. No terminal takes that back.
func Terminal(p Place) Channel {
	t := Channel{Name: "terminal", Withdraw: func(context.Context, string) error { return nil }, Show: func(_ context.Context, n Notice) error {
		_, err := io.WriteString(p.Terminal, osc(p.Env, n)+"\a")
		return err
	}}
	if p.Terminal == nil {
		t.Missing = errors.New("stderr is no terminal")
	}
	return t
}

// osc is the notification for a terminal that knows one; those that do not know OSC 9 drop it. Multiplexers get none:
// tmux has a channel of its own, and screen would print it.
func osc(env []string, n Notice) string {
	term := spawn.Getenv(env, "TERM")
	safe := strings.NewReplacer(";", ",").Replace // it parts the fields of OSC 777
	switch {
	case spawn.Getenv(env, "TMUX") != "", spawn.Getenv(env, "STY") != "", term == "", term == "dumb", term == "linux", strings.HasPrefix(term, "screen"), strings.HasPrefix(term, "tmux"):
		return ""
	case strings.HasPrefix(term, "rxvt"), strings.HasPrefix(term, "foot"), spawn.Getenv(env, "VTE_VERSION") != "":
		return "\x1b]777;notify;" + safe(n.Title) + ";" + safe(n.Body) + "\x1b\\"
	}
	return "\x1b]9;" + safe(n.line()) + "\x1b\\"
}

// Tmux is the bell of the pane in which the person gave the command, which flags its window, and a message in the
// clients of its server.
func Tmux(p Place) Channel {
	program, err := spawn.LookPath("tmux", p.Env)
	if _, _, in := terminal.InTmux(p.Env); !in {
		err = errors.New("this was not started in a pane of tmux")
	}
	var bell *terminal.TmuxBell
	if err == nil {
		bell, err = terminal.NewTmuxBell(program, p.Env, p.Shown)
	}
	return Channel{Name: "tmux", Missing: err, Withdraw: bell.Quiet,
		Show: func(ctx context.Context, n Notice) error { return bell.Ring(ctx, n.Team, n.line()) }}
}

// Desktop is notify-send on Linux and osascript on macOS.
func Desktop(p Place) Channel {
	d := &desktop{env: p.Env, shown: map[string]string{}}
	var err error
	switch runtime.GOOS {
	case "linux":
		d.program, err = spawn.LookPath("notify-send", p.Env)
		bus := spawn.Getenv(p.Env, "DBUS_SESSION_BUS_ADDRESS") != ""
		if dir := spawn.Getenv(p.Env, "XDG_RUNTIME_DIR"); !bus && filepath.IsAbs(dir) {
			_, none := os.Stat(filepath.Join(dir, "bus"))
			bus = none == nil
		}
		switch {
		case spawn.Getenv(p.Env, "DISPLAY") == "" && spawn.Getenv(p.Env, "WAYLAND_DISPLAY") == "":
			err = errors.New("neither DISPLAY nor WAYLAND_DISPLAY is set")
		case !bus:
			err = errors.New("there is no session bus")
		}
	case "darwin":
		d.program, err = spawn.LookPath("osascript", p.Env)
		if spawn.Getenv(p.Env, "__CFBundleIdentifier") == "" || spawn.Getenv(p.Env, "SSH_CONNECTION") != "" {
			err = errors.New("this was not started from a program on the desktop")
		}
	default:
		err = fmt.Errorf("waggle knows no notifications of %s", runtime.GOOS)
	}
	return Channel{Name: "desktop", Missing: err, Show: d.show, Withdraw: d.withdraw}
}

type desktop struct {
	program string
	env     []string
	shown   map[string]string // the notification of a team, by the number that notify-send gave it
}

// script has the text as arguments: nothing of it is read as a program.
var script = []string{"-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run"}

func (d *desktop) show(ctx context.Context, n Notice) error {
	if runtime.GOOS == "darwin" {
		_, err := d.run(ctx, append(slices.Clone(script), n.Title, n.Body)...)
		return err
	}
	return d.send(ctx, n, "--urgency=normal")
}

// send shows a notification in the place of the team's last one.
func (d *desktop) send(ctx context.Context, n Notice, flags ...string) error {
	text := []string{"--", n.Title, html.EscapeString(n.Body)} // a body may have markup
	args := append([]string{"--app-name=waggle", "--print-id"}, flags...)
	if id := d.shown[n.Team]; id != "" {
		args = append(args, "--replace-id="+id)
	}
	id, err := d.run(ctx, append(args, text...)...)
	if err != nil && ctx.Err() == nil { // before 0.8 it prints no id
		if _, perr := d.run(ctx, append(append([]string{"--app-name=waggle"}, flags...), text...)...); perr != nil {
			return perr
		}
		id, err = "", nil
	}
	delete(d.shown, n.Team)
	if id = strings.TrimSpace(id); err == nil && id != "" && strings.Trim(id, "0123456789") == "" {
		d.shown[n.Team] = id
	}
	return err
}

// withdraw replaces a notification by one that goes by itself. One without a number stays.
func (d *desktop) withdraw(ctx context.Context, team string) error {
	if d.shown[team] == "" {
		return nil
	}
	defer delete(d.shown, team)
	n := of(team, nil, 0, "")
	n.Title, n.Body = strings.Replace(n.Title, "0 wait", "nobody waits", 1), ""
	return d.send(ctx, n, "--urgency=low", "--hint=int:transient:1", "--expire-time=1000")
}

// run runs the program of the desktop and returns how what it prints begins.
func (d *desktop) run(ctx context.Context, args ...string) (string, error) {
	out := cut.Head{Max: 4 << 10}
	exit, err := spawn.Command{Argv: append([]string{d.program}, args...), Dir: os.TempDir(), Env: d.env, Output: &out,
		Linger: time.Second, Grace: spawn.Grace{Term: time.Second / 2, Kill: time.Second}}.Run(ctx)
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("%s: exit %d: %s", filepath.Base(d.program), exit.Code, operator.Visible(strings.TrimSpace(string(out.Kept))))
	}
	return string(out.Kept), err
}
