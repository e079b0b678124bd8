package view_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/operator/results"
	"waggle/record"
)

// stands are the conditions of the states that these tests have.
var stands = map[inspect.MemberState]inspect.Condition{inspect.StateHuman: inspect.ConditionNeedsYou, inspect.StateIdle: inspect.ConditionReady, inspect.StateStarting: inspect.ConditionWorking,
	inspect.StateQueued: inspect.ConditionWaits, inspect.StateBackground: inspect.ConditionWorking, inspect.StateFailed: inspect.ConditionFailed, inspect.StateBlocked: inspect.ConditionBlocked,
	inspect.StateWorking: inspect.ConditionWorking, inspect.StateDead: inspect.ConditionFailed}

// TestOverviewParts: who waits is in no other section, a question is there with its options and a call with what it
// reads, and members without work come with what they have changed and whether their check passed.
func TestOverviewParts(t *testing.T) {
	item := func(member, risk string) decide.PendingItem {
		return decide.PendingItem{Team: "api", Handle: "H" + member, Member: member, Tool: "Bash", Risk: risk, Asked: operator.Past{Time: at(30)}, Status: decide.StatusOpen}
	}
	call, asks, dialog := decide.Request{PendingItem: item("ann", "high")}, decide.Request{PendingItem: item("bob", "low")}, decide.Request{PendingItem: item("web", "medium")}
	call.Input, call.Stdin = json.RawMessage(`{"command":"bash -s"}`), "make all"
	asks.Kind, asks.Tool, asks.Input = decide.KindQuestion, "", json.RawMessage(`{"questions":[{"question":"keep it?","options":[{"label":"yes"},{"label":"no"}]}]}`)
	asks.Questions = []decide.Asked{{Text: "keep it?", Options: []decide.Option{{Label: "yes"}, {Label: "no"}}}}
	dialog.Team, dialog.Kind, dialog.Handle, dialog.Reason = decide.SessionTeam, decide.KindDialog, "", "answer in its own terminal"
	tree := &process.WorktreeView{Branch: "b"}
	member := func(name string, s inspect.MemberState, why string) inspect.MemberStatus {
		return inspect.MemberStatus{Name: name, State: s, Stand: inspect.Stand{Is: stands[s]}, Since: at(0), Why: why, Worktree: tree}
	}
	done := member("cid", inspect.StateIdle, "waits for work")
	done.Checked = &record.Checked{Passed: true}
	st := &inspect.Status{Team: "api", Members: []inspect.MemberStatus{member("ann", inspect.StateHuman, "asks"), member("bob", inspect.StateHuman, "asks"), done,
		member("dan", inspect.StateIdle, "waits for work"), member("eve", inspect.StateStarting, "its process is starting"), member("quin", inspect.StateQueued, "place 1 of 1 in the queue"), member("fay", inspect.StateBackground, "runs make"),
		member("gus", inspect.StateFailed, "task 3 failed"), member("hal", inspect.StateBlocked, "npm ci failed"), member("ida", inspect.StateHuman, "two votes are needed")}}
	v := view.Overview{Waiting: []decide.Request{call, dialog, asks}, Teams: []*inspect.Status{st}, Today: record.Usage{Input: 10, CostMicros: 3_104_000, Source: record.UsageEstimated},
		Sessions: []decide.SessionRow{{Team: decide.SessionTeam, Name: "web", State: "waiting-human"}, {Team: decide.SessionTeam, Name: "doc", State: "busy", Cwd: "/w", Pane: "%3", Hook: true}, {Team: decide.SessionTeam, Name: "old", State: "idle", Cwd: "/o"}},
		Changes:  map[view.MemberOf]*results.Diff{{Team: "api", Member: "cid"}: {Files: []results.FileChange{{Added: 40, Deleted: 2}, {Added: 8}}}}}
	samePage(t, "overview_parts", view.OverviewPage(v, now, 0))
	v.Teams = append(v.Teams, &inspect.Status{Team: "two"})
	samePage(t, "overview_several", view.OverviewPage(v, now, 0))
}

// TestOverviewFits: whatever there is fits into the screen, each section has rows, and what is left out is counted.
func TestOverviewFits(t *testing.T) {
	v := view.Overview{}
	st := &inspect.Status{Team: "api", Unread: 1}
	for i := range 40 {
		name := fmt.Sprintf("m%d", i)
		v.Waiting = append(v.Waiting, decide.Request{PendingItem: decide.PendingItem{Team: "api", Handle: name, Member: "w" + name, Asked: operator.Past{Time: at(1)}, Status: decide.StatusOpen}})
		for _, s := range []inspect.MemberState{inspect.StateWorking, inspect.StateFailed, inspect.StateIdle} {
			st.Members = append(st.Members, inspect.MemberStatus{Name: name, State: s, Stand: inspect.Stand{Is: stands[s]}})
		}
		v.Ended = append(v.Ended, inspect.EndedTeam{Team: name, At: at(1)})
		v.Kept = append(v.Kept, process.Kept{Team: name})
	}
	v.Teams = []*inspect.Status{st}
	for _, height := range []int{24, 40, 0} {
		p := view.OverviewPage(v, now, height)
		if n := linesOf(p); height > 0 && n != height-1 || height == 0 && n != 6*41+6+1 {
			t.Errorf("%d lines of %d", n, height)
		}
	}
	samePage(t, "overview_short", view.OverviewPage(v, now, 24))
}

// linesOf is how many lines a page has where none is too wide.
func linesOf(p page.Page) (n int) {
	for _, b := range p {
		if n++; b.Table != nil {
			n += len(b.Table.Rows) - 1
		}
	}
	return n
}
