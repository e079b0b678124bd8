package terminal

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"waggle/spawn"
)

// ITerm2Options say which iTerm2, and where in it.
type ITerm2Options struct {
	Options
	// Program is it2, the command line of iTerm2's API, an absolute path.
	Program string
	// Env is what it2 itself is run with; a member gets only what its Spec says.
	Env []string
	// Home is the session that members get splits beside: ours, as InITerm says.
	// Required.
	Home string
	// Profiles is the directory whose profiles iTerm2 loads at once; "" is iTerm2's own below the
	// HOME of Env.
	Profiles string
	// Patience is how long iTerm2 may take to load a profile, and again to run a holder in a new
	// split; 0 is 20 s.
	Patience time.Duration
}

func (o ITerm2Options) filled() (ITerm2Options, error) {
	if err := o.check(); err != nil {
		return o, err
	}
	if o.Profiles == "" {
		o.Profiles = filepath.Join(spawn.Getenv(o.Env, "HOME"), "Library", "Application Support", "iTerm2", "DynamicProfiles")
	}
	if o.Patience == 0 {
		o.Patience = 20 * time.Second
	}
	switch {
	case !filepath.IsAbs(o.Program):
		return o, errors.New("it2 is not an absolute path")
	case !filepath.IsAbs(o.Profiles):
		return o, errors.New("the directory of iTerm2's profiles is not an absolute path")
	case !sessionID(o.Home):
		return o, fmt.Errorf("%q is no session of iTerm2", o.Home)
	}
	return o, nil
}

// InITerm reads from an environment in which session of iTerm2 a program runs. ok
// is false outside iTerm2.
func InITerm(env []string) (session string, ok bool) {
	// ITERM_SESSION_ID is w0t1p2:GUID.
	_, id, found := strings.Cut(spawn.Getenv(env, "ITERM_SESSION_ID"), ":")
	return id, found && sessionID(id)
}

// sessionID reports whether s is spelled like iTerm2 spells the id of a session: a
// GUID.
func sessionID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, r := range s {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (r == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", r) {
			return false
		}
	}
	return true
}

// itermCommand encodes an argv as the command of a profile. iTerm2 splits that text itself and
// starts the result without a shell: words end at spaces and are kept together by double quotes.
// Before, it expands \(…) and asks the person for the text between two $$, so that words with such
// signs are refused rather than escaped.
func itermCommand(argv []string) (string, error) {
	words := make([]string, 0, len(argv))
	for _, a := range argv {
		if strings.ContainsAny(a, `"\`) || strings.Contains(a, "$$") || strings.ContainsFunc(a, control) {
			return "", fmt.Errorf(`iTerm2 cannot be given the word %q: it has a quote, a backslash, $$ or a control character`, a)
		}
		words = append(words, `"`+a+`"`)
	}
	return strings.Join(words, " "), nil
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

// itermName is a name without what iTerm2 expands or a terminal obeys.
func itermName(s string) string {
	return strings.Map(func(r rune) rune {
		if control(r) || r == '\\' || r == '$' {
			return '_'
		}
		return r
	}, s)
}

// itermProfile is one profile as iTerm2 reads it. A field that is left out has the value of the
// person's default profile, so every field that starts or types something is set.
type itermProfile struct {
	Name    string `json:"Name"`
	GUID    string `json:"Guid"`
	Custom  string `json:"Custom Command"` // "Yes": Command, without a login shell
	Command string `json:"Command"`
	Initial string `json:"Initial Text"` // no typed text
	// Close is what happens when the command ends: the split stays, to be read.
	Close    bool        `json:"Close Sessions On End"`
	Prompt   int         `json:"Prompt Before Closing 2"` // 0: never
	Badge    string      `json:"Badge Text"`
	UseColor bool        `json:"Use Tab Color"`
	Color    *itermColor `json:"Tab Color,omitempty"`
}

type itermColor struct {
	Red   float64 `json:"Red Component"`
	Green float64 `json:"Green Component"`
	Blue  float64 `json:"Blue Component"`
	Space string  `json:"Color Space"`
}

// itermColors are the colours that a Spec may name.
var itermColors = map[string]itermColor{
	"red":       {0.80, 0.20, 0.18, "sRGB"},
	"green":     {0.25, 0.63, 0.24, "sRGB"},
	"yellow":    {0.83, 0.66, 0.10, "sRGB"},
	"blue":      {0.20, 0.44, 0.82, "sRGB"},
	"magenta":   {0.63, 0.29, 0.74, "sRGB"},
	"cyan":      {0.12, 0.63, 0.67, "sRGB"},
	"colour208": {1.00, 0.53, 0.00, "sRGB"},
	"colour213": {1.00, 0.53, 1.00, "sRGB"},
}

// newProfile is the profile in which a holder runs: id makes its name unique.
func newProfile(id, title, color, command string) itermProfile {
	title = itermName(title)
	p := itermProfile{Name: title + " [" + id + "]", GUID: "waggle-" + id, Custom: "Yes", Command: command, Badge: title}
	if c, ok := itermColors[color]; ok {
		p.UseColor, p.Color = true, &c
	}
	return p
}
