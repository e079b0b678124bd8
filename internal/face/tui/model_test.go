package tui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waggle/internal/face/tui"
	"waggle/internal/face/view/page"
	"waggle/internal/json/jsonobj"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/fresh"
	"waggle/operator/inspect"
	"waggle/operator/results"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// desk is a Source that keeps the acts that it is asked to do.
type desk struct {
	mu      sync.Mutex
	acts    []tui.Act
	err     error
	lines   []string
	pages   int // how often a page was read
	left    int // how often none was shown any more
	diff    *results.Diff
	earlier string
	stats   map[tui.MemberKey]tui.Lines
	until   chan struct{} // an act ends when it is closed; nil: at once
	fate    decide.Fate   // of requests that are gone
	found   *fresh.Found  // the setup that a person must accept before NewMember; nil: none
}

func (d *desk) Requests(context.Context) ([]decide.Request, error) { return nil, nil }
func (d *desk) Crew(context.Context) (tui.Crew, error)             { return tui.Crew{}, nil }
func (d *desk) Said() map[tui.MemberKey]string                     { return nil }
func (d *desk) Leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left++
}
func (d *desk) Page(_ context.Context, p tui.Page) (tui.Paper, error) {
	d.mu.Lock()
	d.pages++
	d.mu.Unlock()
	if p.Tab == tui.TabDiff && d.diff != nil {
		return tui.Paper{Lines: append([]string{summary(d.diff)}, strings.Split(strings.TrimSuffix(d.diff.Text, "\n"), "\n")...), Diff: d.diff}, nil
	}
	return tui.Paper{Lines: d.lines}, nil
}
func summary(d *results.Diff) string {
	added, deleted := d.Lines()
	return fmt.Sprintf("%s, +%d -%d", page.Count(len(d.Files), "file"), added, deleted)
}
func (d *desk) Matches(_ context.Context, _ decide.Request, rule string) (decide.Suggestion, error) {
	return decide.Suggestion{Rule: rule, Looked: 7, Total: 2}, nil
}
func (d *desk) Changed(_ context.Context, q decide.Request, input string) (decide.Request, error) {
	q.Input, q.Digest = json.RawMessage(input), strings.Repeat("c", 64)
	var in struct{ Command string }
	if err := json.Unmarshal(q.Input, &in); err != nil {
		return q, err
	}
	q.Command, q.Risk = in.Command, string(policy.RiskOf(policy.Call{Tool: q.Tool, Input: q.Input, Cwd: q.Cwd}))
	return q, d.err
}
func (d *desk) Earlier(context.Context, decide.Request) (string, error)   { return d.earlier, nil }
func (d *desk) Fate(context.Context, decide.Request) (decide.Fate, error) { return d.fate, nil }
func (d *desk) Done(context.Context) ([]tui.Done, error)                  { return nil, nil }
func (d *desk) Seldom(context.Context) (tui.Seldom, error) {
	return tui.Seldom{Lines: d.stats}, nil
}

func (d *desk) Do(ctx context.Context, a tui.Act) ([]string, error) {
	d.mu.Lock()
	until := d.until
	d.mu.Unlock()
	if until != nil {
		<-until
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.found; f != nil && (a.Verb == tui.NewMember || a.Verb == tui.Allow && a.Requests[0].Kind == decide.KindProposal) && !a.NoSetup {
		if err := fresh.AcceptShown(a.Setup)(ctx, *f); err != nil {
			return nil, err
		}
	}
	d.acts = append(d.acts, a)
	if a.Verb == tui.Merge {
		return []string{"merged bob into main", "check passed: make"}, d.err
	}
	return []string{"done"}, d.err
}

// request is a shell command that a member asks for.
func request(n int, member, command string, risk policy.Risk) decide.Request {
	in, err := jsonobj.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	handle := fmt.Sprintf("K%03d", n)
	return decide.Request{PendingItem: decide.PendingItem{Team: "api", ID: fmt.Sprint("perm-", n), Handle: handle, Kind: string(protocol.KindPermissionRequest),
		Member: member, Instance: member + "1", Tool: "Bash", Input: json.RawMessage(in), Cwd: "/src", Digest: fmt.Sprintf("%064d", n), Risk: string(risk),
		Asked: operator.Past{Time: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Duration(n) * time.Minute)}, Status: decide.StatusOpen},
		Command: command, Trust: "cooperative", Suggest: []string{"Bash(" + command + ")"}}
}

