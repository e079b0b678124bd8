//go:build unix

package crashtest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// mode is the kind of place in which the members of a team run.
type mode struct {
	name    string
	backend string
	tree    bool     // each in a git worktree of its own
	hows    []string // how rounds end the processes
}

var modes = []mode{
	{name: "process", backend: "process", hows: anyhow},
	{name: "tmux", backend: "tmux", hows: anyhow},
	{name: "worktree", backend: "process", tree: true, hows: anyhow},
	// The process that hosts the members is the only process.
	{name: "in-process", backend: "in-process", hows: []string{killAll, killRagged, killLeader}},
}

var anyhow = []string{killAll, killAll, killRagged, killLeader, killSome}

func (m mode) needs(t *testing.T) {
	if m.backend == "tmux" {
		testenv.Require(t, "tmux")
	}
	if m.tree {
		testenv.Require(t, "git")
	}
}

// eight is a team in which something of everything is open for good: a call that runs, a task that
// waits for it, a question of every kind. w1 and w5 have time.
const eight = `
team: crew
policy: {allow: ["Bash(./work:*)"]}
members:
  - {name: w1, agent: exec, MODE}
  - {name: w2, agent: exec, MODE}
  - {name: w3, agent: exec, MODE}
  - {name: w4, agent: exec, MODE}
  - {name: w5, agent: exec, MODE}
  - {name: planner, agent: script, MODE, steps: [{say: {to: w5, text: a plan comes}}, {plan: the plan}]}
  - {name: net, agent: script, MODE, steps: [{tool: {name: Bash, input: {command: ./work before-net}}}, {network: {host: example.com}}]}
  - {name: talker, agent: script, MODE, steps: [{say: {text: hello}}, {tool: {name: Bash, input: {command: ./work talk}}}, {say: {to: w4, text: read this when you have time}}, {tool: {name: Bash, input: {command: ./ask talk-more}}}]}
tasks:
  - {subject: is done soon, owner: w1, instructions: ./work soon}
  - {subject: runs, owner: w2, instructions: ./work runs never}
  - {subject: waits, owner: w3, instructions: ./work waits, after: [runs]}
  - {subject: asks, owner: w4, instructions: ./ask permission}
  - {subject: plans, owner: planner}
  - {subject: calls, owner: net}
  - {subject: talks, owner: talker}
`

// file is the team of eight in this mode.
func (m mode) file() string {
	how := "backend: " + m.backend + ", restart: {policy: on-failure, most: 1000, backoff: 100ms, longest: 200ms}"
	if m.tree {
		how += ", worktree: true"
	}
	return strings.ReplaceAll(eight, "MODE", how)
}

// spawn is the command that starts one more member. A member that ends with its command cannot be
// spawned in the mode.
func (m mode) spawn(args ...string) []string {
	args = append([]string{"spawn"}, args...)
	switch {
	case m.tree:
		return append(args, "--worktree")
	case m.backend == "in-process":
		return append(args, "--backend", "process", "--cwd", ".")
	}
	return append(args, "--backend", m.backend, "--cwd", ".")
}

// setUp makes a scratch repository for worktrees.
func (c *crew) setUp(m mode) {
	c.t.Helper()
	if !m.tree {
		return
	}
	c.env = append(c.env, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
	c.write(".gitignore", ".out-*\nran\nfinished\n")
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "--all"}, {"commit", "--quiet", "--message", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = c.dir, c.env
		if out, err := cmd.CombinedOutput(); err != nil {
			c.t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
}

// kept checks that the files that members have written in their worktrees are there after every kill,
// and writes more.
func (m mode) kept(d *drama) {
	d.t.Helper()
	if !m.tree {
		return
	}
	for _, mem := range d.state().Lead.Live() {
		if strings.HasPrefix(string(mem.Name), "extra") {
			continue
		}
		if mem.Worktree == nil {
			d.t.Errorf("%s has no worktree", mem.Name)
			continue
		}
		path := filepath.Join(mem.Cwd, "unsaved")
		want := d.written[path]
		if got, err := os.ReadFile(path); want != "" && string(got) != want {
			d.t.Errorf("%s had %q in its worktree and has %q: %v", mem.Name, want, got, err)
		}
		want += fmt.Sprintln("round", len(want))
		if d.written == nil {
			d.written = map[string]string{}
		}
		d.written[path] = want
		testenv.Must(d.t, os.WriteFile(path, []byte(want), 0o600))
	}
}
