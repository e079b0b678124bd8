package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"waggle/internal/claudesessions"
	"waggle/internal/claudesettings"
	"waggle/internal/session"
)

// startDoubt is how far the known start of a session may be from the real one.
const startDoubt = 2 * time.Second

// examineClaude finds what keeps the sessions that a person starts from reporting.
func (a *App) examineClaude() ([]finding, error) {
	dir, err := a.claudePath()
	if err != nil {
		return nil, err
	}
	store, err := a.hookStore()
	if err != nil {
		return nil, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	out, err := a.examineHooks(store, cwd)
	if err != nil {
		return nil, err
	}
	if state, err := a.statePath(); err == nil {
		if trouble := session.At(state, a.Now).LastTrouble(); trouble != "" {
			out = append(out, finding{"session hooks", "note", "the last thing that went wrong in one: " + trouble, ""})
		}
	}
	sessions, problems := claudesessions.List(filepath.Join(dir, "sessions"))
	for _, p := range problems {
		out = append(out, finding{"Claude session", "problem", p.Error(), ""})
	}
	for _, s := range sessions {
		f, err := a.examineSession(store, s)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// examineHooks looks at the hooks in the settings of this user, and at what keeps hooks
// from running here.
func (a *App) examineHooks(store claudesettings.Store, cwd string) ([]finding, error) {
	const what = "Claude hooks"
	user, err := a.userSettings()
	if err != nil {
		return nil, err
	}
	sources, err := a.settingsSources(cwd)
	if err != nil {
		return nil, err
	}
	var out []finding
	off, problems := sources.Off()
	for _, p := range problems {
		out = append(out, finding{what, "problem", p.Error(), ""})
	}
	l, err := store.Look(user)
	switch {
	case err != nil:
		if len(problems) == 0 { // else it was named already
			out = append(out, finding{what, "problem", err.Error(), ""})
		}
		return out, nil
	case !l.Installed():
		out = append(out, finding{what, "note", "not in " + user + ": sessions that you start yourself do not report", "waggle hooks install"})
	case len(l.Missing) > 0:
		out = append(out, finding{what, "note", fmt.Sprintf("%s has no hook for %s", user, strings.Join(l.Missing, ", ")), "waggle hooks install"})
	default:
		out = append(out, finding{what, "ok", "in " + user, ""})
	}
	named := ""
	for _, e := range l.Entries {
		if e.Ours && e.Program != named && programState(e.Program, e.Program) == "missing" {
			named = e.Program
			out = append(out, finding{what, "problem", e.Program + " is not there any more: the hooks do nothing", "waggle hooks install"})
		}
	}
	if off != nil {
		status := "problem"
		if !l.Installed() {
			status = "note"
		}
		out = append(out, finding{what, status, fmt.Sprintf("%s in %s keeps hooks from running", off.Key, off.Path), "take " + off.Key + " out of " + off.Path})
	}
	return out, nil
}

// examineSession says whether a running session has the hooks.
func (a *App) examineSession(store claudesettings.Store, s claudesessions.Entry) (finding, error) {
	name := s.Name
	if name == "" {
		name = s.SessionID
	}
	f := finding{What: "Claude session", Status: "ok", Detail: fmt.Sprintf("%s (pid %d, %s)", name, s.PID, s.Cwd)}
	sources, err := a.settingsSources(s.Cwd)
	if err != nil {
		return f, err
	}
	if off, _ := sources.Off(); off != nil {
		f.Status, f.Detail = "note", fmt.Sprintf("%s runs without the hooks: %s in %s", f.Detail, off.Key, off.Path)
		return f, nil
	}
	since, installed := hooksSince(store, sources)
	started := s.Started()
	switch {
	case !installed:
		f.Status, f.Next = "note", "waggle hooks install"
		f.Detail += " runs without the hooks: they are not installed"
	case !since.IsZero() && !started.IsZero() && started.Add(startDoubt).Before(since):
		f.Status, f.Next = "note", "end it and start it again: claude --resume "+s.SessionID
		f.Detail += fmt.Sprintf(" runs without the hooks: it was started %s before they were installed", age(since.Sub(started)))
	case since.IsZero() || started.IsZero():
		f.Status = "note"
		f.Detail += " may run without the hooks: it is not known what was first, its start or the install"
	default:
		f.Detail += " has the hooks"
	}
	return f, nil
}

// hooksSince is the time of the first install that a session of these sources has, zero
// when it is not known; false when the hooks are in none of its settings.
func hooksSince(store claudesettings.Store, sources claudesettings.Sources) (since time.Time, installed bool) {
	for _, path := range sources.Files {
		l, err := store.Look(path)
		if err != nil || !l.Installed() {
			continue // what cannot be read has no hooks; examineHooks says it
		}
		if !installed || !l.Since.IsZero() && (since.IsZero() || l.Since.Before(since)) {
			since = l.Since
		}
		installed = true
	}
	return since, installed
}
