package sandbox_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/sandbox"
	"waggle/internal/sandbox/relay"
	"waggle/internal/test/testenv"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The profiles for sandbox-exec, as text. No Mac has run them in this test.
func TestMacProfile(t *testing.T) {
	dir, file := sandbox.Dir, sandbox.File
	base := sandbox.Profile{
		Writable: []string{"/Users/ada/work", "/Users/ada/tasks/artifacts"}, Tmp: "/private/var/folders/x/T",
		Secrets: []string{"/Users/ada/.ssh", "/Users/ada/.netrc"}, Hidden: []string{"/Users/ada/Library/waggle"},
		ReadOnly: []string{"/Users/ada/work/conf/waggle.yaml"}}
	machine := sandbox.Machine{Kinds: map[string]sandbox.Kind{
		"/Users/ada/work": dir, "/Users/ada/tasks/artifacts": dir, "/Users/ada/.ssh": dir, "/Users/ada/.netrc": file, "/Users/ada/Library/waggle": dir,
		"/Users/ada/work/conf/waggle.yaml": file, "/Users/ada/.ssh/known_hosts": file, `/Users/ada/a "quoted" \dir`: dir,
		"/Users/ada/.claude": dir, "/Users/ada/.claude/settings.json": file, "/Users/ada/.claude/sessions": dir, "/Users/ada/.claude/projects": dir,
		"/Users/ada/.claude/projects/-Users-ada-work": dir, "/Users/ada/.claude/.credentials.json": file, "/Users/ada/run/box": dir,
		"/Users/ada/run/box/shared": dir, "/Users/ada/run/box/own": dir, "/Users/ada/work/.claude": dir}}
	for name, tc := range map[string]struct {
		adapt func(*sandbox.Profile)
		port  int
	}{
		"proxy":      {func(*sandbox.Profile) {}, 40123},
		"no-network": {func(*sandbox.Profile) {}, 0},
		"grants": {func(p *sandbox.Profile) {
			p.UnixSockets = true
			p.Readable = []string{"/Users/ada/.ssh/known_hosts"}
			p.Writable = append(p.Writable, `/Users/ada/a "quoted" \dir`)
		}, 40123},
		// An agent's whole program: the directories that it shares with waggle, its own, and its
		// account.
		"whole": {func(p *sandbox.Profile) {
			p.KeepEnv = []string{"ANTHROPIC_API_KEY"}
			p.Secrets = append(p.Secrets, "/Users/ada/.claude/settings.json", "/Users/ada/.claude/sessions", "/Users/ada/.claude/projects", "/Users/ada/.claude/.credentials.json")
			p.Hidden = append(p.Hidden, "/Users/ada/run/box", "/Users/ada/.claude/sessions", "/Users/ada/.claude/projects")
			p.Readable = []string{"/Users/ada/.claude", "/Users/ada/.claude/settings.json", "/Users/ada/run/box/shared"}
			p.Writable = append(p.Writable, "/Users/ada/.claude/projects/-Users-ada-work", "/Users/ada/.claude/.credentials.json", "/Users/ada/run/box/own")
			p.ReadOnly = append(p.ReadOnly, "/Users/ada/work/.claude")
			p.Tmp = "/Users/ada/run/box/tmp"
			p.Loopback = []string{"127.0.0.1"}
		}, 40123},
	} {
		p := base
		p.Writable, p.Secrets, p.Hidden, p.ReadOnly = slices.Clone(base.Writable), slices.Clone(base.Secrets), slices.Clone(base.Hidden), slices.Clone(base.ReadOnly)
		tc.adapt(&p)
		got, err := p.MacProfile(machine, tc.port)
		testenv.Must(t, err)
		path := filepath.Join("testdata", "mac", name+".sb")
		if *update {
			testenv.Must(t, os.WriteFile(path, []byte(got), 0o644))
		}
		want, err := os.ReadFile(path)
		testenv.Must(t, err)
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if at := strings.LastIndex(got, `(subpath "`+p.Tmp+`")`); at < strings.LastIndex(got, `; hidden from members`) {
			t.Errorf("%s: a later rule hides the directory of temporary files", name)
		}
		if strings.Count(got, "(") != strings.Count(got, ")") {
			t.Errorf("%s: parentheses do not match", name)
		}
	}
}

func TestMacArgv(t *testing.T) {
	p := sandbox.Profile{Limits: relay.Limits{Processes: 64, Files: 128}}
	want := []string{"/usr/bin/sandbox-exec", "-p", "PROFILE", "/bin/sh", "-c", `ulimit -c 0 && ulimit -n 128 && ulimit -u 64 && exec "$@"`, "sh", "make", "all"}
	if diff := cmp.Diff(want, sandbox.MacArgv(p, "PROFILE", []string{"make", "all"})); diff != "" {
		t.Error(diff)
	}
}
