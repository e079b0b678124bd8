//go:build unix

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// TestProjectLinks: a command that writes into a repository follows none of its links, wherever they lead.
func TestProjectLinks(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	const kept = "{\"kept\": true}\n"
	for name, c := range map[string]struct {
		links map[string]string // in the repository: where each leads
		args  string
		code  int
	}{
		"the directory":              {map[string]string{".claude": "OUT"}, "hooks install --project --yes", 6},
		"the directory, by dots":     {map[string]string{".claude": "../out"}, "hooks install --project --yes", 6},
		"the directory, dangling":    {map[string]string{".claude": "OUT/new"}, "hooks install --project --yes", 6},
		"the directory, to git's":    {map[string]string{".claude": ".git"}, "hooks install --project --yes", 6},
		"the file":                   {map[string]string{".claude/settings.local.json": "OUT/settings.local.json"}, "hooks install --project --yes", 6},
		"the file, dangling":         {map[string]string{".claude/settings.local.json": "OUT/new.json"}, "hooks install --project --yes", 6},
		"the file, through another":  {map[string]string{".claude/settings.local.json": "other", ".claude/other": "OUT/settings.local.json"}, "hooks install --project --yes", 6},
		"the file, to itself":        {map[string]string{".claude/settings.local.json": "settings.local.json"}, "hooks install --project --yes", 6},
		"the directory of codex":     {map[string]string{".codex": "OUT"}, "hooks install --for codex --project --yes", 6},
		"the file of codex":          {map[string]string{".codex/hooks.json": "OUT/hooks.json"}, "hooks install --for codex --project --yes", 6},
		"the directory of gemini":    {map[string]string{".gemini": "OUT"}, "hooks install --for gemini --project --yes", 6},
		"the file of gemini":         {map[string]string{".gemini/settings.json": "OUT/settings.json"}, "hooks install --for gemini --project --yes", 6},
		"a look":                     {map[string]string{".claude": "OUT"}, "hooks show --project", 6},
		"an uninstall":               {map[string]string{".claude": "OUT"}, "hooks uninstall --project --yes", 6},
		"a team file, dangling":      {map[string]string{"waggle.yaml": "OUT/new.yaml"}, "init", 1},
		"a team file that is there":  {map[string]string{"waggle.yaml": "OUT/settings.json"}, "init", 1},
		"no link, and it is written": {nil, "hooks install --project --yes", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, "waggle")
			out := filepath.Join(h.dir, "out")
			for _, d := range []string{out, filepath.Join(h.work, ".git"), filepath.Join(h.work, ".git", "objects")} {
				testenv.Must(t, os.MkdirAll(d, 0o700))
			}
			writeFile(t, filepath.Join(h.work, ".git", "HEAD"), "ref: refs/heads/main\n")
			files := []string{"settings.local.json", "settings.json", "hooks.json"}
			for _, f := range files {
				writeFile(t, filepath.Join(out, f), kept)
			}
			for link, to := range c.links {
				path := filepath.Join(h.work, link)
				testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
				testenv.Must(t, os.Symlink(strings.Replace(to, "OUT", out, 1), path))
			}
			if stdout, stderr, code := h.waggle(strings.Fields(c.args)...); code != c.code {
				t.Errorf("exit %d, want %d: %s%s", code, c.code, stdout, stderr)
			}
			for _, f := range files {
				if b, err := os.ReadFile(filepath.Join(out, f)); string(b) != kept || err != nil {
					t.Errorf("%s outside is %q, %v", f, b, err)
				}
			}
			if all, err := os.ReadDir(out); err != nil || len(all) != len(files) {
				t.Errorf("outside is %v, %v", all, err)
			}
			if all, err := os.ReadDir(filepath.Join(h.work, ".git")); err != nil || len(all) != 2 {
				t.Errorf("in .git is %v, %v", all, err)
			}
		})
	}
}

// TestNoEnds: a time that is empty, over, or no time is wrong usage, never the default and never "no end".
func TestNoEnds(t *testing.T) {
	t.Parallel()
	h := newHome(t, "waggle")
	h.must("team", "create", "ends")
	for _, end := range []string{"", " ", "0s", "-1h", "0d", "-2d", "99999999h", "36501d", "2020-01-01", "9999-99-99", "soon"} {
		for _, args := range [][]string{{"policy", "sessions", "add", "Bash(x:*)", "--until"}, {"policy", "sessions", "add", "Bash(x:*)", "--until"}, {"policy", "add", "Bash(x:*)", "--team", "ends", "--until"},
			{"away", "on", "--until"}, {"net", "allow", "example.com", "--team", "ends", "--until"}} {
			if stdout, stderr, code := h.waggle(append(args, end)...); code != 2 {
				t.Errorf("%q %q: exit %d: %s%s", args, end, code, stdout, stderr)
			}
		}
	}
	for _, args := range [][]string{{"approve", "ABCD", "--rule", "Bash(x:*)", "--until", ""}, {"audit", "query", "--since", ""}, {"audit", "query", "--until", ""}, {"digest", "--since", ""},
		{"send", "ann", "hello", "--team", "ends", "--until", "0s"}, {"send", "ann", "hello", "--team", "ends", "--until", "-1s"}} {
		if stdout, stderr, code := h.waggle(args...); code != 2 {
			t.Errorf("%q: exit %d: %s%s", args, code, stdout, stderr)
		}
	}
	if out := h.must("policy", "sessions") + h.must("policy", "--team", "ends"); strings.Contains(out, "Bash(x") || strings.Contains(out, "example.com") {
		t.Errorf("a rule was made:\n%s", out)
	}
	for i, line := range []string{`deadline: ""`, "deadline: 0s", "deadline: -1s", `tasks: [{subject: a, owner: ann, instructions: x, timeout: ""}]`, "tasks: [{subject: a, owner: ann, instructions: x, timeout: -1s}]", `members: [{name: bob, agent: exec, restart: {within: ""}}]`} {
		members := "members: [{name: ann, agent: exec}]\n"
		if strings.HasPrefix(line, "members") {
			members = ""
		}
		if stdout, stderr, code := h.waggle("up", h.write(fmt.Sprintf("f%d.yaml", i), "team: never\n"+members+line+"\n"), "--plan"); code != 2 {
			t.Errorf("%s: exit %d: %s%s", line, code, stdout, stderr)
		}
	}
}

