//go:build linux

package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"waggle/internal/sandbox"
	"waggle/internal/test/testenv"
)

// attacks is the corpus.
func attacks() []attack {
	var all []attack
	for _, list := range [][]attack{networkAttacks(), proxyAttacks(), socketAttacks(), secretAttacks(), writeAttacks(), ownFileAttacks(),
		processAttacks(), kernelAttacks(), gitAttacks(), swapAttacks(), environmentAttacks(), limitAttacks()} {
		all = append(all, list...)
	}
	return all
}

func ok(script string) string { return script + " && echo " + pwned }

func at(name, value string) func(*world) []string {
	return func(*world) []string { return []string{name + "=" + value} }
}

func web(w *world) []string { return []string{"WEB=" + w.web} }

// networkAttacks try ways past the proxy.
func networkAttacks() []attack {
	return []attack{
		{name: "dial loopback", script: `$P dial tcp $WEB`, arrange: web},
		{name: "dial IPv6 loopback", script: `$P dial tcp $WEB6`, arrange: func(w *world) []string { return []string{"WEB6=" + w.listen("tcp", "[::1]:0", nil)} }},
		{name: "dial the machine's own address", script: `$P dial tcp $LAN`, arrange: func(w *world) []string {
			_, port, _ := net.SplitHostPort(w.listen("tcp", "0.0.0.0:0", nil))
			addrs, _ := net.InterfaceAddrs()
			for _, a := range addrs {
				if n, is := a.(*net.IPNet); is && !n.IP.IsLoopback() && n.IP.To4() != nil {
					return []string{"LAN=" + net.JoinHostPort(n.IP.String(), port)}
				}
			}
			return []string{"LAN=127.0.0.2:" + port}
		}},
		{name: "dial another address of 127/8", script: `$P dial tcp $ALIAS`, arrange: func(w *world) []string { return []string{"ALIAS=" + w.listen("tcp", "127.9.9.9:0", nil)} }},
		{name: "dial with the shell", script: `bash -c 'exec 5<>/dev/tcp/127.0.0.1/$PORT; read -r line <&5; case $line in *` + pwned + `*) echo ` + pwned + `;; esac'`, arrange: func(w *world) []string {
			_, port, _ := net.SplitHostPort(w.web)
			return []string{"PORT=" + port}
		}},
		{name: "UDP, as DNS is", script: `$P udp $DNS`, arrange: func(w *world) []string { return []string{"DNS=" + w.listenUDP()} }},
		{name: "curl past the proxy", script: `curl -sS --max-time 5 --noproxy '*' http://$WEB/`, arrange: web},
		{name: "curl with the proxy unset", script: `unset HTTP_PROXY http_proxy ALL_PROXY all_proxy; curl -sS --max-time 5 http://$WEB/`, arrange: web},
		{name: "raw packets", script: `$P family 17 3 768`, root: true},
		{name: "raw ICMP", script: `$P family 2 3 1`, root: true},
		{name: "vsock", script: `$P family 40 1 0`},
		{name: "kernel crypto sockets", script: `$P family 38 5 0`},
		{name: "a new network namespace", script: `$P unshare net`, root: true},
		{name: "the network namespace of another", script: `$P setns /proc/$V/ns/net`, root: true, arrange: victimVar},
	}
}

