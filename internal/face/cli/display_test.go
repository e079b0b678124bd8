package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"waggle/internal/face/cli"
	"waggle/internal/face/cli/app"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/protocol"
	"waggle/record"
)

// displayCase is a command as an agent could write it, and what a person must be
// shown of it.
type displayCase struct{ Name, Command, Shown string }

func displayCases(t *testing.T) []displayCase {
	t.Helper()
	data := readFile(t, "testdata/display.json")
	var cases []displayCase
	testenv.Must(t, json.Unmarshal(data, &cases))
	return cases
}

// run runs a command in this process and returns its exit code and what it wrote.
func (c *crowd) run(args ...string) (int, string, string) {
	c.t.Helper()
	var out, stderr bytes.Buffer
	a := &app.App{In: strings.NewReader(""), Out: &out, Err: &stderr, Environ: c.op.Environ, Now: c.op.Minter.Now, Rand: c.op.Minter.Rand, Version: "test"}
	code := cli.Run(c.t.Context(), a, append(args, "--root", c.op.Root.Path, "--state", c.op.Home.Path, "--team", "crowd"))
	return code, out.String(), stderr.String()
}

func (c *crowd) prints(args ...string) string {
	c.t.Helper()
	code, out, stderr := c.run(args...)
	if code != 0 {
		c.t.Fatalf("waggle %v: exit %d\n%s", args, code, stderr)
	}
	return out
}

// htmlEscape is a needless escape in JSON.
var htmlEscape = regexp.MustCompile(`(^|[^\\])(\\\\)*\\u00(26|3c|3e|3C|3E)`)

func checkScreen(t *testing.T, what, out string) bool {
	t.Helper()
	for _, r := range out {
		if r != '\n' && operator.Hidden(r) {
			t.Errorf("%s has U+%04X on the screen:\n%q", what, r, out)
			return false
		}
	}
	return true
}

// TestDisplayCases: pending, show and --json show every command of the corpus as it
// runs, with everything that cannot be seen written out, whatever escapes the
// member that asks put into its JSON.
func TestDisplayCases(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	cases := displayCases(t)
	c := newCrowd(t, 1)
	for _, d := range cases {
		in, err := json.Marshal(map[string]string{"command": d.Command}) // with HTML escapes
		testenv.Must(t, err)
		c.ask(c.askers[0], protocol.KindPermissionRequest, record.Ask{Tool: "Bash", Input: string(in), Cwd: "/work", Reason: d.Command, MustAsk: "It is shown."})
	}
	var doc struct {
		Pending []struct {
			ID     string
			Reason string
			Input  struct{ Command string }
		}
	}
	raw := c.prints("pending", "--json")
	checkScreen(t, "pending --json", raw)
	if s := htmlEscape.FindString(raw); s != "" {
		t.Errorf("pending --json has the escape %q", s)
	}
	testenv.Must(t, json.Unmarshal([]byte(raw), &doc))
	ids := map[string]string{}
	for _, p := range doc.Pending {
		ids[p.Input.Command] = p.ID
		if p.Reason != p.Input.Command {
			t.Errorf("--json changed the value %q to %q", p.Input.Command, p.Reason)
		}
	}
	pending := c.prints("pending")
	checkScreen(t, "pending", pending)
	good, shown := 0, 0
	first, step := testenv.Sample(t, 1)
	for i, d := range cases {
		id := ids[d.Command]
		if id == "" {
			t.Errorf("%s: --json does not have the value %q", d.Name, d.Command)
			continue
		}
		if !strings.Contains(pending, d.Shown) {
			t.Errorf("%s: pending does not have %s:\n%s", d.Name, d.Shown, pending)
			continue
		}
		if i%step != first {
			continue // show starts two processes for each
		}
		shown++
		show, doc := c.prints("show", id), c.prints("show", id, "--json")
		ok := checkScreen(t, d.Name+": show", show) && checkScreen(t, d.Name+": show --json", doc)
		if !strings.Contains(show, d.Shown) {
			ok = false
			t.Errorf("%s: show does not have %s:\n%s", d.Name, d.Shown, show)
		}
		if s := htmlEscape.FindString(doc); s != "" || !strings.Contains(d.Command, `\u00`) && htmlEscape.MatchString(show) {
			ok = false
			t.Errorf("%s: an HTML escape is shown (%q):\n%s\n%s", d.Name, s, show, doc)
		}
		if ok {
			good++
		}
	}
	testenv.Measured(t, "%d of %d display cases are right in pending, show and --json", good, shown)
}

