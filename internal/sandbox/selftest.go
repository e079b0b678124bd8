//go:build unix

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"waggle/internal/json/jsonobj"
	"waggle/internal/sandbox/proxy"
	"waggle/internal/sandbox/relay"
	"waggle/spawn"
)

// selfTestTime is the time limit of a self-test.
const selfTestTime = 30 * time.Second

// Test runs a command in this sandbox that tests each promise of the level, and returns the points
// with their results. Each forbidden operation of the test would succeed without a sandbox. The
// test has a proxy of its own, so that its one connection makes no request. dir is the working
// directory, one of the profile's writable ones.
func (s Sandbox) Test(ctx context.Context, dir string) ([]relay.Point, error) {
	if s.Level == Off {
		return nil, fmt.Errorf("sandbox: self-test: %w: it is off", ErrSetup)
	}
	ctx, cancel := context.WithTimeout(ctx, selfTestTime)
	defer cancel()
	own, err := os.MkdirTemp(s.Kit.Dir, "selftest")
	if err != nil {
		return nil, fmt.Errorf("sandbox: self-test: %w", err)
	}
	defer os.RemoveAll(own)
	spec, err := s.arrange(own, dir)
	if err != nil {
		return nil, fmt.Errorf("sandbox: self-test: %w", err)
	}
	if s.Level == Enforced {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("sandbox: self-test: %w", err)
		}
		defer l.Close()
		spec.Direct = []string{"tcp " + l.Addr().String(), "udp 192.0.2.1:53"}
		if s.Network != nil {
			p := proxy.New(proxy.Options{}) // no grants and no Decider
			defer p.Close()
			s.Network, spec.Denied = p.Serve, "self-test.invalid"
		}
		if pid := os.Getpid(); pid > 100 { // smaller numbers may be those of a process inside
			spec.PID = pid
		}
	}
	return s.probe(ctx, dir, spec)
}

// arrange creates the files of the test below own, and adds their rules to the profile.
func (s *Sandbox) arrange(own, dir string) (relay.ProbeSpec, error) {
	secret, hidden := filepath.Join(own, "secret"), filepath.Join(own, "hidden")
	if err := os.Mkdir(hidden, 0o700); err != nil {
		return relay.ProbeSpec{}, err
	}
	for _, path := range []string{secret, filepath.Join(hidden, "file")} {
		if err := os.WriteFile(path, []byte("a self-test made this\n"), 0o600); err != nil {
			return relay.ProbeSpec{}, err
		}
	}
	p := &s.Profile
	p.Readable = append(slices.Clone(p.Readable), own)
	p.Secrets = append(slices.Clone(p.Secrets), secret)
	p.Hidden = append(slices.Clone(p.Hidden), hidden)
	return relay.ProbeSpec{Writable: dir, Outside: own, Secret: secret, Hidden: filepath.Join(hidden, "file"),
		Env: []string{"WAGGLE_SELF_TEST_TOKEN"}, Sockets: p.UnixSockets}, nil
}

func (s Sandbox) probe(ctx context.Context, dir string, spec relay.ProbeSpec) ([]relay.Point, error) {
	data, err := jsonobj.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("sandbox: self-test: %w", err)
	}
	var out bytes.Buffer
	exit, err := s.Run(ctx, spawn.Command{Argv: []string{s.program(), relay.Subcommand, "probe", string(data)}, Dir: dir,
		Env: []string{"WAGGLE_SELF_TEST_TOKEN=x"}, Output: &out})
	if err != nil {
		return nil, fmt.Errorf("sandbox: self-test: %w: %s", err, bytes.TrimSpace(out.Bytes()))
	}
	var points []relay.Point
	if err := json.Unmarshal(out.Bytes(), &points); err != nil || exit.Code != 0 {
		return nil, fmt.Errorf("sandbox: self-test: the probe ended with %+v: %s %w", exit, out.Bytes(), err)
	}
	if l := s.Profile.Limits; l != (relay.Limits{}) {
		points = append(points, s.limitPoint())
	}
	return points, nil
}
