package decidecmd

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/claude"
	"waggle/internal/claude/session"
	"waggle/internal/face/cli/app"
	"waggle/internal/fs/realpath"
	"waggle/internal/notice"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/spawn"
)

// hookQuick is the time limit of every event but a request: a client waits for its hooks.
const hookQuick = 2 * time.Second

func Hook(a *app.App) *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "hook CLIENT EVENT",
		Short: "Run as a session's hook: record requests, give answers",
		Long: `The client of a session runs this command as a hook; waggle hooks install puts it into
the client's settings. CLIENT is claude, codex or gemini, EVENT the hook's event. The
command reads the client's JSON from standard input.

It records a PermissionRequest, which waggle pending then lists, and prints the answer in
the form that the client documents. The client shows its own dialog as well: the first
answer decides. A client that shows it only after the hook has ended (Codex always, Claude
Code for a teammate) is not kept waiting where nobody is there to answer elsewhere: while
no screen of waggle and no pending --follow is open, and waggle away is off. Without an
answer, and after any error, the hook prints nothing on standard output and exits with 0.`,
		Hidden: true,
		// An unknown flag would exit with 2, which a client reads as "block this call".
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		Args:               cobra.ArbitraryArgs,
		SilenceErrors:      true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 4 && args[0] == string(session.Claude) && args[1] == claude.ShellEvent {
				return prefixed(cmd.Context(), a, args[2], args[3])
			}
			if second := a.Env(claude.SecondVar); second != "" {
				return hookOfMember(cmd.Context(), a, second, args)
			}
			defer func() {
				_ = recover() // a panic would exit with 2, which a client reads as "block this call"
			}()
			if len(args) == 2 {
				hook(cmd.Context(), a, session.Client(args[0]), args[1], wait)
			}
			return nil // an error of a hook must not reach the client
		},
	}
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if a.Env(claude.SecondVar) != "" {
			return c.Parent().FlagErrorFunc()(c, err) // the hook of a member blocks after any error
		}
		fmt.Fprintln(a.Err, "waggle:", operator.Visible(err.Error()))
		return nil // then the command ends, with 0
	})
	cmd.Flags().DurationVar(&wait, "wait", 0, "how long to wait for an answer (default: as long as the client does; 30s where the client delays its own prompt meanwhile, 2m for a teammate's)")
	return cmd
}

// hookBlocks is the exit code by which a hook of Claude Code blocks its call.
const hookBlocks = 2

// hookOfMember is a hook in a session that waggle runs as a member. Before a call it asks the
// member's worker, which can only deny; whatever fails blocks the call. Of other events it tells the
// worker where the member's own settings say so, for a client in a pane, and prints its decision of a
// request: an error leaves the dialog in the pane. A hook of the user's settings does not: a member is in
// the list as what it is.
func hookOfMember(ctx context.Context, a *app.App, second string, args []string) error {
	ours := len(args) > 0 && args[0] == string(session.Claude)
	reports := ours && len(args) == 3 && args[2] == claude.MemberHook
	if !reports && len(args) == 2 && args[1] != "PreToolUse" {
		return nil
	}
	if !reports || !claude.AsksPerson(args[1]) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, claude.HookWait)
		defer cancel()
	}
	err := fmt.Errorf("want claude PreToolUse, not %q", args)
	code := hookBlocks
	var out []byte
	switch {
	case reports:
		code = app.ExitFailed
		out, err = claude.Report(ctx, second, args[1], a.In)
	case ours && len(args) == 2:
		out, err = claude.AskSecond(ctx, second, a.In)
	}
	if err == nil {
		_, err = a.Out.Write(out)
	}
	if err != nil {
		fmt.Fprintln(a.Err, "waggle:", err)
		return app.ExitError(code)
	}
	return nil
}

// prefixed runs a shell command of a client whose shell commands alone are confined. It fails where the
// member's worker does not answer.
func prefixed(ctx context.Context, a *app.App, socket, command string) error {
	code, err := claude.Prefixed(ctx, socket, command, os.Environ())
	if err != nil {
		fmt.Fprintln(a.Err, "waggle:", err)
	}
	if code != 0 {
		return app.ExitError(code)
	}
	return nil
}

// hook runs one hook and keeps its error for doctor.
func hook(ctx context.Context, a *app.App, client session.Client, event string, wait time.Duration) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP, os.Interrupt)
	defer stop()
	if event != "PermissionRequest" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, hookQuick)
		defer cancel()
	}
	state, err := a.StatePath()
	if err != nil {
		return
	}
	store := session.At(state, a.Now)
	err = runHook(ctx, a, store, client, event, wait)
	if err == nil {
		return
	}
	if terr := store.Trouble(fmt.Sprintf("%s %s: %v", client, event, err)); terr != nil { // doctor cannot say it
		fmt.Fprintln(a.Err, "waggle:", operator.Visible(err.Error()))
	}
}

func runHook(ctx context.Context, a *app.App, store session.Store, client session.Client, event string, wait time.Duration) error {
	if !client.Known() {
		return fmt.Errorf("the hooks of %q are not known", client)
	}
	self, err := spawn.Identify(os.Getpid())
	if err != nil {
		return err
	}
	dir, err := a.ClaudeDir()
	if err != nil {
		return err
	}
	registry := "" // of the client's sessions, where it has one
	if client == session.Claude && dir != "" {
		registry = filepath.Join(dir, "sessions")
	}
	h := session.Hook{Store: store, Client: client, Self: self, Live: session.Looking(nil), Links: realpath.Disk{}, Pane: a.Env("TMUX_PANE"), Wait: wait,
		Attended: func() bool { // somebody is there to answer elsewhere than in the session's own dialog
			op, err := a.Op()
			return err == nil && decide.Of(op).Attended()
		},
		Terminals: session.Terminals, Registry: registry,
		Sessions: func() []session.Registered { return session.RegisteredIn(dir) },
		Nonce: func() (string, error) {
			var b [8]byte
			_, err := io.ReadFull(a.Rand, b[:])
			return hex.EncodeToString(b[:]), err
		},
		Rules: func() *policy.Policy {
			r, err := store.Rules()
			if err != nil {
				_ = store.Trouble("rules: " + err.Error()) // then no rule answers
				return nil
			}
			return r.Policy(a.Now())
		}}
	if event == "PermissionRequest" { // another event does not wait
		waiting, end := sessionNotices(a)
		defer end()
		h.Waiting = waiting
	}
	err = h.Run(ctx, event, a.In, a.Out)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// sessionNotices tells of what a session waits for in the session's own tmux, where that does not show its pane. The
// hooks of one session share what they have told. Everything else that a client can do to be heard, it does itself.
func sessionNotices(a *app.App) (waiting func(*session.Session, []session.Request), end func()) {
	bell := notice.Tmux(notice.Place{Env: a.Environ, Shown: true})
	state, err := a.StatePath()
	if bell.Missing != nil || err != nil {
		return nil, func() {}
	}
	var n *notice.Notifier
	waiting = func(s *session.Session, open []session.Request) {
		if n == nil {
			n = a.Notifier(state, notice.Options{Kept: func(string) string { return filepath.Join(s.Dir, "notified.json") }}, bell)
		}
		ws := make([]notice.Wait, len(open))
		for i, r := range open {
			ws[i] = notice.Wait{ID: string(r.ID), Who: filepath.Base(r.Ask.Cwd)}
		}
		n.Waiting(map[string][]notice.Wait{notice.Sessions: ws})
	}
	return waiting, func() {
		if n != nil {
			n.Close()
		}
	}
}
