//go:build unix

package cli_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/testenv"
)

const eightTeam = `team: worked
sandbox: {mode: off}
policy: {allow: ["Bash(sh make.sh)", "Bash(false)"]}
members:
  - {name: ann, agent: exec, worktree: true}
  - {name: bob, agent: exec, restart: never}
  - {name: fay, agent: exec}
  - {name: hal, agent: exec}
  - {name: may, agent: exec}
tasks:
  - {subject: change, owner: ann, instructions: "sh make.sh"}
  - {subject: fail, owner: fay, instructions: "false"}
  - {subject: clean, owner: hal, instructions: "ls; rm -rf build7"}
  - {subject: allowed, owner: may, instructions: "touch allowed"}
`

// question is a question of a person about a team: the keys and texts of the screen that answer it, and the command.
type question struct {
	name    string
	keys    []string // that lead to the answer on the screen
	screen  []string // texts that the screen then has
	args    []string
	command []string // texts that the command prints
}

// TestEightQuestions: the screen answers each of eight questions about a team, and so does one command.
func TestEightQuestions(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	git := testenv.Require(t, "git")
	u := newTmux(t, eightTeam)
	u.repository(git)
	left := "team: left\nsandbox: {mode: off}\npolicy: {allow: [\"Bash(sh make.sh)\"]}\nmembers: [{name: zoe, agent: exec, worktree: true}]\ntasks: [{subject: change, owner: zoe, instructions: sh make.sh}]\n"
	writeFile(t, filepath.Join(u.dir, "left.yaml"), left)
	u.does(0, "run", "left.yaml", "--headless", "--quiet")
	u.does(0, "up", "--detach", "waggle.yaml")
	defer u.waggle("down", "--force", "worked")
	u.tmux("resize-window", "-t", "mine:", "-x", "160", "-y", "40")
	u.until("all ask", func() bool { return u.asked("worked") == 2 })
	u.types("waggle top")
	h := u.handles("hal", "may")
	u.does(0, "approve", h["may"], "--team", "worked")
	var st struct {
		Members []struct {
			Name string
			PID  int
		}
	}
	testenv.Must(t, json.Unmarshal([]byte(u.does(0, "status", "--json", "--team", "worked")), &st))
	for _, m := range st.Members {
		if m.Name == "bob" {
			testenv.Must(t, syscall.Kill(m.PID, syscall.SIGKILL))
		}
	}
	u.shows("?  bob          failed")
	u.shows("allowed: completed")
	u.shows("+1 -0")
	number := func(name string) string {
		for _, l := range strings.Split(u.screen(), "\n") {
			if list, _, _ := strings.Cut(l, "│"); strings.Contains(list, " "+name+" ") {
				return strings.TrimSpace(list)[:1]
			}
		}
		t.Fatalf("no row of %s:\n%s", name, u.screen())
		return ""
	}
	whole := t
	questions := []question{
		{"who waits", []string{"Home"}, []string{"Needs you", "hal " + "         " + h["hal"]}, []string{"pending"}, []string{h["hal"], "hal"}},
		{"for what", []string{number("hal")}, []string{"| ls; rm -rf build7"}, []string{"pending"}, []string{"ls; rm -rf build7"}},
		{"why is it risky", []string{number("hal")}, []string{"^^^^^^^^^^^^^ it deletes files"}, []string{"why", h["hal"]}, []string{"high risk: rm -rf build7: it deletes files"}},
		{"who is stuck", []string{number("bob")}, []string{"?  bob          failed"}, []string{"--plain"}, []string{"Failed (2)", "bob", " is gone"}},
		{"what failed", []string{"Left", "Left"}, []string{"failed      fay        fail"}, []string{"task"}, []string{"fail", "failed"}},
		{"what changed", []string{number("ann"), "v"}, []string{"1 file", "+zwei"}, []string{"diff", "ann", "--stat"}, []string{"1 file, +1 -0"}},
		{"what did I allow today", []string{"Left"}, []string{"You decided today: 1 allowed", h["may"]}, []string{"audit", "query", "--by", "operator", "--since", "24h"}, []string{h["may"], "Bash touch allowed", "may"}},
		{"what is left to clean up", []string{"Left"}, []string{"Left behind: ", "zoe"}, []string{"gc"}, []string{"zoe"}},
	}
	for _, q := range questions {
		t.Run(q.name, func(t *testing.T) {
			u.t = t
			defer func() { u.t = whole }()
			u.presses("Escape")
			time.Sleep(100 * time.Millisecond) // real clock: the terminal tells Escape from a sequence
			for _, k := range q.keys {
				u.presses(k)
			}
			for _, text := range q.screen {
				u.shows(text)
			}
			out, code := u.waggle(q.args...)
			for _, text := range q.command {
				if !strings.Contains(out, text) {
					t.Errorf("waggle %s: exit %d, without %q:\n%s", strings.Join(q.args, " "), code, text, out)
				}
			}
		})
	}
	// The page that names the commands has all of them, and no answer is longer than a small screen.
	page := readFile(t, "../../../docs/guide/watch.md")
	u.leaves()
	u.tmux("resize-window", "-t", "mine:", "-x", "80", "-y", "24")
	for i, q := range questions {
		command := "waggle " + strings.Join(q.args, " ")
		if known := strings.NewReplacer(h["hal"], "7KQF", " ann ", " NAME ").Replace(command); !strings.Contains(string(page), "| `"+known+"`") {
			t.Errorf("watch.md has no row of %s", known)
		}
		begin, end := fmt.Sprint(i, "__asked"), fmt.Sprint(i, "__answered")
		u.types("clear; echo " + begin + "; " + command + "; echo " + end)
		u.until(command+" ends", func() bool { return strings.Contains(u.screen(), "\n"+end) })
		got := u.screen()
		if !strings.HasPrefix(got, begin+"\n") {
			t.Errorf("%s is longer than the screen:\n%s", command, got)
		}
		for _, text := range q.command {
			if !strings.Contains(got, text) {
				t.Errorf("%s at 80x24 is without %q:\n%s", command, text, got)
			}
		}
	}
}