// TestGroupsArePrintedWhole: pending prints each different input of a group. For a group
// that it folds it prints no id; show prints the whole group and the id. A command with an
// option is not in the group of the commands without it.
func TestGroupsArePrintedWhole(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	c := newCrowd(t, 2)
	c.call(c.askers[0], "Bash", "command", "go test ./a")
	c.call(c.askers[1], "Bash", "command", "go test ./a")
	c.call(c.askers[1], "Bash", "command", "go test ./b")
	c.call(c.askers[1], "Bash", "command", "go test -race ./b")
	id := func(out string) []string { return regexp.MustCompile(`g-[0-9a-f]+`).FindAllString(out, -1) }
	out := c.prints("pending")
	if n := len(id(out)); n != 1 || !strings.Contains(out, "| go test ./a\n") || !strings.Contains(out, "worker1, worker2 in /work\n") || !strings.Contains(out, "| go test ./b\n") {
		t.Errorf("%d ids in\n%s", n, out)
	}
	if strings.Contains(out, "| go test -race") || !strings.Contains(out, "Bash go test -race ./b") {
		t.Errorf("the one with an option is of the group:\n%s", out)
	}
	first := id(out)[0]
	for i := range 60 {
		c.call(c.askers[i%2], "Bash", "command", fmt.Sprintf("go test ./p%d", i))
	}
	out = c.prints("pending")
	if len(id(out)) != 0 {
		t.Errorf("an id is printed with a folded group:\n%s", out)
	}
	hint := regexp.MustCompile(`waggle (show --group [2-9A-Z]{4,})`).FindStringSubmatch(out)
	if hint == nil {
		t.Fatalf("no way to the whole group in\n%s", out)
	}
	if code, _, stderr := c.run("approve", first); code != app.ExitNotFound || len(id(strings.ReplaceAll(stderr, first, ""))) != 0 {
		t.Errorf("the old id: exit %d, %s", code, stderr)
	}
	evil := regexp.MustCompile(`(?m)^([2-9A-Z]{4,}) .* -race `).FindStringSubmatch(out)
	code, _, stderr := c.run("show", "Bash(go test:*)")
	if code != app.ExitUsage || !strings.Contains(stderr, "names 2 groups") || len(id(stderr)) != 0 {
		t.Errorf("a pattern of two groups: exit %d, %s", code, stderr)
	}
	c.prints("deny", evil[1], "-m", "no")
	var doc struct{ Pending []struct{ Handle string } }
	testenv.Must(t, json.Unmarshal([]byte(c.prints("pending", "--json")), &doc))
	for _, args := range [][]string{strings.Fields(hint[1]), {"show", "Bash(go test:*)"}, {"show", "-g", doc.Pending[0].Handle}} {
		out = c.prints(args...)
		for i := range 60 {
			if !strings.Contains(out, fmt.Sprintf("| go test ./p%d\n", i)) {
				t.Errorf("%v leaves out p%d", args, i)
			}
		}
		if !regexp.MustCompile(`\ngroup +g-[0-9a-f]{16}\n$`).MatchString(out) {
			t.Errorf("%v does not end with the group's id:\n%s", args, out[max(0, len(out)-200):])
		}
	}
	for _, pattern := range []string{"Bash(go test:*)", "Bash(go test -race ./b)"} {
		if code, _, stderr := c.run("approve", pattern); code != app.ExitUsage || !strings.Contains(stderr, "waggle show") {
			t.Errorf("approve %s: exit %d, %s", pattern, code, stderr)
		}
	}
	if code, _, stderr := c.run("approve", "Bash"); code != app.ExitNotFound { // it could be a handle
		t.Errorf("approve Bash: exit %d, %s", code, stderr)
	}
	c.prints("approve", id(out)[0])
	out = c.prints("pending")
	if out != "" {
		t.Errorf("after the group was answered there wait\n%s", out)
	}
}

