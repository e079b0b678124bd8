package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// controlReader is what tmux writes to a client in control mode: replies to commands, and notices between them.
type controlReader struct{ r *bufio.Reader }

// newControl returns the controlReader of a client's output. Of a line that is longer than its buffer the end is dropped.
func newControl(out io.Reader) controlReader { return controlReader{bufio.NewReaderSize(out, 64<<10)} }

// paneReply is a reply to a command.
type paneReply struct {
	text   string
	failed bool
}

// err is the error of a command that was refused.
func (r paneReply) err() error {
	if !r.failed {
		return nil
	}
	return fmt.Errorf("tmux: %.500s", strings.TrimSpace(r.text))
}

// errStrange ends a client.
var errStrange = errors.New("it is not the tmux that is known here")

// next is a reply, with its first line, or nil and a notice.
func (c controlReader) next() (line string, r *paneReply, err error) {
	line, err = c.line()
	of, reply := strings.CutPrefix(line, "%begin ")
	if err != nil || !reply {
		return line, nil, err
	}
	var text strings.Builder
	for {
		l, err := c.line()
		switch {
		case err != nil:
			return "", nil, err
		case l == "%end "+of, l == "%error "+of: // its end names its beginning
			return line, &paneReply{text.String(), l == "%error "+of}, nil
		case text.Len()+len(l) > maxSaid:
			return "", nil, fmt.Errorf("%w: its answer does not end", errStrange)
		}
		text.WriteString(l + "\n")
	}
}

func (c controlReader) line() (string, error) {
	l, more, err := c.r.ReadLine()
	text := string(l)
	for more && err == nil {
		_, more, err = c.r.ReadLine()
	}
	return text, err
}
