package teams

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"waggle"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/task"
)

// TeamExport is a team as a reader wants it: who is in it, what was said, what is to
// be done. The first four keys are those of seed 002's export.
type TeamExport struct {
	Team          string              `json:"team"`
	Created       string              `json:"created"`
	ActiveMembers []waggle.MemberName `json:"active_members"`
	TotalMembers  int                 `json:"total_members"`
	Description   string              `json:"description"`
	Dialect       string              `json:"dialect"`
	Layout        string              `json:"layout"`
	SchemaVersion string              `json:"schema_version"`
	Members       []TeamMember        `json:"members"`
	Mailboxes     []TeamMailbox       `json:"mailboxes"`
	Tasks         []TeamTask          `json:"tasks"`
	Problems      []string            `json:"problems"` // what could not be read
}

// TeamMember is one member.
type TeamMember struct {
	Name    string   `json:"name"`
	AgentID string   `json:"agent_id"`
	Type    string   `json:"type"`
	Model   string   `json:"model"`
	Color   string   `json:"color"`
	Backend string   `json:"backend"`
	Cwd     string   `json:"cwd"`
	Prompt  string   `json:"prompt"`
	Joined  string   `json:"joined"`
	Left    string   `json:"left"`  // "" for a present one
	Files   []string `json:"files"` // what it made: paths below tasks/<team>/<name>
}

// TeamMailbox is one mailbox, of a present member or one that has left.
type TeamMailbox struct {
	Member  string            `json:"member"`
	Entries []mail.InboxEntry `json:"entries"`
}

// TeamTask is one task.
type TeamTask struct {
	ID          string   `json:"id"`
	Subject     string   `json:"subject"`
	Description string   `json:"description"`
	Owner       string   `json:"owner"`
	Status      string   `json:"status"`
	BlockedBy   []string `json:"blocked_by"`
	Blocked     bool     `json:"blocked"`
}

// ExportTeam reads a team. What cannot be read is said in Problems; the rest is there.
// It takes no lock and consumes nothing.
func (o Operator) ExportTeam(ctx context.Context, name waggle.TeamName) (*TeamExport, error) {
	tv, err := inspect.Of(o.Operator).Team(ctx, name)
	if err != nil {
		return nil, err
	}
	c := tv.Config
	e := &TeamExport{Team: string(name), Created: waggle.FormatTime(c.CreatedAt), ActiveMembers: tv.Active(), TotalMembers: len(c.Members),
		Description: c.Description, Dialect: string(c.Dialect()), Layout: tv.Layout, SchemaVersion: c.SchemaVersion,
		Members: []TeamMember{}, Mailboxes: []TeamMailbox{}, Tasks: []TeamTask{}, Problems: append([]string{}, c.Problems()...)}
	for _, m := range c.Members {
		em := TeamMember{Name: string(m.Name), AgentID: string(m.AgentID), Type: m.AgentType, Model: m.Model, Color: m.Color,
			Backend: m.BackendType, Cwd: m.Cwd, Prompt: m.Prompt, Files: e.files(o.Root.MemberDir(name, m.Name))}
		if !m.JoinedAt.IsZero() {
			em.Joined = waggle.FormatTime(m.JoinedAt)
		}
		if m.Gone() {
			em.Left = waggle.FormatTime(m.ShutdownAt)
		}
		e.Members = append(e.Members, em)
	}
	names, err := o.Boxes(name).Names()
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		in, err := mail.Of(o.Operator).Inbox(ctx, name, n, false)
		if err != nil {
			e.problem("mailbox of %s: %v", n, err)
			continue
		}
		e.Mailboxes = append(e.Mailboxes, TeamMailbox{Member: string(n), Entries: in.Entries})
		for _, r := range in.Reports {
			e.problem("mailbox of %s: %s", n, r)
		}
	}
	return e, e.tasks(ctx, o.Root.TasksDir(name), name)
}

func (e *TeamExport) problem(format string, args ...any) {
	e.Problems = append(e.Problems, fmt.Sprintf(format, args...))
}

