package app

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// TestLog: a person's stderr gets what is logged in words, and a file gets it as records.
func TestLog(t *testing.T) {
	var said bytes.Buffer
	log := (&App{Err: &said}).log()
	log.Debug("not this")
	log.With("team", "api").Warn("worktree kept", "path", "/p", "err", errors.New("it is\x1b[2J locked"))
	if got := said.String(); !strings.Contains(got, "note: worktree kept (team api, path /p): it is") || strings.Contains(got, "level=") || strings.Contains(got, "\x1b[2J") || strings.Contains(got, "not this") {
		t.Errorf("%q", got)
	}
	path := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(path)
	testenv.Must(t, err)
	(&App{Err: f}).log().Warn("worktree kept")
	testenv.Must(t, f.Close())
	if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), "level=WARN msg=\"worktree kept\"") {
		t.Errorf("%q, %v", b, err)
	}
	said.Reset()
	(&App{Err: &said, Environ: []string{"WAGGLE_DEBUG=1"}}).log().Debug("this")
	if !strings.Contains(said.String(), "level=DEBUG") {
		t.Errorf("%q", said.String())
	}
}
