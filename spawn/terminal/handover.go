package terminal

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waggle/internal/backoff"
	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonfile"
	"waggle/spawn"
)

// Options are what every backend of this package needs.
type Options struct {
	// Holder is the program, and its first arguments, that calls Hold with the
	// path it is given as its last argument. Required.
	Holder []string
	// Dir is a private directory (0700) for what is handed over and for what is
	// known of each process (List). Required, absolute.
	Dir string
	// Socket is where viewers of the process of an id attach; its directory is made, private, when
	// it is missing. nil puts it into Dir.
	Socket func(id string) string
	// Rand names the files. Required.
	Rand io.Reader
}

func (o Options) check() error {
	switch {
	case len(o.Holder) == 0 || !filepath.IsAbs(o.Holder[0]):
		return errors.New("the holder is not an absolute path")
	case !filepath.IsAbs(o.Dir):
		return errors.New("the private directory is not an absolute path")
	case o.Rand == nil:
		return errors.New("no randomness")
	}
	return nil
}

// handover is what a holder is told: a private file that it removes at once.
type handover struct {
	Spec spawn.Spec `json:"spec"`
	// Pane makes the holder's own terminal one that is attached.
	Pane   *spawn.Pane `json:"pane,omitempty"`
	Socket string      `json:"socket,omitempty"`
	// Starter makes it a promise: this process lays the hand-over itself in its place.
	Starter *spawn.Identity `json:"starter,omitempty"`
}

// hold is what a holder tells: once the process runs, and how it ended.
type hold struct {
	Process spawn.Identity `json:"process"`
	Place   spawn.Place    `json:"place"`
	Error   string         `json:"error,omitempty"` // why no process was started
	Ended   bool           `json:"ended"`
	Exit    spawn.Exit     `json:"exit"`
}

const (
	startSuffix = ".start.json"
	holdSuffix  = ".hold.json"
)

// paths are the files of one process, beside each other.
type paths struct{ base string }

func (p paths) handover() string { return p.base + startSuffix }
func (p paths) hold() string     { return p.base + holdSuffix }

// maxSocket is the longest path that a socket may have everywhere, its end
// included.
const maxSocket = 104

// name names the files of a new process, if it can be started.
func (o Options) name(ctx context.Context, spec spawn.Spec) (paths, error) {
	if err := errors.Join(ctx.Err(), o.check(), spec.Check()); err != nil {
		return paths{}, err
	}
	var id [4]byte
	if _, err := io.ReadFull(o.Rand, id[:]); err != nil {
		return paths{}, err
	}
	return paths{filepath.Join(o.Dir, hex.EncodeToString(id[:]))}, nil
}

// lay writes the hand-over that a holder waits for.
func (p paths) lay(o Options, spec spawn.Spec, pane *spawn.Pane) error {
	socket := p.base + ".tty"
	if o.Socket != nil {
		socket = o.Socket(filepath.Base(p.base))
	}
	if len(socket) >= maxSocket || os.MkdirAll(filepath.Dir(socket), 0o700) != nil {
		socket = "" // viewers cannot attach; the log is written all the same
	}
	return writeJSON(p.handover(), handover{Spec: spec, Pane: pane, Socket: socket})
}

// promise names the process that will write the hand-over, so that a holder does not wait for a
// dead one.
func (p paths) promise() error {
	self, err := spawn.Identify(os.Getpid())
	if err != nil {
		return err
	}
	return writeJSON(p.handover(), handover{Starter: &self})
}

// lookAgain is the pause between two looks at a file that another process writes or holds.
const lookAgain = 5 * time.Millisecond

// takeWait is how long a holder waits for its hand-over: a pane is dressed first.
const takeWait = 20 * time.Second

// errNoStarter is why a holder waits no longer.
var errNoStarter = errors.New("the process that was to hand over is dead")

// take waits for a hand-over, reads it and removes it: it contains an environment, and is for one
// holder. It does not wait for a starter that is dead.
func take(ctx context.Context, path string) (handover, error) {
	ctx, cancel := context.WithTimeout(ctx, takeWait)
	defer cancel()
	for gone := false; ; {
		var h handover
		err := readJSON(path, &h)
		switch {
		case err == nil && h.Starter == nil:
			return h, os.Remove(path)
		case err == nil && gone:
			return h, errors.Join(errNoStarter, os.Remove(path))
		case err == nil:
			err = context.DeadlineExceeded
			alive, unknown := h.Starter.Check()
			gone = !alive && unknown == nil // looked at once more: it may have laid it right before
		case !errors.Is(err, fs.ErrNotExist):
			return h, err
		}
		if !backoff.Pause(ctx, lookAgain) {
			return h, err
		}
	}
}

