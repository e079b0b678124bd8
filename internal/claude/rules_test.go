//go:build unix

package claude_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/agent"
	"waggle/internal/test/testenv"
)

// A person decides the calls about which the client's own settings ask, whatever the team's rules allow; what
// those settings say is shown at the start.
func TestOwnRules(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	user, project := filepath.Join(home, ".claude", "settings.json"), filepath.Join(work, ".claude", "settings.json")
	write := func(path, text string) {
		t.Helper()
		testenv.Must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
	}
	write(user, `{"permissions":{"allow":["Bash(npm test:*)","Read"],"deny":["Bash(rm:*)","Edit(/nowhere/**)","Grep(a\u0001b)"],"ask":["Bash(git push:*)","Read(~/.ssh/**)","mcp__notes","WebFetch(domain:example.com)"]}}`)
	write(project, `{"permissions":{"ask":["Edit(/migrations/**)","Read(.env)","Edit(//etc/**)","Write(docs/*.md)","mcp__all__*","NotebookEdit(a\u0001b)","No tool"]}}`)
	must := map[string]bool{
		`Bash {"command":"git push origin main"}`:              true,
		`Bash {"command":"go vet ./... && git push"}`:          true,
		`Bash {"command":"git pull"}`:                          false,
		`Bash {"command":"npm test"}`:                          false,
		`Read {"file_path":"` + home + `/.ssh/id"}`:            true,
		`Read {"file_path":"` + work + `/a.go"}`:               false,
		`Read {"file_path":"` + work + `/.env"}`:               true,
		`Read {"file_path":"` + work + `/deep/in/.env"}`:       true,
		`Edit {"file_path":"` + work + `/migrations/1/a.sql"}`: true,
		`Edit {"file_path":"` + work + `/src/a.sql"}`:          false,
		`Edit {"file_path":"/etc/hosts"}`:                      true,
		`Write {"file_path":"` + work + `/docs/a.md"}`:         true,
		`Write {"file_path":"` + work + `/docs/a.txt"}`:        false,
		`mcp__notes__mark {}`:                                  true,
		`mcp__other__mark {}`:                                  false,
		`WebFetch {"url":"https://example.com/a"}`:             true,
		`WebFetch {"url":"https://example.org/a"}`:             false,
		`Grep {"pattern":"x"}`:                                 true,
		`mcp__all__mark {}`:                                    true,
		`NotebookEdit {"notebook_path":"` + work + `/n"}`:      true,
	}
	denied := []string{`Bash {"command":"rm -r build"}`, `Edit {"file_path":"` + home + `/nowhere/a"}`}
	var names []string
	for name := range must {
		names = append(names, name)
	}
	slices.Sort(names)
	play := initialized + user1
	for i, name := range names {
		tool, input, _ := strings.Cut(name, " ")
		id := "r" + string(rune('a'+i))
		play += asks(id, tool, input) + permit(id, input)
	}
	for i, name := range denied {
		tool, input, _ := strings.Cut(name, " ")
		id := "d" + string(rune('a'+i))
		rule := map[string]string{"Bash": "Bash(rm:*)", "Edit": "Edit(/nowhere/**)"}[tool]
		play += asks(id, tool, input) + refusal(id, "The client's own settings deny it: "+rule+" of "+user+".")
	}
	g := newGate(t, "2.1.330")
	g.env = append(g.env, "HOME="+home)
	a, _ := newAgent(t, `{}`, play+turnEnds)
	w := task()
	w.Task.Cwd = work
	if _, err := a.Turn(t.Context(), g, w); err != nil {
		t.Fatal(err)
	}
	got := map[string]agent.Call{}
	for _, c := range g.asked {
		got[c.Tool+" "+string(c.Input)] = c
	}
	for _, name := range names {
		if c, ok := got[name]; !ok || (c.MustAsk != "") != must[name] {
			t.Errorf("%s: must ask %q, want %v", name, c.MustAsk, must[name])
		}
	}
	if c := got[`Bash {"command":"git push origin main"}`]; c.MustAsk != "The client's own settings ask about it: Bash(git push:*) of "+user+"." {
		t.Errorf("it says %q", c.MustAsk)
	}
	out := g.out.String()
	for _, want := range []string{user + " denies Bash(rm:*), Edit(/nowhere/**), Grep", user + " asks about Bash(git push:*)", user + " allows Bash(npm test:*), Read: here the team's rules decide",
		`the rule "No tool" of ` + project + " is not understood"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q: %s", want, out)
		}
	}
}

const user1 = `> {"type":"user","message":{"role":"user","content":"Task 1: go\n\ndo it"}}` + "\n"
