package record_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/fs/realpath"
	"waggle/internal/test/testenv"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// TestGateJudgesAsOnDisk: in every mode a call gets the verdict from the paths on its record, as the gate has them, that it
// gets from the disk: a path that only another mode would look at is on the record too.
func TestGateJudgesAsOnDisk(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	cwd := filepath.Join(home, "work")
	for _, d := range []string{"sub", "src", "test", "out"} {
		testenv.Must(t, os.MkdirAll(filepath.Join(cwd, d), 0o700))
	}
	for link, to := range map[string]string{"link": "/etc", "inner": "sub"} {
		if err := os.Symlink(to, filepath.Join(cwd, link)); err != nil {
			t.Skip(err)
		}
	}
	step := 1
	if !testenv.Full() {
		step = 40
	}
	var inputs []string
	for _, file := range []string{"everyday.txt", "paths.txt", "allow.txt", "allow_not.txt"} {
		b, err := os.ReadFile(filepath.Join("..", "policy", "testdata", file))
		testenv.Must(t, err)
		for line := range strings.Lines(string(b)) {
			if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
				inputs = append(inputs, strings.ReplaceAll(line, "⏎", "\n"))
			}
		}
	}
	few := inputs[:0]
	for i := 0; i < len(inputs); i += step {
		few = append(few, inputs[i])
	}
	inputs = append(few, "ls *", "cat *.go", "cat ~/work/f", "cat link/passwd", "cat inner/../f", "grep -r x sub/*", "git -C sub log", "wc -l < f", "find . -name '*.go' | xargs cat", "cp f out/g", "cat f >out/h", "sort f -o out/f")
	rule := func(s string) policy.Rule {
		r, err := policy.ParseRule(s)
		testenv.Must(t, err)
		return r
	}
	wide := []policy.Rule{rule("Bash(ls:*)"), rule("Bash(cat:*)"), rule("Bash(grep:*)"), rule("Bash(git:*)"), rule("Bash(find:*)"), rule("Bash(wc:*)"), rule("Bash(sort:*)"), rule("Read(sub/**)")}
	sets := map[string]record.PolicySet{
		"no rules":  {},
		"rules":     {Policy: policy.Policy{Allow: wide}},
		"all":       {Policy: policy.Policy{Allow: []policy.Rule{rule("Bash"), rule("Read")}}},
		"denials":   {Policy: policy.Policy{Allow: wide, Deny: []policy.Rule{rule("Read(out/**)"), rule("Bash(rm:*)")}}},
		"a bypass":  {Policy: policy.Policy{Mode: policy.ModeBypassPermissions}},
		"a ceiling": {Policy: policy.Policy{Allow: wide}, Ceiling: &record.Ceiling{Allow: []policy.Rule{rule("Bash(ls:*)")}}},
	}
	now, differ, allowed := time.Now(), 0, map[policy.Mode]int{}
	for name, set := range sets {
		for _, text := range inputs {
			in, err := json.Marshal(map[string]string{"command": text})
			testenv.Must(t, err)
			ask := record.Ask{Tool: "Bash", Input: string(in), Cwd: cwd}
			call := set.Call(ask)
			call.Links, call.Home = realpath.Disk{}, home
			ask.Paths = policy.RealPaths(call, set.Judges("i", now)...)
			for _, m := range policy.Modes() {
				gate := set.Judge("i", m.Mode, protocol.KindPermissionRequest, ask, now)
				disk := set.JudgeCall("i", m.Mode, call, now)
				if gate.Decision == policy.Allow {
					allowed[m.Mode]++
				}
				if gate.Decision != disk.Decision {
					if differ++; differ < 20 {
						t.Errorf("%s, mode %s, %q: the gate %+v, by the disk %+v", name, m.Mode, text, gate, disk)
					}
				}
			}
		}
	}
	if allowed[policy.ModePlan] == 0 || allowed[policy.ModeBypassPermissions] == 0 {
		t.Errorf("nothing was allowed: %v", allowed)
	}
	t.Logf("%d texts, %d differ, allowed %v", len(inputs), differ, allowed)
}
