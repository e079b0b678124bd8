//go:build unix

package agent_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/agent"
	"waggle/internal/fs/realpath"
	"waggle/internal/test/testenv"
	"waggle/policy"
)

// judge answers as the worker's gate does: by the paths that are recorded.
func judge(p policy.Policy) func(agent.Call) agent.Decision {
	return func(c agent.Call) agent.Decision {
		call := policy.Call{Tool: c.Tool, Input: c.Input, Cwd: c.Cwd, Links: policy.Recorded(c.Files).Or(realpath.Disk{})}
		call.Links = policy.Recorded(policy.RealPaths(call, p))
		v := p.Judge(call)
		return agent.Decision{Allowed: v.Decision == policy.Allow, Reason: v.Decision.String(), By: "rules"}
	}
}

func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func writeStep(t *testing.T, file, content string) agent.Agent {
	t.Helper()
	in, err := json.Marshal(map[string]string{"file_path": file, "content": content})
	must(t, err)
	return newAgent(t, "script", `{"steps":[{"tool":{"name":"Write","input":`+string(in)+`}}]}`)
}

// TestRepositoryLinksHold: under acceptEdits no write goes through a link of the repository to
// ~/.bashrc, to the hooks or to another file that the text does not show.
func TestRepositoryLinksHold(t *testing.T) {
	root := realTemp(t)
	repo, home := root+"/repo", root+"/home"
	must(t, os.MkdirAll(repo+"/.git/hooks", 0o700), os.MkdirAll(repo+"/src", 0o700), os.Mkdir(home, 0o700), os.WriteFile(home+"/.bashrc", []byte("mine"), 0o600),
		os.Symlink("../home/.bashrc", repo+"/rc"), os.Symlink(".git/hooks", repo+"/scripts"), os.Symlink(home, repo+"/docs"), os.Symlink("src", repo+"/lib"), os.Symlink("repo", root+"/linked"))
	edits := policy.Policy{Mode: policy.ModeAcceptEdits, Allow: policy.MustRules("Write(docs/**)", "Write(**)")}
	for _, c := range []struct{ cwd, file, lands string }{
		{"repo", "rc", ""},
		{"repo", "scripts/pre-commit", ""},
		{"repo", "docs/.bashrc", ""},
		{"repo", "docs/new", ""},
		{"linked", "rc", ""},
		{"linked", "docs/new", ""},
		{"repo", "lib/a.go", "src/a.go"},
		{"repo", "lib/../b.go", "b.go"},
		{"linked", "src/c.go", "src/c.go"},
	} {
		h := &fakeHost{t: t, answer: judge(edits)}
		res := turn(t, writeStep(t, c.file, "theirs"), h, agent.Task{ID: "1", Cwd: root + "/" + c.cwd})
		switch {
		case c.lands == "" && (!res.Denied || res.Reason != "Write denied: ask"):
			t.Errorf("%s in %s: %+v, want a question", c.file, c.cwd, res)
		case c.lands != "" && res.Failed:
			t.Errorf("%s in %s: %+v", c.file, c.cwd, res)
		case c.lands != "":
			if got, err := os.ReadFile(repo + "/" + c.lands); err != nil || string(got) != "theirs" {
				t.Errorf("%s in %s: %q, %v", c.file, c.cwd, got, err)
			}
		}
	}
	if got, err := os.ReadFile(home + "/.bashrc"); err != nil || string(got) != "mine" {
		t.Errorf("~/.bashrc: %q, %v", got, err)
	}
	for _, dir := range []string{home, repo + "/.git/hooks"} {
		if got, err := os.ReadDir(dir); err != nil || len(got) > 1 {
			t.Errorf("%s: %v, %v", dir, got, err)
		}
	}
}

