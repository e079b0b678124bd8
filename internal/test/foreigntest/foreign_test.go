package foreigntest_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// foreign is a program other than waggle. It knows two directories, the lock of proper-lockfile, and
// JSON. Nothing in this file uses waggle.
type foreign struct {
	team string // the team's directory
	name string // its own
}

type entry struct {
	From      string `json:"from"`
	Text      string `json:"text"`
	Timestamp string `json:"timestamp"`
	Color     string `json:"color,omitempty"`
	Read      bool   `json:"read"`

	// Of seed 002, where the type is not in the text.
	Type     string          `json:"type,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// write puts a text into a mailbox with any sender.
func (f foreign) write(box, from, text string) error {
	return f.edit(box, func(es []entry) []entry {
		return append(es, letter(from, text))
	})
}

func letter(from, text string) entry {
	return entry{From: from, Text: text, Timestamp: time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), Color: "green"}
}

// take reads its mailbox and removes what it has read, as 2.1.329 does.
func (f foreign) take() (texts []string, err error) {
	err = f.edit(f.name, func(es []entry) []entry {
		for _, e := range es {
			if !e.Read {
				texts = append(texts, e.Text)
			}
		}
		return []entry{}
	})
	return texts, err
}

// edit is mkdir, read, change, temporary file, rename, rmdir.
func (f foreign) edit(box string, change func([]entry) []entry) error {
	path := filepath.Join(f.team, "inboxes", box+".json")
	if file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
		_, err = file.WriteString("[]")
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	lock := path + ".lock"
	for try := 0; ; try++ {
		err := os.Mkdir(lock, 0o777)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) || try > 1000 {
			return err
		}
		time.Sleep(time.Duration(min(5<<min(try, 4), 100)) * time.Millisecond) // real clock: proper-lockfile's retries
	}
	defer os.Remove(lock)
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var es []entry
	if err := json.Unmarshal(raw, &es); err != nil {
		return err
	}
	out, err := json.MarshalIndent(change(es), "", "  ")
	if err != nil {
		return err
	}
	tmp := path + ".tmp.0badcafe"
	if err := os.WriteFile(tmp, out, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