// conditions are those of the states that the tests have.
var conditions = map[inspect.MemberState]inspect.Condition{inspect.StateHuman: inspect.ConditionNeedsYou, inspect.StateWorking: inspect.ConditionWorking,
	inspect.StateIdle: inspect.ConditionReady, inspect.StateDead: inspect.ConditionFailed, inspect.StateFailed: inspect.ConditionFailed, inspect.StateBlocked: inspect.ConditionBlocked}

func member(name string, state inspect.MemberState, why string) tui.Member {
	return tui.Member{Team: "api", MemberStatus: inspect.MemberStatus{Name: name, State: state, Stand: inspect.Stand{Is: conditions[state]}, Why: why}}
}

// play runs a test with a screen of 80x24 in a time of its own.
func play(t *testing.T, fn func(t *testing.T, p *tui.Player, d *desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		p := tui.Play(d, 80, 24, false)
		defer p.Close()
		fn(t, p, d)
	})
}

// shows and hides check which texts are on the screen.
func shows(t *testing.T, p *tui.Player, texts ...string) { t.Helper(); onScreen(t, p, true, texts) }
func hides(t *testing.T, p *tui.Player, texts ...string) { t.Helper(); onScreen(t, p, false, texts) }

func onScreen(t *testing.T, p *tui.Player, want bool, texts []string) {
	t.Helper()
	for _, text := range texts {
		if s := p.Text(); strings.Contains(s, text) != want {
			t.Errorf("%q is on the screen: %t\n%s", text, !want, s)
		}
	}
}

// none checks that no act was done.
func none(t *testing.T, d *desk) {
	t.Helper()
	if len(d.acts) != 0 {
		t.Fatalf("%+v", d.acts)
	}
}

// sole is the one act that was done.
func sole(t *testing.T, d *desk) tui.Act {
	t.Helper()
	if len(d.acts) != 1 {
		t.Fatalf("%d acts: %+v", len(d.acts), d.acts)
	}
	return d.acts[0]
}

const second = time.Second

func TestAllow(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		one, two := request(1, "alice", "ls", policy.RiskLow), request(2, "bob", "make", policy.RiskLow)
		p.Ask(one, two)
		p.Keys("a") // typed before it could be read
		p.Wait(second)
		if len(d.acts) != 0 {
			t.Fatalf("an early key answered: %+v", d.acts)
		}
		p.Press("a")
		if a := sole(t, d); a.Verb != tui.Allow || a.Requests[0].Digest != one.Digest || len(a.Requests) != 1 {
			t.Errorf("%+v", a)
		}
		if p.On() != two.Handle {
			t.Errorf("the cursor is on %s", p.On())
		}
	})
}

// A key with another key within ask.Repeat answers nothing: it was pasted, held, or typed ahead.
func TestKeysTogether(t *testing.T) {
	for _, keys := range [][]string{{"a", "a"}, {"a", "j"}, {"j", "a"}, {"d", "enter"}, {"a", "enter"}} {
		play(t, func(t *testing.T, p *tui.Player, d *desk) {
			p.Stand(request(1, "alice", "ls", policy.RiskLow))
			p.Press(keys...)
			if len(d.acts) != 0 {
				t.Errorf("%v: %+v", keys, d.acts)
			}
		})
	}
}

func TestDenyWithReason(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		p.Stand(request(1, "alice", "ls", policy.RiskHigh))
		p.Keys("d")
		p.Type("not now")
		p.Press("enter")
		if a := sole(t, d); a.Verb != tui.Deny || a.Reason != "not now" {
			t.Errorf("%+v", a)
		}
	})
}

// High risk is allowed by its handle, which is typed.
func TestHighRisk(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		q := request(1, "alice", "rm -rf /", policy.RiskHigh)
		p.Stand(q)
		p.Press("a")
		p.Keys("enter")
		p.Type("K002")
		p.Press("enter")
		p.Paste(q.Handle)
		p.Wait(second)
		p.Press("enter")
		none(t, d)
		p.Type("k001")
		p.Press("enter")
		if a := sole(t, d); a.Verb != tui.Allow || a.Requests[0].Digest != q.Digest {
			t.Errorf("%+v", a)
		}
	})
}