// proxyAttacks try ways through the proxy.
func proxyAttacks() []attack {
	list := []attack{
		{name: "a host that is not granted", script: `$P fetch http://other.example.org/`},
		{name: "a tunnel to another port", script: `$P tunnel allowed.example.com:22`},
		{name: "a tunnel to a mail port", script: `$P tunnel allowed.example.com:25`},
		{name: "plain HTTP to another port", script: `$P fetch http://allowed.example.com:8080/`},
		{name: "a redirect to the metadata address", script: `$P fetch http://allowed.example.com/redirect`, arrange: nil},
		{name: "the name below which everything is granted", script: `$P fetch http://example.com/`},
		{name: "a name that ends alike", script: `$P fetch http://evilexample.com/`},
		{name: "a tunnel whose Host is granted and target is not", script: `$P raw 'CONNECT other.example.org:80 HTTP/1.1\r\nHost: allowed.example.com:80\r\n\r\nGET / HTTP/1.1\r\n\r\n'`},
		{name: "two lengths", script: `$P raw 'GET http://other.example.org/ HTTP/1.1\r\nHost: allowed.example.com\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'`},
		{name: "a second request behind a granted one", script: `$P raw 'GET http://bad.example.net/ HTTP/1.1\r\nHost: bad.example.net\r\n\r\nGET http://allowed.example.com/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' | grep -v 'HTTP/1.1 403' && $P fetch http://bad.example.net/ || { echo '403 not allowed'; false; }`},
		{name: "credentials in the address", script: `$P fetch http://allowed.example.com@other.example.org/`},
		{name: "a number as address", script: `$P tunnel 2130706433:80`},
		{name: "a short address", script: `$P tunnel 127.1:80`},
		{name: "a hexadecimal address", script: `$P tunnel 0x7f000001:80`},
		{name: "loopback by SOCKS", script: `$P socks 1 127.0.0.1 80`},
		{name: "another host by SOCKS", script: `$P socks 1 other.example.org 80`},
		{name: "a rebound name by SOCKS", script: `$P socks 1 rebind.example.com 80`},
	}
	for name, host := range map[string]string{
		"a name that leads to loopback": "rebind.example.com", "a name that leads to ::1": "six.example.com", "a name that leads to mapped loopback": "mapped.example.com",
		"a name that leads to loopback by NAT64": "nat64.example.com", "a name that leads to the metadata address": "meta.example.com",
		"a name that leads to a private network": "lan.example.com", "a name that leads to 0.0.0.0": "zero.example.com",
		"loopback by address": "127.0.0.1", "IPv6 loopback by address": "[::1]", "mapped loopback by address": "[::ffff:127.0.0.1]",
		"the metadata address": "169.254.169.254", "localhost": "localhost",
	} {
		list = append(list, attack{name: name + ", forwarded", script: `$P fetch http://` + host + `/`}, attack{name: name + ", by tunnel", script: `$P tunnel ` + host + `:80`})
	}
	return list
}

// listenAt listens on a Unix socket that is named by a variable.
func listenAt(path func(*world) string) func(*world) []string {
	return func(w *world) []string {
		p := path(w)
		testenv.Must(w.t, os.MkdirAll(filepath.Dir(p), 0o755))
		w.listen("unix", p, nil)
		return []string{"SOCK=" + p}
	}
}

func abstract(w *world) []string {
	name := "@waggle-test-" + filepath.Base(w.Base)
	w.listen("unix", name, nil)
	return []string{"SOCK=" + name}
}

func sockets(p *sandbox.Profile) { p.UnixSockets = true }

// socketAttacks talk to programs outside.
func socketAttacks() []attack {
	dial := `$P dial unix $SOCK`
	operator := listenAt(func(w *world) string { return w.State + "/o.sock" })
	tmp := listenAt(func(w *world) string { return "/tmp/" + filepath.Base(w.Base) + "/default" })
	home := listenAt(func(w *world) string { return w.Home + "/agent.sock" })
	own := listenAt(func(w *world) string { return w.Work + "/.sock" })
	return []attack{
		{name: "the operator's socket", script: dial, arrange: operator},
		{name: "the operator's socket, with Unix sockets granted", script: dial, arrange: operator, adapt: sockets},
		{name: "a tmux server's socket", script: dial, arrange: tmp},
		{name: "a tmux server's socket, with Unix sockets granted", script: dial, arrange: tmp, adapt: sockets},
		{name: "an agent's socket", script: dial, arrange: home},
		{name: "an agent's socket, with Unix sockets granted", script: dial, arrange: home, adapt: sockets},
		{name: "a socket in the checkout", script: dial, arrange: own},
		{name: "an abstract socket", script: dial, arrange: abstract},
		{name: "an abstract socket, with Unix sockets granted", script: dial, arrange: abstract, adapt: sockets},
		{name: "a link in the checkout to the operator's socket", script: `ln -s $SOCK $W/s && $P dial unix $W/s`, arrange: operator},
		{name: "a datagram to a daemon", script: `$P dgram $DG`, arrange: datagrams},
		{name: "a datagram out of a pair of sockets", script: `$P pair $DG`, arrange: datagrams},
		{name: "the socket by its process's root", script: `$P dial unix /proc/$$/root$SOCK`, arrange: operator},
		{name: "a daemon's socket below /run", script: dial, root: true, arrange: listenAt(func(w *world) string { return "/run/" + filepath.Base(w.Base) + "/d.sock" })},
		{name: "a daemon's socket below /run, with Unix sockets granted", script: dial, root: true, adapt: sockets,
			arrange: listenAt(func(w *world) string { return "/run/" + filepath.Base(w.Base) + "/d.sock" })},
	}
}

