package cli_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"waggle/internal/test/testenv"
)

// A guidePage is how the commands of a page of docs/guide are typed one after the other, in a fresh home and project.
type guidePage struct {
	files string // of the project, as txtar, which the script finds in its directory
	setup string // what is done before
	// as has what is done instead of a line where that is more than to type it. TYPE in it is the line as it is typed, so
	// that exec TYPE types it, and follows TEXT types it, waits until it has written that, and presses Ctrl-C. Without
	// these the first line is a comment with the reason.
	as map[string]string
	is []string // what stands for words of the page: pairs
}

// commandLine begins a line that somebody types. Other lines of a block are a file, a program, or what a command shows.
var commandLine = regexp.MustCompile(`^(\w+=\S* )*(waggle|claude|make|sh|sudo|mkdir|git|go|npm|codex|gemini)( |$)`)

// follows is the line of a script for a command that goes on until Ctrl-C.
var follows = regexp.MustCompile(`(?m)^follows (.*)$`)

// guideScript is the script that types a page. A block that cannot be typed here has a mark before it: needs, and what.
func guideScript(t *testing.T, page string, g guidePage) (script string, n int) {
	t.Helper()
	used := map[string]bool{}
	words := strings.NewReplacer(g.is...)
	for _, b := range testenv.Blocks(t, page) {
		if strings.HasPrefix(b.Mark, "needs ") {
			continue
		}
		for _, line := range b.Lines {
			command := testenv.Command(line)
			as, special := g.as[command]
			as = follows.ReplaceAllString(as, "exec FOLLOW &follow&\nuntil $1 cat follow.txt\nkill -INT follow\nwait follow")
			switch {
			case special:
				used[command] = true
				if first, _, _ := strings.Cut(as, "\n"); !strings.Contains(as, "TYPE") && !strings.Contains(as, "FOLLOW") && !strings.HasPrefix(first, "# ") {
					t.Errorf("%s: no reason why nobody types %q", page, command)
				}
			case commandLine.MatchString(command):
				as = "exec TYPE"
			default:
				continue
			}
			n++
			line := strings.ReplaceAll(words.Replace(command), "'", "''")
			script += strings.NewReplacer("TYPE", "sh -c '"+line+"'", "FOLLOW", "sh -c 'exec "+line+" >follow.txt 2>&1'").Replace(as) + "\n"
		}
	}
	for line := range g.as {
		if !used[line] {
			t.Errorf("%s has no line %q", page, line)
		}
	}
	return "env GIT_CONFIG_GLOBAL=$WORK/gitconfig\nenv TEST_DELIVER=1m\n" + g.setup + script + "-- gitconfig --\n[user]\n\tname = t\n\temail = t@example.com\n" + g.files, n
}

// TestGuidesTyped types the commands of every page of docs/guide that needs no client. The usual run types
// nothing, and checks that the lines that are typed otherwise are there, each with a reason: a new block of commands is
// typed as it stands, or has a mark that says what it needs.
func TestGuidesTyped(t *testing.T) {
	t.Parallel()
	testenv.Require(t, "git")
	pages, err := filepath.Glob("../../../docs/guide/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatal(pages, err)
	}
	dir := t.TempDir()
	var files []string
	for _, page := range pages {
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		script, n := guideScript(t, page, guides[name])
		if n == 0 {
			continue
		}
		files = append(files, filepath.Join(dir, name+".txtar"))
		writeFile(t, files[len(files)-1], script)
	}
	if len(files) < 12 {
		t.Errorf("%d pages have commands", len(files))
	}
	if testenv.Full() {
		runScripts(t, files...)
	}
}

// cmdAsked is: asked VAR TEXT. It waits until one open request has the text, and sets VAR to its handle. With a text
// that begins with g-, it is the id of a group with the rest of it.
func cmdAsked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: asked var text")
	}
	text, group := strings.CutPrefix(args[1], "g-")
	said := ""
	if !testenv.WaitFor(time.Minute, func() bool {
		_ = ts.Exec("waggle", "pending", "--json") // exits with 9 while there is no team
		said = ts.ReadFile("stdout")
		var doc struct{ Pending, Groups []map[string]any }
		if json.Unmarshal([]byte(said), &doc) != nil {
			return false
		}
		list, key := doc.Pending, "handle"
		if group {
			list, key = doc.Groups, "id"
		}
		for _, q := range list {
			one, err := json.Marshal(q)
			ts.Check(err)
			if id, _ := q[key].(string); id != "" && strings.Contains(string(one), text) && (group || q["status"] == "open") {
				ts.Setenv(args[0], id)
				return true
			}
		}
		return false
	}) {
		ts.Fatalf("nobody asks %q:\n%s", args[1], said)
	}
}
