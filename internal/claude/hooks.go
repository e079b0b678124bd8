package claude

import (
	"fmt"
	"slices"
	"strings"

	"waggle/internal/claude/claudeaccount"
	"waggle/internal/claude/claudesettings"
)

// sourcesOf are the settings files of a client in dir: an administrator's, the project's and the user's.
func sourcesOf(env []string, dir string) claudesettings.Sources {
	config := claudeaccount.Of(env).Config
	if config == "" {
		return claudesettings.Sources{}
	}
	sources := claudesettings.SourcesIn(claudesettings.Claude.UserFile(config), dir)
	local, shared := claudesettings.LocalFiles(dir) // also where dir is no repository, or lies in one
	for _, path := range []string{local, shared} {
		if !slices.Contains(sources.Files, path) {
			sources.Files = append(sources.Files, path)
		}
	}
	return sources
}

// notRun are lines that name the hooks which do not run in a headless session.
func notRun(env []string, dir string) (lines []string) {
	list, problems := sourcesOf(env, dir).Foreign()
	for _, f := range list {
		if f.Managed {
			lines = append(lines, fmt.Sprintf("the hooks of %s run in this session too: an administrator's (%s)", f.Path, strings.Join(f.Events, ", ")))
			continue
		}
		lines = append(lines, fmt.Sprintf("the hooks of %s do not run in this session (%s): the team decides about its calls", f.Path, strings.Join(f.Events, ", ")))
	}
	for _, p := range problems {
		lines = append(lines, "hooks that would not run in this session are not named: "+p.Error())
	}
	return lines
}

// AnsweredError: a hook that is not waggle's could answer what a client asks the team.
type AnsweredError struct {
	Path, Event string
	Managed     bool // it is an administrator's, which run in every session
}

func (e *AnsweredError) Error() string {
	if e.Managed {
		return fmt.Sprintf("agent claude is not started: the administrator's %s hook in %s could answer before the team, also what the team denies", e.Event, e.Path)
	}
	return fmt.Sprintf("a member in a pane has the hooks of the user's settings beside it, and the %s hook in %s could answer before the team: take it out, or write backend: process for the member",
		e.Event, e.Path)
}

// Unanswered returns an AnsweredError for a client in a pane that would work in dir with this environment,
// nil where no such hook is seen. Hooks of plugins are not looked at.
func Unanswered(env []string, dir string) error { return unanswered(env, dir, false) }

// unanswered is Unanswered; with managed alone, of an administrator's hooks.
func unanswered(env []string, dir string, managedAlone bool) error {
	list, _ := sourcesOf(env, dir).Foreign() // a client does not start with settings that cannot be read
	for _, f := range list {
		for _, event := range f.Events {
			if AsksPerson(event) && (f.Managed || !managedAlone) {
				return &AnsweredError{f.Path, event, f.Managed}
			}
		}
	}
	return nil
}

// held checks that nothing of an administrator keeps a headless client from asking its host: a hook that could
// answer first, and of a client that does not say that it runs the host's hook, a setting that switches hooks or
// the ask rules off.
func (f Found) held(env []string, dir string) error {
	if err := unanswered(env, dir, true); err != nil {
		return err
	}
	if set := sourcesOf(env, dir).Sets("disableAllHooks", "allowManagedHooksOnly", "allowManagedPermissionRulesOnly"); set != nil && !f.Confirms() {
		return fmt.Errorf("agent claude is not started: %s in %s keeps Claude Code %s from asking waggle; %s or newer asks all the same: claude update", set.Key, set.Path, f.Version, confirms)
	}
	return nil
}
