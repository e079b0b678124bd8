package fileview

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
)

// FileText shows a team file before a question about it: its meaning, and its text.
func FileText(f *teamfile.File) string {
	return fmt.Sprintf("found %s (sha256 %.16s). It means:\n\n%s\n\nIts text:\n\n%s", operator.Visible(f.Path), f.SHA256,
		strings.Join(Meaning(f), "\n"), operator.VisibleLines(string(f.Data)))
}

// FileAgain is a found file that is as it was when it was accepted.
func FileAgain(f *teamfile.File) string {
	var names []string
	for _, m := range f.Members {
		names = append(names, string(m.Name))
	}
	return fmt.Sprintf("found %s (sha256 %.16s), unchanged since you accepted it\nteam %s: %s (%s), %s", operator.Visible(f.Path), f.SHA256,
		f.Team, page.Count(len(f.Members), "member"), strings.Join(names, ", "), page.Count(len(f.Tasks), "task"))
}

// FilePlanDocument is what a team file would start.
type FilePlanDocument struct {
	File    string   `json:"file"`
	SHA256  string   `json:"sha256"`
	Team    string   `json:"team"`
	Members []string `json:"members"`
	Tasks   []string `json:"tasks"` // their subjects
	Meaning []string `json:"meaning"`
}

// FilePlan is the document of what a team file would start.
func FilePlan(f *teamfile.File) FilePlanDocument {
	d := FilePlanDocument{File: f.Path, SHA256: f.SHA256, Team: string(f.Team), Meaning: Meaning(f)}
	for _, m := range f.Members {
		d.Members = append(d.Members, string(m.Name))
	}
	for _, t := range f.Tasks {
		d.Tasks = append(d.Tasks, t.Subject)
	}
	return d
}

// FileChangeText is how a team file differs from the accepted one: in what it means, and in
// its text.
func FileChangeText(c supervise.FileChange) string {
	s := operator.Visible(c.Accepted.Path) + " has changed since it was accepted"
	meaning := MeaningDiff(c)
	switch {
	case c.Broken != nil:
		s += ", and is no team file any more:\n" + operator.VisibleLines(c.Broken.Error())
	case meaning == "":
		s += ", and means the same."
	default:
		s += ". What it means:\n\n" + operator.VisibleLines(meaning)
	}
	if text := TextDiff(c); text != "" {
		s += "\nIts text:\n\n" + operator.VisibleLines(text)
	}
	return s
}

// MeaningDiff is the whole meaning of a file that has changed, with - and + before the differences;
// "" without a difference, and for a file that is invalid now.
func MeaningDiff(c supervise.FileChange) string {
	if c.Now == nil {
		return ""
	}
	was, is := strings.Join(Meaning(c.Accepted), "\n")+"\n", strings.Join(Meaning(c.Now), "\n")+"\n"
	if was == is {
		return ""
	}
	diff, err := udiff.ToUnified("accepted", c.Accepted.Path, was, udiff.Lines(was, is), strings.Count(was, "\n")+strings.Count(is, "\n"))
	if err != nil { // its own edits always apply
		return was + is
	}
	return diff
}

// TextDiff is a unified diff of the text; "" without a difference, and for a file that is too large
// to be read.
func TextDiff(c supervise.FileChange) string {
	if c.Data == nil {
		return ""
	}
	return udiff.Unified("accepted", c.Accepted.Path, string(c.Accepted.Data), string(c.Data))
}
