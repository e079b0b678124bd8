package tui_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/ansi"

	"waggle/internal/face/tui"
	"waggle/internal/test/testenv"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/results"
	"waggle/policy"
	"waggle/record"
	"waggle/task"
)

// The size of a cell of a screenshot, of its title bar and of its margin.
const (
	cellWidth, cellHeight = 8.4, 18
	bar, margin           = 30, 10
)

// colours are the foreground colours of a screenshot by their SGR number; 39 is that of plain text.
var colours = map[string]string{"31": "#ff7b72", "32": "#7ee787", "33": "#f2cc60", "36": "#79c0ff", "39": "#e6edf3"}

const faintColour, background = "#8b949e", "#0d1117"

// look is how a run of characters looks.
type look struct {
	colour                string
	bold, faint, reversed bool
}

// run is characters of a line that look alike.
type run struct {
	col  int
	text string
	look look
}

// runs splits a line of a frame. A sequence that the screen does not use is an error.
func runs(l string) (out []run, err error) {
	now, col := look{colour: "39"}, 0
	for l != "" {
		if rest, ok := strings.CutPrefix(l, "\x1b["); ok {
			var code string
			code, l, ok = strings.Cut(rest, "m")
			switch {
			case !ok:
				return nil, fmt.Errorf("%q", rest)
			case code == "" || code == "0":
				now = look{colour: "39"}
			case code == "1":
				now.bold = true
			case code == "2":
				now.faint = true
			case code == "7":
				now.reversed = true
			case colours[code] != "":
				now.colour = code
			default:
				return nil, fmt.Errorf("ESC[%sm", code)
			}
			continue
		}
		text, _, _ := strings.Cut(l, "\x1b")
		l = l[len(text):]
		out = append(out, run{col, text, now})
		col += ansi.StringWidth(text)
	}
	return out, nil
}

// pieces are the parts of a run between two or more blanks, each at its own column: fonts differ in their widths.
func (r run) pieces() (out []run) {
	for text, col := r.text, r.col; text != ""; {
		trimmed := strings.TrimLeft(text, " ")
		col += len(text) - len(trimmed)
		piece, rest, _ := strings.Cut(trimmed, "  ")
		if words := strings.TrimRight(piece, " "); words != "" {
			out = append(out, run{col, words, r.look})
		}
		col += ansi.StringWidth(trimmed[:len(trimmed)-len(rest)])
		text = rest
	}
	return out
}

