package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/operator/process"
	"waggle/team"
)

// finding is one line of the doctor's.
type finding struct {
	What   string `json:"what"`
	Status string `json:"status"` // ok, note, problem
	Detail string `json:"detail"`
	Next   string `json:"next"` // the command to type
}

func doctorCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "What works on this machine, and what to do about the rest",
		Long:  "Report versions, the wire tree, locks, tmux, bubblewrap, Claude Code sessions without the hooks of waggle, and problems, each with the next command to type. Changes nothing. Exits 1 when there is a problem.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fs, err := a.examine(cmd.Context())
			if err != nil {
				return err
			}
			return a.sayFindings(fs)
		},
	}
}

func (a *App) sayFindings(fs []finding) error {
	bad := false
	for _, f := range fs {
		bad = bad || f.Status == "problem"
	}
	if a.flags.json {
		if err := a.document(map[string]any{"findings": fs}); err != nil {
			return err
		}
	} else {
		for _, f := range fs {
			mark := map[string]string{"ok": green("ok     "), "note": yellow("note   "), "problem": red("problem")}[f.Status]
			a.say("%s %s  %s", mark, bold(f.What), operator.Visible(f.Detail))
			if f.Next != "" {
				a.say("        %s %s", faint("next:"), f.Next)
			}
		}
	}
	if bad {
		return exitError(ExitFailed)
	}
	return nil
}

func (a *App) examine(ctx context.Context) ([]finding, error) {
	op, err := a.op()
	if err != nil {
		return nil, err
	}
	out := []finding{{"waggle", "ok", fmt.Sprintf("%s, %s %s/%s", a.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH), ""}}
	out = append(out, finding{"root", "ok", op.Root.Path, ""}, stateFinding(op.Home.Path))
	for _, t := range []struct{ name, arg, use string }{
		{"tmux", "-V", "panes for members"}, {"bwrap", "--version", "a sandbox for members' tools"},
		{"git", "--version", "worktrees of members"}, {"claude", "--version", "Claude Code members"}, {"codex", "--version", "Codex members"}, {"node", "--version", ""},
	} {
		out = append(out, tool(ctx, t.name, t.arg, t.use))
	}
	claude, err := a.examineClaude()
	if err != nil {
		return nil, err
	}
	out = append(append(out, claude...), a.examineTelemetry()...)
	names, err := op.Root.Names()
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		out = append(out, a.examineTeam(ctx, op, n)...)
	}
	late, err := process.Of(op).LeftMail(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, n := range late {
		out = append(out, finding{"team " + string(n), "note", op.Root.TeamDir(n) + " has no config.json: somebody wrote to the team after its end", "waggle gc --yes puts it into the archive"})
	}
	if len(names) == 0 {
		out = append(out, finding{"teams", "note", "there is none in " + op.Root.Path, "waggle demo"})
	}
	return out, nil
}

func stateFinding(path string) finding {
	f := finding{What: "state", Status: "ok", Detail: path}
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Detail += " (made when it is needed)"
	case err != nil:
		f.Status, f.Detail = "problem", err.Error()
	case runtime.GOOS != "windows" && st.Mode().Perm()&0o077 != 0:
		f.Status, f.Detail, f.Next = "problem", fmt.Sprintf("%s is open to others (%v)", path, st.Mode().Perm()), "chmod 700 "+path
	}
	return f
}

