// Package screen makes what a program wrote to a terminal readable as text: nothing
// that it returns moves a cursor, sets a title or hides a character on the terminal
// that it is shown on.
//
//	if screen.Moves(out) {
//		lines = screen.Of(out, 120, 40) // as the program's own screen shows it now
//	} else {
//		lines = screen.Lines(out)
//	}
package screen

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// tab is how far a tabulator reaches.
const tab = 8

// line is one line as it stands there when it was written: escape sequences are
// taken out, what was overwritten after a carriage return is gone, tabulators are
// spaces. What else cannot be seen is left to whoever shows it.
func line(s string) string {
	s = strings.TrimRight(ansi.Strip(s), "\r")
	if i := strings.LastIndexByte(s, '\r'); i >= 0 {
		s = s[i+1:]
	}
	if !strings.ContainsAny(s, "\t\b") {
		return s
	}
	var line []rune
	for _, r := range s {
		switch r {
		case '\b':
			line = line[:max(0, len(line)-1)]
		case '\t':
			line = append(line, []rune(strings.Repeat(" ", tab-len(line)%tab))...)
		default:
			line = append(line, r)
		}
	}
	return string(line)
}

// Lines are the lines of out, without an empty one after the last line end.
func Lines(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = line(l)
	}
	return lines
}

// Moves reports whether out places its cursor, as programs do that fill the screen:
// line by line it would make no sense.
func Moves(out []byte) bool {
	for {
		i := bytes.Index(out, []byte("\x1b["))
		if i < 0 {
			return false
		}
		out = out[i+2:]
		n := bytes.IndexFunc(out, func(r rune) bool { return r >= 0x40 && r <= 0x7e })
		if n < 0 {
			return false
		}
		switch params := string(out[:n]); out[n] {
		case 'H', 'f', 'A', 'd', 'L', 'M', 'r':
			return true
		case 'h':
			if params == "?1049" || params == "?47" || params == "?1047" {
				return true
			}
		}
	}
}

// Of is what a terminal of that size shows after out, without what is empty at its
// end. Lines that end in a line feed alone start at the left. Output that the
// emulation cannot take is given line by line.
func Of(out []byte, cols, rows int) (lines []string) {
	t := vt.NewEmulator(cols, rows)
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(io.Discard, t) }) // what it answers to questions
	defer func() {
		if recover() != nil { // what members write must not end who looks
			lines = Lines(out)
		}
		if c, ok := t.InputPipe().(io.Closer); ok {
			_ = c.Close() // ends the reader, which looks whether it is closed
		}
		wg.Wait()
		_ = t.Close()
	}()
	plain := bytes.ReplaceAll(out, []byte("\r\n"), []byte("\n"))
	_, _ = t.Write(bytes.ReplaceAll(plain, []byte("\n"), []byte("\r\n")))
	text := strings.TrimRight(t.String(), " \n")
	if text == "" {
		return nil
	}
	for _, l := range strings.Split(text, "\n") {
		lines = append(lines, strings.TrimRight(line(l), " "))
	}
	return lines
}
