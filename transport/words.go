package transport

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"waggle/internal/backoff"
	"waggle/internal/cut"
	"waggle/protocol"
)

// Words are the lines that a session of another client, Claude Code, writes to a socket: JSON lines
// without answers (docs/design/sockets.md). They come to the same sockets as our frames, need no token,
// and are only ever text: no field of theirs has an effect.

// The frames of a session.
const (
	frameAuth = "auth" // its token is not checked
	frameUser = "user"
)

// takePatience is how long a mailbox may delay words. The client gives up after five seconds, and
// its model then sends them again under another id.
const takePatience = 3 * time.Second

// isWords reports whether a first line is a session's and not one of ours.
func isWords(line []byte) bool {
	f, err := parseFields(line)
	if err != nil || f["op"] != nil || f["waggle"] != nil {
		return false
	}
	var kind string
	return f.get("type", &kind) == nil && (kind == frameAuth || kind == frameUser)
}

// words are one frame of a session.
type words struct {
	kind  string
	msgID string
	text  string
}

func parseWords(line []byte) (words, error) {
	f, err := parseFields(line)
	if err != nil {
		return words{}, err
	}
	var w words
	if err := f.get("type", &w.kind); err != nil {
		return words{}, err
	}
	switch w.kind {
	case frameAuth:
		return w, nil
	case frameUser:
	default:
		return words{}, fmt.Errorf("a frame of type %.40q has no effect here", w.kind)
	}
	var m fields
	if err := errors.Join(f.get("msg_id", &w.msgID), f.get("message", &m)); err != nil {
		return words{}, err
	}
	var role string
	if err := m.get("role", &role); err != nil || role != "user" {
		return words{}, errors.New("message: its role is not user")
	}
	content, err := contentText(m["content"])
	w.text = unwrap(content)
	return w, err
}

// contentText is a message's content: a text, or a list of texts.
func contentText(raw json.RawMessage) (string, error) {
	var text string
	if raw != nil && json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var blocks []fields
	if raw == nil || json.Unmarshal(raw, &blocks) != nil {
		return "", errors.New("message: its content is no text")
	}
	texts := make([]string, len(blocks))
	for i, b := range blocks {
		var kind string
		if err := errors.Join(b.get("type", &kind), b.get("text", &texts[i])); err != nil || kind != "text" {
			return "", fmt.Errorf("message: block %d of its content is no text", i)
		}
	}
	return strings.Join(texts, "\n"), nil
}

const (
	elementBegin = "<cross-session-message"
	elementEnd   = "</cross-session-message>"
	// elementQuoted is how the client escapes the end tag within a text.
	elementQuoted = `<\/cross-session-message`
)

// unwrap extracts a text from the element in which sessions put it. The element's attributes name
// the sender; the kernel's credentials decide that, so the attributes are dropped. A text that is
// not exactly one element is left as it is.
func unwrap(content string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(content), elementBegin)
	if !ok || rest == "" || rest[0] != ' ' && rest[0] != '>' {
		return content
	}
	quoted := false
	for i, c := range []byte(rest) {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '>' && !quoted:
			body, ok := strings.CutSuffix(rest[i+1:], elementEnd)
			if !ok || strings.Contains(body, elementEnd) {
				return content
			}
			body = strings.TrimSuffix(strings.TrimPrefix(body, "\n"), "\n")
			return strings.ReplaceAll(body, elementQuoted, elementEnd[:len(elementEnd)-1])
		}
	}
	return content
}

// notice is put before words that a reader would parse as a frame.
const notice = "(words of another session, quoted because they look like a protocol message; they have no effect)\n"

// asWords makes a text that every reader decodes as text.
func asWords(text string) string {
	if protocol.DecodeText(text).Kind == protocol.KindText {
		return text
	}
	return notice + text
}

// moreWords is how long a connection whose words are in the mailbox is kept for further frames.
const moreWords = 300 * time.Millisecond

// words reads a session's frames until it hangs up, or writes no more after words that are in the mailbox: the end of
// the connection tells a client that waits for it. It writes nothing: the client reads nothing.
// Invalid frames, and words that could not be put into the mailbox, are recorded. After a failure
// the connection stays open for as long as the client keeps it: the client notices the failure
// because the connection is not closed.
func (ss *session) words(ctx context.Context, line []byte) {
	from := fmt.Sprintf("uds:unverified pid %d", ss.peer.PID)
	if who := ss.s.o.Who; who != nil {
		if name := who(ss.peer); name != "" {
			from = name
		}
	}
	failed := false
	for {
		patience := idleTimeout
		switch taken, err := ss.takeWords(ctx, from, line); {
		case taken && !failed:
			patience = moreWords
		case err != nil:
			failed = true
			ss.refused(ctx, "words of "+from+": "+err.Error())
		}
		var err error
		ss.c.SetReadDeadline(time.Now().Add(patience))
		if line, err = readLine(ss.r, maxFrame); err != nil {
			if errors.Is(err, errLineTooLong) {
				failed = true
				ss.refused(ctx, fmt.Sprintf("words of %s: a line may have %d bytes", from, maxFrame))
			}
			break
		}
	}
	if failed {
		backoff.Pause(ctx, lingerTime) // its client is to notice the failure
	}
}

// lingerTime is longer than the client waits for its connection to be closed.
const lingerTime = 8 * time.Second

// takeWords takes one frame; taken reports that its words are in the mailbox.
func (ss *session) takeWords(ctx context.Context, from string, line []byte) (taken bool, err error) {
	w, err := parseWords(line)
	if err != nil || w.kind == frameAuth {
		return false, err
	}
	name := protocol.MemberName(ss.s.o.Name)
	if ss.s.o.Name == OperatorSocket {
		name = protocol.Lead
	}
	text := asWords(w.text)
	a := arrival{sum: sha256.Sum256([]byte(w.text)), env: protocol.Envelope{From: from, Text: text, Summary: summaryOf(w.text),
		Timestamp: protocol.FormatTime(ss.s.o.Now()), MsgV: 1, MsgID: w.msgID, Type: "message"}}
	if err := a.check(nil); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, takePatience)
	defer cancel()
	for {
		_, err := ss.s.once.take(ctx, ss.s.o.Host, ss.peer, protocol.Address{Scheme: protocol.SchemeMember, Member: name}, a)
		if err == nil || codeOf(err) != CodeLocked {
			return err == nil, err
		}
		if !backoff.Pause(ctx, 50*time.Millisecond) {
			return false, err
		}
	}
}

// maxSummary is where clients cut a summary (protocol §1.18).
const maxSummary = 200

func summaryOf(text string) string {
	s, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return cut.Runes(s, maxSummary)
}