// wait until the holder says that the process runs. alive says whether the holder
// may still do so.
func (p paths) wait(ctx context.Context, alive func() bool) (hold, error) {
	for gone := false; ; {
		var h hold
		err := readJSON(p.hold(), &h)
		switch {
		case err == nil && h.Error != "":
			_ = os.Remove(p.hold())
			return h, notStarted(h.Error)
		case err == nil:
			return h, nil
		case !errors.Is(err, fs.ErrNotExist):
			return h, err
		case gone:
			return h, errNoHolder
		}
		if !backoff.Pause(ctx, lookAgain) {
			return h, ctx.Err()
		}
		gone = !alive() // looked at once more: it may have ended right after
	}
}

// notStarted is a holder's error text when it started no process.
type notStarted string

func (e notStarted) Error() string { return string(e) }

var errNoHolder = errors.New("the holder of its terminal ended before it was started")

// exit reads how the process ended; false when no holder lived to tell.
func (p paths) exit() (spawn.Exit, bool) {
	var h hold
	if err := readJSON(p.hold(), &h); err != nil || !h.Ended {
		return spawn.Exit{Code: -1}, false
	}
	return h.Exit, true
}

// clear removes what is left of a process that has ended.
func (p paths) clear() {
	_ = os.Remove(p.handover())
	_ = os.Remove(p.hold())
}

// Held is a process whose holder is known to a directory.
type Held struct {
	Process spawn.Identity
	Place   spawn.Place
	Ended   bool // the holder said so, and Exit is how
	Exit    spawn.Exit
	paths   paths
}

// List reads what the holders of a directory have told, of processes that run and
// of those whose pane is still open. A record that is not readable is in the error, as a
// *RecordError, and does not hide the others.
func List(dir string) ([]Held, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*"+holdSuffix))
	if err != nil {
		return nil, fmt.Errorf("spawn: held: %w", err)
	}
	var list []Held
	var errs []error
	for _, path := range found {
		var h hold
		switch err := readJSON(path, &h); {
		case errors.Is(err, fs.ErrNotExist): // cleared meanwhile
		case err != nil:
			errs = append(errs, fmt.Errorf("spawn: held: %w", err))
		case h.Error == "":
			list = append(list, Held{h.Process, h.Place, h.Ended, h.Exit, paths{strings.TrimSuffix(path, holdSuffix)}})
		}
	}
	return list, errors.Join(errs...)
}

// Gone reports that neither the process nor its holder runs any more.
func (h Held) Gone() bool {
	return !h.Process.Alive() && (h.Place.Holder == nil || !h.Place.Holder.Alive())
}

// Close closes the pane of a process that is gone and removes its record. program is that of the
// pane's multiplexer, tmux or it2, needed for a pane only; env is the environment that it is run
// with.
func (h Held) Close(ctx context.Context, program string, env []string) error {
	if !h.Gone() {
		return fmt.Errorf("spawn: process %d or its holder runs", h.Process.PID)
	}
	if err := ClosePane(ctx, program, env, h.Place); err != nil {
		return err
	}
	if fi, err := os.Lstat(h.Place.Socket); err == nil && fi.Mode()&fs.ModeSocket != 0 {
		_ = os.Remove(h.Place.Socket) // a killed holder has left it
	}
	h.paths.clear()
	return nil
}

func writeJSON(path string, v any) error { return jsonfile.Write(path, v, atomicfile.Options{}) }

// maxHandover bounds what is read: an environment is at most a few megabytes.
const maxHandover = 16 << 20

func readJSON(path string, v any) error { return jsonfile.ReadRecord(path, v, maxHandover) }

// Record is the file that this was read from.
func (h Held) Record() string { return h.paths.hold() }

// Untaken lists the hand-overs of a directory that were laid before a time and that
// no holder has taken. A holder waits 20 s at most: older ones have no taker, and hold
// an environment.
func Untaken(dir string, before time.Time) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*"+startSuffix))
	if err != nil {
		return nil, fmt.Errorf("spawn: hand-overs: %w", err)
	}
	return slices.DeleteFunc(found, func(path string) bool {
		fi, err := os.Lstat(path)
		return err != nil || !fi.ModTime().Before(before)
	}), nil
}

// turn waits until no other program, nor another goroutine, makes a pane for this
// team: each needs the room that the last one left, and the first makes tmux's session.
func (o Options) turn(ctx context.Context, lock string) (over func(), err error) {
	for {
		release, held, err := atomicfile.TryFlock(filepath.Join(o.Dir, lock), atomicfile.Options{Rank: atomicfile.RankLease})
		if err != nil {
			return nil, err
		}
		if held {
			return func() { _ = release() }, nil
		}
		if !backoff.Pause(ctx, lookAgain) {
			return nil, ctx.Err()
		}
	}
}

// ended waits until a process and its holder are gone, and returns how the process ended: a killed
// holder's process is hung up on and may take a while.
func (p paths) ended(h hold) spawn.Exit {
	_ = spawn.WaitGone(context.Background(), *h.Place.Holder) // it has no other end
	_ = spawn.WaitGone(context.Background(), h.Process)
	exit, _ := p.exit()
	if h.Place.Pane == nil {
		p.clear() // a pane stays to be read, until Close
	}
	return exit
}
