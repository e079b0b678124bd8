package cli_test

import (
	"bytes"
	"cmp"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waggle/internal/face/cli"
	"waggle/internal/face/cli/app"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/record"
)

// named are the commands that take a member's name, each with a command line about member cid, or about
// a new member in a team. A command that reads finds cid in team beta; one that acts needs the team. The
// others have the reason why it is otherwise.
var named = map[string]struct{ line, how string }{
	"why":             {"why cid", "reads"},
	"path":            {"path cid", "reads"},
	"open":            {"open cid", "reads"},
	"shell":           {"shell cid", "reads"},
	"peek":            {"peek cid", "reads"},
	"logs":            {"logs cid", "reads"},
	"wait":            {"wait cid --until ready --timeout 10ms", "reads"},
	"inbox":           {"inbox cid", "reads"},
	"log":             {"log cid", "reads"},
	"audit query":     {"audit query cid", "reads"},
	"diff":            {"diff cid", "reads"},
	"compare":         {"compare cid cid", "reads"},
	"policy list":     {"policy list cid", "reads"},
	"policy test":     {"policy test Bash(ls) --for cid", "reads"},
	"policy explain":  {"policy explain Bash(ls) --for cid", "reads"},
	"net list":        {"net list cid", "reads"},
	"plan diff":       {"plan diff cid 1 2", "reads"},
	"task artifacts":  {"task artifacts cid", "reads"},
	"stop":            {"stop cid", "acts"},
	"repair":          {"repair cid", "acts"},
	"resume":          {"resume cid", "acts"},
	"spawn":           {"spawn new", "acts"},
	"review":          {"review cid", "reads"},
	"merge":           {"merge cid", "reads"},
	"pr":              {"pr cid", "reads"},
	"attach":          {"attach cid", "acts"},
	"take":            {"take cid", "acts"},
	"mode":            {"mode cid plan", "acts"},
	"approve":         {"approve cid", "acts"},
	"show":            {"show cid", "reads"},
	"deny":            {"deny cid", "acts"},
	"adopt":           {"adopt --pid 1 new", "acts"},
	"budget set":      {"budget set cid --usd 1", "acts"},
	"task assign":     {"task assign 1 cid", "acts"},
	"task release":    {"task release cid", "acts"},
	"team add":        {"team add new", "acts"},
	"team remove":     {"team remove cid", "acts"},
	"team token":      {"team token new", "acts"},
	"sandbox run":     {"sandbox run cid -- true", "acts"},
	"sandbox test":    {"sandbox test cid", "acts"},
	"sandbox explain": {"sandbox explain cid -- true", "acts"},
	"new":             {"", "its team is that of the directory"},
	"guest":           {"", "its team is one that another program leads"},
	"doctor agent":    {"", "the member is one of a team file"},
	"task claim":      {"", "--as is who claims"},
	"mcp":             {"", "--as is who the client is"},
}

// lists are command lines that read and name no member: of several teams they show each.
var lists = map[string]string{
	"status": "status", "pending": "pending", "recap": "recap", "task list": "task list", "team list": "team list", "team show": "team show", "team validate": "team validate",
	"plan": "plan", "plan list": "plan list", "net": "net", "net pending": "net pending", "policy": "policy",
	"policy suggest": "policy suggest", "mode": "mode", "budget": "budget", "msg list": "msg list", "audit verify": "audit verify",
	"why a command": "why ls", "task artifacts": "task artifacts", "audit query": "audit query",
}

// takesMember finds a member's name among the arguments of a usage.
var takesMember = regexp.MustCompile(`\b(NAME|MEMBER)\b`)

// memberInLine finds the members of a command line of the table.
var memberInLine = regexp.MustCompile(`( )(cid|new)\b`)

// endings are the commands after which there is no such member.
var endings = map[string]int{"stop": 1, "team remove": 2}

// TestNamedMember: a command that reads finds a member's name in all teams. So do merge, review and
// pr. A command that acts needs the team when there are several: without it the command lists them and ends with exit code 2. A command that
// lists shows each team, NAME@TEAM names both everywhere, and the others when one has a broken journal.
func TestNamedMember(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	var out bytes.Buffer
	for _, cmd := range cli.Shown(cli.Root(&app.App{Out: &out, Err: &out})) {
		path := strings.TrimPrefix(cmd.CommandPath(), "waggle ")
		if _, ok := named[path]; !ok && takesMember.MatchString(cmd.Use) {
			t.Errorf("%s takes a member and is not in the table", path)
		}
		if _, ok := lists[path]; !ok && named[path].line == "" && cmd.Name() == "list" {
			t.Errorf("%s lists and is not in the table", path)
		}
	}
	op := operatortest.New(t)
	op.Environ = append(op.Environ, "EDITOR=true")
	alpha, beta := operatortest.Team(t, op, "alpha", record.PolicySet{}), operatortest.Team(t, op, "beta", record.PolicySet{})
	alpha.Enlist(alpha.State(), "ann")
	beta.Enlist(beta.State(), "cid")
	for path, line := range lists {
		named[path] = struct{ line, how string }{line, "reads"}
	}
	for path, c := range named {
		if c.line == "" {
			continue
		}
		text, code := typedIn(t, op, t.TempDir(), c.line)
		lists := code == 2 && strings.Contains(text, "alpha") && strings.Contains(text, "beta")
		switch {
		case c.how == "reads" && (code == 2 || strings.Contains(text, "error: no member")):
			t.Errorf("%s: %s reads and does not find the member: %d\n%s", path, c.line, code, text)
		case c.how == "acts" && !lists:
			t.Errorf("%s: %s acts and does not ask for the team: %d\n%s", path, c.line, code, text)
		}
	}
	for _, path := range slices.SortedFunc(maps.Keys(named), func(a, b string) int { return cmp.Or(endings[a]-endings[b], strings.Compare(a, b)) }) {
		c := named[path]
		line := memberInLine.ReplaceAllString(c.line, "$1$2@beta")
		if line == c.line {
			continue
		}
		for _, flag := range []string{"", " --team beta"} { // before "--", behind the name
			words, command, dash := strings.Cut(line, " -- ")
			if words += flag; dash {
				words += " -- " + command
			}
			if text, _ := typedIn(t, op, t.TempDir(), words); endings[path] == 0 && strings.Contains(text, "error: no member") || strings.Contains(text, "@beta") || strings.Contains(text, "alpha") || strings.Contains(text, "unknown flag") {
				t.Errorf("%s: %q does not take a member with its team:\n%s", path, words, text)
			}
		}
		if text, code := typedIn(t, op, t.TempDir(), "--team alpha "+line); code != 2 || !strings.Contains(text, "one team") {
			t.Errorf("%s: %s is not refused for team alpha: %s", path, line, text)
		}
	}
	spoil(t, filepath.Join(beta.State().Dir.LeaderJournal(), "00000001.jsonl"))
	for path, line := range lists {
		if text, _ := typedIn(t, op, t.TempDir(), line); !strings.Contains(text, "alpha") && path != "pending" {
			t.Errorf("%s: a team with a broken journal hides the other:\n%s", path, text)
		}
	}
}

// spoil changes a byte of the second line of a journal.
func spoil(t *testing.T, path string) {
	t.Helper()
	b := readFile(t, path)
	b[bytes.IndexByte(b, '\n')+9] ^= 1
	writeFile(t, path, b)
}
