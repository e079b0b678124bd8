package tui_test

import (
	"strings"
	"testing"
	"time"

	"waggle/internal/face/tui"
	"waggle/operator/inspect"
	"waggle/policy"
	"waggle/task"
)

// TestQuiet: while nothing happens nothing is drawn until an age is another one, and no page is read.
func TestQuiet(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		d.lines = []string{"one"}
		ann := member("ann", inspect.StateWorking, "has a turn")
		ann.Since = time.Now().Add(-90 * second)
		p.Ask()
		p.Man(tui.Crew{Members: []tui.Member{ann}})
		p.Wait(2 * second)
		if text := p.Text(); !strings.Contains(text, "[Output]") || !strings.Contains(text, " 1m ") {
			t.Fatal(text)
		}
		frames, pages := p.Frames(), d.pages
		p.Wait(25 * second)
		if p.Frames() != frames || d.pages != pages {
			t.Errorf("%d frames were drawn and %d pages read", p.Frames()-frames, d.pages-pages)
		}
		p.Wait(5 * second)
		if text := p.Text(); p.Frames() != frames+1 || !strings.Contains(text, " 2m ") {
			t.Errorf("%d frames when the age was another one:\n%s", p.Frames()-frames, text)
		}
	})
}

// TestSaid: what a member writes is read when it is told, and its last line is in its row.
func TestSaid(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		d.lines = []string{"one"}
		ann := member("ann", inspect.StateWorking, "has a turn")
		p.Ask()
		p.Man(tui.Crew{Members: []tui.Member{ann}, Tasks: []tui.Task{taskOf("ann", "parse", task.InProgress)}})
		p.Wait(second)
		d.lines = []string{"one", "two"}
		p.Wait(second)
		if text := p.Text(); strings.Contains(text, "two") {
			t.Errorf("it was read although nobody told:\n%s", text)
		}
		p.Says(map[tui.MemberKey]string{{Team: "api", Member: "ann"}: "almost done"})
		p.Wait(second)
		if text := p.Text(); !strings.Contains(text, "two") || !strings.Contains(text, "almost") {
			t.Errorf("it was not read:\n%s", text)
		}
	})
}

// TestLeave: the source is told once when no page is shown any more, and the page is read again when it is.
func TestLeave(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		d.lines = []string{"one"}
		p.Ask()
		p.Man(tui.Crew{Members: []tui.Member{member("ann", inspect.StateWorking, "has a turn")}})
		p.Wait(second)
		if d.left != 0 || d.pages == 0 {
			t.Fatalf("left %d times, read %d times", d.left, d.pages)
		}
		p.Ask(request(1, "bob", "ls", policy.RiskLow))
		p.Keys("up")
		p.Wait(5 * second)
		if text := p.Text(); d.left != 1 || !strings.Contains(text, "[Ask]") {
			t.Errorf("left %d times:\n%s", d.left, text)
		}
		d.lines = []string{"two"}
		p.Press("down")
		if text := p.Text(); d.left != 1 || !strings.Contains(text, "two") {
			t.Errorf("left %d times:\n%s", d.left, text)
		}
	})
}

// A request's age is in minutes, hours and days.
func TestAges(t *testing.T) {
	for d, want := range map[time.Duration]string{59 * second: "now", 61 * second: "1m", 59*time.Minute + 59*second: "59m", 90 * time.Minute: "1h", 47 * time.Hour: "47h", 50 * time.Hour: "2d"} {
		play(t, func(t *testing.T, p *tui.Player, _ *desk) {
			q := request(1, "ann", "ls", policy.RiskLow)
			q.Asked.Time = time.Now().Add(-d)
			p.Ask(q)
			if text := p.Text(); !strings.Contains(text, want+" ls") {
				t.Errorf("%s:\n%s", d, text)
			}
		})
	}
}
