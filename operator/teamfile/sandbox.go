package teamfile

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"golang.org/x/net/publicsuffix"

	"waggle/internal/fs/realpath"
	"waggle/internal/sandbox"
	"waggle/policy"
	"waggle/record"
)

// yamlSandbox is how the commands of a team's members are confined, or those of one.
type yamlSandbox struct {
	Mode        string      `yaml:"mode"`
	Network     []string    `yaml:"network"`
	Caches      *[]string   `yaml:"caches"` // absent in a member: the team's
	UnixSockets *string     `yaml:"unix_sockets"`
	Secrets     []string    `yaml:"secrets"`
	Readable    *[]string   `yaml:"readable"`
	Writable    *[]string   `yaml:"writable"`
	Variables   *[]string   `yaml:"variables"`
	Limits      *yamlLimits `yaml:"limits"`
}

type yamlLimits struct {
	CPU       yamlDuration `yaml:"cpu"`
	Memory    yamlSize     `yaml:"memory"`
	Processes yamlCount    `yaml:"processes"`
	Time      yamlDuration `yaml:"time"`
	Output    yamlSize     `yaml:"output"`
}

// yamlSize is a number of bytes: 500MB, 2GiB, 4096.
type yamlSize uint64

// UnmarshalYAML implements yaml.NodeUnmarshaler, as yamlDuration does.
func (s *yamlSize) UnmarshalYAML(n ast.Node) error {
	return readScalar(n, (*uint64)(s), parseSize, "size such as 500MB or 2GiB")
}

var sizeUnits = []struct {
	unit  string
	bytes uint64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1}}

// maxSize keeps sizes within what records hold.
const maxSize = 1 << 50

func parseSize(text string) (size uint64, err error) {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(text, u.unit)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 64)
		if err == nil && n > 0 && n <= maxSize/u.bytes {
			return n * u.bytes, nil
		}
		break
	}
	return 0, strconv.ErrRange
}

// bare refuses a key without a block: nobody can tell whether that requires a sandbox or none.
func (c *checker) bare(at string) {
	p, err := yaml.PathString(at)
	if err != nil {
		return // at is a path of ours
	}
	if n, err := p.FilterFile(c.tree); err == nil && n != nil {
		c.bad(at, "it is empty: write {mode: required}, {mode: auto} or {mode: off}")
	}
}

// sandboxModes are the modes, the widest first.
var sandboxModes = []record.SandboxMode{record.SandboxOff, record.SandboxAuto, record.SandboxRequired}

func (c *checker) sandboxMode(at, word string, otherwise record.SandboxMode) record.SandboxMode {
	mode := record.SandboxMode(word)
	switch {
	case word == "":
		return otherwise
	case !slices.Contains(sandboxModes, mode):
		c.bad(at+".mode", "%q is not one of auto, off, required", word)
		return otherwise
	}
	return mode
}

// sandbox reads the team's block.
func (c *checker) sandbox(f *File, y *yamlSandbox) {
	const at = "$.sandbox"
	if y == nil {
		c.bare(at)
		return
	}
	f.Sandbox = c.block(f, at, y, func() { c.network(f, y.Network) })
}

// ownSandbox reads the block of a member.
func (c *checker) ownSandbox(f *File, at string, y *yamlSandbox) *record.Sandbox {
	at += ".sandbox"
	if y == nil {
		c.bare(at)
		return f.Sandbox
	}
	return c.block(f, at, y, func() {
		if y.Network != nil {
			c.bad(at+".network", "hosts are the team's: write them there, or answer the member when it asks")
		}
	})
}

