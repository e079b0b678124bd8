//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"waggle/internal/peer"
	"waggle/internal/sandbox/relay"
	"waggle/spawn"
)

// door is the socket on which the program outside talks to the relay of one call. It accepts one
// connection, the relay's, before the command runs, and then stops listening.
type door struct {
	Path    string
	dir     string
	network func(net.Listener) error // nil: there is no proxy
	admit   func(pid int) error      // before the command starts; nil: nothing to do

	l  *net.UnixListener
	wg sync.WaitGroup

	mu    sync.Mutex
	conn  *net.UnixConn
	proxy net.Listener
	ended *relay.Note
	err   error
	knock bool // the relay has connected
}

// socketPathMax is the length of a socket's path that every system accepts.
const socketPathMax = 103

// openDoor listens for the relay of one call, in a new directory below dir.
func openDoor(dir string, network func(net.Listener) error, admit func(pid int) error) (*door, error) {
	own, err := os.MkdirTemp(dir, "d")
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	d := &door{Path: filepath.Join(own, "s"), dir: own, network: network, admit: admit}
	if len(d.Path) > socketPathMax {
		os.RemoveAll(own)
		return nil, fmt.Errorf("sandbox: %s is longer than a socket's path may be; use a shorter directory for runtime files", d.Path)
	}
	if d.l, err = net.ListenUnix("unix", &net.UnixAddr{Name: d.Path, Net: "unix"}); err != nil {
		os.RemoveAll(own)
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	d.wg.Go(d.serve)
	return d, nil
}

// serve talks to the relay until it ends.
func (d *door) serve() {
	conn, err := d.l.AcceptUnix()
	d.l.Close()
	if err != nil {
		return // closed before the relay connected
	}
	defer conn.Close()
	d.mu.Lock()
	d.conn, d.knock = conn, true
	d.mu.Unlock()
	if err := d.greet(conn); err != nil {
		d.fail(fmt.Errorf("%w: %w", ErrSetup, err))
		return
	}
	for {
		note, err := relay.ReadNote(conn)
		switch {
		case err != nil:
			return
		case note.Err != "" && note.Code == relay.CodeChanged:
			d.fail(fmt.Errorf("%w: %w: %s", ErrSetup, ErrTree, note.Err))
			return
		case note.Err != "" && note.Code == relay.CodeFailed:
			d.fail(fmt.Errorf("%w: %s", ErrSetup, note.Err))
			return
		case note.Err != "":
			d.fail(errors.New(note.Err))
			return
		case note.Ended:
			d.mu.Lock()
			d.ended = &note
			d.mu.Unlock()
		}
	}
}

// greet receives the listening socket for the proxy from the relay, and tells the relay to start
// the command.
func (d *door) greet(conn *net.UnixConn) error {
	cred, err := peer.Of(conn)
	if err != nil || cred.UID != os.Geteuid() {
		return errors.New("somebody else came to the sandbox's door")
	}
	note, f, err := relay.ReadNoteFile(conn)
	if err != nil {
		return err
	}
	if f != nil {
		defer f.Close()
	}
	switch {
	case note.Err != "":
		return errors.New(note.Err)
	case note.Listening && (f == nil || d.network == nil):
		return errors.New("the relay offers a proxy that nobody asked for")
	case note.Listening:
		if err := d.serveProxy(f); err != nil {
			return err
		}
	}
	if d.admit != nil {
		if err := d.admit(cred.PID); err != nil {
			return err
		}
	}
	return relay.WriteNote(conn, relay.Note{Go: true}, nil)
}

func (d *door) serveProxy(f *os.File) error {
	l, err := net.FileListener(f)
	if err != nil {
		return fmt.Errorf("the proxy's socket: %w", err)
	}
	d.mu.Lock()
	d.proxy = l
	d.mu.Unlock()
	d.wg.Go(func() {
		if err := d.network(l); err != nil {
			d.fail(fmt.Errorf("%w: %w", ErrProxy, err))
		}
	})
	return nil
}

// came reports whether the relay has connected: what is written from then on is the command's.
func (d *door) came() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.knock
}

func (d *door) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = err
	}
}

// signal sends a signal to the command's process group. Before the command has started,
// and after it has ended, it does nothing.
func (d *door) signal(s syscall.Signal) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn == nil {
		return nil
	}
	return relay.WriteNote(d.conn, relay.Note{Signal: int(s)}, nil)
}

// close closes the socket and the connections of the call and returns how the command ended; nil:
// unknown. cpu is its processor time then.
func (d *door) close() (exit *spawn.Exit, cpu time.Duration, came bool, err error) {
	d.l.Close()
	d.mu.Lock()
	if d.proxy != nil {
		d.proxy.Close()
	}
	d.mu.Unlock()
	d.wg.Wait()
	_ = os.RemoveAll(d.dir) // an empty directory; the next start of the member removes it
	if d.ended != nil {
		exit, cpu = &spawn.Exit{Code: d.ended.Code}, d.ended.CPU
		if d.ended.Signal > 0 {
			exit.Signal = syscall.Signal(d.ended.Signal).String()
		}
	}
	return exit, cpu, d.knock, d.err
}
