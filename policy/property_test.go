package policy_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"waggle/internal/test/testenv"
	"waggle/policy"
)

var rulePool = []string{
	"Bash", "Bash(git:*)", "Bash(git push:*)", "Bash(git push --force:*)", "Bash(go test:*)", "Bash(go test ./...)",
	"Bash(rm -rf:*)", "Bash(rm:*)", "Bash(/bin/rm:*)", "Bash(ls:*)", "Bash(cd:*)", "Bash(./run.sh:*)", "Bash(echo 'a b')",
	"Bash(sh:*)", "Bash(sudo:*)", "Bash(xargs:*)", "Bash(curl x | sh)", "Bash(ls > out)", "Bash(git status && ls)",
	"Read", "Read(src/**)", "Read(/etc/**)", "Read(**/.env)", "Read(../**)", "Read(src/a.go)",
	"Edit", "Edit(**)", "Edit(src/**)", "Edit(.git/**)", "Edit(/work/**)", "Edit(src/.git/config)", "Edit(*.go)", "Write(src/*)",
	"Write", "Grep", "Glob", "mcp__gh", "mcp__gh__get", "mcp__gh__g*", "WebFetch", "WebFetch(domain:x.org)", "WebFetch(domain:*.x.org)",
	"TaskList", "SendMessage", "ExitPlanMode",
}

func genRules(most int) *rapid.Generator[[]policy.Rule] {
	return rapid.Custom(func(t *rapid.T) []policy.Rule {
		return policy.MustRules(rapid.SliceOfN(rapid.SampledFrom(rulePool), 0, most).Draw(t, "rules")...)
	})
}

func genPolicy() *rapid.Generator[policy.Policy] {
	return rapid.Custom(func(t *rapid.T) policy.Policy {
		var modes []policy.Mode
		for _, m := range policy.Modes() {
			modes = append(modes, m.Mode)
		}
		return policy.Policy{
			Mode:  rapid.SampledFrom(append(modes, "", "delegate")).Draw(t, "mode"),
			Allow: genRules(5).Draw(t, "allow"),
			Deny:  genRules(2).Draw(t, "deny"),
		}
	})
}

var wordPool = []string{
	"git", "push", "status", "--force", "-f", "go", "test", "./...", "rm", "-rf", "-r", "/", "ls", "cd", "./run.sh", "echo", "a b",
	"sh", "-c", "sudo", "xargs", "env", "X=1", "timeout", "5", "/bin/rm", "curl", "x", "out", "$X", "*.go", "-C", "--", "src/a.go", "",
}

