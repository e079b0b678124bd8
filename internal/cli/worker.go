package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/control"
	"waggle/home"
	"waggle/internal/cgroup"
	"waggle/operator"
	"waggle/spawn"
	"waggle/team"
	"waggle/worker"
)

// workerCmd is what a backend starts for a member. People have no use for it.
func workerCmd(a *App) *cobra.Command {
	var dir, uid, instance, run string
	cmd := &cobra.Command{
		Use:    "worker",
		Short:  "Run one member (started by waggle itself)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := parseRoot(a.flags.root)
			if err != nil {
				return err
			}
			name, err := waggle.ParseTeam(a.flags.team)
			if err != nil {
				return &operator.Error{Code: operator.CodeUsage, Op: "worker", Err: err}
			}
			if err := spawn.Subreaper(); err != nil {
				return err
			}
			joinGroup(a.Err, dir, instance)
			debug.SetMemoryLimit(workerMemory)
			claude, err := a.claudeDir()
			if err != nil {
				return err
			}
			here, err := os.Getwd()
			if err != nil {
				return err
			}
			state := home.Dir{Path: dir, UID: control.TeamUID(uid)}
			w, err := worker.Open(cmd.Context(), worker.Options{Root: team.Root{Path: root}, Team: name,
				State: state, Sockets: state.Sockets(run), Who: operator.SessionsOf(claude),
				Instance: control.Instance(instance), Minter: a.minter(), Environ: a.Environ, Dir: here, Output: a.Out, Terminal: tty(a.Out), Version: a.Version,
				Log: slog.New(slog.NewTextHandler(a.Err, nil))})
			if err != nil {
				return err
			}
			stop := reap(a.Err)
			err = w.Run(cmd.Context())
			stop()
			if errors.Is(err, context.Canceled) {
				err = exitError(operator.CodeFailed) // told to end by a signal
			}
			return errors.Join(err, w.Close())
		},
	}
	f := cmd.Flags()
	f.StringVar(&dir, "dir", "", "the team's state directory")
	f.StringVar(&uid, "uid", "", "the team's uid")
	f.StringVar(&run, "run", "", "the directory for sockets")
	f.StringVar(&instance, "instance", "", "the member's instance")
	for _, n := range []string{"dir", "uid", "instance", "run"} {
		must(cmd.MarkFlagRequired(n))
	}
	return cmd
}

// workerMemory is from where on a worker would rather collect garbage than take more from
// the machine: a small one never comes near it, and one with a large mailbox uses little
// more than that mailbox needs.
const workerMemory = 64 << 20

// joinGroup puts this process into a control group of its own, where there can be
// one, so that all it starts can be found when it has died.
func joinGroup(log io.Writer, dir, instance string) {
	self, err := spawn.Identify(os.Getpid())
	if err == nil {
		err = cgroup.Join("/proc", dir, cgroup.Owner{Member: instance, PID: self.PID, Start: self.Start, Boot: self.Boot})
	}
	if err != nil && !errors.Is(err, cgroup.ErrNone) {
		fmt.Fprintln(log, "control group:", err)
	}
}

// reapEvery is how often orphans that were given to this process are reaped.
const reapEvery = 2 * time.Second

// reap waits for the descendants that lost their parents: as a subreaper this
// process is their parent now. stop ends it and waits for it.
func reap(log io.Writer) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(reapEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if _, err := spawn.ReapOrphans(); err != nil {
					fmt.Fprintln(log, "reap orphans:", err)
				}
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
