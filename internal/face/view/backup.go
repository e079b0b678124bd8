package view

import (
	"fmt"

	"waggle/internal/face/view/page"
	"waggle/operator/teams"
	"waggle/team"
)

// BackupDocument is what a backup has.
type BackupDocument struct {
	Bytes   int64          `json:"bytes"`
	Files   int            `json:"files"`
	Path    string         `json:"path"`
	Skipped []team.Skipped `json:"skipped"`
	Team    string         `json:"team"`
}

// BackupPage says what a backup has.
func BackupPage(d BackupDocument) (p page.Page) {
	p.Line(page.Plain(fmt.Sprintf("%s with %d bytes of team %s are in %s", page.Count(d.Files, "file"), d.Bytes, d.Team, d.Path)))
	return p
}

// SkippedPage names the files that a backup does not have.
func SkippedPage(ss []team.Skipped) (p page.Page) {
	for _, s := range ss {
		p.Line(page.Warning("note:"), page.Plain(fmt.Sprintf(" %s is not in it: it %s", s.Path, s.Why)))
	}
	return p
}

// RestoredPage says what was restored.
func RestoredPage(r *teams.Restored) (p page.Page) {
	p.Line(page.Plain("team "), page.Strong(r.Team), page.Plain(" is restored: "+backupOf(r.Files, r.From, r.Team)))
	return p
}

// backupOf says how many files a backup has, and of which team they are, where that is not the team that is restored.
func backupOf(files int, from, team string) string {
	text := page.Count(files, "file")
	if from != team {
		text += ", from a backup of " + from
	}
	return text
}

// RestoredNotes say what a restore did not do, and what counts from now on.
func RestoredNotes(r *teams.Restored) (p page.Page) {
	say := func(format string, args ...any) { p.Line(page.Plain(fmt.Sprintf(format, args...))) }
	if !r.Verified {
		p.Line(page.Warning("note:"), page.Plain(" the tar has no sums to check its files against"))
	}
	if r.Replaced != "" {
		say("the team that was there is in %s", r.Replaced)
	}
	for _, s := range r.Skipped {
		p.Line(page.Warning("note:"), page.Plain(fmt.Sprintf(" %s was left out: it %s", s.Path, s.Why)))
	}
	switch r.Authority {
	case teams.AuthorityKept:
		say("its journal is here and goes on: what was decided stands")
	case teams.AuthorityNew:
		say("it has a new identity and a new journal: nothing that was decided, granted or set as policy before counts")
		if r.History != "" {
			say("what the backup has of its old journals is in %s, to be read only", r.History)
		}
	default:
		say("waggle does not lead it")
	}
	return p
}

// RestorePlanPage says what a restore would do.
func RestorePlanPage(r *teams.RestorePlan) (p page.Page) {
	say := func(format string, args ...any) { p.Line(page.Plain(fmt.Sprintf(format, args...))) }
	if r.Replaces {
		for _, m := range r.Running {
			say("would end %s (process %d)", m.Name, m.PID)
		}
		say("would move the team %s that is there into the archive", r.Team)
	}
	say("would restore team %s: %s", r.Team, backupOf(r.Files, r.From, r.Team))
	switch {
	case r.Authority == teams.AuthorityKept:
		say("its journal is here and would go on: what was decided stands")
	case r.Authority == teams.AuthorityNew:
		say("it would have a new identity and a new journal: nothing that was decided, granted or set as policy before would count")
	default:
		say("waggle would not lead it")
	}
	if !r.Verified {
		p.Line(page.Warning("note:"), page.Plain(" the tar has no sums to check its files against"))
	}
	for _, s := range r.Skipped {
		p.Line(page.Warning("note:"), page.Plain(fmt.Sprintf(" %s would be left out: it %s", s.Path, s.Why)))
	}
	p.Line(page.Faint("nothing was changed"))
	return p
}
