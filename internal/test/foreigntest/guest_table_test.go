package foreigntest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/operator/teams"
)

// plays returns the effects of a cell of the table: the texts that the guest writes to its lead, how
// often it ran a command, the unverified records, and whether the guest is still there.
func (g *guesting) plays(f flow, p spelling, kase string) string {
	g.t.Helper()
	from, a := "team-lead", asked{Request_id: "id-1", Tool_use_id: "t1", Input: json.RawMessage("{}")}
	answers := strings.HasPrefix(f.name, "permission")
	if answers {
		g.says("team-lead", "please look at this")
		a = g.asked()
	}
	if kase == "forged" {
		from = "stranger"
	}
	said := p.entry(from, `"ID"`, fmt.Sprintf("%q", a.Request_id), `"CALL"`, fmt.Sprintf("%q", a.Tool_use_id), "INPUT", string(a.Input))
	switch kase {
	case "late":
		testenv.Must(g.t, teams.Of(g.op).Remove(g.t.Context(), g.team, "gopher"))
		err := <-g.done
		g.done <- err
		g.puts(said)
		return g.record(nil) + "; it has ended"
	case "duplicate":
		g.puts(said, said)
	default:
		g.puts(said)
	}
	if f.name == "shutdown" && from == "team-lead" {
		e, _ := g.heard()
		err := <-g.done
		g.done <- err
		if g.gopher() != nil {
			return "its entry is still there"
		}
		if got := known(e.Text); got != p.yes {
			g.t.Errorf("the lead is answered\n%s\nwant\n%s", got, p.yes)
		}
		return g.record([]string{kindOf(e.Text)}) + "; it has ended"
	}
	if answers && kase == "forged" { // the question is open: the lead says no
		g.says("team-lead", fmt.Sprintf(`{"type":"permission_response","request_id":%q,"subtype":"error","error":"no"}`, a.Request_id))
	}
	const end = "that is all"
	g.says("team-lead", end)
	var wrote []string
	words := 0
	for {
		e, _ := g.heard()
		ask := frameOf(e.Text)
		if turns := map[string]string{"words": said.Text, "task": "task_assignment"}[f.name]; turns != "" { // one or two
			words += strings.Count(e.Text, turns)
		} else if ask.Type != "permission_request" {
			wrote = append(wrote, kindOf(e.Text))
		}
		if ask.Type == "permission_request" && strings.Contains(e.Text, end) {
			break
		}
		if ask.Type == "permission_request" { // what the words led to
			g.says("team-lead", fmt.Sprintf(`{"type":"permission_response","request_id":%q,"subtype":"error","error":"no"}`, ask.Request_id))
		}
	}
	if f.name == "words" || f.name == "task" {
		wrote = append(wrote, fmt.Sprintf("its agent is shown it %d times", words))
	}
	return g.record(wrote)
}

// record returns the records of a cell, behind the mail that the lead got.
func (g *guesting) record(wrote []string) string {
	var out []string
	if out = counted(wrote); len(out) == 0 {
		out = []string{"nothing"}
	}
	ran, unverified := 0, 0
	for _, kind := range g.records() {
		switch kind {
		case "started":
			ran++
		case "unverified":
			unverified++
		}
	}
	if ran > 0 {
		out = append(out, fmt.Sprintf("ran %d times", ran))
	}
	if unverified > 0 {
		out = append(out, fmt.Sprintf("%d unverified", unverified))
	}
	return strings.Join(out, "; ")
}

// TestGuestWalk walks all flows with a foreign lead, in each document's spelling, and a guest that is at work, and
// compares every cell with what is expected of it. A cell without an expectation fails. The usual run has one
// spelling a flow.
func TestGuestWalk(t *testing.T) {
	t.Parallel()
	for _, f := range flows {
		for _, p := range testenv.Rows(t, has(f.orders), 1) {
			for i, kase := range cases {
				compared(t, f, "guest", kase, p, ofGuest[f.name][i], func(t *testing.T) string { return newGuest(t).plays(f, p, kase) })
			}
		}
	}
}

// ofGuest is the expected effect of every flow: plain, duplicate, late, forged.
var ofGuest = map[string][4]string{
	"permission":        {"idle_notification; ran 1 times", "idle_notification; ran 1 times; 1 unverified", ended, "idle_notification; 1 unverified"},
	"permission denied": {"idle_notification", "idle_notification; 1 unverified", ended, "idle_notification; 1 unverified"},
	"network":           unasked,
	"plan":              unasked,
	"shutdown":          {"shutdown_approved; it has ended", "shutdown_approved; 1 unverified; it has ended", ended, "nothing; 1 unverified"},
	"task":              shown,
	"idle":              unasked,
	"mode and rules":    unasked,
	"words":             shown,
}

// ended is the effect of every flow after the guest's entry was taken out.
const ended = "nothing; it has ended"

// shown is the effect of a message, and of a task, which by file is no more than a message.
var shown = [4]string{"its agent is shown it 1 times", "its agent is shown it 2 times", ended, "its agent is shown it 1 times"}

// unasked is the effect of a text that a guest did not ask for, or takes from no file.
var unasked = [4]string{"nothing; 1 unverified", "nothing; 2 unverified", ended, "nothing; 1 unverified"}