// TestWriteHoldsToTheAnswer: a write goes to the file that was resolved when it was asked, or
// fails.
func TestWriteHoldsToTheAnswer(t *testing.T) {
	root := realTemp(t)
	for _, dir := range []string{"w/d", "w/e", "out"} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o700))
	}
	must(t, os.Symlink("d", root+"/w/l"), os.Symlink("w", root+"/lw"), os.Symlink("loop", root+"/w/loop"))
	relink := func(to string) func() {
		return func() { must(t, os.Remove(root+"/w/l"), os.Symlink(to, root+"/w/l")) }
	}
	nothing := func() {}
	changedInput := func(file string) string {
		b, err := json.Marshal(map[string]string{"file_path": file, "content": "x"})
		must(t, err)
		return string(b)
	}
	for _, c := range []struct {
		name, cwd, file string
		between         func()
		input           string // of the answer
		lands, fails    string
	}{
		{"through a link", "w", "l/f", nothing, "", "w/d/f", ""},
		{"a link that moved inside", "w", "l/f2", relink("e"), "", "", "ask again"},
		{"a link that moved out", "w", "l/f2", relink(root + "/out"), "", "", "ask again"},
		{"a path that could not be resolved", "w", "loop/f", func() { must(t, os.Remove(root+"/w/loop")) }, "", "", "ask again"},
		{"a file that became a link", "w", "g", func() { must(t, os.Symlink("../out/g", root+"/w/g")) }, "", "", "ask again"},
		{"an answer with another file", "w", "h", nothing, changedInput("e/h"), "w/e/h", ""},
		{"an answer with another file, linked cwd", "lw", "h", nothing, changedInput("e/h2"), "w/e/h2", ""},
		{"an answer with another file, absolute", "lw", "h", nothing, changedInput(root + "/out/h3"), "out/h3", ""},
		{"an answer with a file behind a link", "w", "h", nothing, changedInput("l/h4"), "", "ask again"},
	} {
		h := &fakeHost{t: t, input: c.input, answer: func(call agent.Call) agent.Decision {
			if len(call.Files) != 1 || call.Files[0].Spelled != root+"/"+c.cwd+"/"+c.file {
				t.Errorf("%s: files %+v", c.name, call.Files)
			}
			c.between()
			return agent.Decision{Allowed: true}
		}}
		res := turn(t, writeStep(t, c.file, "x"), h, agent.Task{ID: "1", Cwd: root + "/" + c.cwd})
		if c.fails != "" {
			if !res.Failed || !strings.Contains(res.Reason, c.fails) {
				t.Errorf("%s: %+v, want %q", c.name, res, c.fails)
			}
		} else if got, err := os.ReadFile(root + "/" + c.lands); res.Failed || err != nil || string(got) != "x" {
			t.Errorf("%s: %+v: %q, %v", c.name, res, got, err)
		}
	}
	for _, at := range []string{"out/f2", "out/g", "out/h4", "w/e/f2", "w/loop"} {
		if _, err := os.Lstat(root + "/" + at); err == nil {
			t.Errorf("%s was written", at)
		}
	}
}

// TestWriteSwapped: between question and execution a directory becomes a link out,
// 1000 times; no byte lands outside.
func TestWriteSwapped(t *testing.T) {
	root := realTemp(t)
	must(t, os.MkdirAll(root+"/w/d", 0o700), os.Mkdir(root+"/out", 0o700))
	edits := judge(policy.Policy{Mode: policy.ModeAcceptEdits})
	a := writeStep(t, "d/f", "x")
	const rounds = 1000
	for i := range rounds {
		h := &fakeHost{t: t, answer: func(c agent.Call) agent.Decision {
			ans := edits(c)
			must(t, os.Rename(root+"/w/d", root+"/w/kept"), os.Symlink(root+"/out", root+"/w/d"))
			return ans
		}}
		res := turn(t, a, h, agent.Task{ID: "1", Cwd: root + "/w"})
		if !res.Failed || !strings.Contains(res.Reason, "ask again") {
			t.Fatalf("round %d: %+v", i, res)
		}
		must(t, os.Remove(root+"/w/d"), os.Rename(root+"/w/kept", root+"/w/d"))
	}
	for _, dir := range []string{"out", "w/d"} {
		if got, err := os.ReadDir(root + "/" + dir); err != nil || len(got) != 0 {
			t.Errorf("%s: %v, %v", dir, got, err)
		}
	}
	testenv.Measured(t, "a directory became a link out between the question and the write, %d times: %d refused, 0 bytes outside", rounds, rounds)
}