func datagrams(w *world) []string {
	path := w.Home + "/dg.sock"
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	testenv.Must(w.t, err)
	w.t.Cleanup(func() { c.Close() })
	return []string{"DG=" + path}
}

// secretAttacks read secret files and variables.
func secretAttacks() []attack {
	read := func(name, path, text string) attack {
		return attack{name: "read " + name, script: fmt.Sprintf("$P cat %s '%s'", path, text)}
	}
	key := "'PRIVATE KEY'"
	list := []attack{
		read("an ssh key", "$H/.ssh/id_ed25519", "PRIVATE KEY"), read("cloud credentials", "$H/.aws/credentials", "aws_secret"),
		read("passwords of hosts", "$H/.netrc", "password"), read("a cloud's token", "$H/.config/gcloud/tokens.db", "gcloud"),
		read("an agent's settings", "$H/.claude/settings.json", "{"), read("waggle's key", "$S/operator.key", "key"),
		read("a journal", "$S/teams/x/journal.jsonl", "record"), read("another member's mailbox", "$S/../team/teams/x/inboxes/bob.json", "["),
		{name: "read a key by a detour", script: `$P cat $W/../home/./.ssh/../.ssh/id_ed25519 ` + key},
		{name: "read a key by a link", script: `ln -s $H/.ssh $W/k && $P cat $W/k/id_ed25519 ` + key},
		{name: "read a key by the process's root", script: `$P cat /proc/self/root$H/.ssh/id_ed25519 ` + key},
		{name: "read a key from its directory", script: `cd $H/.ssh && $P cat id_ed25519 ` + key},
		{name: "read a key by a hard link", script: `$P link $H/.ssh/id_ed25519 $W/k && $P cat $W/k ` + key},
		{name: "list the keys", script: `ls $H/.ssh | grep -q id_ed25519 && echo ` + pwned + ` || { ls $H/.ssh; false; }`},
		{name: "pack the keys", script: ok(`tar -C $H -cf $W/k.tar .ssh && grep -q 'PRIVATE KEY' $W/k.tar`)},
		{name: "copy the keys", script: ok(`cp -r $H/.ssh $W/k && grep -rq 'PRIVATE KEY' $W/k`)},
		{name: "take the mask away", script: `$P umount $H/.ssh && $P cat $H/.ssh/id_ed25519 ` + key + ` || { rmdir $H/.ssh; false; }`,
			got: nil, root: true, arrange: func(w *world) []string {
				testenv.Must(w.t, unix.Mount(w.Home+"/.ssh", w.Home+"/.ssh", "", unix.MS_BIND, ""))
				w.t.Cleanup(func() { _ = unix.Unmount(w.Home+"/.ssh", unix.MNT_DETACH) })
				return nil
			}},
		{name: "mount the keys elsewhere", script: `mkdir $W/k && $P mount $H/.ssh $W/k && $P cat $W/k/id_ed25519 ` + key, root: true},
		{name: "move the keys' parent", script: `mv $H $H.moved && $P cat $H.moved/.ssh/id_ed25519 ` + key},
		{name: "a file by its handle", script: `$P handle $H/notes.txt`, root: true},
		{name: "the file system in another root", script: `$P chroot $H`, root: true},
		{name: "a node of the disk", script: `$P nodes $W`, root: true},
	}
	if os.Geteuid() == 0 {
		list = append(list, attack{name: "read the password file", script: ok(`grep -q '^root:' /etc/shadow`), root: true})
	}
	return list
}

// changed reports whether a file outside the member's directories was changed or made.
func changed(path func(*world) string) func(*world) bool {
	return func(w *world) bool {
		data, err := os.ReadFile(path(w))
		return err == nil && strings.Contains(string(data), pwned)
	}
}

func notes(w *world) string { return w.Home + "/notes.txt" }
func fresh(w *world) string { return w.Home + "/pwned" }