func (e *TeamExport) tasks(ctx context.Context, dir string, name waggle.TeamName) error {
	board, err := task.Open(dir, name, task.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	all, problems, err := board.All(ctx)
	for _, p := range problems {
		e.problem("task %s", p)
	}
	for _, t := range all {
		if t.Status == task.Deleted {
			continue
		}
		et := TeamTask{ID: string(t.ID), Subject: t.Subject, Description: t.Description, Owner: t.Owner, Status: string(t.Status),
			BlockedBy: []string{}, Blocked: len(task.Blocked(t, all)) > 0}
		for _, id := range t.BlockedBy {
			et.BlockedBy = append(et.BlockedBy, string(id))
		}
		e.Tasks = append(e.Tasks, et)
	}
	return err
}

// files lists what is in a member's directory, by paths below it.
func (e *TeamExport) files(dir string) []string {
	files := []string{}
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		below, err := filepath.Rel(dir, at)
		files = append(files, filepath.ToSlash(below))
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		e.problem("%v", err)
	}
	return files
}

// Markdown writes the export for people. Text from members stands in fences or is
// escaped, so that it is only ever text.
func (e *TeamExport) Markdown(to io.Writer) error {
	w := bufio.NewWriter(to)
	p := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	p("# Team %s\n", inline(e.Team))
	if e.Description != "" {
		p("%s\n", inline(e.Description))
	}
	p("Created %s, %s dialect, %d of %d members present.\n", e.Created, e.Dialect, len(e.ActiveMembers), e.TotalMembers)
	p("## Members\n")
	p("| member | type | model | colour | backend | joined | left |\n|---|---|---|---|---|---|---|")
	for _, m := range e.Members {
		p("| %s | %s | %s | %s | %s | %s | %s |", inline(m.Name), inline(m.Type), inline(m.Model), inline(m.Color), inline(m.Backend), m.Joined, m.Left)
	}
	for _, m := range e.Members {
		if m.Prompt == "" && len(m.Files) == 0 {
			continue
		}
		p("\n### %s", inline(m.Name))
		if m.Prompt != "" {
			p("\nPrompt:\n\n%s", fenced(m.Prompt))
		}
		if len(m.Files) > 0 {
			p("\nFiles:\n")
		}
		for _, f := range m.Files {
			p("- %s", inline(f))
		}
	}
	p("\n## Tasks\n")
	if len(e.Tasks) == 0 {
		p("None.")
	}
	for _, t := range e.Tasks {
		done, owner, after := " ", "nobody", ""
		if t.Status == string(task.Completed) {
			done = "x"
		}
		if t.Owner != "" {
			owner = inline(t.Owner)
		}
		if t.Blocked {
			after = ", blocked by " + strings.Join(t.BlockedBy, ", ")
		}
		p("- [%s] %s %s (%s, %s%s)", done, t.ID, inline(t.Subject), owner, inline(t.Status), after)
	}
	p("\n## Messages")
	for _, b := range e.Mailboxes {
		p("\n### To %s", inline(b.Member))
		if len(b.Entries) == 0 {
			p("\nNone.")
		}
		for _, m := range b.Entries {
			kind := ""
			if m.Kind != string(waggle.KindText) {
				kind = ", " + inline(m.Kind)
			}
			p("\n**%s**, %s%s:\n\n%s", inline(m.From), inline(m.Timestamp), kind, fenced(m.Text))
			for _, warning := range m.Warnings {
				p("\n> %s", inline(warning))
			}
		}
	}
	if len(e.Problems) > 0 {
		p("\n## What could not be read\n")
	}
	for _, s := range e.Problems {
		p("- %s", inline(s))
	}
	return w.Flush()
}

// inline is text on one line of Markdown, without any meaning.
func inline(s string) string {
	var b strings.Builder
	for _, r := range operator.Visible(s) {
		if strings.ContainsRune("\\`*_{}[]<>()#+!|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// fenced is text of several lines in a fence that it cannot end.
func fenced(s string) string {
	s = operator.VisibleLines(s)
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "text\n" + strings.TrimSuffix(s, "\n") + "\n" + fence
}