func TestWords(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		q := request(1, "alice", "", policy.RiskLow)
		q.Kind, q.Tool, q.Command = string(record.KindQuestion), "AskUserQuestion", ""
		q.Questions = []decide.Asked{{Text: "which one?", Options: []decide.Option{{Label: "left"}, {Label: "right"}}}, {Text: "why?"}}
		p.Stand(q)
		p.Keys("a")
		p.Type("2")
		p.Keys("enter")
		p.Type("it is nearer")
		p.Press("enter")
		if a := sole(t, d); a.Verb != tui.Words || fmt.Sprint(a.Words) != "[2 it is nearer]" {
			t.Errorf("%+v", a)
		}
	})
}

// A batch is the requests that are alike and below high risk.
func TestBatch(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		high := request(9, "carol", "rm -rf /", policy.RiskHigh)
		p.Stand(high, request(1, "alice", "ls", policy.RiskLow), request(2, "bob", "ls", policy.RiskLow), request(3, "bob", "make", policy.RiskLow))
		p.Keys("b") // on the one of high risk
		p.Wait(second)
		p.Press("a")
		p.Press("esc", "j", "b")
		p.Press("a")
		if a := sole(t, d); len(a.Requests) != 2 || a.Requests[0].Command != "ls" || a.Requests[1].Command != "ls" {
			t.Errorf("%+v", a)
		}
	})
}

// If no request is selected, a batch is all requests that may be answered at once.
func TestBatchFromAMember(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		p.Ask(request(9, "carol", "rm -rf /", policy.RiskHigh), request(1, "alice", "ls", policy.RiskLow), request(3, "bob", "make", policy.RiskLow))
		p.Man(tui.Crew{Members: []tui.Member{member("dan", inspect.StateIdle, "")}})
		p.Press("end")
		p.Press("b")
		p.Press("a")
		if a := sole(t, d); len(a.Requests) != 2 || a.Requests[0].Command != "ls" || a.Requests[1].Command != "make" {
			t.Errorf("%+v", a)
		}
		p.Ask()
		p.Keys("b")
		shows(t, p, "nothing can be answered in a batch")
	})
}

// hundred are 100 requests of 8 members: 80 in six groups, 15 that are alone, and five of high risk.
func hundred() (qs []decide.Request) {
	for i := range 5 {
		qs = append(qs, request(i, fmt.Sprint("m", i%8), fmt.Sprintf("rm -rf /%d", i), policy.RiskHigh))
	}
	for i := range 80 {
		command := fmt.Sprintf([]string{"go test ./p%d", "go vet ./p%d", "git log -n %d", "npm run build -- %d", "go build ./p%d", "head -n %d a.go"}[i%6], i)
		in, err := jsonobj.Marshal(map[string]string{"command": command})
		if err != nil {
			panic(err)
		}
		qs = append(qs, request(10+i, fmt.Sprint("m", i%8), command, policy.RiskOf(policy.Call{Tool: "Bash", Input: in, Cwd: "/src"})))
	}
	for i := range 15 {
		qs = append(qs, request(100+i, fmt.Sprint("m", i%8), fmt.Sprintf("tool%d run", i), policy.RiskLow))
	}
	decide.SortRequests(qs)
	return qs
}

// Of 100 requests the 95 below high risk are answered with at most 20 keys, each as it was shown, page
// by page. Those of high risk stay.
func TestHundred(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {300, 80}} {
		synctest.Test(t, func(t *testing.T) {
			d := &desk{}
			p := tui.Play(d, size[0], size[1], false)
			defer p.Close()
			qs := hundred()
			p.Stand(qs...)
			if n := len(decide.Groups(qs)); n != 5+6+15 {
				t.Fatalf("%d groups", n)
			}
			keys, shown := 0, ""
			key := func(k string) {
				shown += p.Text()
				keys++
				p.Press(k)
			}
			key("6") // the first that is not of high risk
			key("b")
			key("b")
			for len(d.acts) == 0 && keys < 30 {
				if strings.Contains(p.Text(), "more lines to read") {
					key("space")
				} else {
					key("a")
				}
			}
			answered := map[string]string{}
			for _, q := range sole(t, d).Requests {
				answered[q.Handle] = q.Digest
				if !strings.Contains(shown, "| "+q.Command) {
					t.Errorf("%s was not shown: %s", q.Handle, q.Command)
				}
			}
			for _, q := range qs {
				switch digest, ok := answered[q.Handle]; {
				case ok && q.Risk == string(policy.RiskHigh):
					t.Errorf("%s is of high risk", q.Handle)
				case ok && digest != q.Digest || !ok && q.Risk != string(policy.RiskHigh):
					t.Errorf("%s was answered as %q", q.Handle, digest)
				}
			}
			if keys > 20 {
				t.Errorf("%v: %d keys", size, keys)
			}
			t.Logf("%v: %d keys", size, keys)
		})
	}
}

