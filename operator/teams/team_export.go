package teams

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/task"
)

// TeamExport is a team with its members, messages and tasks, for reading. The first four keys are
// those of seed 002's export.
type TeamExport struct {
	Team          string                                 `json:"team"`
	Created       string                                 `json:"created"`
	ActiveMembers operator.Nullable[protocol.MemberName] `json:"active_members"`
	TotalMembers  int                                    `json:"total_members"`
	Description   string                                 `json:"description"`
	Dialect       string                                 `json:"dialect"`
	Layout        string                                 `json:"layout"`
	SchemaVersion string                                 `json:"schema_version"`
	Members       []TeamMember                           `json:"members"`
	Mailboxes     []TeamMailbox                          `json:"mailboxes"`
	Tasks         []TeamTask                             `json:"tasks"`
	Problems      []string                               `json:"problems"` // what could not be read
}

// TeamMember is one member.
type TeamMember struct {
	Name    string    `json:"name"`
	AgentID string    `json:"agent_id"`
	Type    string    `json:"type"`
	Model   string    `json:"model"`
	Color   string    `json:"color"`
	Backend string    `json:"backend"`
	Cwd     string    `json:"cwd"`
	Prompt  string    `json:"prompt"`
	Joined  time.Time `json:"joined"`
	Left    time.Time `json:"left"`  // zero for a present member
	Files   []string  `json:"files"` // the files of its directory: paths below tasks/<team>/<name>
}

// TeamMailbox is one mailbox, of a present member or one that has left.
type TeamMailbox struct {
	Member  string            `json:"member"`
	Entries []mail.InboxEntry `json:"entries"`
}

// TeamTask is one task.
type TeamTask struct {
	ID          task.ID     `json:"id"`
	Subject     string      `json:"subject"`
	Description string      `json:"description"`
	Owner       string      `json:"owner"`
	Status      task.Status `json:"status"`
	BlockedBy   []task.ID   `json:"blocked_by"`
	Blocked     bool        `json:"blocked"`
}

// ExportTeam reads a team. Problems has what cannot be read; the rest is returned. It takes no lock
// and marks nothing.
func (o Operator) ExportTeam(ctx context.Context, name protocol.TeamName) (*TeamExport, error) {
	tv, err := inspect.Of(o.Operator).Team(ctx, name)
	if err != nil {
		return nil, err
	}
	c := tv.Config
	e := &TeamExport{Team: string(name), Created: protocol.FormatTime(c.CreatedAt), ActiveMembers: tv.Active(), TotalMembers: len(c.Members),
		Description: c.Description, Dialect: string(c.Dialect()), Layout: tv.Layout, SchemaVersion: c.SchemaVersion,
		Members: []TeamMember{}, Mailboxes: []TeamMailbox{}, Tasks: []TeamTask{}, Problems: append([]string{}, c.Problems()...)}
	for _, m := range c.Members {
		em := TeamMember{Name: string(m.Name), AgentID: string(m.AgentID), Type: m.AgentType, Model: m.Model, Color: m.Color,
			Backend: m.BackendType, Cwd: m.Cwd, Prompt: m.Prompt, Joined: m.JoinedAt, Left: m.ShutdownAt, Files: e.files(o.Root.MemberDir(name, m.Name))}
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

func (e *TeamExport) tasks(ctx context.Context, dir string, name protocol.TeamName) error {
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
		et := TeamTask{ID: t.ID, Subject: t.Subject, Description: t.Description, Owner: t.Owner, Status: t.Status,
			BlockedBy: slices.Clone(t.BlockedBy), Blocked: len(task.Blocked(t, all)) > 0}
		e.Tasks = append(e.Tasks, et)
	}
	return err
}

// files lists a member's directory, by paths below it.
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