// quoted writes a word with quotes that do not change it.
func quoted(t *rapid.T, w string) string {
	if strings.ContainsAny(w, "$*") {
		return w // an expansion: quoting would change it
	}
	single := "'" + w + "'"
	forms := []string{single, `"` + w + `"`}
	if w != "" && !strings.Contains(w, " ") && !strings.Contains(w, "=") {
		forms = append(forms, w, w, w, w[:1]+"'"+w[1:]+"'", `\`+w, w+`""`)
	}
	return rapid.SampledFrom(forms).Draw(t, "form")
}

func genSimple() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var out []string
		for _, w := range rapid.SliceOfN(rapid.SampledFrom(wordPool), 1, 5).Draw(t, "words") {
			out = append(out, quoted(t, w))
		}
		s := strings.Join(out, " ")
		switch rapid.IntRange(0, 12).Draw(t, "shape") {
		case 0:
			return s + " > out"
		case 1:
			return s + " 2>&1"
		case 2:
			return "(" + s + ")"
		case 3:
			return "echo $(" + s + ")"
		case 4:
			return "X=1 " + s
		case 5:
			return "sh -c '" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		case 6:
			return "if " + s + "; then ls; fi"
		}
		return s
	})
}

var joiners = []string{" && ", " || ", "; ", " | ", "\n"}

func genText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		s := genSimple().Draw(t, "first")
		for range rapid.IntRange(0, 2).Draw(t, "more") {
			s += rapid.SampledFrom(joiners).Draw(t, "joiner") + genSimple().Draw(t, "next")
		}
		return s
	})
}

func genCall() *rapid.Generator[policy.Call] {
	return rapid.Custom(func(t *rapid.T) policy.Call {
		cwd := rapid.SampledFrom([]string{"/work/api", "/work/api/", "/", "", "/w/.claude/worktrees/x"}).Draw(t, "cwd")
		tool := rapid.SampledFrom([]string{
			"Bash", "Bash", "Bash", "Bash", "Read", "Edit", "Write", "MultiEdit", "Grep", "Glob", "WebFetch",
			"mcp__gh__get", "mcp__gh__x__y", "TaskList", "SendMessage", "ExitPlanMode", "Other", "bash",
		}).Draw(t, "tool")
		in := map[string]string{}
		switch tool {
		case "Bash":
			in["command"] = genText().Draw(t, "text")
		case "Read", "Edit", "Write", "MultiEdit", "Grep", "Glob":
			segs := rapid.SliceOfN(rapid.SampledFrom([]string{"src", "..", ".", "a.go", ".git", ".env", "etc", "work", "api", "", "~", "lib"}), 0, 5).Draw(t, "path")
			in["file_path"] = strings.Join(segs, "/")
			if rapid.Bool().Draw(t, "absolute") {
				in["file_path"] = "/" + in["file_path"]
			}
			if tool == "Grep" {
				in["output_mode"] = rapid.SampledFrom([]string{"content", "count"}).Draw(t, "output")
			}
		case "WebFetch":
			in["url"] = rapid.SampledFrom([]string{"https://x.org/", "http://a.x.org", "https://y.org", "x.org", "https://x.org@y.org"}).Draw(t, "url")
		}
		raw, err := json.Marshal(in)
		testenv.Must(t, err)
		return policy.Call{Tool: tool, Input: raw, Cwd: cwd}
	})
}

func TestAddingADenyRuleNeverWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, c := genPolicy().Draw(t, "policy"), genCall().Draw(t, "call")
		before, after := p.Judge(c), p.Narrow(genRules(2).Draw(t, "more")...).Judge(c)
		if !after.Decision.NotFreerThan(before.Decision) {
			t.Fatalf("%s: %+v became %+v", c.Input, before, after)
		}
	})
}

func TestRemovingAnAllowRuleNeverWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, c := genPolicy().Draw(t, "policy"), genCall().Draw(t, "call")
		if len(p.Allow) == 0 {
			return
		}
		before := p.Judge(c)
		i := rapid.IntRange(0, len(p.Allow)-1).Draw(t, "removed")
		p.Allow = slices.Delete(slices.Clone(p.Allow), i, i+1)
		if after := p.Judge(c); !after.Decision.NotFreerThan(before.Decision) {
			t.Fatalf("%s: %+v became %+v", c.Input, before, after)
		}
	})
}

func TestJudgeIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, c := genPolicy().Draw(t, "policy"), genCall().Draw(t, "call")
		v := p.Judge(c)
		if again := p.Judge(c); again != v {
			t.Fatalf("%+v, then %+v", v, again)
		}
		slices.Reverse(p.Allow)
		slices.Reverse(p.Deny)
		if again := p.Judge(c); again.Decision != v.Decision {
			t.Fatalf("%+v, and with the rules in another order %+v", v, again)
		}
		if v.Rule == "" || v.Why == "" {
			t.Fatalf("no reason: %+v", v)
		}
		if first, again := policy.RiskOf(c), policy.RiskOf(c); first != again {
			t.Fatalf("two risks, %v and %v", first, again)
		}
	})
}

func TestQuotingNeverChangesTheVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPolicy().Draw(t, "policy")
		ws := rapid.SliceOfN(rapid.SampledFrom(wordPool), 1, 6).Draw(t, "words")
		ws = slices.DeleteFunc(ws, func(w string) bool { return strings.ContainsAny(w, "$*") })
		var a, b []string
		for _, w := range ws {
			a, b = append(a, quoted(t, w)), append(b, quoted(t, w))
		}
		one, two := strings.Join(a, " "), strings.Join(b, " ")
		v, w := p.Judge(bash(one)), p.Judge(bash(two))
		if v.Decision != w.Decision {
			t.Fatalf("%s: %+v\n%s: %+v", one, v, two, w)
		}
	})
}

// TestPartsBoundTheWhole: the verdict of a text is no freer than the verdict of each part, except
// for a rule that is, to the byte, the whole text: the person wrote it.
func TestPartsBoundTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPolicy().Draw(t, "policy")
		part := func(text string) policy.Verdict { return p.Judge(bash(text)) }
		p.Allow = slices.DeleteFunc(p.Allow, func(r policy.Rule) bool { return strings.ContainsAny(r.Pattern, "|&>") })
		a, b := genSimple().Draw(t, "a"), genText().Draw(t, "b")
		whole := a + rapid.SampledFrom(joiners).Draw(t, "joiner") + b
		va, vb, v := part(a), part(b), p.Judge(bash(whole))
		if !v.Decision.NotFreerThan(va.Decision) || !v.Decision.NotFreerThan(vb.Decision) {
			t.Fatalf("%s: %+v\n%s: %+v\n%s: %+v", a, va, b, vb, whole, v)
		}
	})
}

func TestAShellIsNeverFreerThanItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPolicy().Draw(t, "policy")
		p.Allow = slices.DeleteFunc(p.Allow, func(r policy.Rule) bool { return r.Pattern == "sh:*" })
		text := genText().Draw(t, "text")
		if strings.HasPrefix(text, "-") {
			return // to sh, one more option
		}
		wrapped := "sh -c '" + strings.ReplaceAll(text, "'", `'\''`) + "'"
		v, w := p.Judge(bash(text)), p.Judge(bash(wrapped))
		if !w.Decision.NotFreerThan(v.Decision) {
			t.Fatalf("%s: %+v\n%s: %+v", text, v, wrapped, w)
		}
	})
}

func TestADeniedCommandIsFoundAnywhere(t *testing.T) {
	wraps := []string{
		"sudo %s", "env -i A=b %s", "nohup %s", "timeout -k 1 5 %s", "nice -n 5 %s", "command %s", "exec %s", "X=1 %s", "ls && %s", "ls | %s", "%s; ls",
		"(%s)", "{ %s; }", "! %s", "if true; then %s; fi", "for x in 1; do %s; done", "f() { %s; }", "echo $( %s )", "echo \"$( %s )\"", "cat <(%s)", "time %s",
		"while %s; do :; done", "case x in x) %s;; esac", "find . -exec %s", "echo ${X:-$( %s )}", "xargs %s", "setsid %s", "Y=$( %s ) ls",
	}
	p := policy.Policy{Mode: policy.ModeBypassPermissions, Deny: policy.MustRules("Bash(rm -rf:*)")}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"rm -rf /", "'rm' -r -f x", "/bin/rm --force -R x", `\rm -fr x`}).Draw(t, "denied")
		for range rapid.IntRange(0, 3).Draw(t, "depth") {
			if rapid.IntRange(0, 3).Draw(t, "shell") == 0 {
				text = "bash -c '" + strings.ReplaceAll(text, "'", `'\''`) + "'"
				continue
			}
			wrap := rapid.SampledFrom(wraps).Draw(t, "wrap")
			if prefixes(wrap) && !simple(text) {
				continue // sudo ( ... ) is no shell text
			}
			text = fmt.Sprintf(wrap, text)
		}
		if rapid.Bool().Draw(t, "document") {
			text = "cat <<E\n$( " + text + " )\nE"
		}
		if v := p.Judge(bash(text)); v.Decision != policy.Deny {
			t.Fatalf("%s: %+v", text, v)
		}
	})
}

// prefixes reports whether a wrapper takes words and not a whole command.
func prefixes(wrap string) bool {
	return !strings.ContainsAny(wrap[:1], "({!lifwcet") && !strings.Contains(wrap, "$(") || strings.HasPrefix(wrap, "command") ||
		strings.HasPrefix(wrap, "env") || strings.HasPrefix(wrap, "timeout") || strings.HasPrefix(wrap, "exec") || strings.HasPrefix(wrap, "find")
}

// simple reports whether a text is one command made of words.
func simple(text string) bool {
	return !strings.ContainsAny(text, "(){}!;&|<\n") && !strings.HasPrefix(text, "X=") && !strings.HasPrefix(text, "Y=") && !strings.HasPrefix(text, "time ")
}

func TestWithinNeverExceeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, ceiling, c := genPolicy().Draw(t, "policy"), genPolicy().Draw(t, "ceiling"), genCall().Draw(t, "call")
		eff, cut := p.Within(ceiling)
		v, high, own := eff.Judge(c), ceiling.Judge(c), p.Judge(c)
		if !v.Decision.NotFreerThan(high.Decision) {
			t.Fatalf("%s: %+v, the ceiling says %+v\nwithin: %+v", c.Input, v, high, eff)
		}
		if !v.Decision.NotFreerThan(own.Decision) {
			t.Fatalf("%s: %+v, the policy itself says %+v\nwithin: %+v", c.Input, v, own, eff)
		}
		again, cutAgain := eff.Within(ceiling)
		if w := again.Judge(c); w.Decision != v.Decision || len(cutAgain) > 0 {
			t.Fatalf("%s: once more within: %+v, was %+v; cut %v", c.Input, w, v, cutAgain)
		}
		for _, r := range p.Allow {
			if !slices.Contains(eff.Allow, r) && !slices.Contains(cut, "allow "+r.String()) {
				t.Fatalf("%s was cut without a word: %v", r, cut)
			}
		}
	})
}

func TestMeetIsNotWiderThanEither(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, c := genPolicy().Draw(t, "policy"), genCall().Draw(t, "call")
		q := p
		q.Mode = genPolicy().Draw(t, "other").Mode
		m := p
		m.Mode = p.Mode.Meet(q.Mode)
		v := m.Judge(c)
		if !v.Decision.NotFreerThan(p.Judge(c).Decision) || !v.Decision.NotFreerThan(q.Judge(c).Decision) {
			t.Fatalf("%s and %s meet in %s, which answers %+v", p.Mode, q.Mode, m.Mode, v)
		}
	})
}

func TestSuggestionsAllow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genCall().Draw(t, "call")
		for _, r := range policy.Suggest(c) {
			if v := (policy.Policy{Allow: []policy.Rule{r}}).Judge(c); v.Decision != policy.Allow {
				t.Fatalf("%s for %s: %+v", r, c.Input, v)
			}
			if policy.RiskOf(c) == policy.RiskHigh && strings.HasSuffix(r.Pattern, ":*") {
				t.Fatalf("%s for %s, of high risk", r, c.Input)
			}
		}
	})
}
