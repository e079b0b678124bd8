package policy_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"

	"waggle/policy"
)

// FuzzJudge parses any text as a shell command. A text that one prefix rule allows must pass a
// scanner that shares no code with Judge; a deny rule must match at the start of any text; nothing
// panics.
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
			if why := scan(text, 0); why != "" {
				t.Errorf("%q is allowed, and the scanner says: %s", text, why)
			}
		}
		if narrow := one.Narrow(policy.MustRules("Bash(rm:*)", "Bash(go test -exec:*)")...).Judge(c); !narrow.Decision.NotFreerThan(v.Decision) {
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
	calls := []policy.Call{bash("git status"), call("Read", `{"file_path":"src/a.go"}`), call("WebFetch", `{"url":"https://x.org"}`)}
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

// scan returns why a text is not certainly a sequence of "go test ..." commands joined by && || ; |
// or newline, with only literal words, or sh -c of such a text.
func scan(text string, depth int) string {
	if depth > 10 {
		return "too deep"
	}
	var words []string
	var cur strings.Builder
	inWord, quote := false, byte(0)
	flush := func() {
		if inWord {
			words = append(words, cur.String())
		}
		cur.Reset()
		inWord = false
	}
	part := func(need bool) string {
		flush()
		defer func() { words = nil }()
		switch {
		case len(words) == 0 && !need:
			return ""
		case len(words) >= 2 && words[0] == "go" && words[1] == "test":
			return ""
		case len(words) == 3 && strings.Contains(" sh bash dash /bin/sh /bin/bash ", " "+words[0]+" ") && strings.HasSuffix(words[1], "c") && !strings.HasPrefix(words[2], "-"):
			return scan(words[2], depth+1)
		}
		return "a part is " + strings.Join(words, " ")
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c < ' ' && c != '\n' && c != '\t' || c == 0x7f:
			return "control character"
		case quote == '\'' && c != '\'', quote == '"' && strings.IndexByte("\"\\$`", c) < 0:
			if c == '\n' {
				return "newline in quotes"
			}
			cur.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '$' || c == '`':
			return "expansion"
		case c == '\\':
			if i++; i >= len(text) || text[i] == '\n' {
				return "continued line"
			}
			if quote == '"' && strings.IndexByte("\"\\$`", text[i]) < 0 {
				cur.WriteByte('\\')
			}
			cur.WriteByte(text[i])
			inWord = true
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t':
			flush()
		case c == '\n' || c == ';':
			if why := part(c == ';'); why != "" {
				return why
			}
		case c == '|' || c == '&':
			if i+1 < len(text) && text[i+1] == c {
				i++
			} else if c == '&' {
				return "background"
			}
			if why := part(true); why != "" {
				return why
			}
			for i+1 < len(text) && strings.IndexByte(" \t\n", text[i+1]) >= 0 {
				i++ // the next command may be on the next line
			}
			if i+1 == len(text) {
				return "nothing follows"
			}
		case c == '>' || c == '<':
			n, ok := redirect(text[i:])
			if !ok {
				return "redirection"
			}
			if s := cur.String(); s == "0" || s == "1" || s == "2" {
				cur.Reset() // the number of the stream
				inWord = false
			}
			flush()
			i += n - 1
		case strings.IndexByte("(){}*?[]!", c) >= 0 && (c != '!' || !inWord && (i+1 == len(text) || text[i+1] == ' ')):
			return "special character " + string(c)
		case c == '#' && !inWord:
			return "comment"
		default:
			cur.WriteByte(c)
			inWord = true
		}
	}
	if quote != 0 {
		return "open quote"
	}
	return part(false)
}

// redirect accepts > /dev/null, >> /dev/null, < /dev/null, >&1 and >&2 at the start
// of s, and returns their length.
func redirect(s string) (int, bool) {
	for _, op := range []string{">>", ">&", ">", "<"} {
		rest, ok := strings.CutPrefix(s, op)
		if !ok {
			continue
		}
		trimmed := strings.TrimLeft(rest, " \t")
		targets := []string{"/dev/null"}
		if op == ">&" {
			targets = []string{"1", "2"}
		}
		for _, target := range append(targets, "'/dev/null'", `"/dev/null"`) {
			if after, ok := strings.CutPrefix(trimmed, target); ok && (after == "" || strings.IndexByte(" \t\n;|&<>", after[0]) >= 0) {
				return len(s) - len(after), true
			}
		}
		return 0, false
	}
	return 0, false
}
