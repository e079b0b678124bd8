//go:build unix

package cli_test

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"waggle/home"
	"waggle/internal/face/cli"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
	"waggle/worker"
)

// stubborn is waggle with workers that can change into one of the kinds below. The file
// "turn" in a member's directory names the kind. A worker works as usual until that file
// is there, and writes the file "turned" after the change.
//
//	deaf      ignores SIGTERM, reads no message, and never ends
//	lines     the same, and ends when its input does
//	leaving   the same as deaf, and leaves grandchildren in other sessions that ignore SIGTERM and
//	          SIGHUP, one of them without the environment that would tell whose it is
func stubborn() {
	if len(os.Args) < 2 || os.Args[1] != "worker" {
		os.Exit(cli.Main())
	}
	if err := stubbornWorker(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "stubborn:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func init() { programs["stubborn"] = stubborn }

func stubbornWorker(args []string) error {
	f := flag.NewFlagSet("worker", flag.ContinueOnError)
	root, dir, uid := f.String("root", "", ""), f.String("dir", "", ""), f.String("uid", "", "")
	name, instance, run := f.String("team", "", ""), f.String("instance", "", ""), f.String("run", "", "")
	if err := f.Parse(args); err != nil {
		return err
	}
	at, err := url.Parse(*root)
	if err != nil {
		return err
	}
	if err := spawn.Subreaper(); err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	state := home.Dir{Path: *dir, UID: record.TeamUID(*uid)}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	w, err := worker.Open(ctx, worker.Options{Root: team.Root{Path: at.Path}, Team: protocol.TeamName(*name), State: state, Sockets: state.Sockets(*run),
		Instance: record.Instance(*instance), Minter: poll.Minter{Now: time.Now, Rand: rand.Reader}, Environ: os.Environ(), Dir: here,
		Output: os.Stdout, Version: "test", Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	work, turn := context.WithCancel(ctx)
	turned := make(chan string, 1)
	go func() {
		how := ""
		for ; how == "" && work.Err() == nil; time.Sleep(5 * time.Millisecond) { // real clock: another process writes the file
			b, _ := os.ReadFile("turn")
			how = strings.TrimSpace(string(b))
		}
		turned <- how
		turn()
	}()
	err = w.Run(work)
	turn()
	how := <-turned
	if ctx.Err() != nil || how == "" {
		return errors.Join(err, w.Close())
	}
	stop()
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
	return stubbornFrom(how, *instance)
}

func stubbornFrom(how, instance string) error {
	if how == "leaving" {
		for _, n := range []string{"marked", "clean"} {
			// Double-forked: their parent is gone at once.
			sh := exec.Command("sh", "-c", `(setsid sh -c 'trap "" TERM HUP; echo $$ > `+n+`.pid; while :; do sleep 0.2; done' </dev/null >/dev/null 2>&1 &)`)
			if n == "clean" {
				sh.Env = []string{"PATH=" + os.Getenv("PATH")}
			}
			if err := sh.Run(); err != nil {
				return err
			}
			for pid := ""; !strings.HasSuffix(pid, "\n"); {
				b, _ := os.ReadFile(n + ".pid")
				pid = string(b)
				time.Sleep(5 * time.Millisecond) // real clock: the process that was started writes the file
			}
		}
	}
	if err := os.WriteFile("turned", nil, 0o600); err != nil {
		return err
	}
	if how == "lines" {
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	}
	time.Sleep(2 * time.Minute) // real clock: the test ends this process before
	return fmt.Errorf("%s: nobody has ended it", filepath.Base(instance))
}
