package teamfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/operator/teamfile"
	"waggle/record"
)

const sandboxTeam = `team: box
members:
  - {name: ann, agent: exec}
  - {name: bob, agent: exec, sandbox: {mode: required, caches: [go], unix_sockets: none, secrets: [keys], readable: [], writable: [], variables: [NPM_TOKEN], limits: {time: 1m, output: 1MB}}}
`

// TestSandboxBlock: the team's block holds for every member, and a member's own narrows it.
func TestSandboxBlock(t *testing.T) {
	f := testenv.Value(teamfile.ParseFile("/proj/waggle.yaml", []byte(sandboxTeam+`
sandbox:
  mode: auto
  network: [example.com, "*.example.org:443", "192.0.2.1:8080", "[2001:db8::1]:443"]
  caches: [npm, go, go]
  unix_sockets: own-tree
  secrets: [~/notes, /srv/key]
  readable: [~/.npmrc, ~]
  writable: [~/out, /srv/out]
  variables: [NPM_TOKEN, GH_TOKEN, GH_TOKEN]
  limits: {cpu: 90s, memory: 2GiB, processes: 100, time: 10m, output: 5MB}
`)))(t)
	limits := record.SandboxLimits{CPU: 90_000, Memory: 2 << 30, Processes: 100, Time: 600_000, Output: 5_000_000}
	want := &record.Sandbox{Mode: record.SandboxAuto, Caches: []string{"go", "npm"}, UnixSockets: record.SocketsOwnTree,
		Secrets: []string{"~/notes", "/srv/key"}, Readable: []string{"~/.npmrc", "~/"}, Writable: []string{"~/out", "/srv/out"}, Variables: []string{"GH_TOKEN", "NPM_TOKEN"}, Limits: &limits}
	if diff := cmp.Diff(want, f.Members[0].Sandbox); diff != "" {
		t.Error(diff)
	}
	narrow := limits
	narrow.Time, narrow.Output = 60_000, 1_000_000
	own := &record.Sandbox{Mode: record.SandboxRequired, Caches: []string{"go"}, Secrets: []string{"~/notes", "/srv/key", "/proj/keys"}, Variables: []string{"NPM_TOKEN"}, Limits: &narrow}
	if diff := cmp.Diff(own, f.Members[1].Sandbox); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]record.HostGrant{{Host: "example.com", By: "team file"}, {Host: "*.example.org", Port: "443", By: "team file"}, {Host: "192.0.2.1", Port: "8080", By: "team file"}, {Host: "2001:db8::1", Port: "443", By: "team file"}}, f.Network); diff != "" {
		t.Error(diff)
	}
}

// TestSandboxWithoutMode: a block without a mode requires a sandbox, and no block asks for none.
func TestSandboxWithoutMode(t *testing.T) {
	const members = "\nmembers: [{name: ann, agent: exec}]\n"
	for _, tc := range []struct {
		block string
		mode  record.SandboxMode
		trust record.Level
	}{{"", "", record.Cooperative}, {"sandbox: {}", record.SandboxRequired, record.Enforced}, {"sandbox: {caches: [go]}", record.SandboxRequired, record.Enforced},
		{"sandbox: {mode: auto}", record.SandboxAuto, record.Cooperative}, {"sandbox: {mode: off}", record.SandboxOff, record.Cooperative}} {
		f := testenv.Value(teamfile.ParseFile("/proj/waggle.yaml", []byte("team: box\n"+tc.block+members)))(t)
		s := f.Members[0].Sandbox
		if got := f.Sandbox; got != nil && got.Mode != tc.mode || (got == nil) != (tc.mode == "") || s.Trust() != tc.trust {
			t.Errorf("%q: %+v, trust %s", tc.block, got, s.Trust())
		}
	}
}

// TestSandboxRefused: ParseFile refuses a wrong block with its line, and a member's block that widens
// the team's.
func TestSandboxRefused(t *testing.T) {
	const team = "team: box\n"
	for _, tc := range []struct{ block, own, says string }{
		{"sandbox:", "", "waggle.yaml:2: sandbox: it is empty"},
		{"sandbox: required", "", "waggle.yaml:2"},
		{"sandbox: {mode: maybe}", "", "not one of auto, off, required"},
		{"sandbox: {cache: [go]}", "", "unknown field"},
		{"sandbox: {caches: [/c]}", "", "not one of cargo, ccache, go, maven, npm, pip, pnpm, poetry, sccache, uv, yarn"},
		{"sandbox: {network: [\"https://x.org\"]}", "", "sandbox.network[0]"},
		{"sandbox: {network: [\"x.org:0\"]}", "", "is no port"},
		{"sandbox: {network: [\"*.co.uk\"]}", "", "public suffix"},
		{"sandbox: {network: [\"[::1]:0\"]}", "", "is no port"},
		{"sandbox: {network: [\"*.::1\"]}", "", "sandbox.network[0]"},
		{"sandbox: {unix_sockets: all}", "", "not one of own-tree, none"},
		{"sandbox: {secrets: [\"/x/*\"]}", "", "is no path"},
		{"sandbox: {limits: {memory: 2 apples}}", "", "is no size"},
		{"sandbox: {limits: {memory: -1}}", "", "is no size"},
		{"sandbox: {limits: {processes: 1.5}}", "", "is no whole number"},
		{"sandbox: {limits: {processes: -1}}", "", "above 0"},
		{"budget: {turns: 1.5}", "", "\"1.5\" is no whole number"},
		{"budget: {tokens: 1e3}", "", "is no whole number"},
		{"check: {run: x, returns: 1.5}", "", "is no whole number"},
		{"sandbox: {limits: {time: 5ms}}", "", "at least a second"},
		{"sandbox: {limits: {disk: 1GB}}", "", "unknown field"},
		{"sandbox: {mode: required}", "{mode: auto}", "wider than the team's"},
		{"sandbox: {mode: auto}", "{mode: off}", "wider than the team's"},
		{"sandbox: {caches: [go]}", "{caches: [npm]}", "only narrows"},
		{"sandbox: {mode: auto}", "{unix_sockets: own-tree}", "only narrows"},
		{"sandbox: {mode: auto}", "{readable: [~/.npmrc]}", "only narrows"},
		{"sandbox: {writable: [/srv/out]}", "{writable: [/srv/other]}", "only narrows"},
		{"sandbox: {writable: [~/]}", "", "your home directory"},
		{"sandbox: {writable: [~]}", "", "your home directory"},
		{"sandbox: {secrets: [~bob/keys]}", "", "./~bob/keys"},
		{"sandbox: {writable: [..]}", "", "holds this file"},
		{"sandbox: {writable: [.]}", "", "holds this file"},
		{"sandbox: {variables: [A]}", "{variables: [A, B]}", "B is not one of the team's"},
		{"sandbox: {variables: [\"A=b\"]}", "", "is no name of a variable"},
		{"sandbox: {variables: [WAGGLE_SELF]}", "", "one of waggle's own"},
		{"sandbox: {limits: {time: 1m}}", "{limits: {time: 2m}}", "only narrows"},
		{"sandbox: {mode: auto}", "{network: [x.org]}", "hosts are the team's"},
		{"", "", "it is empty"},
	} {
		own := ""
		if tc.own != "" || tc.block == "" {
			own = ", sandbox: " + tc.own
		}
		text := team + tc.block + "\nmembers: [{name: ann, agent: exec" + own + "}]\n"
		_, err := teamfile.ParseFile("/proj/waggle.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%q and %q: %v, want %q", tc.block, tc.own, err, tc.says)
		}
	}
}
