package transport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"waggle/internal/fs/atomicfile"
	"waggle/protocol"
)

// SessionSocket is the messaging socket of a Claude Code session. It takes words and sends no
// answer (docs/design/sockets.md).
type SessionSocket struct {
	Path  string
	Token string // of the session's key file; "": it is told none
	// Owns reports whether a process is the session's own or one below it: only such
	// a process is told anything.
	Owns func(pid int) (bool, error)
}

// Speaker names the sender of words to a session. Its fields are claims and prove nothing.
type Speaker struct {
	Name    string
	Answers string // path of the socket for an answer; "": there is none
}

// sayTimeout bounds connecting and writing; hearTimeout the wait for the client to
// read to the end.
const (
	sayTimeout  = 10 * time.Second
	hearTimeout = 3 * time.Second
)

// Say writes words to the session, by one connection. read reports that its client has read them to
// the end; it is never confirmed that the session showed them. Errors: *NotFoundError when no
// process listens there, *RefusedError when the path is not the session's own socket; after other
// errors the session may or may not have the words.
func (s SessionSocket) Say(ctx context.Context, by Speaker, msgID, text string) (read bool, err error) {
	addr := protocol.Address{Scheme: protocol.SchemeUDS, Target: s.Path}
	if err := s.check(addr); err != nil {
		return false, err
	}
	err = outgoing{at: addr, by: by, msgID: msgID, text: text, token: s.Token, verify: s.verify, unreachable: unreachable}.say(ctx, func(c io.Reader) error {
		_, err := io.Copy(io.Discard, io.LimitReader(c, maxFrame))
		read = err == nil
		return err
	})
	return read, err
}

func unreachable(addr protocol.Address, err error) error {
	return &NotFoundError{To: addr, Why: "the session is unreachable: " + err.Error(), Missing: MissingSession}
}

// Listener is the path of a socket at which another program of this user listens. It takes the frame that a session
// takes, without a token; what it answers is returned as it stands.
type Listener string

// maxReply bounds the answer of a Listener, in bytes; what follows is not read.
const maxReply = 4 << 10

// Say writes words, by one connection, and waits up to 3 s for one line or the end. heard reports that one of them
// came, answer is the line, "" when there was none. Errors: *NotFoundError when no process listens there,
// *NotSocketError for another file, *RefusedError when a process of another user listens; after other errors the
// listener may or may not have the words.
func (l Listener) Say(ctx context.Context, by Speaker, msgID, text string) (answer string, heard bool, err error) {
	addr := protocol.Address{Scheme: protocol.SchemeUDS, Target: string(l)}
	if err := isSocket(addr); err != nil {
		return "", false, err
	}
	err = outgoing{at: addr, by: by, msgID: msgID, text: text, unreachable: silent}.say(ctx, func(c io.Reader) error {
		line, err := bufio.NewReader(io.LimitReader(c, maxReply)).ReadString('\n')
		answer = strings.TrimRight(line, "\r\n")
		heard = err == nil || errors.Is(err, io.EOF)
		if answer != "" && errors.Is(err, syscall.ECONNRESET) { // it answered before it had read all
			heard, err = true, nil
		}
		return err
	})
	return answer, heard, err
}

func silent(addr protocol.Address, err error) error {
	return &NotFoundError{To: addr, Why: "no program takes the words: " + err.Error(), Hint: "start the program that listens there, or use a member's name"}
}

// outgoing is one message to a socket that takes words.
type outgoing struct {
	at                 protocol.Address
	by                 Speaker
	msgID, text, token string
	// verify refuses a process of this user that listens; nothing is written before. nil: it takes any.
	verify func(to protocol.Address, pid int) error
	// unreachable is the error when nobody takes the connection.
	unreachable func(protocol.Address, error) error
}