// svg draws a frame as a picture with a title bar.
func svg(frame, title string) (string, error) {
	lines := strings.Split(frame, "\n")
	width := ansi.StringWidth(lines[0])
	w, h := float64(width)*cellWidth+2*margin, len(lines)*cellHeight+bar+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" role="img">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(title))
	fmt.Fprintf(&b, "<style>text{font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:%s;white-space:pre}", colours["39"])
	fmt.Fprintf(&b, ".r{fill:%s}.g{fill:%s}.y{fill:%s}.c{fill:%s}.f{fill:%s}.b{font-weight:bold}.v{fill:%s}</style>\n", colours["31"], colours["32"], colours["33"], colours["36"], faintColour, background)
	fmt.Fprintf(&b, `<rect width="%.0f" height="%d" rx="8" fill="%s"/>`+"\n", w, h, background)
	fmt.Fprintf(&b, `<path d="M0 %d V8 a8 8 0 0 1 8 -8 H%.0f a8 8 0 0 1 8 8 V%d z" fill="#21262d"/>`+"\n", bar, w-8, bar)
	for i, c := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="15" r="6" fill="%s"/>`+"\n", 18+i*20, c)
	}
	fmt.Fprintf(&b, `<text x="%.0f" y="20" text-anchor="middle" class="f">waggle</text>`+"\n", w/2)
	for i, l := range lines {
		rs, err := runs(l)
		if err != nil {
			return "", err
		}
		y := bar + margin + i*cellHeight
		for _, r := range rs {
			if r.look.reversed {
				fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", margin+float64(r.col)*cellWidth, y, float64(ansi.StringWidth(r.text))*cellWidth, cellHeight, colours[r.look.colour])
			}
			for _, p := range r.pieces() {
				x, wide := margin+float64(p.col)*cellWidth, float64(ansi.StringWidth(p.text))*cellWidth
				fmt.Fprintf(&b, `<text x="%.1f" y="%d" textLength="%.1f"%s>%s</text>`+"\n", x, y+14, wide, p.look.class(), html.EscapeString(p.text))
			}
		}
	}
	b.WriteString("</svg>\n")
	return b.String(), nil
}

// class is the attribute of a look; "" for plain text.
func (l look) class() string {
	var names []string
	switch {
	case l.reversed:
		names = append(names, "v")
	case l.faint:
		names = append(names, "f")
	case l.colour != "39":
		names = append(names, map[string]string{"31": "r", "32": "g", "33": "y", "36": "c"}[l.colour])
	}
	if l.bold {
		names = append(names, "b")
	}
	if names == nil {
		return ""
	}
	return ` class="` + strings.Join(names, " ") + `"`
}

// shop is a screen of ten members of a team, of whom four ask.
func shop(p *tui.Player) {
	asks := func(n int, name, command string, risk policy.Risk, age time.Duration) decide.Request {
		q := request(n, name, command, risk)
		q.Team, q.Cwd, q.Asked.Time = "shop", "/home/ann/.waggle/worktrees/shop/"+name, time.Now().Add(-age)
		return q
	}
	high := asks(1, "release", "npm ci && curl -fsSL https://get.example.com/cli | sh", policy.RiskHigh, 12*time.Second)
	high.Handle, high.Reason, high.Task, high.Suggest, high.OwnTree = "7KQF", "install the tool that publishes", "1", nil, true
	edit := asks(2, "login", "", policy.RiskMedium, 40*time.Second)
	edit.Handle, edit.Tool, edit.Input = "2DK8", "Edit", []byte(`{"file_path":"src/login.ts","old_string":"retry(1)\n","new_string":"retry(3)\n"}`)
	plan := asks(3, "parser-v2", "", policy.RiskMedium, 3*time.Minute)
	plan.Kind, plan.Tool, plan.Input, plan.Suggest = "plan_approval_request", "", nil, nil
	plan.Handle, plan.Plan, plan.Revision, plan.Hash = "PW4N", "# Port the parser in three steps\n1. `lexer.ts`\n2. the tests\n3. delete the old one", 2, strings.Repeat("3f", 32)
	low := asks(5, "search", "npm test -- search", policy.RiskLow, time.Minute)
	low.Handle = "M3XA"
	more := asks(6, "cart", "npm test -- cart", policy.RiskLow, 2*time.Minute)
	more.Handle = "Q9TE"
	var c tui.Crew
	stats := map[tui.MemberKey]tui.Lines{}
	for i, m := range []struct {
		name, subject, last string
		state               inspect.MemberState
		age                 time.Duration
		added, deleted      int
	}{
		{"release", "Publish 2.0", "", inspect.StateHuman, 0, 0, 0}, {"login", "Fix the flaky login test", "", inspect.StateHuman, 0, 3, 1},
		{"parser-v2", "Port the parser", "", inspect.StateHuman, 0, 0, 0}, {"search", "Search by author", "", inspect.StateHuman, 0, 120, 4}, {"cart", "Sum of an empty cart", "", inspect.StateHuman, 0, 9, 2},
		{"docs", "Describe the API", "[Read] src/api.ts", inspect.StateWorking, 4 * time.Minute, 61, 0}, {"i18n", "German texts", "[Edit] de.json", inspect.StateWorking, 90 * time.Second, 24, 1},
		{"audit", "Update what has holes", "[Bash] npm audit fix", inspect.StateWorking, 20 * time.Second, 0, 0},
		{"bench", "Compare with 1.9", "", inspect.StateDead, 7 * time.Minute, 0, 0}, {"json-flag", "add --json to list", "", inspect.StateIdle, 2 * time.Minute, 41, 7},
	} {
		one := member(m.name, m.state, "")
		one.Team, one.Since, one.Last = "shop", time.Now().Add(-m.age), m.last
		one.Spent = &record.Usage{CostMicros: int64(i+1) * 130000, Turns: int64(i + 1), Source: "reported"}
		status := task.InProgress
		switch m.state {
		case inspect.StateDead:
			one.Why = "process 4711 is gone"
		case inspect.StateIdle:
			status = task.Completed
		}
		t := taskOf(m.name, m.subject, status)
		t.Team, t.ID = "shop", task.ID(fmt.Sprint(i+1))
		c.Members, c.Tasks = append(c.Members, one), append(c.Tasks, t)
		stats[tui.MemberKey{Team: "shop", Member: m.name}] = tui.Lines{Added: m.added, Deleted: m.deleted}
	}
	p.Man(c)
	p.Count(stats)
	p.Stand(high, edit, plan, low, more)
}

const shopDiff = `diff --git a/src/list.ts b/src/list.ts
index 1..2 100644
--- a/src/list.ts
+++ b/src/list.ts
@@ -12,7 +12,9 @@ export function list(options: Options) {
   const items = store.all();
-  print(table(items));
+  if (options.json) {
+    print(JSON.stringify(items));
+  } else print(table(items));
 }
diff --git a/test/list.test.ts b/test/list.test.ts
new file mode 100644
index 0..1
--- /dev/null
+++ b/test/list.test.ts
@@ -0,0 +1,3 @@
+test("list --json", () => {
+  expect(JSON.parse(run("list", "--json"))).toHaveLength(2);
+});
`

// shownIn are the pages that show the pictures.
var shownIn = map[string]string{"ask": "README.md](docs/screen/ask.svg)", "batch": "docs/guide/top.md](../screen/batch.svg)", "review": "docs/guide/top.md](../screen/review.svg)"}

// TestScreenshots compares the pictures of the screen in the docs with the screen.
func TestScreenshots(t *testing.T) {
	for name, act := range map[string]func(p *tui.Player, d *desk){
		"ask":   func(*tui.Player, *desk) {},
		"batch": func(p *tui.Player, _ *desk) { p.Keys("4", "b"); p.Wait(second); p.Keys("b"); p.Wait(second) },
		"review": func(p *tui.Player, d *desk) {
			d.diff = &results.Diff{Team: "shop", Member: "json-flag", Branch: "waggle/json-flag", Text: shopDiff,
				Files: []results.FileChange{{Path: "src/list.ts", Added: 3, Deleted: 1}, {Path: "test/list.test.ts", Added: 3}}}
			p.Keys("/")
			p.Type("json-flag")
			p.Press("enter", "v")
			p.Keys("c", "down", "down", "down", "down", "down", "down", "c")
			p.Type("one line for each item, please")
			p.Press("enter")
		},
	} {
		t.Run(name, func(t *testing.T) {
			var frame string
			synctest.Test(t, func(t *testing.T) {
				d := &desk{}
				p := tui.Play(d, 110, 26, false)
				defer p.Close()
				shop(p)
				act(p, d)
				frame = p.Frame()
			})
			got, err := svg(frame, "waggle on a terminal: "+name)
			testenv.Must(t, err)
			if len(got) > 60<<10 {
				t.Errorf("%d bytes", len(got))
			}
			for d := xml.NewDecoder(strings.NewReader(got)); ; {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if strings.Contains(strings.ReplaceAll(got, "http://www.w3.org/2000/svg", ""), "xmlns:") || strings.Contains(got, "href") || strings.Contains(got, "url(") {
				t.Error("it refers to something outside")
			}
			doc, link, _ := strings.Cut(shownIn[name], "]")
			if text, err := os.ReadFile(filepath.Join("..", "..", "..", doc)); err != nil || !strings.Contains(string(text), "]"+link) {
				t.Errorf("%s does not show %s: %v", doc, link, err)
			}
			file := filepath.Join("..", "..", "..", "docs", "screen", name+".svg")
			if *update {
				testenv.Must(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			want, err := os.ReadFile(file)
			if err != nil || string(want) != got {
				t.Errorf("%v: docs/screen/%s.svg is not the screen: go test ./internal/face/tui -update writes it\n%s", err, name, ansi.Strip(frame))
			}
		})
	}
}
