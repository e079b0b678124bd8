package view

import (
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator/inspect"
)

// PeekDocument is the end of a member's output.
type PeekDocument struct {
	Team    string   `json:"team"`
	Name    string   `json:"name"`
	State   string   `json:"state"` // as status has it; left, when it has left
	Since   string   `json:"since"`
	Why     string   `json:"why"`
	Log     string   `json:"log"`     // the file; "" when it has written none
	At      string   `json:"at"`      // when it was written last
	AgeS    int64    `json:"age_s"`   // -1 without output
	Shown   string   `json:"shown"`   // lines or screen
	Where   string   `json:"where"`   // team, or archive: the team has ended
	Lines   []string `json:"lines"`   // without escapes
	Earlier bool     `json:"earlier"` // there is more before them
}

// Peek is the document of a member's output.
func Peek(p *inspect.Peek, now time.Time) PeekDocument {
	age := int64(-1)
	if !p.At.IsZero() {
		age = page.AgeSeconds(p.At, now)
	}
	return PeekDocument{p.Team, p.Name, p.State, page.Stamp(p.Since), p.Why, p.Log, page.Stamp(p.At), age, p.Shown, p.Where, append([]string{}, p.Lines...), p.Earlier}
}

// PeekHead is the line above the output: the member's state, the age of its output, and its file.
func PeekHead(k *inspect.Peek, now time.Time) (p page.Page) {
	state := Words(k.Stand, now)
	if since := page.Since(k.Since, now); since != "" {
		state += " for " + since
	}
	out := "it has written nothing"
	if !k.At.IsZero() {
		out = "output " + page.Age(k.At, now) + " old"
	}
	switch {
	case k.Where == inspect.WhereArchive && k.Log != "":
		out += ", archived: " + k.Log
	case k.Log != "":
		out += ", " + k.Log
	}
	p.Line(page.Strong(k.Name), page.Plain("  "+state+": "+k.Why+"  "), page.Faint("("+out+")"))
	switch {
	case k.Shown == inspect.ShownScreen:
		p.Line(page.Faint("its screen, as it looks now:"))
	case k.Earlier:
		p.Line(page.Faint("… -n shows more"))
	}
	return p
}

// LogsDocument is all of a member's output.
type LogsDocument struct {
	Team  string   `json:"team"`
	Name  string   `json:"name"`
	Log   string   `json:"log"`   // the file; "" when it has written none
	Where string   `json:"where"` // team, or archive: the team has ended
	Lines []string `json:"lines"` // without escapes
}

// Logs is the document of a member's output.
func Logs(p *inspect.Peek, lines []string) LogsDocument {
	return LogsDocument{p.Team, p.Name, p.Log, p.Where, append([]string{}, lines...)}
}
