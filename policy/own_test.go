package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/policy"
)

// TestOwn: the accepted file allows the member's own command, and its standard input where the command does
// not take it as orders. Deny rules, the mode plan, doubts and guarded names hold.
func TestOwn(t *testing.T) {
	file := strings.Repeat("ab", 32)
	const sure, asks, denied = policy.Allow, policy.Ask, policy.Deny
	told := &policy.Own{File: file, Told: true}
	before := &policy.Own{File: file, Told: true, Approved: "perm-1"}
	peer := &policy.Own{File: file}
	for _, c := range []struct {
		text, stdin string
		own         *policy.Own
		want        policy.Decision
		why         string
		rules       bool
	}{
		{"make release", "", told, sure, "", false},
		{"make release", "do it well", told, sure, "", false},
		{"cat; echo built > out.txt; make | head -1", "words", told, sure, "", false},
		{"./build.sh $(git describe) && x=$((1+2)) y", "", told, sure, "", false},
		{"other-agent --prompt-from-stdin", "fix it", told, sure, "", false},
		{"sh build.sh", "words", told, sure, "", false},
		{"python3 tool.py", "words", told, sure, "", false},
		{"git commit -F -", "words", told, sure, "", false},
		{"make release", "do it well", peer, asks, "nor typed by you", false},
		{"make release", "", peer, sure, "", false},
		{"make release", "do it well", nil, asks, "No rule", false},
		{"make release", "a\u202eb", told, asks, "invisible", false},
		{"make \u202erelease", "", told, asks, "invisible", false},
		{"$RUNNER", "x", told, asks, "does what", false},
		// deny rules, the mode, guarded names, doubts
		{"make all clean", "", told, sure, "", true},
		{"rm -rf build", "", told, denied, "", true},
		{"sh -c 'cd x; rm -r y'", "", told, denied, "", true},
		{"tool $X", "", told, asks, "", true},
		{"cat .env", "", told, denied, "", true},
		{"echo x > .git/hooks/pre-commit", "", told, asks, "guarded", false},
		{"cp x .claude/settings.json", "", told, asks, "guarded", false},
		{"tool 'x", "", told, asks, "", false},
		// orders
		{"sh", "touch x", told, asks, "does what its standard input says", false},
		{"bash -s x", "touch x", told, asks, "does what", false},
		{"bash -c 'bash; x'", "touch x", told, asks, "does what", false},
		{"python3", "x", told, asks, "does what", false},
		{"timeout 5 python3 -", "x", told, asks, "does what", false},
		{"nice node", "x", told, asks, "does what", false},
		{"xargs touch", "x", told, asks, "does what", false},
		{"patch -p1", "x", told, asks, "does what", false},
		{"git -C x apply", "x", told, asks, "does what", false},
		{"psql -d x", "x", told, asks, "does what", false},
		{"mariadb x", "x", told, asks, "does what", false},
		{"make -f -", "x", told, asks, "does what", false},
		{"claude -p", "x", told, asks, "does what", false},
		{"npx -y @openai/codex@1.2 exec", "x", told, asks, "does what", false},
		{"cat | /opt/x/gemini", "x", told, asks, "does what", false},
		{"cursor-agent -p", "x", told, asks, "does what", false},
		{"redis-cli", "x", told, asks, "does what", false},
		{"make --file=/dev/stdin", "x", told, asks, "does what", false},
		{"make -kf-", "x", told, asks, "does what", false},
		{"uv run python -", "x", told, asks, "does what", false},
		{"python3 -m code", "x", told, asks, "does what", false},
		{"python3 manage.py shell", "x", told, asks, "does what", false},
		{"bundle exec rails c", "x", told, asks, "does what", false},
		{"curl -K -", "x", told, asks, "does what", false},
		{"gh copilot suggest", "x", told, asks, "does what", false},
		{"git rebase -i HEAD~2", "x", told, asks, "does what", false},
		{"npm run build", "x", told, sure, "", false},
		{"poetry run pytest -q", "x", told, sure, "", false},
		{"uvx ruff check", "x", told, sure, "", false},
		{"claude -p", "x", before, sure, "", false},
		{"sh", "touch x", before, sure, "", false},
		{"rm -rf build", "", before, denied, "", true},
	} {
		in, err := json.Marshal(map[string]string{"command": c.text})
		testenv.Must(t, err)
		call := policy.Call{Tool: "Bash", Input: in, Cwd: "/w", Stdin: c.stdin, Own: c.own, Env: []string{"WAGGLE_TASK_ID=1"}}
		p := policy.Policy{}
		if c.rules {
			p.Deny = policy.MustRules("Bash(rm:*)", "Read(.env)")
		}
		v := p.Judge(call)
		if v.Decision != c.want || !strings.Contains(v.Why, c.why) {
			t.Errorf("%s < %q: %s, %s: %s", c.text, c.stdin, v.Decision, v.Rule, v.Why)
		}
		if c.want == sure && v.Rule != "file:"+file {
			t.Errorf("%s: allowed by %q", c.text, v.Rule)
		}
		for mode, most := range map[policy.Mode]policy.Decision{policy.ModePlan: denied, policy.ModeLockedDown: denied, policy.ModeSafe: asks} {
			p.Mode = mode
			if v := p.Judge(call); v.Rule == "file:"+file || !v.Decision.NotFreerThan(most) {
				t.Errorf("mode %s, %s: %s by %q", mode, c.text, v.Decision, v.Rule)
			}
		}
		if ok, why := policy.LeaderMayAllow(policy.Policy{}, call); ok {
			t.Errorf("a lead may allow %s: %s", c.text, why)
		}
		call.Env = append(call.Env, "LD_PRELOAD=x")
		p.Mode = policy.ModeDefault
		if v := p.Judge(call); v.Decision == sure {
			t.Errorf("%s with LD_PRELOAD: %s", c.text, v.Rule)
		}
	}
}
