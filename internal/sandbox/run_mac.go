//go:build unix

package sandbox

import (
	"fmt"
	"net"
	"sync"

	"waggle/spawn"
)

// macProxy is the listener of the proxy for one call on macOS: a port of 127.0.0.1, the only
// address that the profile of the call permits.
type macProxy struct {
	l   net.Listener // nil: no network
	wg  sync.WaitGroup
	err error // of serving, after wg
}

func (m *macProxy) close() error {
	if m.l == nil {
		return nil
	}
	m.l.Close()
	m.wg.Wait()
	if m.err != nil {
		return fmt.Errorf("%w: %w", ErrProxy, m.err)
	}
	return nil
}

// prepareMac is prepare by sandbox-exec.
func (s Sandbox) prepareMac(profile Profile, machine Machine, c spawn.Command) (*Ready, error) {
	if s.Level != Enforced {
		return nil, fmt.Errorf("macOS has no level %q", s.Level)
	}
	m, port := &macProxy{}, 0
	if s.Network != nil {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		m.l, port = l, l.Addr().(*net.TCPAddr).Port
		m.wg.Go(func() { m.err = s.Network(l, s.Name) })
	}
	text, err := profile.MacProfile(machine, port)
	if err != nil {
		_ = m.close() // no connection was served
		return nil, err
	}
	env := environ(c.Env, profile, s.Kit.Relay, port)
	if profile.Tmp != "" {
		env = setEnv(env, "TMPDIR", profile.Tmp)
	}
	return &Ready{Argv: profile.macArgv(text, c.Argv), Env: env, mac: m}, nil
}