// TestGroupIDIsOfItsText: the id of a group depends on the text that is printed for it and
// on the requests in it. It does not depend on their order or age.
func TestGroupIDIsOfItsText(t *testing.T) {
	q := func(id, member, command, cwd, digest string) decide.Request {
		in := fmt.Sprintf(`{"command":%q}`, command)
		return decide.Request{PendingItem: decide.PendingItem{ID: id, Kind: string(protocol.KindPermissionRequest), Member: member, Tool: "Bash",
			Input: json.RawMessage(in), Cwd: cwd, Risk: "low", Digest: digest}, Command: command}
	}
	of := func(qs ...decide.Request) string {
		gs := decide.Groups(qs)
		if len(gs) != 1 {
			t.Fatalf("%d groups: %+v", len(gs), gs)
		}
		return gs[0].ID
	}
	a, b := q("1", "ada", "go test ./a", "/w", "d1"), q("2", "bob", "go test ./b", "/w", "d2")
	want := of(a, b)
	late := b
	late.Asked.Time, late.Asker = time.Now().Add(-7*time.Second), "its process is dead"
	if got := of(late, a); got != want {
		t.Errorf("order or age made %s of %s", got, want)
	}
	for what, other := range map[string]decide.Request{
		"input": q("2", "bob", "go test ./c", "/w", "d2"), "directory": q("2", "bob", "go test ./b", "/x", "d2"),
		"member": q("2", "eve", "go test ./b", "/w", "d2"), "digest": q("2", "bob", "go test ./b", "/w", "d3"),
	} {
		if of(a, other) == want {
			t.Errorf("another %s has the same id", what)
		}
	}
}

// TestWireHasNoHTMLEscapes: a request, words, a task and a rule with & < > are in
// mailboxes, journals, tasks and the registry as they are.
func TestWireHasNoHTMLEscapes(t *testing.T) {
	c := newCrowd(t, 1)
	const text = `a && b <c> "d" > e`
	var in bytes.Buffer
	enc := json.NewEncoder(&in)
	enc.SetEscapeHTML(false)
	testenv.Must(t, enc.Encode(map[string]string{"command": text}))
	c.ask(c.askers[0], protocol.KindPermissionRequest, record.Ask{Tool: "Bash", Input: strings.TrimSpace(in.String()), Cwd: "/work", Reason: text})
	c.prints("send", "worker1", text)
	c.prints("task", "add", text, "--instructions", text, "--owner", "worker1")
	c.prints("policy", "add", "Bash(a && b <c)")
	item := regexp.MustCompile(`(?m)^[2-9A-Z]{4,}`).FindString(c.prints("pending"))
	c.prints("deny", item, "-m", text)
	found := 0
	for _, root := range []string{c.op.Root.Path, c.op.Home.Path} {
		testenv.Must(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			if bytes.Contains(data, []byte("a && b <c")) {
				found++
			}
			if at := regexp.MustCompile(`u00(26|3c|3e)`).FindIndex(data); at != nil {
				t.Errorf("%s: …%s…", p, data[max(0, at[0]-60):min(len(data), at[1]+60)])
			}
			return nil
		}))
	}
	if found < 4 {
		t.Errorf("only %d files have the text", found)
	}
}

// TestVisibleOrder: no letter that runs right to left can change the order in which
// a terminal shows what is beside it.
func TestVisibleOrder(t *testing.T) {
	for in, want := range map[string]string{
		"אב":           "אב",
		"a אב b":       "a אב b",
		"אב, c":        "אב, c",
		"א ב":          `א\x20ב`,
		"א / ב":        `א\x20/ ב`,
		"א/ב x ג":      `א\x2fב x ג`,
		"א1":           `א\x31`,
		"א 12 ב":       `א \x312 ב`,
		"א-\u0301b":    "א-\\u{0301}b",
		"שָׁלוֹם a":    "שָׁלוֹם a",
		"ـ\u200fب":     `ـ\u{200f}ب`,
		"각 한글":         "각 한글",
		"\u1100\u1161": "\u1100\u1161",
		"a\u1161":      `a\u{1161}`,
		"a\xffb":       `a\x{ff}b`,
		"\u0e01\u0e33": "\u0e01\u0e33",
	} {
		if got := operator.Visible(in); got != want {
			t.Errorf("Visible(%+q) = %+q, want %+q", in, got, want)
		}
		if once := operator.Visible(in); operator.Visible(once) != once {
			t.Errorf("Visible is not stable on %+q: %+q", once, operator.Visible(once))
		}
	}
	if got := operator.VisibleStyled("\x1b[1mb\x1b[0m\t\x1b[2J\u202e\xff\r\n"); got != "\x1b[1mb\x1b[0m\t\\x1b[2J\\u{202e}\\x{ff}\r\n" {
		t.Errorf("%q", got)
	}
}
