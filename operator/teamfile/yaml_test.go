package teamfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/teamfile"
)

// cost is what a call allocates and how long it takes.
func cost(f func()) (bytes uint64, took time.Duration) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	took = testenv.CPU(f)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, took
}

// readers are the functions that read YAML from other people.
var readers = map[string]func(path string, data []byte) error{
	"team file": func(path string, data []byte) error { _, err := teamfile.ParseFile(path, data); return err },
	"config":    func(path string, data []byte) error { _, err := teamfile.ParseConfig(path, data); return err },
}

// TestBoundYAMLCheap: a file of brackets is refused before any value is built from it, whatever stands
// between the brackets.
func TestBoundYAMLCheap(t *testing.T) {
	const n = 200_000
	for name, text := range map[string]string{
		"brackets":      strings.Repeat("[", n),
		"braces":        strings.Repeat("{", n),
		"in lines":      strings.Repeat("[\n", n/2),
		"after a key":   "team: " + strings.Repeat("[", n),
		"closed":        strings.Repeat("[", n/2) + strings.Repeat("]", n/2),
		"dashes":        strings.Repeat(strings.Repeat("- ", 1000)+"\n", n/2001),
		"quoted":        `"a": ` + strings.Repeat("[\"\",\n", n/5),
		"comments":      strings.Repeat("[#\n", n/3),
		"empty lines":   "team: |\n" + strings.Repeat("\n", n),
		"filled blanks": "team: |\n  x\n" + strings.Repeat("   \n", n/4),
	} {
		for what, read := range readers {
			t.Run(name+"/"+what, func(t *testing.T) {
				var err error
				bytes, took := cost(func() { err = read("x.yaml", []byte(text)) })
				if operator.KindOf(err) != operator.Usage || !strings.Contains(fmt.Sprint(err), "x.yaml:") {
					t.Errorf("%.300v", err)
				}
				testenv.Within(t, "the refusal", took, 500*time.Millisecond*testenv.Slow)
				if bytes > 50e6 {
					t.Errorf("%d bytes", bytes)
				}
			})
		}
	}
}

// TestBoundYAMLRefuses: each construct of YAML that waggle's files do without is refused, with its
// line.
func TestBoundYAMLRefuses(t *testing.T) {
	deep := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
		}
		return b.String()
	}
	for _, c := range []struct{ name, text, want string }{
		{"anchor", "team: a\nlead: &x operator\n", "x.yaml:2: an anchor (&)"},
		{"anchor of a list", "a:\n  - &x\n    b: c\n", "x.yaml:2: an anchor (&)"},
		{"alias", "team: a\nlead: *x\n", "x.yaml:2: an alias (*)"},
		{"alias in brackets", "team: a\nlead: [*x]\n", "x.yaml:2: an alias (*)"},
		{"tag", "team: !!str a\n", "x.yaml:1: a tag (!)"},
		{"a tag of its own", "team: a\ndecide: !x {tool: rules}\n", "x.yaml:2: a tag (!)"},
		{"binary", "team: !!binary YQ==\n", "x.yaml:1: a tag (!)"},
		{"merge key", "team: api\nmembers:\n  - <<: {name: b}\n", "x.yaml:3: a merge key (<<)"},
		{"merge key in braces", "{<<: {team: a}}\n", "x.yaml:1: a merge key (<<)"},
		{"two documents", "team: a\n---\nteam: b\n", "x.yaml:2: a second document (---)"},
		{"end of a document", "team: a\n...\nteam: b\n", "x.yaml:2: the end of a document (...)"},
		{"directive", "%YAML 1.2\n---\nteam: a\n", "x.yaml:1: a directive (%)"},
		{"explicit key", "? team\n: a\n", "x.yaml:1: a key of its own (?)"},
		{"key of brackets", "[team]: a\n", "is no key"},
		{"a number as a key", "team: a\n12: b\n", `x.yaml:2: "12" is no key`},
		{"null as a key", "~: b\n", `"~" is no key`},
		{"no key", "{: a}\n", "x.yaml:1"},
		{"twice", "team: a\nlead: b\nteam: c\n", "x.yaml:3"},
		{"twice in quotes", "team: a\n\"team\": c\n", "x.yaml:2"},
		{"twice in escapes", "team: a\n\"te\\x61m\": c\n", "x.yaml:2"},
		{"twice in braces", "{team: a, 'team': c}\n", "x.yaml:1"},
		{"depth of brackets", "a: " + strings.Repeat("[", 30) + strings.Repeat("]", 30) + "\n", "x.yaml:1: nested deeper than 20"},
		{"depth of braces", "a: " + strings.Repeat("{a: ", 30) + strings.Repeat("}", 30) + "\n", "x.yaml:1: nested deeper than 20"},
		{"depth of columns", deep(30), "x.yaml:21: nested deeper than 20"},
		{"depth of dashes", "a:\n  " + strings.Repeat("- ", 30) + "b\n", "x.yaml:2: nested deeper than 20"},
		{"depth of flow colons", "[" + strings.Repeat("a: ", 30) + "]\n", "x.yaml:1: nested deeper than 20"},
		{"a bracket that closes nothing", "a: [[]]]\n", "x.yaml:1: a ] that closes nothing"},
		{"tokens", strings.Repeat("- a\n", 11_000), "x.yaml:10001: more than 20000 words"},
		{"keys", func() string {
			var b strings.Builder
			for i := range 1100 {
				fmt.Fprintf(&b, "k%d: v\n", i)
			}
			return b.String()
		}(), "x.yaml:1001: more than 1000 keys"},
		{"a long key", strings.Repeat("k", 200) + ": v\n", "a key of more than 128 bytes"},
		{"a long line", "team: a\nlead: " + strings.Repeat("x", 5000) + "\n", "x.yaml:2: a line of more than 4096 bytes"},
		{"size", strings.Repeat("# a comment\n", 30_000), "x.yaml: more than 262144 bytes"},
		{"empty lines", "team: a\n" + strings.Repeat(" \n", 40) + "lead: b\n", "x.yaml:34: more than 32 empty lines"},
		{"not UTF-8", "team: a\nlead: \xff\n", "x.yaml:2: not UTF-8"},
		{"control characters", "team: a\nlead: \x1b[8m\n", `x.yaml:2: a control character: \x1b`},
	} {
		for what, read := range readers {
			t.Run(c.name+"/"+what, func(t *testing.T) {
				err := read("x.yaml", []byte(c.text))
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("said %.300v, want %q in it", err, c.want)
				}
				if code := operator.KindOf(err); code != operator.Usage {
					t.Errorf("code %d", code)
				}
			})
		}
	}
}

