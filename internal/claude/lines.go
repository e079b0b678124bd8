package claude

import (
	"bytes"
	"fmt"
)

// MaxLine is the longest permitted line of the client. A result with an image has a few megabytes.
const MaxLine = 32 << 20

// LongLineError ends a client: a request in that line could not be answered.
type LongLineError struct{ Size int }

func (e *LongLineError) Error() string {
	return fmt.Sprintf("a line of the client's output is longer than %d bytes", MaxLine)
}

// lines is a writer that splits its input into lines. A line that is too long ends it.
type lines struct {
	each func(line []byte)
	held []byte
	err  error
}

func (l *lines) Write(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	n := len(p)
	for {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		if len(l.held)+len(line) > MaxLine {
			l.err, l.held = &LongLineError{len(l.held) + len(line)}, nil
			return 0, l.err
		}
		if !whole {
			l.held = append(l.held, line...)
			return n, nil
		}
		if len(l.held) > 0 {
			line = append(l.held, line...)
			l.held = nil
		}
		p = rest
		if line = bytes.TrimSpace(line); len(line) > 0 {
			l.each(line)
		}
	}
}