// Each page of a request that is longer than the screen must stand as long as a request. Keys or a wheel
// that come sooner turn no page, and nothing is answered.
func TestPagesStand(t *testing.T) {
	for name, turn := range map[string]func(p *tui.Player){
		"keys": func(p *tui.Player) { p.Keys("space", "space", "space", "space", "space", "space") },
		"held": func(p *tui.Player) {
			for range 8 {
				p.Wait(40 * time.Millisecond)
				p.Keys("space")
			}
		},
		"wheel": func(p *tui.Player) {
			for range 60 {
				p.Wheel(70, 5)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, p *tui.Player, d *desk) {
				p.Ask(request(1, "alice", strings.Repeat("echo one\n", 60)+"rm x", policy.RiskLow))
				turn(p)
				if s := p.Text(); strings.Contains(s, "rm x") {
					t.Errorf("the last page is there:\n%s", s)
				}
				p.Wait(second)
				p.Press("a")
				none(t, d)
				for strings.Contains(p.Text(), "more lines") {
					p.Press("space")
				}
				p.Press("a")
				sole(t, d)
			})
		})
	}
}

// A request that is longer than the screen can be answered when all of it was shown.
func TestLong(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		p.Stand(request(1, "alice", strings.Repeat("echo one\n", 60)+"rm x", policy.RiskLow))
		p.Press("a")
		if len(d.acts) != 0 || !strings.Contains(p.Text(), "more lines to read") {
			t.Fatalf("%+v\n%s", d.acts, p.Text())
		}
		for range 4 {
			p.Wait(second)
			p.Keys("space")
		}
		p.Keys("a") // the last page has not stood
		p.Wait(second)
		none(t, d)
		p.Press("a")
		sole(t, d)
	})
}

// A frame that the terminal has not taken does not stand.
func TestNotPainted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		p := tui.Play(d, 80, 24, true)
		defer p.Close()
		p.Ask(request(1, "alice", "ls", policy.RiskLow))
		p.Wait(5 * second)
		p.Press("a")
		none(t, d)
	})
}

// A key that was typed while the loop stood still does not count.
func TestStalled(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		p.Stand(request(1, "alice", "ls", policy.RiskLow))
		time.Sleep(3 * second) // the bubble's clock: nobody reads
		p.Press("a")
		none(t, d)
		p.Press("a")
		sole(t, d)
	})
}

// An answer that waits for other keys waits anew when the loop stood still, because keys may wait to be read.
func TestStalledBehindAKey(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		p.Stand(request(1, "alice", "ls", policy.RiskLow))
		p.Keys("a")
		time.Sleep(700 * time.Millisecond) // the bubble's clock: nobody reads
		p.Wait(10 * time.Millisecond)      // the clock is looked at first
		p.Press("j")
		none(t, d)
	})
}

// After the program was stopped and continued, the time that the request must stand begins again: an
// answer that waits for other keys, or for its Enter, does not count, and neither does a key soon after.
func TestContinued(t *testing.T) {
	for name, act := range map[string]func(p *tui.Player){
		"before the answer is taken": func(p *tui.Player) { p.Keys("a"); p.Wait(100 * time.Millisecond); p.Continue() },
		"before the key":             func(p *tui.Player) { p.Continue(); p.Wait(300 * time.Millisecond); p.Keys("a") },
		"before Enter": func(p *tui.Player) {
			p.Keys("d")
			p.Type("no")
			p.Continue()
			p.Wait(100 * time.Millisecond)
			p.Keys("enter")
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, p *tui.Player, d *desk) {
				p.Stand(request(1, "alice", "ls", policy.RiskLow))
				act(p)
				p.Wait(second)
				none(t, d)
				p.Press("a")
				sole(t, d)
			})
		})
	}
}