// TestBoundYAMLOrdinary: ordinary text is not refused because it looks like one of those constructs.
func TestBoundYAMLOrdinary(t *testing.T) {
	const head = "team: api\nmembers: [{name: b, agent: exec}]\n"
	task := func(text string) string {
		return head + "tasks:\n  - subject: s\n    owner: b\n    instructions: " + text + "\n"
	}
	many := head + "tasks:\n"
	for i := range 1000 {
		many += fmt.Sprintf("  - {subject: \"Task %d\", owner: b, instructions: \"go test ./p%d\", timeout: 10m}\n", i, i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"brackets in quotes": {task(`"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[ {{{{ & * ! << ? --- %"`), "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[ {{{{ & * ! << ? --- %"},
		"single quotes":      {task(`'a && b || !c; *.go << EOF; it''s &x'`), "a && b || !c; *.go << EOF; it's &x"},
		"a plain text":       {task(`make all && test -f x[1] || echo *`), "make all && test -f x[1] || echo *"},
		"a block":            {task("|\n      if [[ $a == {b,c} ]]; then\n        cat <<EOF && &x *y !z %q\n        ---\n        ? a\n        - - - - - - - - - - - - - - - - - - - - - - - - - - -\n        EOF\n      fi # [[[[[\n\n      echo \"unclosed"), "if [[ $a == {b,c} ]]; then\n  cat <<EOF && &x *y !z %q\n  ---\n  ? a\n  - - - - - - - - - - - - - - - - - - - - - - - - - - -\n  EOF\nfi # [[[[[\n\necho \"unclosed"},
		"a folded block":     {task(">-\n      one &two\n      *three"), "one &two *three"},
		"comments":           {"# & * ! << [[[[ {{{{ ? --- %\n" + task("ls # &x *y \" '"), "ls"},
		"a document header":  {"---\n" + task("ls"), "ls"},
		"a byte order mark":  {"\uFEFF" + task("ls"), "ls"},
		"Windows lines":      {strings.ReplaceAll(task("ls"), "\n", "\r\n"), "ls"},
		"empty lines":        {"\n\n\n" + task("|\n      a\n"+strings.Repeat("\n", 20)+"      b"), "a\n" + strings.Repeat("\n", 20) + "b"},
		"a thousand tasks":   {many, "go test ./p0"},
		"a long text":        {task("|\n" + strings.Repeat("      "+strings.Repeat("word ", 20)+"\n", 1500)), ""},
		"other scripts":      {task("echo ünïcödé 日本語 🐝"), "echo ünïcödé 日本語 🐝"},
		"a word with stars":  {task("ls **/*.go"), "ls **/*.go"},
	} {
		t.Run(name, func(t *testing.T) {
			f := testenv.Value(teamfile.ParseFile("x.yaml", []byte(c.text)))(t)
			if got := strings.TrimSuffix(f.Tasks[0].Instructions, "\n"); c.want != "" && got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	for _, pattern := range []string{"../../examples/*/*.yaml", "../../internal/face/demo/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %q %v", pattern, files, err)
		}
		for _, file := range files {
			data := testenv.Value(os.ReadFile(file))(t)
			if _, err := teamfile.ParseFile(file, data); err != nil {
				t.Error(err)
			}
		}
	}
}

// written are words that YAML reads as numbers, truth values, dates or nothing.
var written = []string{
	"0755", "1.10", "0x1F", "1e3", "1_000", "+5", "0o17", "0b11", ".5", "5.", "1.5e3", "12345678901234567890123", ".inf", ".NaN",
	"true", "True", "no", "Yes", "off", "null", "Null", "~", "2026-01-02",
}

// TestTextsAsWritten: where a key is a text, a word of the file is that text, in every place that has
// texts; a number, a truth value or nothing is only where the key is one.
func TestTextsAsWritten(t *testing.T) {
	dir := t.TempDir()
	for _, w := range written {
		f, err := teamfile.ParseFile(filepath.Join(dir, "x.yaml"), []byte(strings.ReplaceAll(`team: api
description: W
metadata: {free: [7, 1.5, true, 0x1F, 0755]}
sandbox: {readable: [W]}
members:
  - {name: a, agent: exec, command: [chmod, W], check: {run: W, returns: 1, timeout: 2s}, prompt: W, type: W, cwd: W}
  - {name: b, agent: claude, model: W, args: [--fallback-model, W]}
  - name: c
    agent: script
    steps:
      - say: {to: a, text: W}
      - tool: {name: Edit, input: {n: 7, real: 1.5, is: true, no: null, mode: 0755}, reason: W}
      - plan: {revisions: [W, W], withdraw: {until: W}}
      - plan: [W]
      - ask_question: {questions: [{question: W, options: [x, {label: W, description: W}], closed: true}]}
      - fail: W
tasks:
  - {subject: W, owner: a, instructions: W}
  - {subject: later, owner: a, after: [W], required: false, timeout: 3m}
`, "W", w)))
		if err != nil {
			t.Fatalf("%s: %v", w, err)
		}
		q, readable := strconv.Quote(w), filepath.Join(dir, w)
		if w == "~" {
			readable = "~/" // the text is the home directory in a block
		}
		for what, got := range map[string][2]string{
			"description": {f.Description, w}, "metadata": {string(f.Metadata), `{"free": [7, 1.5, true, "0x1F", "0755"]}`},
			"readable": {f.Sandbox.Readable[0], readable}, "cwd": {f.Members[0].Cwd, filepath.Join(dir, w)},
			"command": {string(f.Members[0].Spec), `{"command":["chmod",` + q + `]}`}, "prompt": {f.Members[0].Prompt, w}, "type": {f.Members[0].Type, w},
			"check": {f.Members[0].Check.Command, w}, "model": {f.Members[1].Model, w}, "args": {string(f.Members[1].Spec), `{"model":` + q + `,"args":["--fallback-model",` + q + `]}`},
			"steps": {string(f.Members[2].Spec), strings.ReplaceAll(`{"steps":[{"say":{"to":"a","text":W}},{"tool":{"name":"Edit","input":{"is":true,"mode":"0755","n":7,"no":null,"real":1.5},"reason":W}},`+
				`{"plan":{"revisions":[W,W],"withdraw":{"until":W}}},{"plan":{"revisions":[W]}},`+
				`{"ask_question":{"questions":[{"question":W,"options":[{"label":"x"},{"label":W,"description":W}],"closed":true}]}},{"fail":{"reason":W}}]}`, "W", q)},
			"subject": {f.Tasks[0].Subject, w}, "instructions": {f.Tasks[0].Instructions, w}, "after": {f.Tasks[1].After[0], w},
		} {
			if got[0] != got[1] {
				t.Errorf("%s of %s: %s, want %s", what, w, got[0], got[1])
			}
		}
		if f.Tasks[1].Required || f.Tasks[1].Timeout != 3*time.Minute || f.Members[0].Check.TimeoutMS != 2000 {
			t.Errorf("%+v", f.Tasks[1])
		}
	}
	short, err := teamfile.ParseFile("x.yaml", []byte("team: 0755\nmembers:\n  - {name: 0o17, agent: script, check: 0755, worktree: true, steps: [{say: 1.10}, {plan: 0755}, {ask_question: 1_0}, {progress: true}, {network: 127.1}]}\n  - {name: b, agent: exec, model:, check: null, restart: ~}\n"))
	testenv.Must(t, err)
	const steps = `{"steps":[{"say":{"text":"1.10"}},{"plan":{"revisions":["0755"]}},{"ask_question":{"questions":[{"question":"1_0"}]}},{"progress":{"phase":"","message":"true"}},{"network":{"host":"127.1"}}]}`
	if m := short.Members[0]; short.Team != "0755" || m.Name != "0o17" || m.Check.Command != "0755" || !m.Worktree || string(m.Spec) != steps {
		t.Errorf("%+v, %s", m, m.Spec)
	}
	if b := short.Members[1]; b.Model != "" || b.Check != nil || b.Restart == nil {
		t.Errorf("%+v", b)
	}
	c, err := teamfile.ParseConfig("config.yaml", []byte("ceiling: {allow: [true], deny: [null]}\nkeys: {approve: [1, ~]}\ngrace: 2s\nbrake: {usd: 1.50}\n"))
	if err != nil || fmt.Sprint(c.Ceiling.Allow, c.Ceiling.Deny, c.Keys, c.Grace, c.Brake.CostMicros) != "[true] [null] map[approve:[1 ~]] 2s 1500000" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := teamfile.ParseFile("x.yaml", []byte("team: a\nbudget: {usd: .inf}\nmembers: []\n")); err == nil {
		t.Error("a budget without an end")
	}
}

// Bounds on the cost of reading a text, whatever is in it. maxCost is bytes that are allocated in all,
// of which most are garbage at once.
const (
	largest = 256 << 10
	maxCost = 400 << 20
	maxTook = 5 * time.Second
)

// worst repeats a part of a text until the file has a size.
func worst(size int, head, part, tail string, lines bool) []byte {
	var b strings.Builder
	b.WriteString(head)
	for i, in := 0, len(head); len(part) > 0 && b.Len()+len(part)+len(tail)+8 < size; i++ {
		s := part
		if strings.Contains(part, "%d") {
			s = strings.ReplaceAll(part, "%d", strconv.Itoa(i))
		}
		if in += len(s); lines && in > 4000 {
			b.WriteString("\n")
			in = len(s)
		}
		if strings.Contains(s, "\n") {
			in = 0
		}
		b.WriteString(s)
	}
	b.WriteString(tail)
	return []byte(b.String())
}

var worstParts = [][3]string{
	{"", "[", ""}, {"", "{", ""}, {"", "]", ""}, {"", "[]", ""}, {"", "[],", ""}, {"a: [", "[],", "]"}, {"a: [", ",", "]"}, {"a: [", "1,", "]"},
	{"", "- a\n", ""}, {"", "k%d: v\n", ""}, {"a: {", "k%d: v,", "}"}, {"a: {", "k%d: v,\n", "}"}, {"a:\n", "  - k%d: v\n", ""},
	{"a: \"", "\t", "\""}, {"a: \"", "\tx", "\""}, {"a: \"", "\\n", "\""}, {"a: \"", "x \n", "\""}, {"a: '", "''", "'"}, {"a: '", " \n x", "'"},
	{"a: ", "<", ""}, {"a: ", "<< ", ""}, {"", "<<:", ""}, {"a: x", " <<", ""}, {"", "@", ""}, {"", "`\n", ""}, {"", "%", ""}, {"", ":", ""}, {"", "a: ", ""},
	{"a: |\n", "  x\n", ""}, {"a: |\n", " x" + strings.Repeat("\n", 32), ""}, {"a: >\n", " x" + strings.Repeat("\n", 32), ""}, {"a: |\n x\n", " " + strings.Repeat("\n", 31) + "x\n", ""},
	{"", "- |\n x" + strings.Repeat("\n", 32), ""}, {"a: x\n", "  - y\n", ""}, {"a: x\n", " y\n", ""}, {"a: >\n", "  x\n   y\n", ""},
	{"", "#\n", ""}, {"", "# x", ""}, {"a: [", "#\n", "]"}, {"", "- #\n", ""}, {"", "!", ""}, {"", "!a ", ""}, {"", "&a ", ""}, {"", "*a ", ""}, {"", "? ", ""},
	{"", "\t", ""}, {"a:", "\t", "b"}, {"a:", " ", "b"}, {"", "\"\" ", ""}, {"", "'' ", ""}, {"", "\"a\": b\n", ""}, {"a: ", "9", ""}, {"a: 0x", "f", ""}, {"a: 1", "_", ""}, {"a: ", "9.", ""},
	{"", "- - - - - - - - - - a\n", ""}, {"", "[[[[[[[[[[]]]]]]]]]],", ""}, {"", "{a: {a: {a: b}}},", ""},
	{strings.Repeat(strings.Repeat("k", 120)+": {", 18), "k%d: v,", strings.Repeat("}", 18)},
	{strings.Repeat(strings.Repeat("k", 120)+": [", 18), "v,", ""},
	{func() string {
		s := ""
		for i := range 18 {
			s += strings.Repeat(" ", i) + strings.Repeat("k", 120) + ":\n"
		}
		return s
	}(), strings.Repeat(" ", 18) + "- a\n", ""},
	{"team: api\nmembers:\n", "  - {name: m, agent: exec}\n", ""}, {"team: api\nmembers:\n", "  - {name: m%d, agent: exec}\n", ""}, {"team: api\nmembers:\n", "  - {name: -, agent: x}\n", ""},
	{"team: api\nmembers: [{name: b, agent: script, steps: [\n", "{say: x},", "]}]"}, {"team: api\nmembers: [{name: b, agent: script, steps: [\n", "{plan: [x,[],{a: b}]},", "]}]"},
	{"team: api\npolicy: {allow: [\n", "Bash(ls),", "]}"}, {"team: api\npolicy: {allow: [\n", "'Bash((((((((((((((((((((((((',", "]}"},
	{"team: api\nmembers: [{name: b, agent: exec}]\ntasks:\n", "  - {subject: s, owner: x}\n", ""},
	{"team: api\nmembers: [{name: b, agent: exec}]\ntasks:\n", "  - {timeout: 1s}\n", ""},
	{"team: api\nmembers: [{name: b, agent: exec}]\ntasks:\n", "  - {timeout: x}\n", ""},
	{"team: api\nmembers:\n", "  - {restart: {within: 1s, most: 3}}\n", ""},
	{"team: api\nmembers: [{name: b, agent: exec}]\ntasks:\n  - {subject: s, owner: b, after: [", "x,", "]}\n"},
}

// TestBoundYAMLWorst: of the files that repeat something, none costs more than the bound,
// for its size. In the large, the files are as large as they may be.
func TestBoundYAMLWorst(t *testing.T) {
	size := testenv.Scale(48<<10, largest)
	var most uint64
	var longest time.Duration
	for _, p := range testenv.Rows(t, worstParts, 20) {
		for what, read := range readers {
			text := worst(size, p[0], p[1], p[2], true)
			bytes, took := cost(func() { _ = read("x.yaml", text) })
			if bytes > uint64(maxCost/largest*size) {
				t.Errorf("%s %.40q: %d bytes", what, p[1], bytes)
			}
			if testing.Verbose() && (bytes > 60<<20 || took > 200*time.Millisecond) {
				t.Logf("%s %.20q %.40q: %d MB, %s", what, p[0], p[1], bytes>>20, took)
			}
			most, longest = max(most, bytes), max(longest, took)
		}
	}
	t.Logf("at most %d bytes", most)
	testenv.Within(t, "the longest", longest, maxTook*testenv.Slow)
}

// FuzzBoundYAML: a text, repeated until the file is as large as it may be, never costs
// more than the bound to read, whether it is refused or not.
func FuzzBoundYAML(f *testing.F) {
	for i, p := range worstParts {
		if i%24 == 0 { // all of them are TestBoundYAMLWorst's
			f.Add(p[0], p[1], p[2])
		}
	}
	f.Fuzz(func(t *testing.T, head, part, tail string) {
		for what, read := range readers {
			for _, lines := range []bool{false, true} {
				text := worst(largest, head, part, tail, lines)
				if bytes, took := cost(func() { _ = read("x.yaml", text) }); bytes > maxCost || took > maxTook*testenv.Slow {
					t.Errorf("%s: %d bytes, %s", what, bytes, took)
				}
			}
		}
	})
}

// TestCeilingAllow: no allow is no limit, an empty one allows nothing.
func TestCeilingAllow(t *testing.T) {
	t.Parallel()
	for text, none := range map[string]bool{"ceiling: {mode: default}": true, "ceiling: {allow: null}": true, "ceiling: {allow: []}": false, "ceiling:\n  allow: []\n": false, "ceiling: {allow: [Read]}": false} {
		c, err := teamfile.ParseConfig("config.yaml", []byte(text))
		if err != nil || (c.Ceiling.Allow == nil) != none {
			t.Errorf("%s: %+v, %v", text, c, err)
		}
	}
}
