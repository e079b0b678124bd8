package tui_test

import (
	"errors"
	"strings"
	"testing"

	"waggle/internal/face/tui"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/operator/results"
	"waggle/policy"
)

func madeBy(member string) *results.Diff {
	return &results.Diff{Team: "api", Member: member, Branch: "waggle/" + member, Files: []results.FileChange{{Path: "a.go", Added: 2, Deleted: 1}}, Text: diffText}
}

// Comments on lines of a diff become one act, with the diff as it was read. The diff stays as it is
// until they are sent.
func TestReview(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		d.diff = madeBy("alice")
		p.Man(tui.Crew{Members: []tui.Member{member("alice", inspect.StateIdle, "")}})
		p.Keys("S")
		shows(t, p, "there is no comment")
		p.Press("v")
		p.Keys("c")   // shows the diff on the whole screen
		for range 5 { // the lines that the file's head says are passed over
			p.Keys("j")
		}
		p.Keys("c")
		if s := p.Text(); !strings.Contains(s, "comment on a.go:2") {
			t.Fatal(s)
		}
		p.Type("why two?")
		p.Keys("enter")
		p.Keys("home", "c")
		p.Type("good")
		p.Keys("enter")
		shown := d.diff
		d.diff = madeBy("alice")
		d.diff.Text = strings.ReplaceAll(diffText, "var x = 2", "var x = 3")
		p.Keys("esc")
		p.Wait(30 * second)
		if s := p.Text(); !strings.Contains(s, "# why two?") || strings.Contains(s, "x = 3") {
			t.Fatal(s)
		}
		p.Keys("q")
		if p.Wait(second); p.Ended || !strings.Contains(p.Text(), "2 comments not sent") {
			t.Fatal(p.Text())
		}
		p.Press("S")
		a := sole(t, d)
		if a.Verb != tui.Review || a.Member != "alice" || a.Diff != shown || len(a.Comments) != 2 || a.Comments[6] != "why two?" || a.Comments[-1] != "good" {
			t.Errorf("%+v", a)
		}
		p.Wait(30 * second)
		shows(t, p, "x = 3")
		hides(t, p, "# why two?")
	})
}

// inWorktree is a member without work that has a worktree.
func inWorktree(name string) tui.Member {
	m := member(name, inspect.StateIdle, "")
	m.Worktree = &process.WorktreeView{}
	return m
}

// Of a member without a worktree nothing is merged: the key says so before a message is typed.
func TestMergeNothing(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		p.Man(tui.Crew{Members: []tui.Member{member("bob", inspect.StateIdle, "")}})
		p.Wait(second)
		p.Keys("g")
		shows(t, p, "bob works in no worktree of its own: there is nothing to merge")
	})
}

// A merge begins with Enter on a line of its own, and the tab Diff shows its output.
func TestMerge(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		d.diff = madeBy("bob")
		p.Man(tui.Crew{Members: []tui.Member{inWorktree("bob")}})
		p.Press("g", "esc")
		p.Keys("g", "enter") // together: no person
		p.Wait(second)
		none(t, d)
		p.Keys("esc", "v", "g")
		p.Type("tidy")
		p.Press("enter")
		if a := sole(t, d); a.Verb != tui.Merge || a.Member != "bob" || a.Text != "tidy" {
			t.Errorf("%+v", a)
		}
		p.Man(tui.Crew{}) // the merge has ended it
		if s := p.Text(); !strings.Contains(s, "check passed: make") || p.On() != "bob" {
			t.Error(p.On(), s)
		}
	})
}

// A changed input is shown whole, must stand as long as any request, and runs instead of the input that was
// asked. The answer has the digest of the request as it was asked.
func TestEdit(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		q := request(1, "alice", "make\nmake install", policy.RiskMedium)
		p.Ask(q)
		p.Write = func(text string) string {
			if text != "make\nmake install\n" || p.Name != "command.sh" {
				t.Errorf("%s: %q", p.Name, text)
			}
			return "make\n"
		}
		p.Keys("e")
		p.Wait(200 * 1e6)
		p.Keys("a") // it has not stood
		p.Wait(second)
		if s := p.Text(); len(d.acts) != 0 || !strings.Contains(s, "this runs instead") || strings.Contains(s, "| make install") {
			t.Fatalf("%+v\n%s", d.acts, s)
		}
		p.Press("d")
		p.Press("a")
		if a := sole(t, d); a.Verb != tui.Allow || a.Input != `{"command":"make"}` || a.Requests[0].Digest != q.Digest {
			t.Errorf("%+v", a)
		}
	})
}

// A changed input of high risk is allowed by the handle; one that is no other input, or whose request
// has changed meanwhile, by nothing.
func TestEditRefused(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		q := request(1, "alice", "make", policy.RiskMedium)
		p.Ask(q)
		p.Write = func(text string) string { return text }
		p.Press("e")
		shows(t, p, "the input is as it was")
		p.Write = func(string) string { return "rm -rf /\n" }
		p.Press("e")
		p.Press("a")
		if s := p.Text(); len(d.acts) != 0 || !strings.Contains(s, "type K001") {
			t.Fatalf("%+v\n%s", d.acts, s)
		}
		other := q
		other.Digest = strings.Repeat("e", 64)
		p.Ask(other)
		p.Type("K001")
		p.Press("enter")
		none(t, d)
		d.err = errors.New("no such call")
		p.Keys("esc")
		p.Press("e")
		shows(t, p, "no such call")
	})
}

// The error of an act does not hide the line that is typed, however long the error is.
func TestTypedBesideNews(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		p.Man(tui.Crew{Members: []tui.Member{inWorktree("alice")}})
		d.err, d.until = errors.New("the check failed: "+strings.Repeat("long ", 40)), make(chan struct{})
		p.Press("g")
		p.Press("enter")
		p.Keys("/")
		p.Type("al")
		close(d.until)
		p.Wait(second)
		shows(t, p, "the check failed: long", "> show rows with: al_")
	})
}