// A screen on which nothing happens looks at the clock once a second, and an answerable request
// changes that only while it is new.
func TestIdle(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		p.Ask(request(1, "alice", "ls", policy.RiskLow))
		p.Wait(10 * second)
		before := p.Beats()
		p.Wait(60 * second)
		if n := p.Beats() - before; n > 61 {
			t.Errorf("%d looks in a minute", n)
		}
		p.Press("a")
		sole(t, d)
	})
}

// The time that a request must stand begins again with another digest, another size of the screen, and
// when the cursor comes back.
func TestStandsAnew(t *testing.T) {
	changed := request(1, "alice", "ls", policy.RiskLow)
	changed.Digest = strings.Repeat("f", 64)
	for name, change := range map[string]func(*tui.Player){
		"size":   func(p *tui.Player) { p.Resize(100, 30) },
		"digest": func(p *tui.Player) { p.Ask(changed) },
		"cursor": func(p *tui.Player) {
			p.Keys("j")
			p.Wait(300 * time.Millisecond)
			p.Keys("k")
			p.Wait(300 * time.Millisecond)
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, p *tui.Player, d *desk) {
				p.Stand(request(1, "alice", "ls", policy.RiskLow), request(2, "bob", "ls", policy.RiskLow))
				change(p)
				p.Press("a")
				none(t, d)
			})
		})
	}
}

// Requests that come and go around the cursor do not move it. A request that is answered elsewhere stays
// under the cursor and takes no answer.
func TestCursorStays(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		a, b, c := request(1, "alice", "ls", policy.RiskLow), request(2, "bob", "ls", policy.RiskLow), request(3, "carol", "rm -rf /", policy.RiskHigh)
		p.Ask(a, b)
		p.Keys("j")
		p.Ask(c, a, b)
		if p.On() != b.Handle {
			t.Fatalf("on %s", p.On())
		}
		p.Stand(c, a)
		if p.On() != b.Handle || !p.Gone() {
			t.Fatalf("on %s, gone %v", p.On(), p.Gone())
		}
		p.Press("a")
		none(t, d)
		p.Keys("k")
		if p.On() != a.Handle || strings.Contains(p.Text(), b.Handle) {
			t.Errorf("on %s\n%s", p.On(), p.Text())
		}
	})
}

// TestAnsweredElsewhere: a request that another answered stays under the cursor and says who answered it, and when.
func TestAnsweredElsewhere(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		p.Ask(request(1, "alice", "ls", policy.RiskLow))
		at := time.Now()
		d.fate = decide.Fate{How: "denied by operator (deny)", At: at, Said: "not \x1b[31mtoday"}
		p.Wait(3 * second)
		p.Stand()
		if s := p.Text(); !p.Gone() || !strings.Contains(s, "denied by operator (deny) at "+page.Clock(at, at)) || !strings.Contains(s, `\x1b[31mtoday`) || strings.Contains(s, "\x1b") {
			t.Errorf("gone %v\n%s", p.Gone(), s)
		}
	})
}

// What became of a request that is not selected and was answered elsewhere is in the bar until a key; what was answered
// here is not.
func TestNewsOfOthers(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		a, b, c := request(1, "alice", "ls", policy.RiskLow), request(2, "bob", "make", policy.RiskLow), request(3, "carol", "make", policy.RiskLow)
		p.Stand(a, b, c)
		d.fate = decide.Fate{How: "denied by operator (deny)", At: time.Now(), Said: "not \x1b[31mtoday"}
		p.Stand(a, b)
		if s := p.Text(); !strings.Contains(s, "K003 of carol: denied by operator (deny) at ") || !strings.Contains(s, `not \x1b[31mtoday`) {
			t.Fatal(s)
		}
		p.Keys("j", "k")
		hides(t, p, "of carol")
		p.Wait(second)
		p.Press("a")
		p.Keys("j", "k")
		p.Stand(b)
		hides(t, p, "of alice")
	})
}

