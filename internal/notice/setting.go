package notice

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/operator"
)

// Settings are a user's settings of notices, in STATE.
type Settings struct{ State string }

func (s Settings) path() string    { return filepath.Join(s.State, "notify") }
func (s Settings) trouble() string { return filepath.Join(s.State, "notify.trouble") }

// On reports whether there are notices: they are on unless the user has turned them off. A file that says
// neither is an error, and they are on.
func (s Settings) On() (bool, error) {
	b, err := atomicfile.ReadFile(s.path(), atomicfile.Options{MaxSize: 4096})
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	switch word := string(bytes.TrimSpace(b)); {
	case err != nil:
		return true, fmt.Errorf("notify: %w", err)
	case word == "off", word == "on":
		return word == "on", nil
	}
	return true, fmt.Errorf("notify: %s says neither on nor off", s.path())
}

// Advice says what to do about an error of On.
func (s Settings) Advice() string { return "look at " + s.path() + ", and remove it: then they are on" }

// Turn turns notices on or off. It does not replace a file that says something else.
func (s Settings) Turn(on bool) (changed bool, err error) {
	was, err := s.On()
	if err != nil || was == on {
		return false, err
	}
	word := "off\n"
	if on {
		word = "on\n"
	}
	if err := os.MkdirAll(s.State, 0o700); err != nil {
		return false, err
	}
	return true, atomicfile.WriteFile(s.path(), []byte(word), atomicfile.Options{Sync: atomicfile.SyncData})
}

// Failed keeps the error of a channel for LastTrouble, and drops it when the channel has worked again. What cannot
// be kept is dropped: a notice is no record.
func (s Settings) Failed(channel string, err error, now time.Time) {
	if err != nil {
		_ = os.MkdirAll(s.State, 0o700)
		_ = atomicfile.WriteFile(s.trouble(), []byte(now.UTC().Format(time.RFC3339)+" "+channel+": "+operator.Visible(err.Error())+"\n"), atomicfile.Options{})
	} else if b, rerr := os.ReadFile(s.trouble()); rerr == nil && bytes.Contains(b, []byte(" "+channel+": ")) {
		_ = os.Remove(s.trouble())
	}
}

// LastTrouble is the last error of a channel that has not worked since; "" for none.
func (s Settings) LastTrouble() string {
	b, err := atomicfile.ReadFile(s.trouble(), atomicfile.Options{MaxSize: 4096})
	if err != nil {
		return ""
	}
	return operator.Visible(string(bytes.TrimSpace(b)))
}