// block reads a block, of which network reads the hosts. Where the file has one for the team, it only narrows that:
// without one commands reach everything.
func (c *checker) block(f *File, at string, y *yamlSandbox, network func()) *record.Sandbox {
	team, narrows := record.Sandbox{Mode: record.SandboxOff}, f.Sandbox != nil
	if narrows {
		team = *f.Sandbox
	}
	among := func(key string, own, all []string, whose string) {
		for _, name := range own {
			if narrows && !slices.Contains(all, name) {
				c.bad(at+"."+key, "%s is not one of %s: a member's block only narrows", name, whose)
			}
		}
	}
	s := team
	if s.Mode = c.sandboxMode(at, y.Mode, record.SandboxRequired); slices.Index(sandboxModes, s.Mode) < slices.Index(sandboxModes, team.Mode) {
		c.bad(at+".mode", "%s is wider than the team's %s: a member's block only narrows", s.Mode, team.Mode)
	}
	network()
	if y.Caches != nil {
		s.Caches = c.caches(at, *y.Caches)
		among("caches", s.Caches, team.Caches, "the team's caches")
	}
	if s.UnixSockets = c.sockets(at, y.UnixSockets, s.UnixSockets); narrows && s.UnixSockets != "" && team.UnixSockets == "" {
		c.bad(at+".unix_sockets", "the team's block has none: a member's block only narrows")
	}
	s.Secrets = append(slices.Clone(team.Secrets), c.paths(f, at+".secrets", y.Secrets)...)
	if y.Readable != nil {
		s.Readable = c.paths(f, at+".readable", *y.Readable)
		among("readable", s.Readable, team.Readable, "the team's")
	}
	if y.Writable != nil {
		s.Writable = c.writable(f, at, *y.Writable)
		among("writable", s.Writable, team.Writable, "the team's")
	}
	if y.Variables != nil {
		s.Variables = c.variables(at, *y.Variables)
		among("variables", s.Variables, team.Variables, "the team's")
	}
	s.Limits = c.limits(at, y.Limits, team.Limits)
	return &s
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variables reads the names of variables that come into the sandbox.
func (c *checker) variables(at string, names []string) []string {
	for i, name := range names {
		where := fmt.Sprintf("%s.variables[%d]", at, i)
		switch {
		case !variableName.MatchString(name):
			c.bad(where, "%q is no name of a variable: its value is that of waggle's own environment", name)
		case strings.HasPrefix(name, "WAGGLE_"):
			c.bad(where, "%s is one of waggle's own, and stays outside", name)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func (c *checker) caches(at string, names []string) []string {
	for i, name := range names {
		if !slices.Contains(sandbox.CacheNames(), name) {
			c.bad(fmt.Sprintf("%s.caches[%d]", at, i), "%q is not one of %s", name, strings.Join(sandbox.CacheNames(), ", "))
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// socketsNone says that a member may use no Unix sockets where its team may.
const socketsNone = "none"

func (c *checker) sockets(at string, word *string, otherwise string) string {
	switch {
	case word == nil:
		return otherwise
	case *word == record.SocketsOwnTree:
		return *word
	case *word != socketsNone:
		c.bad(at+".unix_sockets", "%q is not one of %s, %s", *word, record.SocketsOwnTree, socketsNone)
	}
	return ""
}

// paths resolves files and directories that a block names. ~/ stays, which ~ is too: it is the home directory of
// the member's process.
func (c *checker) paths(f *File, at string, names []string) (list []string) {
	for i, p := range names {
		where := fmt.Sprintf("%s[%d]", at, i)
		switch rest, home := strings.CutPrefix(p, "~"); {
		case p == "" || strings.ContainsAny(p, "*?\x00"):
			c.bad(where, "%q is no path: name a file or a directory, without a pattern", p)
		case home && rest != "" && rest[0] != '/':
			c.bad(where, "%q is no path: ~ is your home directory alone; write the whole path, or ./%s for a file of that name", p, p)
		case home:
			list = append(list, "~"+filepath.Clean("/"+rest))
		default:
			list = append(list, within(f.Dir, p))
		}
	}
	return list
}

// writable resolves files and directories that commands may change. What else a member's start refuses depends on
// the machine.
func (c *checker) writable(f *File, at string, names []string) []string {
	list := c.paths(f, at+".writable", names)
	for _, path := range list {
		if path == "~/" || path == "/" || realpath.Within(path, f.Dir) {
			c.bad(at+".writable", "%s is your home directory, or holds this file: name a directory in it", path)
		}
	}
	return list
}

// limits reads limits; of a member each is at most the team's.
func (c *checker) limits(at string, y *yamlLimits, team *record.SandboxLimits) *record.SandboxLimits {
	if y == nil {
		return team
	}
	at += ".limits"
	for _, d := range []struct {
		key string
		val yamlDuration
	}{{"cpu", y.CPU}, {"time", y.Time}} {
		if d.val < 0 || d.val > 0 && time.Duration(d.val) < time.Second {
			c.bad(at+"."+d.key, "want at least a second")
		}
	}
	if y.Processes < 0 {
		c.bad(at+".processes", "want a number above 0")
	}
	l := &record.SandboxLimits{CPU: time.Duration(y.CPU).Milliseconds(), Memory: uint64(y.Memory), Processes: uint64(max(0, y.Processes)),
		Time: time.Duration(y.Time).Milliseconds(), Output: int64(y.Output)}
	if team == nil {
		return l
	}
	narrow(c, at+".cpu", &l.CPU, team.CPU)
	narrow(c, at+".memory", &l.Memory, team.Memory)
	narrow(c, at+".processes", &l.Processes, team.Processes)
	narrow(c, at+".time", &l.Time, team.Time)
	narrow(c, at+".output", &l.Output, team.Output)
	return l
}

// narrow takes over the team's limit where a member has none, and refuses a larger one.
func narrow[T int64 | uint64](c *checker, at string, own *T, team T) {
	switch {
	case *own == 0:
		*own = team
	case team > 0 && *own > team:
		c.bad(at, "it is more than the team's: a member's block only narrows")
	}
}

// network reads the hosts that every member may reach.
func (c *checker) network(f *File, names []string) {
	for i, name := range names {
		g, err := parseGrant(name)
		if err != nil {
			c.bad(fmt.Sprintf("$.sandbox.network[%d]", i), "%v", err)
			continue
		}
		g.By = record.ByTeamFile
		f.Network = append(f.Network, g)
	}
}

// parseGrant reads HOST, HOST:PORT, *.HOST or *.HOST:PORT.
func parseGrant(text string) (g record.HostGrant, err error) {
	name, port, has := policy.CutPort(text)
	if n, err := strconv.Atoi(port); has && (err != nil || n < 1 || n > 65535 || port != strconv.Itoa(n)) {
		return g, fmt.Errorf("%q: %q is no port", text, port)
	}
	g.Port = port
	if g.Host, err = policy.ParseHost(name); err != nil {
		return g, err
	}
	base, below := strings.CutPrefix(g.Host, "*.")
	if suffix, _ := publicsuffix.PublicSuffix(base); below && suffix == base {
		return g, fmt.Errorf("%s is a public suffix: %s would be everybody's hosts", base, g.Host)
	}
	return g, nil
}
