package worker_test

import (
	"slices"
	"testing"

	"waggle/home"
	"waggle/team"
	"waggle/worker"
)

// TestInvoked: Invoked reads what Argv writes, and refuses all other arguments.
func TestInvoked(t *testing.T) {
	t.Parallel()
	state := home.Dir{Path: "/state/teams/api-0a1b2c3d", UID: "uid"}
	o := worker.Options{Root: team.Root{Path: "/a root/%41"}, State: state, Team: "api", Instance: "aa", Sockets: state.Sockets("/run")}
	argv := o.Argv("/bin/own")
	got, ok, err := worker.Invoked(argv)
	if err != nil || !ok || got.Root.Path != o.Root.Path || got.State != state || got.Team != "api" || got.Instance != "aa" || got.Sockets != o.Sockets {
		t.Errorf("%q is %+v, %v, %v", argv, got, ok, err)
	}
	if argv[0] != "/bin/own" {
		t.Errorf("it starts %s", argv[0])
	}
	for _, other := range [][]string{nil, {"own"}, {"own", "status"}, {"own", "--worker"}} {
		if _, ok, err := worker.Invoked(other); ok || err != nil {
			t.Errorf("%q runs a member (%v)", other, err)
		}
	}
	for i := 2; i < len(argv)-2; i += 2 {
		if _, ok, err := worker.Invoked(slices.Delete(slices.Clone(argv), i, i+2)); !ok || err == nil {
			t.Errorf("without %s: %v, %v", argv[i], ok, err)
		}
	}
	for _, more := range [][]string{{"more"}, {"--root", "relative"}, {"--root", "nats://host"}, {"--team", "../x"}, {"--dir", "here"}, {"--what"}} {
		if _, ok, err := worker.Invoked(append(slices.Clone(argv), more...)); !ok || err == nil {
			t.Errorf("with %q: %v, %v", more, ok, err)
		}
	}
}
