package claude

import (
	"bytes"
	"io"
	"testing"

	"waggle/internal/test/testenv"
)

// CutLines returns the lines of a stream that is written in parts.
func CutLines(t *testing.T, parts ...[]byte) [][]byte {
	t.Helper()
	got, err := WriteLines(parts...)
	testenv.Must(t, err)
	return got
}

// WriteLines writes parts and returns the lines.
func WriteLines(parts ...[]byte) (got [][]byte, err error) {
	l := &lines{each: func(line []byte) { got = append(got, bytes.Clone(line)) }}
	for _, p := range parts {
		if _, err := l.Write(p); err != nil {
			return got, err
		}
	}
	return got, nil
}

// ReadEvent reads the input that the client gives to a PreToolUse hook.
func ReadEvent(in io.Reader) (Event, error) { return readEvent(in, preToolUse) }

// CloseShells ends a Shells.
func CloseShells(s *Shells) error { return s.close() }

// RefuseShell returns the reason with which a Shells refuses calls of a tool.
func RefuseShell(s *Shells, tool string) string { return s.refuse(tool) }
