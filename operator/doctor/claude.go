package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waggle/internal/claude/claudesessions"
	"waggle/internal/claude/claudesettings"
	"waggle/internal/claude/session"
	"waggle/operator"
)

// startDoubt is how far the recorded start of a session may be from the real one.
const startDoubt = 2 * time.Second

// claude returns findings about why Claude Code sessions that a person starts do not report to
// waggle.
func (d *doctor) claude() []Finding {
	store := claudesettings.StoreIn(d.op.Home.Path, claudesettings.Claude, d.op.Minter.Now)
	out := d.hooks(store, d.o.ClaudeDir)
	own := session.At(d.op.Home.Path, d.op.Minter.Now)
	var away *session.AwayError
	if _, err := own.Away(); errors.As(err, &away) {
		out = append(out, advised("away", Problem, away.Path+" "+away.Why+": away is off, and cannot be turned on", "remove "+away.Path))
	} else if err != nil {
		out = append(out, found("away", Problem, err.Error()))
	}
	if trouble := own.LastTrouble(); trouble != "" {
		out = append(out, found("session hooks", Note, "the last thing that went wrong in one: "+trouble))
	}
	sessions, problems := claudesessions.List(filepath.Join(d.o.ClaudeDir, "sessions"))
	for _, p := range problems {
		out = append(out, found("Claude session", Problem, p.Error()))
	}
	for _, s := range sessions {
		out = append(out, d.session(store, s))
	}
	return out
}

// others returns findings about the hooks of the other clients that this user has.
func (d *doctor) others() (out []Finding) {
	for _, c := range []claudesettings.Client{claudesettings.Codex, claudesettings.Gemini} {
		dir := c.Dir(d.o.Env, d.o.Env("HOME"))
		_, missing := exec.LookPath(string(c))
		if fi, err := os.Stat(dir); filepath.IsAbs(dir) && (missing == nil || err == nil && fi.IsDir()) {
			out = append(out, d.hooks(claudesettings.StoreIn(d.op.Home.Path, c, d.op.Minter.Now), dir)...)
		}
	}
	return out
}

// hooks examines the hooks in the settings of this user of a client, whose directory is dir, and the settings
// that keep hooks from running.
func (d *doctor) hooks(store claudesettings.Store, dir string) []Finding {
	what, user := "Claude hooks", store.Client.UserFile(dir)
	install, here := operator.NextInstallHooks.With(), operator.NextInstallHere.With()
	if store.Client != claudesettings.Claude {
		what = store.Client.Title() + " hooks"
		install, here = operator.Next{Step: operator.NextHooksFor, Text: string(store.Client)}, operator.Next{Step: operator.NextHooksForHere, Text: string(store.Client)}
	}
	var out []Finding
	off, problems := store.Client.Off(dir, d.o.Cwd)
	for _, p := range problems {
		out = append(out, found(what, Problem, p.Error()))
	}
	l, err := store.Look(user)
	switch {
	case err != nil:
		if len(problems) == 0 { // otherwise the problems name it already
			out = append(out, found(what, Problem, err.Error()))
		}
		return out
	case !l.Installed:
		out = append(out, todo(what, Note, "not in "+user+": sessions that you start yourself do not report", install))
	case len(l.Missing) > 0:
		out = append(out, todo(what, Note, fmt.Sprintf("%s has no hook for %s", user, strings.Join(l.Missing, ", ")), install))
	case len(gonePrograms(l)) == 0:
		detail := "in " + user
		if trust := store.Client.Trust(); trust != "" {
			detail += "; " + trust
		}
		out = append(out, found(what, OK, detail))
	}
	for _, program := range gonePrograms(l) {
		out = append(out, todo(what, Problem, program+" is not there any more: the hooks do nothing", install))
	}
	for _, path := range store.Client.Files(dir, d.o.Cwd) {
		if l, err := store.Look(path); err == nil && path != user {
			for _, program := range gonePrograms(l) {
				out = append(out, todo(what, Problem, fmt.Sprintf("%s is not there any more: the hooks in %s do nothing", program, path), here))
			}
		}
	}
	if off != nil {
		status := Problem
		if !l.Installed {
			status = Note
		}
		out = append(out, advised(what, status, fmt.Sprintf("%s in %s keeps hooks from running", off.Key, off.Path), "take "+off.Key+" out of "+off.Path))
	}
	return out
}

// gonePrograms are the programs of our hooks in a settings file that do not exist any more.
func gonePrograms(l *claudesettings.Look) (programs []string) {
	for _, e := range l.Entries {
		if fi, err := os.Stat(e.Program); e.Ours && (err != nil || fi.IsDir()) && !slices.Contains(programs, e.Program) {
			programs = append(programs, e.Program)
		}
	}
	return programs
}

// session reports whether a running session has the hooks.
func (d *doctor) session(store claudesettings.Store, s claudesessions.Entry) Finding {
	f := found("Claude session", OK, fmt.Sprintf("%s (pid %d, %s)", cmp.Or(s.Name, s.SessionID), s.PID, s.Cwd))
	sources := claudesettings.SourcesIn(claudesettings.Claude.UserFile(d.o.ClaudeDir), s.Cwd)
	if off, _ := sources.Off(); off != nil {
		f.Status, f.Detail = Note, fmt.Sprintf("%s runs without the hooks: %s in %s", f.Detail, off.Key, off.Path)
		return f
	}
	for _, path := range sources.Files {
		if l, err := store.Look(path); err == nil && len(gonePrograms(l)) > 0 {
			f.Status, f.Detail = Note, fmt.Sprintf("%s has hooks that do nothing: %s in %s is not there any more", f.Detail, gonePrograms(l)[0], path)
			return f
		}
	}
	since, installed := store.InstalledSince(sources)
	started := s.Started()
	hooked, mode := d.reports(s)
	switch {
	case !installed && hooked:
		f.Status, f.Next.Text = Note, "end it and start it again: claude --resume "+s.SessionID
		f.Detail += " had the hooks when it started, and they were uninstalled since: until it ends it records its requests and takes answers from waggle"
	case !installed:
		f.Status, f.Next.Do = Note, operator.NextInstallHooks.With()
		f.Detail += " runs without the hooks: they are not installed"
	case !since.IsZero() && !started.IsZero() && started.Add(startDoubt).Before(since):
		f.Status, f.Next.Text = Note, "end it and start it again: claude --resume "+s.SessionID
		f.Detail += fmt.Sprintf(" runs without the hooks: it was started %s before they were installed", operator.Age(since.Sub(started)))
	case since.IsZero() || started.IsZero():
		f.Status = Note
		f.Detail += " may run without the hooks: it is not known what was first, its start or the install"
	default:
		f.Detail += " has the hooks"
	}
	if mode == "auto" {
		f.Status = Note
		f.Detail += "; it is in auto mode: it decides calls itself, and a dialog that it falls back to may run no hook: its own terminal answers"
	}
	return f
}

// reports is what the hooks of a running session have said: whether one recorded this very process, and the
// permission mode, "" when none named it.
func (d *doctor) reports(s claudesessions.Entry) (hooked bool, mode string) {
	id, err := session.ParseID(s.SessionID)
	if err != nil {
		return false, ""
	}
	one, err := session.At(d.op.Home.Path, d.op.Minter.Now).Open(id)
	if err != nil {
		return false, ""
	}
	if p := one.Process(); p != nil && p.Process.PID == s.PID {
		hooked, err = p.Process.Check()
		hooked = hooked && err == nil
	}
	return hooked, one.Mode()
}