// writeAttacks change files that are not the member's.
func writeAttacks() []attack {
	list := []attack{
		{name: "write a file of the user", script: `echo ` + pwned + ` > $H/notes.txt`, got: changed(notes)},
		{name: "append to a file of the user", script: `echo ` + pwned + ` >> $H/notes.txt`, got: changed(notes)},
		{name: "make a file of the user", script: `echo ` + pwned + ` > $H/pwned`, got: changed(fresh)},
		{name: "make a login script", script: `echo ` + pwned + ` > $H/.bashrc`, got: changed(func(w *world) string { return w.Home + "/.bashrc" })},
		{name: "write by a link", script: `ln -s $H/notes.txt l && echo ` + pwned + ` > l`, got: changed(notes)},
		{name: "write by a linked directory", script: `ln -s $H d && echo ` + pwned + ` > d/pwned`, got: changed(fresh)},
		{name: "write by a hard link", script: `$P link $H/notes.txt $W/h && echo ` + pwned + ` > h`, got: changed(notes)},
		{name: "write by the process's root", script: `echo ` + pwned + ` > /proc/self/root$H/pwned`, got: changed(fresh)},
		{name: "write by the working directory of a process", script: `cd $H && echo ` + pwned + ` > /proc/self/cwd/pwned`, got: changed(fresh)},
		{name: "move a file out", script: `echo ` + pwned + ` > p && mv p $H/pwned`, got: changed(fresh)},
		{name: "exchange a file", script: `echo ` + pwned + ` > p; $P exchange $W/p $H/notes.txt`, got: changed(notes)},
		{name: "an unnamed file that gets a name", script: `$P tmpfile $H`},
		{name: "a race of renames", script: `$P race $W $H/pwned`, got: changed(fresh)},
		{name: "reopen for writing", script: `exec 5<$H/notes.txt; echo ` + pwned + ` > /proc/self/fd/5`, got: changed(notes)},
		{name: "dd over a file", script: `echo ` + pwned + ` | dd of=$H/notes.txt conv=notrunc 2>&1`, got: changed(notes)},
		{name: "delete a file", script: `rm -f $H/notes.txt`, got: func(w *world) bool { _, err := os.Stat(notes(w)); return err != nil }},
		{name: "truncate a file", script: `truncate -s 0 $H/notes.txt`, got: func(w *world) bool { i, err := os.Stat(notes(w)); return err == nil && i.Size() == 0 }},
		{name: "move the checkout away", script: `mv $W $W.gone`, got: func(w *world) bool { _, err := os.Stat(w.Work); return err != nil }},
		{name: "make a directory", script: `mkdir $H/d`, got: func(w *world) bool { _, err := os.Stat(w.Home + "/d"); return err == nil }},
		{name: "open a file's mode", script: `chmod 0777 $H/notes.txt`, got: func(w *world) bool { i, err := os.Stat(notes(w)); return err == nil && i.Mode().Perm() == 0o777 }},
		{name: "set a file's time", script: `$P utime $H/notes.txt`},
		{name: "set an attribute", script: `$P xattr $H/notes.txt`},
		{name: "write to a pipe of the user", script: ok(`timeout 5 sh -c 'echo hi > $H/fifo'`), arrange: fifo},
		{name: "write to the shared /tmp", script: `echo ` + pwned + ` > /tmp/$B`, arrange: baseVar, got: changed(func(w *world) string { return "/tmp/" + filepath.Base(w.Base) }), silent: true},
		{name: "write to shared memory", script: `echo ` + pwned + ` > /dev/shm/$B`, arrange: baseVar, got: changed(func(w *world) string { return "/dev/shm/" + filepath.Base(w.Base) }), silent: true},
		{name: "write to /var/tmp", script: `echo ` + pwned + ` > /var/tmp/$B`, arrange: baseVar, got: changed(func(w *world) string { return "/var/tmp/" + filepath.Base(w.Base) }), silent: true},
		{name: "write the team file", script: `echo ` + pwned + ` >> $W/waggle.yaml`, got: changed(func(w *world) string { return w.Work + "/waggle.yaml" })},
		{name: "replace the team file", script: `echo ` + pwned + ` > n; mv -f n $W/waggle.yaml`, got: changed(func(w *world) string { return w.Work + "/waggle.yaml" })},
		{name: "write to /etc", script: ok(`touch /etc/$B && rm /etc/$B`), arrange: baseVar, root: true},
		{name: "write to /usr/local", script: ok(`touch /usr/local/$B && rm /usr/local/$B`), arrange: baseVar, root: true},
		{name: "open the core pattern for writing", script: ok(`: >> /proc/sys/kernel/core_pattern`), root: true},
		{name: "open sysrq for writing", script: ok(`: >> /proc/sysrq-trigger`), root: true},
		{name: "write to /sys", script: ok(`: >> /sys/kernel/profiling || : >> /sys/power/pm_async || : >> /sys/kernel/mm/transparent_hugepage/enabled`), root: true},
		{name: "make a control group", script: ok(`mkdir /sys/fs/cgroup/pids/$B && rmdir /sys/fs/cgroup/pids/$B`), arrange: baseVar, root: true},
		{name: "write to the kernel's log", script: ok(`: >> /dev/kmsg`), root: true},
	}
	return list
}

