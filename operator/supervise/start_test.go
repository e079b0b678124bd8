package supervise_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/operator/supervise"
	"waggle/policy"
	"waggle/record"
	"waggle/spawn"
)

// TestContract: contract compares a member's specification with what the member reports of itself, and
// names each difference.
func TestContract(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	link := filepath.Join(t.TempDir(), "link")
	testenv.Must(t, os.Symlink(dir, link))
	for name, c := range map[string]struct {
		m    control.Member
		r    record.Ready
		want string // "": it is what was asked for
	}{
		"as asked":                       {control.Member{Joined: record.Joined{Agent: "exec", Cwd: dir}}, record.Ready{Agent: "exec", Cwd: dir}, ""},
		"by a link":                      {control.Member{Joined: record.Joined{Agent: "exec", Cwd: link}}, record.Ready{Agent: "exec", Cwd: dir}, ""},
		"another agent":                  {control.Member{Joined: record.Joined{Agent: "exec", Cwd: dir}}, record.Ready{Agent: "script", Cwd: dir}, "agent: asked for exec, it is script"},
		"another model":                  {control.Member{Joined: record.Joined{Agent: "exec", Cwd: dir, Model: "big"}}, record.Ready{Agent: "exec", Cwd: dir}, "model: asked for big, it is none"},
		"any model":                      {control.Member{Joined: record.Joined{Agent: "exec", Cwd: dir}}, record.Ready{Agent: "exec", Cwd: dir, Model: "big"}, ""},
		"another mode":                   {control.Member{Mode: policy.ModePlan, Joined: record.Joined{Agent: "exec", Cwd: dir, Mode: policy.ModePlan}}, record.Ready{Agent: "exec", Cwd: dir, Mode: policy.ModeDefault}, "mode: asked for plan, it is default"},
		"a mode that was changed since":  {control.Member{Mode: policy.ModeDefault, Joined: record.Joined{Agent: "exec", Cwd: dir, Mode: policy.ModePlan}}, record.Ready{Agent: "exec", Cwd: dir, Mode: policy.ModeDefault}, ""},
		"another directory":              {control.Member{Joined: record.Joined{Agent: "exec", Cwd: dir}}, record.Ready{Agent: "exec", Cwd: "/"}, "directory: asked for " + dir + ", it is /"},
		"a directory that is gone":       {control.Member{Joined: record.Joined{Agent: "exec", Cwd: dir + "/no"}}, record.Ready{Agent: "exec", Cwd: dir}, "directory: asked for " + dir + "/no"},
		"its worktree":                   {control.Member{Joined: record.Joined{Agent: "exec", Cwd: dir, Worktree: &record.Worktree{Path: link}}}, record.Ready{Agent: "exec", Cwd: dir, Top: dir}, ""},
		"another worktree":               {control.Member{Joined: record.Joined{Agent: "exec", Cwd: dir, Worktree: &record.Worktree{Path: link}}}, record.Ready{Agent: "exec", Cwd: dir, Top: "/"}, "worktree: asked for " + link + ", it is /"},
		"no worktree at all":             {control.Member{Joined: record.Joined{Agent: "exec", Cwd: dir, Worktree: &record.Worktree{Path: link + "/no"}}}, record.Ready{Agent: "exec", Cwd: dir}, "it is none"},
		"an older policy":                {control.Member{Joined: record.Joined{Agent: "exec", Cwd: dir}}, record.Ready{Agent: "exec", Cwd: dir, Policy: 1}, "policy version: asked for 2, it is 1"},
		"a newer policy than was waited": {control.Member{Joined: record.Joined{Agent: "exec", Cwd: dir}}, record.Ready{Agent: "exec", Cwd: dir, Policy: 3}, ""},
	} {
		c.m.Name = "ann"
		version := uint64(0)
		if strings.Contains(name, "policy") {
			version = 2
		}
		switch e := supervise.Contract(&c.m, c.r, version); {
		case e == nil && c.want != "":
			t.Errorf("%s: no difference, want %s", name, c.want)
		case e != nil && (c.want == "" || len(e.Differs) != 1 || !strings.Contains(e.Differs[0], c.want) || !strings.HasPrefix(e.Error(), "ann is not what was asked for: ")):
			t.Errorf("%s: %v, want %q", name, e, c.want)
		}
	}
}

