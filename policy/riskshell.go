package policy

import (
	"slices"
	"strings"
)

// commandRisk grades one simple command by its name and, where they make the
// difference, its arguments.
func (q *question) commandRisk(c []word) Risk {
	name, args := baseName(c[0].text), c[1:]
	if strings.Contains(c[0].text, "/") && !systemPath(c[0].text) {
		return RiskMedium // a program of the project, whatever its name says
	}
	switch {
	case highCommands[name], strings.HasPrefix(name, "mkfs"):
		return RiskHigh
	case lowCommands[name]:
		return RiskLow
	case writers[name]:
		return q.writerRisk(name, args)
	case interpreters[name] != nil:
		return codeRisk(args, interpreters[name])
	}
	switch name {
	case "git":
		return gitRisk(args)
	case "go":
		return goRisk(args)
	case "npm", "pnpm", "yarn", "bun", "cargo", "poetry", "uv", "mvn", "gradle":
		return packageRisk(args)
	case "find", "fd", "fdfind":
		return findRisk(args)
	case "sed":
		return sedRisk(args)
	case "awk", "gawk", "mawk", "nawk":
		return awkRisk(args)
	case "sort", "tree":
		return lowUnless(hasOption(args, "-o") || hasOption(args, "--output"))
	case "uniq":
		return lowUnless(len(plainArgs(args)) > 1)
	case "sh", "bash", "dash", "zsh", "ksh", "fish":
		return lowUnless(!hasOption(args, "-c")) // its text is graded for itself
	case "env":
		return lowUnless(len(args) > 0) // what it runs is graded for itself
	}
	return RiskMedium
}

func systemPath(p string) bool {
	for _, dir := range []string{"/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/"} {
		if strings.HasPrefix(p, dir) {
			return true
		}
	}
	return false
}

func names(list string) map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(list) {
		m[n] = true
	}
	return m
}

var (
	// lowCommands only read, whatever their arguments.
	lowCommands = names(`ls cat head tail grep egrep fgrep rg ag wc pwd echo printf true false test stat file
		du df date whoami id uname which whereis type basename dirname realpath readlink cut tr nl
		diff cmp comm od hexdump strings md5sum sha1sum sha256sum sha512sum cksum column fold expand tac rev
		ps uptime free nproc locale cd pushd popd dirs sleep jobs seq expr less more jq : exit wait`)
	// highCommands delete, reach the network, raise privilege, or change the machine.
	highCommands = names(`rm rmdir unlink shred srm wipe truncate dd fdisk parted wipefs mkswap swapoff
		sudo doas su pkexec runuser chroot nsenter unshare setcap setpriv passwd useradd userdel usermod
		groupadd visudo chown chgrp mount umount losetup insmod rmmod modprobe sysctl iptables nft ufw
		shutdown reboot halt poweroff init telinit systemctl service launchctl systemd-run crontab at batch
		kill pkill killall skill
		curl wget ssh scp sftp rsync ftp tftp telnet nc ncat netcat socat aria2c http https xh lynx w3m
		dig nslookup host ping traceroute nmap mosh rclone
		apt apt-get aptitude dpkg yum dnf rpm pacman apk zypper brew port snap flatpak nix nix-env
		pip pip3 pipx gem cpan npx pnpx bunx uvx gh glab hub aws gcloud az kubectl helm terraform tofu
		pulumi ansible ansible-playbook docker podman nerdctl heroku fly vercel netlify wrangler twine
		eval source . trap alias exec osascript expect tmux screen tclsh pwsh powershell cmd`)
	// writers change the files that their operands name.
	writers = names(`cp mv ln install mkdir touch tee patch tar unzip zip gzip gunzip chmod split mktemp ed
		xz bzip2 cpio rename`)
	// interpreters take code behind these options.
	interpreters = map[string][]string{
		"python": {"-c"}, "python2": {"-c"}, "python3": {"-c"}, "perl": {"-e", "-E"}, "ruby": {"-e"},
		"node": {"-e", "-p", "--eval", "--print"}, "php": {"-r"}, "lua": {"-e"},
	}
)

func lowUnless(writes bool) Risk {
	if writes {
		return RiskMedium
	}
	return RiskLow
}

