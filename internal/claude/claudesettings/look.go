package claudesettings

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"
)

// Look is what a settings file has of ours.
type Look struct {
	place
	Entries []Entry   // all hooks of the file
	Missing []string  // events without an entry of ours
	Since   time.Time // of the install; zero when the store has no record of one
	// Installed: the hook is there that says that a session waits for its person.
	Installed bool
}

// Look reads a settings file. A file in a directory that does not exist is one without
// entries.
func (s Store) Look(path string) (*Look, error) {
	p, r, err := s.open(path)
	if isMissing(err) {
		p, err = &place{Path: path, Real: path}, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := s.Client.parse(p.data)
	if err != nil {
		return nil, unreadable(path, err)
	}
	recorded, _ := r.before()
	l := &Look{place: *p, Entries: f.entries(recorded), Installed: f.has(s.Client.Events()[0].Name, recorded)}
	if r != nil {
		l.Since = r.InstalledAt
	}
	for _, ev := range s.Client.Events() {
		if !f.has(ev.Name, recorded) {
			l.Missing = append(l.Missing, ev.Name)
		}
	}
	return l, nil
}

// Off is a setting that keeps hooks from running.
type Off struct {
	Path string `json:"path"`
	Key  string `json:"key"`
}

// Sources are the settings files of one session of Claude Code, those of a team's administrator first:
// a file decides over those behind it.
type Sources struct {
	Managed string   // "" without one
	Files   []string // local, project, user
}

// Off returns the setting that keeps the hooks of these sources from running, nil when
// none does. problems are files that cannot be read.
func (s Sources) Off() (off *Off, problems []error) {
	decided := false
	problems = s.each(func(path string, f *file) {
		switch {
		case decided:
		case s.managed(path) && f.isTrue("allowManagedHooksOnly"):
			off, decided = &Off{path, "allowManagedHooksOnly"}, true
		case f.doc.Root.Get("disableAllHooks") != nil:
			decided = true
			if f.isTrue("disableAllHooks") {
				off = &Off{path, "disableAllHooks"}
			}
		}
	})
	return off, problems
}

// Foreign are the hooks of a settings file that are not ours.
type Foreign struct {
	Path    string
	Managed bool     // it is an administrator's
	Events  []string // each once, in the order of the file
}

// Foreign lists the files of these sources that have hooks which are not ours. problems are files that
// cannot be read.
func (s Sources) Foreign() (list []Foreign, problems []error) {
	problems = s.each(func(path string, f *file) {
		var events []string
		for _, e := range f.entries("") {
			if !e.Ours && !slices.Contains(events, e.Event) {
				events = append(events, e.Event)
			}
		}
		if events != nil {
			list = append(list, Foreign{path, s.managed(path), events})
		}
	})
	return list, problems
}

// Sets returns the first of an administrator's files that sets one of these keys to true, nil when none does.
func (s Sources) Sets(keys ...string) (set *Off) {
	s.each(func(path string, f *file) {
		for _, key := range keys {
			if set == nil && s.managed(path) && f.isTrue(key) {
				set = &Off{path, key}
			}
		}
	})
	return set
}

// dropIns is the directory of an administrator's further files, beside the one.
const dropIns = "managed-settings.d"

// managed reports whether a file is an administrator's.
func (s Sources) managed(path string) bool {
	return path == s.Managed || s.Managed != "" && filepath.Dir(path) == filepath.Join(filepath.Dir(s.Managed), dropIns)
}

// each calls do for every file that there is and returns what cannot be read.
func (s Sources) each(do func(path string, f *file)) (problems []error) {
	files := s.Files
	if s.Managed != "" {
		further, _ := filepath.Glob(filepath.Join(filepath.Dir(s.Managed), dropIns, "*.json")) // the pattern is right
		files = slices.Concat([]string{s.Managed}, further, s.Files)
	}
	return Claude.each(files, do)
}

// each calls do for every one of these settings files that there is and returns what cannot be read.
func (c Client) each(files []string, do func(path string, f *file)) (problems []error) {
	for _, path := range files {
		p, err := find(path)
		if isMissing(err) {
			continue
		}
		var f *file
		if err == nil {
			if f, err = c.parse(p.data); err != nil {
				err = unreadable(path, err)
			}
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		do(path, f)
	}
	return problems
}

// isMissing reports whether a file is refused only because it, or its directory, is not
// there.
func isMissing(err error) bool {
	refused, ok := errors.AsType[*RefusedError](err)
	return ok && errors.Is(refused.Err, fs.ErrNotExist)
}
