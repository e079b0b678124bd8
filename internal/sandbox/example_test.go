package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"waggle/internal/sandbox"
	"waggle/internal/sandbox/proxy"
	"waggle/internal/sandbox/relay"
	"waggle/spawn"
)

// A member's tools run confined: writing in its checkout, reading all but secrets, and
// reaching the hosts that were granted.
func Example() {
	run := func(ctx context.Context, home, state, checkout string, asks proxy.Decider, journal proxy.Recorder) error {
		// Once for a member: a private directory, and this program as the relay.
		self, err := os.Executable()
		if err != nil {
			return err
		}
		kit, err := sandbox.NewKit(state+"/run/ada", self)
		if err != nil {
			return err
		}
		network := proxy.New(proxy.Options{Decider: asks, Recorder: journal, Now: time.Now})
		defer network.Close()
		network.Grant([]proxy.Grant{{ID: "g1", Host: "proxy.golang.org", Port: "443"}})

		sb := sandbox.Sandbox{Kit: kit, Level: kit.Detect(ctx).Level, Name: "ada", Network: network.Serve, Groups: sandbox.FindGroups("/proc", time.Now()),
			Profile: sandbox.Profile{
				Writable: append([]string{checkout}, sandbox.Caches("go", home)...),
				Secrets:  sandbox.Secrets(home),
				Hidden:   []string{state},
				Limits:   relay.Limits{Processes: 512, Memory: 4 << 30},
			}}
		// A level is shown as enforced only after every point of the self-test passed.
		points, err := sb.Test(ctx, checkout)
		if err != nil || len(points) == 0 || slices.ContainsFunc(points, func(p relay.Point) bool { return !p.OK }) {
			return fmt.Errorf("the self-test of the sandbox failed: %v %w", points, err)
		}
		exit, err := sb.Run(ctx, spawn.Command{Argv: []string{"go", "test", "./..."}, Dir: checkout, Env: os.Environ(), Output: os.Stdout})
		fmt.Println(exit.Code)
		return err
	}
	_ = run
}
