package sandbox

import (
	"errors"

	"waggle/internal/sandbox/relay"
	"waggle/spawn"
)

// Paths inside the sandbox.
const (
	insideDir   = "/run/waggle"
	insideRelay = insideDir + "/relay"
	insideDoor  = insideDir + "/door"
	// proxyPort is the port of the proxy on 127.0.0.1 inside the sandbox.
	proxyPort = 3128
)

// plan writes the command line and the environment that run a call in the sandbox. door is the socket of this call, and
// network says that there is a proxy. Its result depends only on its arguments: Look has read the machine.
func (p Profile) plan(k Kit, m Machine, l Level, c spawn.Command, door string, network bool) (argv, env []string, err error) {
	if len(c.Argv) == 0 {
		return nil, nil, errors.New("sandbox: no command")
	}
	mounts, err := p.mounts(m)
	if err != nil {
		return nil, nil, err
	}
	if l == FilesOnly {
		return p.filesOnly(k, m, c, door)
	}
	return p.enforced(k, m, mounts, c, door, network)
}

func (p Profile) enforced(k Kit, m Machine, mounts []Mount, c spawn.Command, door string, network bool) (argv, env []string, err error) {
	cfg := relay.Config{Door: insideDoor, UnixSockets: p.UnixSockets, Limits: p.Limits, Argv: c.Argv, Mounts: swappable(m, mounts)}
	argv = append([]string{k.Bwrap}, namespaceFlags()...)
	// The relay stays, as process 1, which nothing inside can end.
	argv = append(argv, "--as-pid-1", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
	var sealed []string // directories that become read-only after the mounts in them
	for _, mt := range mounts {
		argv = append(argv, p.mount(k, mounts, mt)...)
		switch {
		case mt.Access == Write, mt.Access == Own && mt.Path != "/run":
			cfg.Writable = append(cfg.Writable, mt.Path)
		case mt.kind == Dir && mt.Access != Read, mt.Path == "/run":
			sealed = append(sealed, mt.Path)
		}
	}
	argv = append(argv, "--ro-bind", k.Relay, insideRelay, "--bind", door, insideDoor)
	for _, path := range append(sealed, "/dev") {
		argv = append(argv, "--remount-ro", path)
	}
	if network {
		cfg.Proxy = proxyPort
	}
	args, err := cfg.Args()
	argv = append(argv, "--chdir", c.Dir, "--", insideRelay, relay.Subcommand)
	return append(argv, args...), environ(c.Env, p, insideRelay, cfg.Proxy), err
}

// namespaceFlags are the arguments of bubblewrap that are the same in every call.
func namespaceFlags() []string {
	return []string{"--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"}
}

// mount returns the arguments of bubblewrap for one mount.
func (p Profile) mount(k Kit, all []Mount, mt Mount) []string {
	source := mt.source
	if source == "" {
		source = mt.Path
	}
	switch {
	case mt.Access == Write:
		return []string{"--bind", source, mt.Path}
	case mt.Access == Read:
		return []string{"--ro-bind", source, mt.Path}
	case mt.Access == Own:
		return []string{"--perms", "1777", "--tmpfs", mt.Path}
	case mt.kind == File:
		return []string{"--ro-bind", k.Blank, mt.Path}
	}
	// The directory cannot be listed. Granted paths inside it stay reachable.
	perms := "0000"
	for _, other := range all {
		if other.Path != mt.Path && within(other.Path, mt.Path) {
			perms = "0111"
		}
	}
	if mt.Access == Absent {
		perms = "0555"
	}
	return []string{"--perms", perms, "--tmpfs", mt.Path}
}

// filesOnly runs the relay without namespaces: Landlock enforces what it can.
func (p Profile) filesOnly(k Kit, m Machine, c spawn.Command, door string) (argv, env []string, err error) {
	cfg := relay.Config{Door: door, UnixSockets: p.UnixSockets, Limits: p.Limits, Landlock: true, Argv: c.Argv,
		Writable: p.Writable, Readable: append([]string{k.Relay}, m.Open...)}
	env = environ(c.Env, p, k.Relay, 0)
	if p.Tmp != "" {
		cfg.Writable = append([]string{p.Tmp}, cfg.Writable...)
		env = setEnv(env, "TMPDIR", p.Tmp)
	}
	args, err := cfg.Args()
	return append([]string{k.Relay, relay.Subcommand}, args...), env, err
}