func baseVar(w *world) []string {
	b := filepath.Base(w.Base)
	w.t.Cleanup(func() {
		for _, dir := range []string{"/tmp/", "/dev/shm/", "/var/tmp/"} {
			os.RemoveAll(dir + b)
		}
	})
	return []string{"B=" + b}
}

// fifo makes a named pipe, and a goroutine that reads it.
func fifo(w *world) []string {
	path := w.Home + "/fifo"
	testenv.Must(w.t, unix.Mkfifo(path, 0o666))
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	testenv.Must(w.t, err)
	w.t.Cleanup(func() { f.Close() })
	return nil
}

// ownFileAttacks change the files that waggle writes about the member.
func ownFileAttacks() []attack {
	log := func(w *world) string { return w.Task + "/output.log" }
	status := func(w *world) string { return w.Task + "/task-status.json" }
	linked := func(w *world) bool { i, err := os.Lstat(log(w)); return err != nil || !i.Mode().IsRegular() }
	return []attack{
		{name: "write the log", script: `echo ` + pwned + ` >> $T/output.log`, got: changed(log)},
		{name: "write the status", script: `echo ` + pwned + ` > $T/task-status.json`, got: changed(status)},
		{name: "a link at the log", script: `rm -f $T/output.log; ln -s $H/notes.txt $T/output.log`, got: linked},
		{name: "a pipe at the log", script: `rm -f $T/output.log; mkfifo $T/output.log`, got: linked},
		{name: "a hard link at the log", script: `rm -f $T/output.log; $P link $W/main.go $T/output.log`, got: func(w *world) bool {
			data, err := os.ReadFile(log(w))
			return err == nil && strings.Contains(string(data), "package")
		}},
		{name: "move the artifacts away", script: `mv $T/artifacts $T/a && ln -s $H $T/artifacts`, got: func(w *world) bool {
			i, err := os.Lstat(w.Task + "/artifacts")
			return err != nil || !i.IsDir()
		}},
		{name: "write a journal", script: `echo ` + pwned + ` >> $S/teams/x/journal.jsonl`, got: changed(func(w *world) string { return w.State + "/teams/x/journal.jsonl" })},
		{name: "write to a mailbox", script: `echo ` + pwned + ` > $S/../team/teams/x/inboxes/bob.json`, got: changed(func(w *world) string { return w.Base + "/team/teams/x/inboxes/bob.json" })},
	}
}

func victimVar(w *world) []string {
	return []string{"V=" + strconv.Itoa(w.victim().Process.Pid), "ME=" + strconv.Itoa(os.Getpid()), "ADDR=" + anchorAddr()}
}