// A request that was answered here is not counted any more, and leaves the list when the cursor does.
func TestAnsweredHere(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		p.Ask(request(1, "alice", "ls", policy.RiskLow))
		p.Man(tui.Crew{Members: []tui.Member{member("bob", inspect.StateIdle, "")}})
		p.Wait(second)
		p.Press("a")
		p.Ask()
		if s := p.Text(); !strings.Contains(s, "0 need you") || p.On() != "K001" || !p.Gone() {
			t.Errorf("on %s\n%s", p.On(), s)
		}
		p.Keys("j")
		if s := p.Text(); strings.Contains(s, "K001") || p.On() != "bob" {
			t.Errorf("on %s\n%s", p.On(), s)
		}
	})
}

// A refused answer can be given again.
func TestRefused(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		d.err = fmt.Errorf("it was decided before")
		p.Stand(request(1, "alice", "ls", policy.RiskLow))
		p.Press("a")
		shows(t, p, "it was decided before")
		p.Wait(second)
		p.Press("a")
		if len(d.acts) != 2 {
			t.Errorf("%+v", d.acts)
		}
	})
}

func TestRule(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		q := request(1, "alice", "go test ./a", policy.RiskMedium)
		q.Suggest = []string{"Bash(go test ./a)", "Bash(go test:*)"}
		p.Ask(q)
		p.Press("r")
		if !strings.Contains(p.Text(), "it matches 2 of the last 7 calls") {
			t.Fatal(p.Text())
		}
		p.Press("down", "s")
		for strings.Contains(p.Text(), "more lines to read") {
			p.Press("space")
		}
		p.Press("a")
		if a := sole(t, d); a.Rule != "Bash(go test:*)" || !a.Wide || time.Until(a.End) > decide.LessonTime {
			t.Errorf("%+v", a)
		}
	})
}

// The end of a rule is chosen like its scope. With another end the time that the rule must stand begins again.
func TestRuleEnd(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		q := request(1, "alice", "go test ./a", policy.RiskMedium)
		q.Task = "3"
		p.Ask(q)
		p.Keys("u", "r")
		for _, end := range []string{"for 24 hours", "for 7 days", "for 14 days", "for 1 hour", "for this task", "always", "for 24 hours"} {
			p.Wait(second)
			if !strings.Contains(p.Text(), "for alice, "+end+" ") && !strings.Contains(p.Text(), "for alice, "+end+"\n") {
				t.Fatalf("not %s:\n%s", end, p.Text())
			}
			p.Keys("u")
		}
		p.Press("esc", "r")
		p.Keys("u")
		p.Wait(300 * time.Millisecond)
		p.Press("a")
		if len(d.acts) != 0 {
			t.Fatalf("the end had not stood: %+v", d.acts)
		}
		for strings.Contains(p.Text(), "more lines to read") {
			p.Press("space")
		}
		p.Press("a")
		if a := sole(t, d); time.Until(a.End) < 6*24*time.Hour || time.Until(a.End) > 7*24*time.Hour {
			t.Errorf("it ends in %s", time.Until(a.End))
		}
	})
}

// The bottom line names the keys that have an effect on what is shown, and no others.
func TestHintNamesWhatWorks(t *testing.T) {
	edit := request(2, "bob", "", policy.RiskMedium)
	edit.Tool, edit.Command, edit.Input, edit.Suggest = "Edit", "", []byte(`{"file_path":"/src/a.go","old_string":"a","new_string":"b"}`), nil
	plan := request(3, "carol", "", policy.RiskMedium)
	plan.Kind, plan.Tool, plan.Command, plan.Input, plan.Suggest = string(protocol.KindPlanApprovalRequest), "", "", nil, nil
	plan.Plan, plan.Revision = "# Move", 2
	host := request(4, "dan", "", policy.RiskHigh)
	host.Kind, host.Tool, host.Command, host.Input, host.Suggest = string(protocol.KindSandboxPermissionRequest), "", "", nil, nil
	host.Host, host.Port = "db.internal", "5432"
	session := request(5, "claude", "ls", policy.RiskLow)
	session.Team = decide.SessionTeam
	for _, c := range []struct {
		name string
		q    decide.Request
		want string
	}{
		{"low", request(1, "ann", "ls", policy.RiskLow), "a allow once  d deny  r rule  b batch  e edit  v whole"},
		{"high", request(1, "ann", "rm -r x", policy.RiskHigh), "a allow (type K001)  d deny  r rule  e edit  v whole"},
		{"edit", edit, "a allow once  d deny  b batch  e edit  v whole"},
		{"plan", plan, "a allow revision 2  d deny  v whole"},
		{"host", host, "a allow (type K004)  d deny  v whole"},
		{"session", session, "a allow once  d deny  b batch  e edit  v whole"},
	} {
		t.Run(c.name, func(t *testing.T) {
			play(t, func(t *testing.T, p *tui.Player, _ *desk) {
				p.Stand(c.q)
				s := strings.Split(strings.TrimRight(p.Text(), "\n"), "\n")
				if got := s[len(s)-1]; !strings.HasPrefix(got, c.want+"  tab") {
					t.Errorf("%q, want %q", got, c.want)
				}
			})
		})
	}
}

