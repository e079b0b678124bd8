package view_test

import (
	"fmt"
	"testing"

	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/doctor"
	"waggle/operator/process"
	"waggle/operator/repair"
	"waggle/record"
)

func TestEnded(t *testing.T) {
	kept := operator.KeptWorktree{Member: "ann", Path: "/w", Branch: "waggle/ann", Why: "1 unpushed commit", Files: []string{"abc"}}
	refused := process.MemberEnd{Member: "ann", How: record.LeftStopped, Step: "term", Rejected: "busy", Answered: true, Worktree: &kept}
	ends := []process.MemberEnd{refused, {Member: "bob", How: record.LeftHandshake, Step: "handshake", Answered: true}, {Member: "cleo", How: record.LeftDied, Step: "gone"},
		{Member: "dan", How: record.LeftReleased}, {Member: "eve", How: record.LeftReleased, Forced: true}, {Member: "fay", How: record.LeftReleased, Rejected: "busy"},
		{Member: "gus", How: "listed"}, {Member: "hal", How: record.LeftStopped, Step: "kill", Forced: true}, {Member: "ida", How: record.LeftStopped, Step: "stdin"},
		{Member: "jon", How: record.LeftStopped, Step: "its pane was killed"}, {Member: "lou", How: "stays", Step: "handshake", Rejected: "busy", Answered: true}, {Member: "kim", How: record.LeftStopped, Step: "gone", Forced: true}}
	d := &process.DownResult{Team: "api", State: "ended", Members: ends, Archive: "/a", Worktrees: []operator.KeptWorktree{kept}}
	golden(t, "member_end", refused)
	golden(t, "ended", d)
	golden(t, "ended_empty", &process.DownResult{})
	samePage(t, "ended", append(view.EndedPage(d), view.EndedPage(&process.DownResult{Team: "full"})...))
	var p page.Page
	for _, e := range ends {
		p = append(p, view.MemberEndPage(e)...)
	}
	samePage(t, "member_end", p)
}

func TestCollected(t *testing.T) {
	c := &process.Collected{Living: 1, Unseen: []process.Unseen{{Team: "api", Member: "ann"}},
		Found: []*process.Garbage{{Kind: "process", Team: "api", Member: "ann", PID: 17, Start: "99", Argv: "make", Why: "it has left", Done: true}, {Kind: "socket", Team: "api", Path: "/s", Why: "dead", Error: "busy"}},
		Kept:  []process.Kept{{Kind: "team", Team: "web", Path: "/t/web", Why: operator.Sentence{Text: "it is broken", Do: operator.Next{Step: operator.NextResumeTeam}}}, {Kind: "process", Team: "api", Member: "bob", Why: operator.Sentence{Text: "it can be brought back"}}}}
	golden(t, "collected", c)
	golden(t, "collected_empty", &process.Collected{})
	samePage(t, "collected", view.CollectedPage(c, false, spell))
	samePage(t, "collected_acted", view.CollectedPage(c, true, spell))
	if p := append(view.CollectedPage(&process.Collected{}, true, spell), view.UnseenPage(nil)...); len(p) != 0 {
		t.Error(p)
	}
	p := view.UnseenPage(c.Unseen)
	var many []process.Unseen
	for i := range 7 {
		many = append(many, process.Unseen{Team: "api", Member: fmt.Sprint("m", i)})
	}
	samePage(t, "unseen", append(p, view.UnseenPage(many)...))
}

func TestBroken(t *testing.T) {
	b := &repair.Broken{Team: "api", Journal: "i-1", Member: "ann", File: "/j", Line: 4, Seq: 3, Why: "a byte was changed", Readable: 2, Lost: 5, Bytes: 600, SHA256: "ff",
		Kept: "/k", Members: []string{"ann"}, Dropped: []string{"bob", "cleo"}, Acknowledged: true}
	lead := &repair.Broken{Team: "api", Journal: "leader", File: "/l", Seq: 1, Why: "it is cut", Members: []string{}, Dropped: []string{}}
	golden(t, "broken", b)
	golden(t, "broken_leader", lead)
	samePage(t, "broken", append(view.BrokenPage(b), view.BrokenPage(lead)...))
}

func TestFindings(t *testing.T) {
	fs := []doctor.Finding{{What: "git", Status: doctor.OK, Detail: "git version 2"}, {What: "state", Status: doctor.Problem, Detail: "it is open", Next: operator.Sentence{Text: "chmod 700 /s"}},
		{What: "teams", Status: doctor.Note, Detail: "there is none", Next: operator.Sentence{Do: operator.Next{Step: operator.NextDemo}}}}
	golden(t, "findings", map[string]any{"findings": fs})
	golden(t, "findings_empty", map[string]any{"findings": []doctor.Finding(nil)})
	samePage(t, "findings", view.FindingsPage(fs, spell))
}

func TestNotify(t *testing.T) {
	d := view.NotifyDocument{On: true, Channels: []view.NotifyChannel{{Name: "terminal", State: "missing", Why: "stderr is no terminal"}, {Name: "tmux", State: "sent"}}, Trouble: "2026-11-28T01:00:00Z desktop: exit 1"}
	golden(t, "notify", d)
	samePage(t, "notify", append(view.NotifyPage(d), view.NotifyPage(view.NotifyDocument{Channels: []view.NotifyChannel{{Name: "tmux", State: "here"}}})...))
}