// tool reports a program's version. A missing one is only a note.
func tool(ctx context.Context, name, arg, use string) finding {
	path, err := exec.LookPath(name)
	if err != nil {
		d := "not found"
		if use != "" {
			d += "; it is for " + use
		}
		return finding{name, "note", d, ""}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	b, err := exec.CommandContext(ctx, path, arg).CombinedOutput()
	first, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if err != nil {
		return finding{name, "note", path + ": " + err.Error(), ""}
	}
	return finding{name, "ok", first, ""}
}

func (a *App) examineTeam(ctx context.Context, op operator.Operator, n waggle.TeamName) []finding {
	what := "team " + string(n)
	reg, err := team.Open(op.Root, n, team.Options{})
	if err != nil {
		return []finding{{what, "problem", err.Error(), ""}}
	}
	cfg, err := reg.Load(ctx)
	if err != nil {
		return []finding{{what, "problem", err.Error(), "look at " + op.Root.ConfigPath(n)}}
	}
	s, err := op.State(ctx, n)
	by := "another program's"
	if err != nil {
		return []finding{{what, "problem", err.Error(), "waggle log --team " + string(n)}}
	}
	if s != nil {
		by = "led by waggle"
	}
	out := []finding{{what, "ok", fmt.Sprintf("%s dialect, %s, %d members", cfg.Dialect(), by, len(cfg.Members)), ""}}
	for _, p := range cfg.Problems() {
		out = append(out, finding{what, "problem", p, "look at " + op.Root.ConfigPath(n)})
	}
	for _, p := range cfg.Notes() {
		out = append(out, finding{what, "note", p, ""})
	}
	for _, p := range op.Root.Check(n) {
		out = append(out, finding{what, "problem", p, "chmod -R go-w " + op.Root.TeamDir(n)})
	}
	if claims := unverified(s); claims > 0 {
		out = append(out, finding{what, "note", fmt.Sprintf("%d messages claimed an authority they do not have", claims), "waggle log --kind unverified --team " + string(n)})
	}
	return append(append(out, examineInboxes(ctx, op, n, cfg)...), examineMessages(ctx, op, n)...)
}

// examineMessages finds words that nobody will get.
func examineMessages(ctx context.Context, op operator.Operator, n waggle.TeamName) []finding {
	what := "team " + string(n)
	msgs, err := mail.Of(op).Messages(ctx, n, false)
	if err != nil {
		return []finding{{what, "problem", err.Error(), ""}}
	}
	dead := 0
	for _, m := range msgs {
		if m.State == mail.DeadLetter || m.State == mail.Erased {
			dead++
		}
	}
	if dead == 0 {
		return nil
	}
	return []finding{{what, "note", fmt.Sprintf("%d messages will reach nobody", dead), "waggle msg list --state dead-letter --team " + string(n)}}
}

// examineInboxes finds mailboxes of nobody, held locks, and entries that cannot
// be read.
func examineInboxes(ctx context.Context, op operator.Operator, n waggle.TeamName, cfg *team.Config) []finding {
	what := "team " + string(n)
	names, err := op.Boxes(n).Names()
	if err != nil {
		return []finding{{what, "problem", err.Error(), ""}}
	}
	var out []finding
	if to, moving, err := op.Boxes(n).Moving(); err != nil {
		out = append(out, finding{what, "problem", err.Error(), ""})
	} else if moving {
		out = append(out, finding{what, "note", fmt.Sprintf("its mailboxes are being moved to the layout %s, or that was cut short", to),
			fmt.Sprintf("waggle team migrate %s --layout %s", n, to)})
	}
	for _, m := range names {
		if _, ok := cfg.Member(m); !ok {
			out = append(out, finding{what, "note", fmt.Sprintf("mailbox %s belongs to no member", m), fmt.Sprintf("waggle inbox %s --team %s", m, n)})
		}
		in, err := mail.Of(op).Inbox(ctx, n, m, false)
		if err != nil {
			out = append(out, finding{what, "problem", err.Error(), ""})
			continue
		}
		if st, err := os.Stat(in.Path + ".lock"); err == nil {
			out = append(out, finding{what, "note", fmt.Sprintf("%s is locked since %s", in.Path, age(time.Since(st.ModTime()).Truncate(time.Second))), "it frees itself when its holder is gone"})
		}
		for _, r := range in.Reports {
			out = append(out, finding{what, "problem", r, ""})
		}
		for _, e := range in.Entries {
			if e.Entry.Err != nil {
				out = append(out, finding{what, "problem", fmt.Sprintf("mailbox %s, entry %d: %v", m, e.Index, e.Entry.Err), fmt.Sprintf("waggle inbox %s --team %s", m, n)})
			}
		}
	}
	return out
}

// unverified counts what claimed an authority that it does not have, in a team of ours.
func unverified(s *operator.State) int {
	if s == nil {
		return 0
	}
	return inspect.Unverified(s)
}