// The change that an Edit call makes in its file is shown below the request, once the real path is known.
func TestInFile(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		d.earlier = "@@ -7 +7 @@\n-a\n+b"
		q := request(1, "bob", "", policy.RiskMedium)
		q.Tool, q.Command, q.Input = "Edit", "", []byte(`{"file_path":"a.go","old_string":"a","new_string":"b"}`)
		p.Stand(q)
		if s := p.Text(); strings.Contains(s, "@@ -7 +7 @@") || !strings.Contains(s, "Edit a.go") {
			t.Fatalf("where it leads is not known:\n%s", s)
		}
		q.Paths, q.Digest = []record.RealPath{{Spelled: "/src/a.go", Real: "/src/a.go"}}, strings.Repeat("d", 64)
		p.Stand(q)
		shows(t, p, "in the file, when this was shown first", "| @@ -7 +7 @@")
		p.Press("a")
		if a := sole(t, d); a.Requests[0].Digest != q.Digest {
			t.Errorf("%+v", a)
		}
	})
}

func TestMessageAndTask(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		p.Man(tui.Crew{Members: []tui.Member{member("alice", inspect.StateWorking, "")}})
		p.Keys("m")
		p.Paste("two\nlines")
		p.Wait(second)
		p.Press("enter")
		p.Keys("m", "tab")
		p.Type("tidy up")
		p.Press("enter")
		p.Keys("n")
		p.Type("begin anew")
		p.Press("enter")
		if len(d.acts) != 3 || d.acts[2].Verb != tui.NewMember || d.acts[2].Text != "begin anew" || d.acts[2].Member != "" || d.acts[0].Text != "two lines" || d.acts[0].Verb != tui.Message || d.acts[1].Verb != tui.NewTask || d.acts[1].Member != "alice" {
			t.Errorf("%+v", d.acts)
		}
	})
}

func TestFilterAndMouse(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		p.Ask(request(1, "alice", "ls", policy.RiskLow), request(2, "bob", "make", policy.RiskLow), request(3, "bob", "ls", policy.RiskLow))
		p.Click(5, 3)
		if p.On() != "K002" {
			t.Errorf("on %s", p.On())
		}
		p.Wheel(5, 3)
		if p.On() != "K003" {
			t.Errorf("on %s", p.On())
		}
		p.Keys("/")
		p.Type("make")
		p.Keys("enter")
		shows(t, p, "K002")
		hides(t, p, "alice")
		p.Wait(second)
		p.Keys("esc")
		shows(t, p, "alice")
	})
}

// A filter that hides the selected request moves the cursor to a row that it shows; it does not say that
// the request was answered. One that is answered meanwhile stays, and says so.
func TestFilterHidesTheSelected(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		a, b := request(1, "alice", "ls", policy.RiskLow), request(2, "bob", "make", policy.RiskLow)
		p.Ask(a, b)
		p.Keys("/")
		p.Type("make")
		p.Keys("enter")
		if s := p.Text(); p.On() != "K002" || p.Gone() || strings.Contains(s, "alice") || strings.Contains(s, "answered") {
			t.Fatalf("on %s\n%s", p.On(), s)
		}
		p.Ask(a)
		if p.On() != "K002" || !p.Gone() {
			t.Errorf("on %s, gone %v", p.On(), p.Gone())
		}
		p.Wait(second)
		p.Press("esc")
		if s := p.Text(); p.On() != "K002" || !p.Gone() || !strings.Contains(s, "alice") {
			t.Errorf("on %s\n%s", p.On(), s)
		}
		p.Keys("/")
		p.Type("no row has this")
		hides(t, p, "ok alice")
		none(t, d)
	})
}

