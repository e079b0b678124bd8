package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"waggle/internal/cut"
	"waggle/internal/sandbox/relay"
	"waggle/spawn"
)

// Support is the highest level that a machine supports.
type Support struct {
	Level Level  // the highest level
	Why   string // why no higher level is possible; "" at Enforced
	Fix   string // the command that would permit a higher level; "": none is known
}

// detectTime is how long bubblewrap may take to show that it works.
const detectTime = 10 * time.Second

// Detect returns the highest level that this machine supports. It runs bubblewrap, because the
// kernel may refuse an installed bubblewrap.
func (k Kit) Detect(ctx context.Context) Support { return k.detect(ctx, setting, os.Getuid()) }

// setting reads a setting below /proc/sys; "" for one that this system does not have.
func setting(name string) string {
	data, err := os.ReadFile(filepath.Join("/proc/sys", name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func (k Kit) detect(ctx context.Context, setting func(name string) string, uid int) Support {
	if runtime.GOOS == "darwin" {
		if _, err := os.Stat(sandboxExec); err != nil {
			return Support{Level: Off, Why: sandboxExec + " is not there: " + err.Error()}
		}
		return Support{Level: Enforced}
	}
	if runtime.GOOS != "linux" {
		return Support{Level: Off, Why: "waggle has no sandbox for " + runtime.GOOS}
	}
	s, besides := Support{Level: FilesOnly}, ""
	if relay.LandlockABI() == 0 {
		s.Level, besides = Off, "; this kernel has no Landlock, or it is not enabled at boot (lsm=landlock,…)"
	}
	if k.Bwrap == "" {
		s.Why, s.Fix = "bubblewrap is not installed"+besides, "install the package bubblewrap"
		return s
	}
	ctx, cancel := context.WithTimeout(ctx, detectTime)
	defer cancel()
	said := &cut.Head{Max: 200}
	argv := append([]string{k.Bwrap}, namespaceFlags()...)
	argv = append(argv, "--as-pid-1", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--perms", "1777", "--tmpfs", "/dev/shm", "--", k.Relay, relay.Subcommand, "ready")
	exit, err := spawn.Command{Argv: argv, Output: said}.Run(ctx)
	if err == nil && exit == (spawn.Exit{}) {
		return Support{Level: Enforced}
	}
	words, _, _ := strings.Cut(strings.TrimSpace(string(said.Kept)), "\n")
	words = strings.ToValidUTF8(words, "?")
	why, fix := advise(setting, uid)
	switch {
	case ctx.Err() != nil:
		why, words, fix = "it does not end", k.Bwrap, ""
	case strings.Contains(words, "Unknown option"):
		why, fix = "it is too old", "install bubblewrap 0.5 or newer"
	case err != nil:
		words = err.Error()
	case words == "":
		words = fmt.Sprintf("exit status %d %s", exit.Code, exit.Signal)
	}
	s.Why, s.Fix = fmt.Sprintf("bubblewrap does not work here: %s (%s)%s", why, strings.TrimSpace(words), besides), fix
	return s
}

// advise names the kernel setting that forbids namespaces, and the command that permits them. read
// returns a setting below /proc/sys, "" for a missing one.
func advise(read func(name string) string, uid int) (why, fix string) {
	switch {
	case read("kernel/apparmor_restrict_unprivileged_userns") == "1" && uid != 0:
		return "AppArmor forbids user namespaces to programs without a profile",
			"sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for bwrap with the rule userns"
	case read("kernel/unprivileged_userns_clone") == "0" && uid != 0:
		return "the kernel forbids user namespaces to ordinary users", "sudo sysctl kernel.unprivileged_userns_clone=1"
	case read("user/max_user_namespaces") == "0":
		return "the kernel permits no user namespaces", "sudo sysctl user.max_user_namespaces=10000"
	}
	return "the kernel, or the container around this program, forbids namespaces",
		"start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or run waggle outside of it"
}

// Gaps lists the promises that a level does not enforce. No face may show one of them as enforced.
func (l Level) Gaps() []string {
	switch l {
	case Enforced:
		return nil
	case FilesOnly:
		return []string{
			"the network is open: no connection is asked about, recorded or refused",
			"processes outside can be seen, and environments of the same user's processes can be read",
			"a secret or protected file inside a writable directory is writable",
			"names of all files can be listed",
		}
	}
	return []string{"nothing is confined"}
}
