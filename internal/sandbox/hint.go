package sandbox

import (
	"regexp"
	"strconv"
	"sync"
)

// hint is what programs say that the sandbox has refused something, and the way.
type hint struct {
	level Level // at which it is true; "": at every one
	thing string
	says  *regexp.Regexp
	way   string
}

// hints are what programs say that the sandbox has refused something, and the way. Of those of one thing the first
// that fits is said. A raw socket, as ping's, is refused in any sandbox and has no way.
var hints = sync.OnceValue(func() []hint {
	return []hint{
		{Enforced, "network", regexp.MustCompile(`[Nn]etwork is unreachable|Could not resolve host|Temporary failure in name resolution|ENETUNREACH|EAI_AGAIN|ENOTFOUND` +
			`|Name or service not known|getaddrinfo|No route to host|no such host|NXDOMAIN|UnknownHostException|dial udp|lookup |Couldn't connect to server` +
			`|[Cc]onnection refused|ECONNREFUSED`),
			"The sandbox has no network but its proxy, and 127.0.0.1 in it is the sandbox's own: use a program that reads HTTPS_PROXY or ALL_PROXY (http://127.0.0.1:" +
				strconv.Itoa(proxyPort) + "), which asks for hosts that are not granted yet."},
		{Enforced, "files", regexp.MustCompile(`(?i)\.lock'?: read-only file system`),
			"git writes nothing here: this .git is the person's, and no member changes it. Leave the changes in the files and say so; " +
				"`worktree: true` in the team file gives the member a checkout in which it commits."},
		{Enforced, "files", regexp.MustCompile(`\.git/config:? .*(Device or resource busy|Read-only file system)|could not (lock|write) config file \.git/config`),
			".git/config stays as it is, because other programs run what it names: use `git -c NAME=VALUE`, or the variables GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL and the like."},
		{Enforced, "files", regexp.MustCompile(`could not lock config file [^\n]*(Read-only file system|Device or resource busy)`),
			settingsWay},
		{Enforced, "files", regexp.MustCompile(guardedName + `[^\n]*` + refusedWrite + `|` + refusedWrite + `[^\n]*` + guardedName),
			".git, .claude, .codex, .gemini and .mcp.json stay as they are, because other programs run what they say; `writable` in the team file refuses them too. " +
				"Leave it, and say what the person should put there."},
		{Enforced, "files", regexp.MustCompile(`(?i)read-only file system|EROFS`),
			"Files outside of your working directory, $WAGGLE_ARTIFACTS and $TMPDIR are read-only: write there, and move what a tool keeps elsewhere by its variable, " +
				"as XDG_CACHE_HOME=$TMPDIR/cache or npm_config_prefix=$TMPDIR/npm. `sandbox: {caches: […]}` in the team file lets a build's cache be written, and `writable: [PATH]` another path."},
		{FilesOnly, "files", regexp.MustCompile(`could not lock config file [^\n]*Permission denied`), settingsWay},
		{FilesOnly, "files", regexp.MustCompile(`(?i)(?:^|[\s'"‘(])(?:\.\.|~)?/[^\n]*(?:permission denied|EACCES)|(?:permission denied|EACCES)[^\n]*[\s'"‘(](?:\.\.)?/`),
			"Permission denied is also what this sandbox says where a command writes outside of its working directory, $WAGGLE_ARTIFACTS and $TMPDIR, or reads a secret: " +
				"write there, and move what a tool keeps elsewhere by its variable, as XDG_CACHE_HOME=$TMPDIR/cache or npm_config_prefix=$TMPDIR/npm. In the team file " +
				"`sandbox: {caches: […]}` lets a build's cache be written, `writable: [PATH]` another path, and `readable: [PATH]` a secret be read."},
		{"", "sockets", regexp.MustCompile(`(?is)(\bunix\b|AF_UNIX|\.sock\b|_socket\.socket).{0,300}?(operation not permitted|EPERM)` +
			`|(operation not permitted|EPERM).{0,200}?(\bunix\b|AF_UNIX|\.sock\b)` +
			`|on socket "/.{0,200}?operation not permitted|can't create unix socket`), unixWay},
	}
})

const settingsWay = "Settings of the person are read-only: use `git -c NAME=VALUE`, or a file of your own by GIT_CONFIG_GLOBAL=$TMPDIR/gitconfig."

// guardedName is an entry that no member changes, refusedWrite how programs say so.
const (
	guardedName  = `\.(?:git|claude|codex|gemini|mcp\.json)(?:[^\w.-]|$)`
	refusedWrite = `(?i:read-only file system|EROFS|device or resource busy)`
)

const unixWay = "Unix sockets are off in this sandbox: use a port of 127.0.0.1, or `sandbox: {unix_sockets: own-tree}` in the team file, for servers in the member's own directories."

// Hints returns advice for a command that failed, by what its output shows that the sandbox has refused at this level.
// unixSockets is whether the command may use those.
func Hints(l Level, output string, unixSockets bool) (ways []string) {
	said := map[string]bool{}
	for _, h := range hints() {
		if said[h.thing] || h.level != "" && h.level != l || unixSockets && h.way == unixWay || !h.says.MatchString(output) {
			continue
		}
		said[h.thing] = true
		ways = append(ways, h.way)
	}
	return ways
}