// plainArgs are the words that are no options.
func plainArgs(args []word) []string {
	var out []string
	for _, a := range args {
		if a.text == "" || a.text[0] != '-' {
			out = append(out, a.text)
		}
	}
	return out
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

func hasAny(args []word, options ...string) bool {
	return slices.ContainsFunc(options, func(o string) bool { return hasOption(args, o) })
}

func spells(args []word, texts ...string) bool {
	return slices.ContainsFunc(args, func(a word) bool { return slices.Contains(texts, a.text) })
}

func (q *question) writerRisk(name string, args []word) Risk {
	risk := RiskMedium
	if name == "chmod" && (hasOption(args, "-R") || slices.ContainsFunc(args, setsID)) {
		return RiskHigh
	}
	for _, a := range args {
		if a.sure == unknown || a.text == "" || a.text[0] != '-' {
			risk = worse(risk, q.argRisk(a))
		}
	}
	return risk
}

// setsID recognises a chmod mode that sets user or group id: u+s, 4755.
func setsID(a word) bool {
	octal := len(a.text) == 4 && strings.Trim(a.text, "01234567") == ""
	return octal && a.text[0] != '0' || strings.Contains(a.text, "+s")
}

// codeRisk: code in an argument, or from the input, is not parsed here.
func codeRisk(args []word, options []string) Risk {
	for i, a := range args {
		switch {
		case a.text == "-", hasAny(args[i:i+1], options...):
			return RiskHigh
		case a.text == "-m":
			if spells(args[i+1:], "pip", "http.server", "ensurepip", "venv") {
				return RiskHigh
			}
			return RiskMedium
		case a.text == "--version", a.text == "-V":
			return RiskLow
		case a.text != "" && a.text[0] != '-':
			return RiskMedium // a file of the project
		}
	}
	return RiskHigh
}

var (
	gitLow = names(`status log diff show blame rev-parse describe ls-files ls-tree cat-file shortlog grep
		rev-list merge-base name-rev show-ref for-each-ref check-ignore version help`)
	gitHigh = names(`push pull fetch clone ls-remote submodule send-email filter-branch gc prune clean rm
		restore lfs svn p4 daemon bisect replace update-ref`)
	// gitListers only list when they are given no operand.
	gitListers = names(`branch tag remote reflog worktree stash config`)
)

func gitRisk(args []word) Risk {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		switch {
		case args[0].text == "-C" && len(args) > 1:
			args = args[1:]
		case spells(args[:1], "--no-pager", "-P", "--version", "--help", "--paginate", "-p", "--no-optional-locks"):
		default:
			return RiskHigh // -c and its kin may name a program to run
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return RiskLow
	}
	sub, rest := args[0].text, args[1:]
	force := hasAny(rest, "-f", "--force", "-D", "-d", "--delete", "--hard", "--merge", "--keep", "--discard-changes", "-x", "--exec")
	ops := plainArgs(rest)
	switch {
	case gitHigh[sub]:
		return RiskHigh
	case gitLow[sub]:
		return lowUnless(hasAny(rest, "--output", "-O", "--ext-diff", "--textconv"))
	case gitListers[sub] && (len(ops) == 0 && sub != "stash" || at(ops, 0) == "list" || at(ops, 0) == "show") && !force:
		return lowUnless(hasAny(rest, "-e", "--edit"))
	case spells([]word{{sub, literal}}, "remote", "reflog", "worktree", "config"):
		return RiskHigh
	case sub == "stash" && spells(rest, "drop", "clear"),
		sub == "checkout" && spells(rest, "--", "."),
		force && spells([]word{{sub, literal}}, "reset", "checkout", "switch", "branch", "tag", "rebase"),
		sub == "reset" && slices.ContainsFunc(rest, func(a word) bool { return a.sure == unknown }):
		return RiskHigh
	}
	return RiskMedium
}

func goRisk(args []word) Risk {
	ops := plainArgs(args)
	switch at(ops, 0) {
	case "get", "install", "telemetry", "clean":
		return RiskHigh
	case "mod", "work":
		if spells(args, "download", "tidy", "vendor") {
			return RiskHigh
		}
	case "version", "list", "doc", "help":
		return RiskLow
	case "env":
		return lowUnless(hasAny(args, "-w", "-u"))
	}
	return RiskMedium
}

// packageRisk: everything that is not known to stay in the project may download.
func packageRisk(args []word) Risk {
	switch at(plainArgs(args), 0) {
	case "test", "t", "run", "build", "check", "clippy", "fmt", "bench", "compile", "verify", "lint", "doc", "start", "package":
		return RiskMedium
	case "ls", "list", "tree", "why", "version", "help":
		return RiskLow
	}
	return RiskHigh
}

func findRisk(args []word) Risk {
	if spells(args, "-delete") {
		return RiskHigh
	}
	// What -exec runs is graded for itself.
	return lowUnless(spells(args, "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprintf", "-fls", "-x", "-X", "--exec", "--exec-batch"))
}

// sedRisk: sed's own commands may write files and run programs.
func sedRisk(args []word) Risk {
	for _, a := range args {
		if strings.HasPrefix(a.text, "-i") || strings.HasPrefix(a.text, "--in-place") ||
			!strings.HasPrefix(a.text, "-") && strings.ContainsAny(a.text, "wWe") {
			return RiskMedium
		}
	}
	return RiskLow
}

func awkRisk(args []word) Risk {
	for _, a := range args {
		if a.sure == unknown || a.text == "-f" || strings.Contains(a.text, "system") || strings.ContainsAny(a.text, "|>") {
			return RiskHigh
		}
	}
	return RiskLow
}
