package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// sandboxExec applies a profile on macOS and runs a command below it.
const sandboxExec = "/usr/bin/sandbox-exec"

// macServices are the services of the system without which programs do not start or cannot look up
// users and zones. The list leaves out the services that act for their caller: the keychain
// (SecurityServer), certificates that are fetched (trustd), preferences (cfprefsd), other programs
// (launchservicesd).
var macServices = strings.Fields(`com.apple.system.logger com.apple.logd com.apple.system.notification_center
	com.apple.system.opendirectoryd.libinfo com.apple.system.opendirectoryd.membership com.apple.bsd.dirhelper
	com.apple.SystemConfiguration.configd com.apple.FSEvents`)

// macHead is the part of every profile that permits its own processes, and the operations of the C
// library when a program starts.
const macHead = `(version 1)
(deny default (with message "sandbox of waggle"))
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow mach-priv-task-port (target same-sandbox))
(allow sysctl-read)
(allow user-preference-read)
(allow ipc-posix-shm)
(allow ipc-posix-sem)
(allow pseudo-tty)
(allow file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/tty"))
(allow file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/tty"))
(allow file-read* file-write* file-ioctl (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$"))
`

// MacProfile writes the profile for sandbox-exec: the last rule that matches decides.
// port is where the proxy listens on 127.0.0.1; 0: there is no network.
func (p Profile) MacProfile(m Machine, port int) (string, error) {
	mounts, err := p.mounts(m)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(macHead)
	b.WriteString("(allow mach-lookup")
	for _, s := range macServices {
		fmt.Fprintf(&b, "\n  (global-name %s)", macQuote(s))
	}
	b.WriteString(")\n\n; files\n(allow file-read*)\n")
	for _, mt := range mounts {
		if mt.Access == Own || mt.source != "" {
			continue // Linux: its own /run and /tmp
		}
		b.WriteString(mt.macRules())
	}
	if p.Tmp != "" { // it may lie in what is hidden
		fmt.Fprintf(&b, "(allow file-read* file-write* (subpath %s))\n", macQuote(p.Tmp))
	}
	for _, path := range slices.Concat(p.ancestors(), p.Writable) {
		fmt.Fprintf(&b, "(deny file-write-unlink (literal %s)) ; keeps its name\n", macQuote(path))
	}
	b.WriteString("\n; network\n(deny network*)\n")
	if port > 0 {
		fmt.Fprintf(&b, "(allow network-outbound (remote tcp \"localhost:%d\"))\n", port)
	}
	if p.UnixSockets {
		for _, w := range p.Writable {
			fmt.Fprintf(&b, "(allow network-bind (local unix-socket (subpath %[1]s)))\n(allow network-outbound (remote unix-socket (subpath %[1]s)))\n", macQuote(w))
		}
	}
	return b.String(), nil
}

// macRules are the rules for one mount.
func (mt Mount) macRules() string {
	q := macQuote(mt.Path)
	switch mt.Access {
	case Write:
		return fmt.Sprintf("(allow file-read* (subpath %[1]s)) ; %[2]s\n(allow file-write* (subpath %[1]s))\n", q, mt.Why)
	case Read:
		return fmt.Sprintf("(allow file-read* (subpath %[1]s)) ; %[2]s\n(deny file-write* (subpath %[1]s))\n", q, mt.Why)
	}
	return fmt.Sprintf("(deny file-read* file-write* (subpath %s)) ; %s\n", q, mt.Why)
}

// macQuote writes a string literal of the profile language.
func macQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// macArgv is the command line that runs a command with a profile. The shell sets the limits.
func (p Profile) macArgv(text string, argv []string) []string {
	script := ""
	for _, l := range []struct {
		flag  string
		value uint64
	}{{"c", 0}, {"t", uint64(p.Limits.CPU.Seconds())}, {"n", p.Limits.Files}, {"u", p.Limits.Processes}, {"f", p.Limits.FileSize / 512}} {
		if l.value > 0 || l.flag == "c" {
			script += fmt.Sprintf("ulimit -%s %d && ", l.flag, l.value)
		}
	}
	return append([]string{sandboxExec, "-p", text, "/bin/sh", "-c", script + `exec "$@"`, "sh"}, argv...)
}
