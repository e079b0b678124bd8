package ask

import (
	"bytes"
	"time"
	"unicode/utf8"
)

// key is one thing that was typed: a character, or a sequence that the terminal sends as
// one.
type key struct {
	what  keyWhat
	r     rune   // of keyRune
	text  string // of keyPaste
	early bool   // its first byte came before keys count
	alone bool   // nothing else was in the read that it came in
	quiet bool   // and nothing came within Settle before it
	lone  bool   // nor within Repeat
}

type keyWhat int

const (
	keyRune keyWhat = iota
	keyEnter
	keyErase
	keyKill
	keyEscape
	keyPaste
	keyUnended // a paste whose end does not come
	keyOther   // a sequence or control character without a meaning here
)

// How long an unfinished sequence waits for its rest.
const (
	restOfKey      = 100 * time.Millisecond // also whether an escape is one
	restOfSequence = time.Second
	restOfPaste    = 5 * time.Second
)

const (
	escape     = 0x1b
	maxPending = 1 << 16 // of an unfinished sequence that is longer the middle is dropped
)

var (
	pasteBegins = []byte("\x1b[200~")
	pasteEnds   = []byte("\x1b[201~")
)

// keyReader groups bytes into keys.
type keyReader struct {
	pending []byte
	early   bool      // pending began before keys count
	since   time.Time // of the last byte of pending
}

// feed takes the bytes of one read and returns the keys that end in them. counts says
// that keys count now.
func (k *keyReader) feed(b []byte, counts bool, now time.Time) []key {
	keys := k.expire(now)
	begun := len(k.pending) > 0
	if !begun {
		k.early = !counts
	}
	k.pending, k.since = append(k.pending, b...), now
	for len(k.pending) > 0 {
		next, n := split(k.pending)
		if n == 0 {
			break
		}
		next.early, next.alone = k.early, !begun && n == len(b)
		keys = append(keys, next)
		k.pending, k.early, begun = k.pending[n:], !counts, true
	}
	if n := len(k.pending); n > maxPending {
		k.pending = append(k.pending[:maxPending/2], k.pending[n-len(pasteEnds)+1:]...)
	}
	if len(k.pending) == 0 {
		k.pending = nil
	}
	return keys
}

// expire gives up on a sequence whose rest does not come.
func (k *keyReader) expire(now time.Time) []key {
	at, ok := k.expires()
	if !ok || now.Before(at) {
		return nil
	}
	last := key{what: keyOther, early: k.early, alone: true}
	switch {
	case len(k.pending) == 1 && k.pending[0] == escape:
		last.what = keyEscape
	case bytes.HasPrefix(k.pending, pasteBegins):
		last.what = keyUnended
	}
	k.pending = nil
	return []key{last}
}

// expires is when expire has something to do.
func (k *keyReader) expires() (time.Time, bool) {
	switch {
	case len(k.pending) == 0:
		return time.Time{}, false
	case bytes.HasPrefix(k.pending, pasteBegins):
		return k.since.Add(restOfPaste), true
	case k.pending[0] == escape && len(k.pending) > 1:
		return k.since.Add(restOfSequence), true
	}
	return k.since.Add(restOfKey), true
}

// split takes the first key off b; n is 0 when it is not complete.
func split(b []byte) (k key, n int) {
	switch c := b[0]; {
	case c == escape:
		return splitEscape(b)
	case c == '\r' || c == '\n':
		return key{what: keyEnter}, 1
	case c == 0x7f || c == '\b':
		return key{what: keyErase}, 1
	case c == 'U'-'@':
		return key{what: keyKill}, 1
	case c < ' ':
		return key{what: keyOther}, 1
	}
	if !utf8.FullRune(b) {
		return key{}, 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 {
		return key{what: keyOther}, 1
	}
	return key{what: keyRune, r: r}, n
}

// splitEscape takes an escape sequence off b (ECMA-48, and a bracketed paste as one).
func splitEscape(b []byte) (k key, n int) {
	other := func(n int) (key, int) { return key{what: keyOther}, n }
	if len(b) == 1 {
		return key{}, 0
	}
	switch b[1] {
	case '[':
		if n := rawLen(b); n > 0 {
			if len(b) < n {
				return key{}, 0
			}
			return other(n)
		}
		for i := 2; i < len(b); i++ {
			if b[i] < 0x40 || b[i] > 0x7e {
				continue
			}
			if !bytes.HasPrefix(b, pasteBegins) {
				return other(i + 1)
			}
			text, _, whole := bytes.Cut(b[len(pasteBegins):], pasteEnds)
			if !whole {
				return key{}, 0
			}
			return key{what: keyPaste, text: string(text)}, len(pasteBegins) + len(text) + len(pasteEnds)
		}
		return key{}, 0
	case 'O':
		if len(b) < 3 {
			return key{}, 0
		}
		return other(3)
	case ']', 'P', '_', '^', 'X': // a string: the terminal's answer to somebody's question
		for i := 2; i < len(b); i++ {
			if b[i] == '\a' {
				return other(i + 1)
			}
			if b[i] == escape && i+1 < len(b) && b[i+1] == '\\' {
				return other(i + 2)
			}
		}
		return key{}, 0
	case escape: // two in a row are one key
		return other(2)
	}
	if !utf8.FullRune(b[1:]) {
		return key{}, 0
	}
	_, w := utf8.DecodeRune(b[1:]) // Alt and a key
	return other(1 + w)
}

// rawLen is how long a sequence is that ECMA-48 does not describe: a mouse's three bytes
// behind CSI M, and a function key of Linux's console. 0: it is none of these.
func rawLen(b []byte) int {
	switch {
	case len(b) < 3:
	case b[2] == 'M':
		return 6
	case b[2] == '[':
		return 4
	}
	return 0
}