// TestRegistryWithoutStart: a request counts as a session's only when the registry names the process with its start time.
func TestRegistryWithoutStart(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	if runtime.GOOS != "linux" {
		t.Skip("how the client spells a start is known on Linux only")
	}
	const script = `mkdir -p "$CLAUDE_CONFIG_DIR/sessions"
start=$(cut -d" " -f22 /proc/$$/stat) other=$(cut -d" " -f22 /proc/1/stat)
printf '{"pid":%d,"sessionId":"sess-a","cwd":"/w","name":"a","version":"2.1.330","kind":"interactive","status":"busy"ENTRY}' $$ >"$CLAUDE_CONFIG_DIR/sessions/$$.json"
WAGGLE hook claude PermissionRequest --wait 1m <ask.json
`
	for name, c := range map[string]struct {
		entry string
		open  bool
	}{
		"its own start":                {`,"procStart":"'$start'"`, true},
		"its own start, as a number":   {`,"procStart":'$start'`, true},
		"none":                         {``, false},
		"an empty one":                 {`,"procStart":""`, false},
		"null":                         {`,"procStart":null`, false},
		"zero":                         {`,"procStart":"0"`, false},
		"zero, as a number":            {`,"procStart":0`, false},
		"negative":                     {`,"procStart":"-'$start'"`, false},
		"in the future":                {`,"procStart":"9'$start'"`, false},
		"of another process":           {`,"procStart":"'$other'"`, false},
		"a fraction":                   {`,"procStart":"'$start'.0"`, false},
		"a list":                       {`,"procStart":["'$start'"]`, false},
		"under a name of another case": {`,"ProcStart":"'$start'"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, "waggle")
			h.write("ask.json", `{"session_id":"sess-a","cwd":"/w","permission_mode":"default","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"ls"}}`)
			path := h.write("session.sh", strings.NewReplacer("ENTRY", c.entry, "WAGGLE", h.program).Replace(script))
			cmd := h.command()
			cmd.Path, cmd.Args = "/bin/sh", []string{"sh", path}
			cmd.Env = append(cmd.Env, "CLAUDE_CONFIG_DIR="+filepath.Join(h.dir, "claude"))
			testenv.Must(t, cmd.Start())
			defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
			count := func(what string, args ...string) int {
				p := h.command(args...)
				p.Env = append(p.Env, "CLAUDE_CONFIG_DIR="+filepath.Join(h.dir, "claude"))
				out, _ := p.Output() // the store may not be there yet
				return strings.Count(string(out), what)
			}
			testenv.Eventually(t, "it is on record", func() bool { return count(`"tool": "Bash"`, "audit", "query", "-", "--json") == 1 })
			if got := count(`"status": "open"`, "pending", "--json"); (got == 1) != c.open {
				t.Errorf("%d requests take an answer", got)
			}
		})
	}
}

// TestDeepRequest: what is shown of a request grows with the request, and not with the square of its depth.
func TestDeepRequest(t *testing.T) {
	t.Parallel()
	h := newHome(t, "waggle")
	const n = 9000
	deep := func(open, inner, end string) string { return strings.Repeat(open, n) + inner + strings.Repeat(end, n) }
	for name, c := range map[string]struct{ tool, input, more string }{
		"objects":         {"mcp__x__y", deep(`{"a":`, "1", "}"), ""},
		"lists":           {"mcp__x__y", `{"a":` + deep("[", "", "]") + "}", ""},
		"both":            {"mcp__x__y", `{"a":` + strings.Repeat(`[{"b":`, n/2) + "1" + strings.Repeat("}]", n/2) + "}", ""},
		"wide at the end": {"mcp__x__y", `{"a":` + deep("[", strings.Repeat("1,", n)+"1", "]") + "}", ""},
		"questions":       {"AskUserQuestion", `{"questions":` + deep("[", "", "]") + "}", ""},
		"offers":          {"Bash", `{"command":"ls"}`, `,"permission_suggestions":[` + deep(`{"a":`, "1", "}") + "]"},
		"a long command":  {"Bash", `{"command":"` + strings.Repeat("ls; ", n) + `"}`, ""},
		"many keys":       {"mcp__x__y", "{" + strings.TrimSuffix(strings.Repeat(`"kkkk":1,`, n), ",") + "}", ""},
	} {
		event := `{"session_id":"sess-` + strings.ReplaceAll(name, " ", "-") + `","cwd":"/w","permission_mode":"default","hook_event_name":"PermissionRequest","tool_name":"` + c.tool + `","tool_input":` + c.input + c.more + "}"
		cmd := h.command("hook", "claude", "PermissionRequest", "--wait", "1ms")
		cmd.Stdin = strings.NewReader(event)
		if out, err := cmd.Output(); err != nil || len(out) > len(event) {
			t.Errorf("%s: the answer has %d bytes, %v", name, len(out), err)
		}
		for _, args := range [][]string{{"pending", "--json"}, {"pending"}, {"audit", "query", "-", "--json"}} {
			if out, _, _ := h.waggle(args...); len(out) > 40*n*10 {
				t.Errorf("%s of %d bytes: %q prints %d", name, len(event), args, len(out))
			}
		}
	}
}