// processAttacks reach into other processes.
func processAttacks() []attack {
	return []attack{
		{name: "trace a process", script: `$P ptrace $V`, arrange: victimVar},
		{name: "read a process's memory", script: `$P readmem $ME $ADDR`, arrange: victimVar},
		{name: "open a process's memory", script: `$P writemem $V`, arrange: victimVar},
		{name: "take a process's descriptor", script: `$P stealfd $V`, arrange: victimVar},
		{name: "read a process's environment", script: `tr '\0' '\n' < /proc/$V/environ`, arrange: victimVar},
		{name: "go by a process's working directory", script: ok(`grep -q notes /proc/$V/cwd/notes.txt`), arrange: victimVar},
		{name: "go by a process's root", script: ok(`ls /proc/$V/root/`), arrange: victimVar},
		{name: "read a process's descriptors", script: ok(`ls -l /proc/$V/fd/0`), arrange: victimVar},
		{name: "see a process", script: ok(`grep -q sleep /proc/$V/comm`), arrange: victimVar},
		{name: "signal a process", script: `$P kill $V`, arrange: victimVar},
		{name: "change a process's priority", script: ok(`renice -n 19 -p $V`), arrange: victimVar},
		{name: "shared memory by its key", script: `$P shm $KEY`, arrange: segment},
		{name: "a message queue by its key", script: `$P msgq $KEY`, arrange: queue},
		{name: "a child that outlives the call", script: `setsid sh -c 'exec 9>$W/lock; flock 9; exec sleep 100' >/dev/null 2>&1 & while flock -n $W/lock true; do :; done`, got: stillLocked, silent: true},
		{name: "a grandchild that outlives the call", script: `(setsid sh -c '(exec 9>$W/lock; flock 9; exec sleep 100) &' >/dev/null 2>&1 &) ; while flock -n $W/lock true; do :; done`, got: stillLocked, silent: true},
		{name: "a child that ignores signals", script: `setsid sh -c 'trap "" TERM HUP INT; exec 9>$W/lock; flock 9; while :; do sleep 1; done' >/dev/null 2>&1 & while flock -n $W/lock true; do :; done`, got: stillLocked, silent: true},
	}
}

// stillLocked reports whether a process of the call still lives: it holds a lock. stillLocked waits
// for the end of such a process.
func stillLocked(w *world) bool {
	f, err := os.OpenFile(w.Work+"/lock", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	if testenv.WaitFor(3*time.Second, func() bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }) {
		return false
	}
	w.endHolders()
	return true
}

// endHolders ends the processes that hold the lock, which this test started.
func (w *world) endHolders() {
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		fds, _ := filepath.Glob(p + "/fd/*")
		for _, fd := range fds {
			if to, err := os.Readlink(fd); err == nil && to == w.Work+"/lock" {
				if pid, err := strconv.Atoi(filepath.Base(p)); err == nil && pid != os.Getpid() {
					_ = unix.Kill(pid, unix.SIGKILL)
				}
			}
		}
	}
}

func segment(w *world) []string {
	key := 0x5a000000 + os.Getpid()
	id, _, errno := unix.Syscall(unix.SYS_SHMGET, uintptr(key), 4096, unix.IPC_CREAT|0o666)
	if errno != 0 {
		w.t.Skipf("no shared memory: %v", errno)
	}
	w.t.Cleanup(func() { _, _, _ = unix.Syscall(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0) })
	return []string{"KEY=" + strconv.Itoa(key)}
}

func queue(w *world) []string {
	key := 0x5b000000 + os.Getpid()
	id, _, errno := unix.Syscall(unix.SYS_MSGGET, uintptr(key), unix.IPC_CREAT|0o666, 0)
	if errno != 0 {
		w.t.Skipf("no message queues: %v", errno)
	}
	w.t.Cleanup(func() { _, _, _ = unix.Syscall(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0) })
	return []string{"KEY=" + strconv.Itoa(key)}
}

// kernelAttacks use system calls that the filter refuses.
func kernelAttacks() []attack {
	return []attack{
		{name: "io_uring", script: `$P iouring`}, {name: "a key of the process", script: `$P keyring add`}, {name: "the user's keyring", script: `$P keyring request`},
		{name: "a user namespace by a tool", script: ok(`unshare -Ur true`)},
		{name: "a sandbox in the sandbox", script: ok(`bwrap --bind / / true`)},
		{name: "a new mount namespace", script: `$P unshare mnt`, root: true}, {name: "the mount namespace of another", script: ok(`nsenter --mount=/proc/$V/ns/mnt true`), root: true, arrange: victimVar},
		{name: "a mount", script: `mkdir $W/m && $P mount $H $W/m`, root: true}, {name: "bpf", script: `$P bpf`, root: true}, {name: "perf events", script: `$P perf`, root: true},
		{name: "userfaultfd", script: `$P uffd`, root: true}, {name: "type into a terminal", script: `$P tiocsti`, root: true},
		{name: "the host's name", script: `N=$(hostname); $P hostname && { hostname "$N"; true; }`, root: true},
		{name: "remount writable", script: ok(`mount -o remount,bind,rw / `), root: true},
	}
}

func gitRepository(w *world) []string {
	w.t.Helper()
	out := w.outsideIn(`git init -q . && git config user.email a@b && git config user.name a && git add main.go && git commit -qm one && echo change >> main.go`)
	if out.Exit.Code != 0 {
		w.t.Skipf("no git repository: %v", out)
	}
	return nil
}