// An update does not take the row under the cursor away if the filter has shown it, also when the state of
// its member changes and the filter does not match any more.
func TestFilterKeepsTheSelected(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		crew := func(s inspect.MemberState) tui.Crew {
			return tui.Crew{Members: []tui.Member{member("ann", inspect.StateWorking, ""), member("bob", s, ""), member("carl", inspect.StateWorking, "")}}
		}
		p.Man(crew(inspect.StateWorking))
		p.Keys("j", "/")
		p.Type("work")
		p.Keys("enter")
		if p.On() != "bob" {
			t.Fatalf("on %s", p.On())
		}
		p.Man(crew(inspect.StateIdle))
		if s := p.Text(); p.On() != "bob" || p.Gone() || !strings.Contains(s, "Ready (1)") {
			t.Fatalf("on %s\n%s", p.On(), s)
		}
		p.Ask(request(1, "bob", "ls", policy.RiskLow))
		if p.On() != "K001" || p.Gone() {
			t.Fatalf("bob asks; on %s", p.On())
		}
		p.Keys("j")
		p.Man(crew(inspect.StateIdle))
		if s := p.Text(); p.On() != "ann" || strings.Contains(s, "bob") {
			t.Errorf("on %s\n%s", p.On(), s)
		}
	})
}

// Leaving waits for the answer that is on its way.
func TestQuit(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		p.Press("q")
		if !p.Ended {
			t.Error("it goes on")
		}
	})
}

// TestWindowTitle: the title of the window counts what needs the person, also where a filter hides it.
func TestWindowTitle(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		is := func(want string) {
			t.Helper()
			p.Wait(second)
			if got := p.Title(); got != want {
				t.Errorf("the title is %q, want %q", got, want)
			}
		}
		is("waggle")
		p.Ask(request(1, "alice", "ls", policy.RiskLow), request(2, "bob", "make", policy.RiskLow))
		is("waggle: 2 need you")
		p.Keys("/")
		p.Type("nothing")
		is("waggle: 2 need you")
		p.Keys("esc")
		p.Ask(request(1, "alice", "ls", policy.RiskLow))
		is("waggle: 1 needs you")
		p.Wait(second)
		p.Keys("a")
		is("waggle")
	})
}

// A rule is offered for the request that it was chosen for, and for no other: one that has changed, or that the filter puts
// under the cursor, and a change of the input is of the request that it was made of.
func TestRuleOfAnother(t *testing.T) {
	q, other, new := request(1, "alice", "ls -l", policy.RiskLow), request(2, "bob", "make all", policy.RiskLow), request(1, "alice", "rm x", policy.RiskLow)
	new.Digest = "another"
	for name, does := range map[string]func(p *tui.Player){
		"filter": func(p *tui.Player) {
			p.Keys("/")
			p.Type("make")
			p.Keys("enter")
		},
		"changed":  func(p *tui.Player) { p.Ask(new, other) },
		"answered": func(p *tui.Player) { p.Ask(other) },
	} {
		for _, key := range []string{"r", "e"} {
			t.Run(name+" "+key, func(t *testing.T) {
				play(t, func(t *testing.T, p *tui.Player, d *desk) {
					p.Write = func(string) string { return "ls -la\n" }
					p.Stand(q, other)
					p.Press(key)
					if s := p.Text(); !strings.Contains(s, map[string]string{"r": "Rule: ", "e": "Changed: "}[key]) {
						t.Fatal(s)
					}
					does(p)
					p.Wait(second)
					shows(t, p, "[Ask]")
					hides(t, p, "Rule: ", "Changed: ", "> Bash(ls -l)")
					p.Press("down")
					p.Press("a")
					if len(d.acts) != 1 || d.acts[0].Rule != "" || d.acts[0].Input != "" || d.acts[0].Requests[0].Handle != "K002" {
						t.Errorf("%+v\n%s", d.acts, p.Text())
					}
				})
			})
		}
	}
}
