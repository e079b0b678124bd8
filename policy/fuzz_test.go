package policy_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"

	"waggle/policy"
)

// FuzzJudge parses any text as a shell command. Where one prefix rule and the mode default allow a text, the walk that
// deny rules use must find no other command in it; a deny rule must match at the start of any text; nothing panics.
func FuzzJudge(f *testing.F) {
	for _, g := range shellCorpus {
		for _, c := range g.cases {
			f.Add(c.text)
		}
	}
	for _, s := range []string{"go test", "go test ./... && go test\ngo 'test'", "sh -c 'go test; go test'", `bash -lc "go test 'a b'"`, "go test >/dev/null 2>&1 | go test"} {
		f.Add(s)
	}
	one := policy.Policy{Allow: policy.MustRules("Bash(go test:*)")}
	all := policy.Policy{Allow: policy.MustRules("Bash"), Deny: policy.MustRules("Bash(rm:*)")}
	f.Fuzz(func(t *testing.T, text string) {
		raw, err := json.Marshal(map[string]string{"command": text})
		if err != nil {
			return
		}
		text = strings.ToValidUTF8(text, "\ufffd") // what Marshal made of it
		c := policy.Call{Tool: "Bash", Input: raw, Cwd: "/work/api"}
		v := one.Judge(c)
		if v.Decision == policy.Allow {
			if why := walked(text, "go test"); why != "" {
				t.Errorf("%q is allowed, and another reading says: %s", text, why)
			}
		}
		if narrow := one.Narrow(policy.MustRules("Bash(rm:*)", "Bash(go test -exec:*)", "Read(.env)", "Edit(a/**)")...).Judge(c); !narrow.Decision.NotFreerThan(v.Decision) {
			t.Errorf("%q: %+v with deny rules, %+v without", text, narrow, v)
		}
		w := all.Judge(c)
		if first := strings.TrimLeft(text, " \t\n"); strings.HasPrefix(first, "rm ") && !strings.Contains(first, "(") && w.Decision == policy.Allow {
			t.Errorf("%q: %+v", text, w)
		}
		if w.Decision == policy.Allow && strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Errorf("%q holds control characters: %+v", text, w)
		}
		policy.RiskOf(c)
		for _, r := range policy.Suggest(c) {
			if v := (policy.Policy{Allow: []policy.Rule{r}}).Judge(c); v.Decision != policy.Allow {
				t.Errorf("%q: %s does not allow it: %+v", text, r, v)
			}
		}
	})
}

// FuzzInput parses any bytes as a tool input. An allowed input must decode alike with
// case-sensitive keys and without.
func FuzzInput(f *testing.F) {
	for _, s := range []string{
		`{"command":"ls"}`, `{"command":"ls","Command":"rm"}`, `{"command":"ls","command":"rm"}`, `{"command":"\ud800"}`, `{"comm\u0061nd":"ls"}`,
		`{"file_path":"a"}`, `{"FILE_PATH":"a"}`, `[]`, `{`, "{\"command\":\"\xff\"}", `{"command":"ls","x":{"a":1,"a":2}}`, `{"url":"https://x.org"}`, `{"command":null}`, "\v{}",
	} {
		f.Add("Bash", []byte(s))
		f.Add("Edit", []byte(s))
		f.Add("WebFetch", []byte(s))
	}
	p := policy.Policy{Mode: policy.ModeBypassPermissions}
	f.Fuzz(func(t *testing.T, tool string, raw []byte) {
		c := policy.Call{Tool: tool, Input: raw, Cwd: "/work/api"}
		v := p.Judge(c)
		policy.RiskOf(c)
		policy.Suggest(c)
		if v.Decision != policy.Allow || len(strings.Trim(string(raw), " \t\r\n")) == 0 {
			return
		}
		var exact map[string]json.RawMessage
		var loose struct {
			Command json.RawMessage `json:"command"`
			File    json.RawMessage `json:"file_path"`
			URL     json.RawMessage `json:"url"`
		}
		if json.Unmarshal(raw, &exact) != nil || json.Unmarshal(raw, &loose) != nil {
			t.Fatalf("%s %q is allowed and is no object", tool, raw)
		}
		for _, pair := range []struct {
			tool, key string
			loose     json.RawMessage
		}{{"Bash", "command", loose.Command}, {"Edit", "file_path", loose.File}, {"WebFetch", "url", loose.URL}} {
			if tool == pair.tool && string(exact[pair.key]) != string(pair.loose) {
				t.Errorf("%s %q: %s is %q to one reader and %q to another", tool, raw, pair.key, exact[pair.key], pair.loose)
			}
		}
	})
}

// FuzzRule parses any text as a rule. A parsed rule prints as the same text, and can be judged.
func FuzzRule(f *testing.F) {
	for _, s := range rulePool {
		f.Add(s)
	}
	for _, s := range []string{"Bash(*)", "Bash(a", "Read([a)", "Read({a,b}/**)", "Bash('a':*)", "WebFetch(domain:*.x)", "Edit(..//./a)"} {
		f.Add(s)
	}
	calls := []policy.Call{bash("git commit"), call("Read", `{"file_path":"src/a.go"}`), call("WebFetch", `{"url":"https://x.org"}`)}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := policy.ParseRule(s)
		if err != nil {
			return
		}
		again, err := policy.ParseRule(r.String())
		if err != nil || again != r {
			t.Errorf("%q is %+v, then %+v, %v", s, r, again, err)
		}
		raw, err := json.Marshal(policy.Policy{Allow: []policy.Rule{r}})
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		var back policy.Policy
		if err := json.Unmarshal(raw, &back); err != nil || back.Allow[0] != r {
			t.Errorf("%s: %+v, %v", raw, back, err)
		}
		for _, c := range calls {
			with := policy.Policy{Mode: policy.ModeSafe, Allow: []policy.Rule{r}}.Judge(c)
			if c.Tool != "Read" && with.Decision == policy.Allow {
				t.Errorf("safe mode allows %s by %s", c.Input, r)
			}
			before := policy.Policy{Mode: policy.ModeBypassPermissions}.Judge(c)
			if after := (policy.Policy{Mode: policy.ModeBypassPermissions, Deny: []policy.Rule{r}}).Judge(c); !after.Decision.NotFreerThan(before.Decision) {
				t.Errorf("deny %s widens %s", r, c.Input)
			}
		}
		if eff, cut := back.Within(back); len(cut) > 0 || !slices.Equal(eff.Allow, back.Allow) {
			t.Errorf("%s is not within itself: %v, %v", r, eff, cut)
		}
	})
}