func (w *world) outsideIn(script string) ran { return w.outside("sh", "-c", script) }

// gitAttacks let git run a program that changes the user's files.
func gitAttacks() []attack {
	run := `printf '#!/bin/sh\necho ` + pwned + ` > $H/pwned\ncat >/dev/null 2>&1\nexit 0\n' > $W/x; chmod +x $W/x; `
	var list []attack
	for name, script := range map[string]string{
		"a pager":                  `GIT_PAGER_IN_USE=1 script -qc "git -c core.pager=$W/x -p log" /dev/null || git -c core.pager=$W/x -p log`,
		"an editor":                `git -c core.editor=$W/x commit --allow-empty`,
		"fsmonitor":                `git config core.fsmonitor $W/x; git status`,
		"a hook":                   `cp $W/x .git/hooks/post-commit; git commit -q --allow-empty -m x`,
		"a path of hooks":          `mkdir hk; cp $W/x hk/post-commit; git -c core.hooksPath=hk commit -q --allow-empty -m x`,
		"a clean filter":           `git config filter.f.clean $W/x; echo '*.go filter=f' > .gitattributes; git add main.go`,
		"a smudge filter":          `git config filter.f.smudge $W/x; echo '*.go filter=f' > .gitattributes; rm main.go; git checkout main.go`,
		"an external diff":         `git -c diff.external=$W/x diff`,
		"a text conversion":        `git config diff.t.textconv $W/x; echo '*.go diff=t' > .gitattributes; git diff main.go`,
		"an alias":                 `git -c alias.z='!'$W/x z`,
		"an ssh command":           `git -c "core.sshCommand=$W/x </dev/null; :" ls-remote ssh://nowhere.invalid/x`,
		"a credential helper":      `printf 'protocol=https\nhost=x\n\n' | git -c credential.helper=$W/x -c core.askPass=true credential fill`,
		"a merge driver":           `git config merge.m.driver "$W/x"; echo '*.go merge=m' > .gitattributes; git checkout -q main.go; git checkout -qb o; echo o > main.go; git commit -qam o; git checkout -q -; echo p > main.go; git commit -qam p; git merge -q o`,
		"an askpass program":       `printf 'protocol=https\nhost=x\n\n' | GIT_ASKPASS=$W/x git -c credential.helper= credential fill`,
		"a configuration included": `printf '[alias]\n z = "!'$W/x'"\n' > c; git config include.path ../c; git z`,
	} {
		list = append(list, attack{name: "git with " + name, script: run + "( " + script + " ) 2>&1", arrange: gitRepository, got: changed(fresh)})
	}
	return list
}

// swapAttacks put a link below a mount of another command of the member while its sandbox is made.
func swapAttacks() []attack {
	swap := func(path, to string) func(*world) {
		return func(w *world) {
			testenv.Must(w.t, os.MkdirAll(filepath.Join(w.Work, path), 0o755))
			testenv.Must(w.t, os.Rename(filepath.Join(w.Work, path), filepath.Join(w.Work, "aside")))
			testenv.Must(w.t, os.Symlink(to, filepath.Join(w.Work, path)))
		}
	}
	dirs := func(w *world) []string {
		for _, path := range []string{".codex", "infra/keys", "deep/.ssh/f"} {
			testenv.Must(w.t, os.MkdirAll(filepath.Join(w.Work, path), 0o755))
		}
		w.sb.Profile.ReadOnly = append(w.sb.Profile.ReadOnly, w.Work+"/.codex", w.Work+"/deep/.ssh/f")
		w.sb.Profile.Secrets = append(w.sb.Profile.Secrets, w.Work+"/infra/keys")
		return nil
	}
	return []attack{
		{name: "a link in the place of what is protected", script: `$P cat .codex/id_ed25519 'PRIVATE KEY'`, arrange: dirs, swap: swap(".codex", "../home/.ssh")},
		{name: "a link in the place of a secret's directory", script: `echo ` + pwned + ` > infra/pwned`, arrange: dirs, swap: swap("infra", "../home"), got: changed(fresh)},
		{name: "a link in the place of a secret", script: `$P cat infra/keys/.ssh/id_ed25519 'PRIVATE KEY'`, arrange: dirs, swap: swap("infra/keys", "../../home")},
		{name: "a link in the place of a protected file's directory", script: `$P cat deep/.ssh/id_ed25519 'PRIVATE KEY'; cat deep/.ssh/id_ed25519`, arrange: dirs, swap: swap("deep", "../home")},
	}
}