// TestExitText: the text for each end of a process.
func TestExitText(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]spawn.Exit{
		"exit status 0":  {},
		"exit status 3":  {Code: 3},
		"signal killed":  {Code: -1, Signal: "killed"},
		"nobody saw how": {Code: -1},
		"it panicked: x": {Code: -1, Signal: "killed", Panic: "it panicked: x"},
	} {
		if got := supervise.ExitText(e); got != want {
			t.Errorf("%+v: %s, want %s", e, got, want)
		}
	}
}

// TestReadyText: ReadyText describes in one line how a member came up.
func TestReadyText(t *testing.T) {
	t.Parallel()
	if got, want := supervise.ReadyText(&record.Ready{Agent: "exec", Cwd: "/w", Policy: 3}), "agent exec, mode default, policy v3, in /w"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := supervise.ReadyText(&record.Ready{Agent: "llm", Model: "big", Mode: policy.ModePlan, Cwd: "/w", Top: "/t"}), "agent llm, model big, mode plan, policy v0, in /w, worktree /t"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestLastLines: the end of a log is shown in one line, without what a terminal would obey.
func TestLastLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	if got := supervise.LastLines(path, 3); got != "" {
		t.Errorf("no log: %q", got)
	}
	for _, c := range []struct{ log, want string }{
		{"", ""},
		{"one\n", "one"},
		{"a\nb\nc\nd\n\n", "b / c / d"},
		{strings.Repeat("x", 5000) + "\nlast\nwords\n", "last / words"},
		{"\x1b[31mred\n", "red"},
		{"ann ready\n\x1b[31merror:\x1b[m no room\n", "error: no room"},
		{"ann ready\nerror: no room\n hint: stop one\n", "error: no room /  hint: stop one"},
	} {
		testenv.Must(t, os.WriteFile(path, []byte(c.log), 0o600))
		if got := supervise.LastLines(path, 3); !strings.HasSuffix(got, c.want) || strings.ContainsRune(got, '\x1b') || len(got) > 2100 {
			t.Errorf("%.20q: %q, want %q", c.log, got, c.want)
		}
	}
}

// TestFirstLine: the subject of a prompt is its first line, cut at 80 bytes between runes.
func TestFirstLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "one": "one", "one\ntwo": "one", strings.Repeat("é", 60): strings.Repeat("é", 40)} {
		if got := supervise.FirstLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestPlanOfMember: the action of a resume for a member, by the member's records.
func TestPlanOfMember(t *testing.T) {
	t.Parallel()
	self, err := spawn.Identify(os.Getpid())
	testenv.Must(t, err)
	gone := self
	gone.Start = "1"
	for name, c := range map[string]struct {
		m           control.Member
		action, why string
	}{
		"not ours":     {control.Member{Joined: record.Joined{Trust: record.FileTrust}, Process: &record.Process{ID: self}}, supervise.ResumeLeave, "waggle does not run it"},
		"being ended":  {control.Member{Stopping: &record.Stopping{}}, supervise.ResumeLeave, "it was being ended"},
		"said yes":     {control.Member{Approved: true}, supervise.ResumeLeave, "it was being ended"},
		"runs":         {control.Member{Process: &record.Process{ID: self}}, supervise.ResumeTake, "runs"},
		"died":         {control.Member{Process: &record.Process{ID: gone}, Died: &record.Died{Detail: "signal killed"}}, supervise.ResumeStart, "signal killed"},
		"never was":    {control.Member{}, supervise.ResumeStart, "it had not come up"},
		"gone unheard": {control.Member{Process: &record.Process{ID: gone}}, supervise.ResumeStart, "is gone"},
	} {
		c.m.Name, c.m.Instance = "ann", "i1"
		got := supervise.PlanOf(&c.m)
		if got.Action != c.action || !strings.Contains(got.Why, c.why) || got.Name != "ann" || got.Session != "i1" || (c.m.Process != nil) != (got.PID != 0) {
			t.Errorf("%s: %+v, want %s (%s)", name, got, c.action, c.why)
		}
	}
}
