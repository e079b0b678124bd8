package view_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"waggle/internal/face/view"
	_ "waggle/internal/test/testenv/seeded"
	"waggle/operator/mail"
	"waggle/operator/teams"
	"waggle/protocol"
	"waggle/task"
)

// outside returns the lines of a Markdown text that are in no fence.
func outside(t interface{ Fatalf(string, ...any) }, text string) []string {
	var lines []string
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case fence == "" && strings.HasPrefix(line, "```"):
			fence = strings.TrimSuffix(line, "text")
		case fence != "" && strings.HasPrefix(line, fence):
			fence = ""
		case fence == "":
			lines = append(lines, line)
		}
	}
	if fence != "" {
		t.Fatalf("a fence is open at the end:\n%s", text)
	}
	return lines
}

// TestMarkdownIsOnlyText: whatever members write, the export has the same headings,
// and no text of theirs is in it as Markdown, HTML or an escape sequence.
func TestMarkdownIsOnlyText(t *testing.T) {
	words := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"```", "````", "```text", "~~~", "\n", "# x", "<b>", "- [ ] y", "> z"})).Draw(t, "words"), "")
	})
	hostile := rapid.OneOf(words, rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("`#|<>[]()*_!\\\n\t\r ax-~&\x1b\u202e"))))
	rapid.Check(t, func(t *rapid.T) {
		s := func(label string) string { return hostile.Draw(t, label) }
		e := &teams.TeamExport{Team: "api", Description: s("description"), ActiveMembers: []protocol.MemberName{"w"},
			Members:   []teams.TeamMember{{Name: "w", Type: s("type"), Color: s("color"), Prompt: s("prompt"), Files: []string{s("file")}}},
			Mailboxes: []teams.TeamMailbox{{Member: "w", Entries: []mail.InboxEntry{{From: s("from"), Kind: "text", Timestamp: s("time"), Text: s("text"), Warnings: []string{s("warning")}}}}},
			Tasks:     []teams.TeamTask{{ID: "1", Subject: s("subject"), Owner: s("owner"), Status: task.Status(s("status"))}}, Problems: []string{s("problem")}}
		text := view.ExportMarkdown(e)
		if strings.ContainsAny(text, "\x1b\u202e\r") {
			t.Fatalf("it can move the cursor: %q", text)
		}
		headings := 0
		for _, line := range outside(t, text) {
			if strings.HasPrefix(line, "#") {
				headings++
			}
			plain := strings.NewReplacer(`\\`, "", `\<`, "", `\[`, "", "\\`", "").Replace(line)
			plain = strings.TrimPrefix(plain, "- [ ] ")
			if strings.ContainsAny(plain, "<[`") {
				t.Fatalf("%q", line)
			}
		}
		if headings != 7 {
			t.Fatalf("%d headings:\n%s", headings, text)
		}
	})
}
