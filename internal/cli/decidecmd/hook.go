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

	"waggle/internal/cli/app"
	"waggle/internal/realpath"
	"waggle/internal/session"
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
		Long: `What a session's hook runs; waggle hooks install puts it into the client's settings.
CLIENT is claude, codex or gemini, EVENT the hook's event; the client's JSON is read from standard input.

A PermissionRequest is put on record, where waggle pending lists it, and its answer is
printed as the client documents it. The client's own dialog stands beside it: whoever
answers first decides. With nothing to say, and after any error, the hook prints
nothing and exits with 0.`,
		Hidden: true,
		// An unknown flag would exit with 2, which a client reads as "block this call".
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		Args:               cobra.ArbitraryArgs,
		SilenceErrors:      true,
		RunE: func(cmd *cobra.Command, args []string) error {
			defer func() {
				_ = recover() // a panic would exit with 2, which a client reads as "block this call"
			}()
			if len(args) == 2 {
				hook(cmd.Context(), a, session.Client(args[0]), args[1], wait)
			}
			return nil // an error of a hook must not reach the client
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "how long to wait for an answer (default: as long as the client does; 30s where its own prompt is held back meanwhile, 2m for a teammate's)")
	return cmd
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
	if err := runHook(ctx, a, store, client, event, wait); err != nil {
		store.Trouble(fmt.Sprintf("%s %s: %v", client, event, err))
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
	h := session.Hook{Store: store, Client: client, Self: self, Live: session.Processes(), Links: realpath.Disk{}, Pane: a.Env("TMUX_PANE"), Wait: wait,
		Registry: registryIn(client, dir),
		Sessions: func() []session.Registered { return session.RegisteredIn(dir) },
		Nonce: func() (string, error) {
			var b [8]byte
			_, err := io.ReadFull(a.Rand, b[:])
			return hex.EncodeToString(b[:]), err
		},
		Rules: func() *policy.Policy {
			r, err := store.Rules()
			if err != nil {
				store.Trouble("rules: " + err.Error())
				return nil
			}
			return r.Policy(a.Now())
		}}
	err = h.Run(ctx, event, a.In, a.Out)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// registryIn returns the registry of a client's sessions, "" where it has none.
func registryIn(client session.Client, configDir string) string {
	if client != session.Claude || configDir == "" {
		return ""
	}
	return filepath.Join(configDir, "sessions")
}