// say connects, writes the words, ends its side and gives the rest of the connection to hear, whose errors but a
// reset are no failure: a program that is busy reads later.
func (o outgoing) say(ctx context.Context, hear func(io.Reader) error) error {
	frames, err := o.frames()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sayTimeout)
	defer cancel()
	c, pid, err := connect(ctx, o.at, o.unreachable)
	if err != nil {
		return err
	}
	defer c.Close()
	if o.verify != nil {
		if err := o.verify(o.at, pid); err != nil {
			return err
		}
	}
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Now()) })
	defer stop()
	if _, err := c.Write(frames); err != nil {
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
			return o.unreachable(o.at, err)
		}
		return &RemoteError{To: o.at, Code: CodeFailed, Message: "it did not read the whole message: " + err.Error()}
	}
	if err := c.CloseWrite(); err != nil {
		return nil // it hung up after the words were written
	}
	c.SetReadDeadline(time.Now().Add(hearTimeout))
	if ctx.Err() != nil { // the deadline of a context that has ended stands
		return nil
	}
	if err := hear(c); errors.Is(err, syscall.ECONNRESET) {
		return &RemoteError{To: o.at, Code: CodeFailed, Message: "it hung up before it had read the whole message"}
	}
	return nil
}

// check verifies the path before a connection: a socket of this user in a directory that only this
// user can enter, and no link.
func (s SessionSocket) check(addr protocol.Address) error {
	refuse := func(format string, args ...any) error {
		return &RefusedError{To: addr, Why: fmt.Sprintf(format, args...)}
	}
	if !filepath.IsAbs(s.Path) || filepath.Clean(s.Path) != s.Path {
		return refuse("%q is not a plain absolute path", s.Path)
	}
	dir := filepath.Dir(s.Path)
	for _, at := range []string{dir, s.Path} {
		fi, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return unreachable(addr, errors.New("there is no socket"))
		}
		if err != nil {
			return err
		}
		uid, foreign := atomicfile.ForeignOwner(fi)
		switch {
		case at == dir && !fi.IsDir():
			return refuse("%s is no directory", dir)
		case at == dir && fi.Mode().Perm() != 0o700:
			return refuse("%s has mode %03o, not 700: others could listen there", dir, fi.Mode().Perm())
		case at != dir && fi.Mode().Type() != fs.ModeSocket:
			return refuse("it is no socket")
		case foreign:
			return refuse("%s belongs to uid %d", at, uid)
		}
	}
	return nil
}

// verify refuses a process that is not the session's.
func (s SessionSocket) verify(addr protocol.Address, pid int) error {
	ours, err := s.Owns(pid)
	switch {
	case err != nil:
		return fmt.Errorf("%s: the process that serves it is unknown: %w", addr, err)
	case !ours:
		return &RefusedError{To: addr, Why: fmt.Sprintf("process %d serves it, which is not the session's: nothing was sent", pid)}
	}
	return nil
}

// frames are the lines of the message, as the client itself writes them.
func (o outgoing) frames() ([]byte, error) {
	var out []byte
	if o.token != "" {
		auth, err := line(struct {
			Type  string `json:"type"`
			Token string `json:"token"`
		}{frameAuth, o.token})
		if err != nil {
			return nil, err
		}
		out = auth
	}
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	from, attr := "", ""
	if o.by.Answers != "" {
		from = "uds:" + o.by.Answers
		attr = ` from="` + attribute(from) + `"`
	}
	user, err := line(struct {
		MsgV     int     `json:"msgV"`
		MsgID    string  `json:"msg_id"`
		Type     string  `json:"type"`
		Message  message `json:"message"`
		Priority string  `json:"priority"`
		From     string  `json:"from,omitempty"`
	}{1, o.msgID, frameUser, message{"user", elementBegin + attr + ` from-name="` + attribute(o.by.Name) + `" from-mode="prompting">` + "\n" +
		keepInside(o.text) + "\n" + elementEnd}, "next", from})
	return append(out, user...), err
}

// attribute escapes characters that could end an attribute, a tag or a line, and invisible ones.
func attribute(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case strings.ContainsRune(`&<>"`, r), unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// elementTag matches the beginning of a tag of the element, in any case and with white
// space or invisible characters anywhere in it.
var elementTag = sync.OnceValue(func() *regexp.Regexp {
	const gap = `[\s\p{C}\p{Z}]*`
	pattern := `(?i)<` + gap + `/?`
	for _, c := range elementBegin[1:] {
		letter := string(c)
		if c == '-' {
			letter = `[_\p{Pd}]`
		}
		pattern += gap + letter
	}
	return regexp.MustCompile(pattern)
})

// keepInside writes tags of the element so that they are text: the client writes
// <\/cross-session-message itself for an end in a text.
func keepInside(text string) string {
	return elementTag().ReplaceAllStringFunc(text, func(tag string) string { return `<\` + tag[1:] })
}
