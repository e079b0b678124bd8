package worker

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"waggle/internal/cgroup"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// Join runs a member in this process until its shutdown is approved (nil) or ctx ends: it takes the
// member's process lease and its next epoch (Open), runs it, reaps the processes that its commands
// leave, and releases the lease. The member must exist already: by a token (operator.Operator.Work
// does both), or because a backend started this program for it (Invoked).
func Join(ctx context.Context, o Options) (err error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if err := spawn.Subreaper(); err != nil {
		return err
	}
	if o.alone {
		joinGroup(o)
	}
	w, err := Open(ctx, o)
	if err != nil {
		return err
	}
	stop := spawn.Reap(func(err error) { o.Log.Warn("reap orphans", "err", err) })
	// Deferred, so that the lease is given back when Run panics.
	defer func() {
		stop()
		err = errors.Join(err, w.Close())
	}()
	if o.Begun != nil {
		o.Begun(w.p.Fold.Name)
	}
	return w.Run(ctx)
}

// command is the first argument of a program that a backend starts for a member.
const command = "worker"

// Argv is what a backend starts to run the member that o names in a process of its own:
// program, which hands its arguments to Invoked, as waggle itself does.
func (o Options) Argv(program string) []string {
	run := ""
	if o.Sockets.Dir != "" {
		run = filepath.Dir(o.Sockets.Dir)
	}
	argv := []string{program, command, "--root", (&url.URL{Scheme: "file", Path: o.Root.Path}).String(), "--dir", o.State.Path, "--uid", string(o.State.UID),
		"--team", string(o.Team), "--instance", string(o.Instance), "--run", run}
	if o.Pane != "" {
		argv = append(argv, "--pane", o.Pane)
	}
	return argv
}

// Invoked reads what Argv wrote, from os.Args for one. ok: this process was started to run
// the member that o names, and Join does, once Minter, Environ and Version are set.
func Invoked(argv []string) (o Options, ok bool, err error) {
	if len(argv) < 2 || argv[1] != command {
		return o, false, nil
	}
	var root, run, uid, name, instance string
	f := flag.NewFlagSet(command, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&root, "root", "", "")
	f.StringVar(&o.State.Path, "dir", "", "")
	f.StringVar(&uid, "uid", "", "")
	f.StringVar(&name, "team", "", "")
	f.StringVar(&instance, "instance", "", "")
	f.StringVar(&run, "run", "", "")
	f.StringVar(&o.Pane, "pane", "", "")
	if err = f.Parse(argv[2:]); err == nil && f.NArg() > 0 {
		err = fmt.Errorf("%q is not expected", f.Arg(0))
	}
	if err == nil {
		o.Root.Path, err = rootPath(root)
	}
	if err == nil {
		o.Team, err = protocol.ParseTeam(name)
	}
	if err == nil && (!filepath.IsAbs(o.State.Path) || uid == "" || instance == "") {
		err = errors.New("--dir, --uid and --instance say which member to run")
	}
	if err != nil {
		return Options{}, true, fmt.Errorf("worker: %w", err)
	}
	o.State.UID, o.Instance, o.alone = record.TeamUID(uid), record.Instance(instance), true
	if run != "" {
		o.Sockets = o.State.Sockets(run)
	}
	return o, true, nil
}

// rootPath reads a root, a path or its URL.
func rootPath(root string) (string, error) {
	path := root
	if strings.Contains(root, "://") {
		u, err := url.Parse(root)
		if err != nil {
			return "", err
		}
		if u.Scheme != "file" || u.Host != "" {
			return "", fmt.Errorf("root %q is not file:///absolute/path", root)
		}
		path = u.Path
	}
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("root %q is not an absolute path", root)
	}
	return filepath.Clean(path), nil
}

// joinGroup puts this process into a control group of its own, where possible, so that all
// processes that it starts can be found after its death.
func joinGroup(o Options) {
	self, err := spawn.Identify(os.Getpid())
	if err == nil {
		err = cgroup.Join("/proc", o.State.Path, cgroup.Owner{Member: string(o.Instance), PID: self.PID, Start: self.Start, Boot: self.Boot})
	}
	if err != nil && !errors.Is(err, cgroup.ErrNone) {
		o.Log.Warn("no control group", "err", err)
	}
}