// environmentAttacks use variables and descriptors that were left open.
func environmentAttacks() []attack {
	env := func(name string) attack {
		return attack{name: "the variable " + name, script: `[ "${` + name + `-}" = ` + pwned + ` ] && echo ` + pwned + ` || { echo "` + name + ` is unset"; false; }`, arrange: at(name, pwned)}
	}
	return []attack{
		env("AWS_SECRET_ACCESS_KEY"), env("GITHUB_TOKEN"), env("ANTHROPIC_API_KEY"), env("SSH_AUTH_SOCK"), env("DOCKER_HOST"), env("DBUS_SESSION_BUS_ADDRESS"), env("TMUX"),
		{name: "a password in a URL", script: `case "${DATABASE_URL-}" in *` + pwned + `*) echo ` + pwned + `;; *) echo it is unset; false;; esac`, arrange: at("DATABASE_URL", "postgres://u:"+pwned+"@db/x")},
		{name: "an inherited file", script: `$P fd $FD`, arrange: func(w *world) []string {
			path := w.State + "/inherited"
			testenv.Must(w.t, os.WriteFile(path, []byte(pwned), 0o600))
			fd, err := syscall.Open(path, syscall.O_RDONLY, 0) // not closed on exec
			testenv.Must(w.t, err)
			w.t.Cleanup(func() { syscall.Close(fd) })
			return []string{"FD=" + strconv.Itoa(fd)}
		}},
		{name: "an inherited directory", script: `$P cat /proc/self/fd/$FD/operator.key key`, arrange: func(w *world) []string {
			fd, err := syscall.Open(w.State, syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
			testenv.Must(w.t, err)
			w.t.Cleanup(func() { syscall.Close(fd) })
			return []string{"FD=" + strconv.Itoa(fd)}
		}},
		{name: "an inherited listening socket", script: `$P listen-fds`, arrange: func(w *world) []string {
			fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
			testenv.Must(w.t, err)
			testenv.Must(w.t, syscall.Listen(fd, 1))
			w.t.Cleanup(func() { syscall.Close(fd) })
			return nil
		}},
	}
}

// limitAttacks use up the machine.
func limitAttacks() []attack {
	return []attack{
		{name: "more memory than the limit", script: `$P eat 3000 1`, adapt: func(p *sandbox.Profile) { p.Limits.Memory = 2 << 30 }},
		// a Go program takes no notice of SIGXCPU: it is killed a second later
		{name: "more processor time than the limit", script: `$P spin 2700`, adapt: func(p *sandbox.Profile) { p.Limits.CPU = time.Second }, silent: true},
		{name: "a larger file than the limit", script: ok(`head -c 3000000 /dev/zero > $W/big`), adapt: func(p *sandbox.Profile) { p.Limits.FileSize = 1 << 20 }, silent: true},
		{name: "more open files than the limit", script: ok(`bash -c 'for i in $(seq 10 300); do eval "exec $i</dev/null" || exit 1; done'`), adapt: func(p *sandbox.Profile) { p.Limits.Files = 64 }},
		{name: "more processes than the limit", script: `$P forks 300`, adapt: func(p *sandbox.Profile) { p.Limits.Processes = 128 }},
		{name: "a fork bomb", script: `(f() { f | f & }; f) 2>&1 | head -n 5; sleep 1; n=$(ls -d /proc/[0-9]* | wc -l); [ $n -gt 400 ] && echo ` + pwned,
			adapt: func(p *sandbox.Profile) { p.Limits.Processes = 128 }, never: true},
		{name: "more memory than the group's limit", script: `$P eat 400 400`, adapt: func(p *sandbox.Profile) { p.Limits.GroupMemory = 200 << 20 }, silent: true},
	}
}

// listenUDP answers each datagram with the greeting.
func (w *world) listenUDP() string {
	w.t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	testenv.Must(w.t, err)
	w.t.Cleanup(func() { c.Close() })
	go func() {
		buf := make([]byte, 512)
		for {
			_, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = c.WriteTo([]byte(pwned+"\n"), from)
		}
	}()
	return c.LocalAddr().String()
}
