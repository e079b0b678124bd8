package protocol

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// Hash identifies what an entry says, whatever happens to the file that it is in:
// hex SHA-256 over from, text, timestamp and msg_id, each preceded by its length
// in bytes as 8 bytes, big endian. Whatever in them is not Unicode counts as one
// U+FFFD a run: other programs put that in its place, some one for each byte, when
// they rewrite the file. Equal entries without a msg_id are told apart by their
// order in the file; with one they are the same message (trust §10).
func (e Envelope) Hash() string {
	h := sha256.New()
	var n [8]byte
	for _, s := range [...]string{e.From, e.Text, e.Timestamp, e.MsgID} {
		s = unicodeOnly(s)
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func unicodeOnly(s string) string {
	const bad = "\uFFFD"
	s = strings.ToValidUTF8(s, bad) // half a surrogate pair is not UTF-8 either
	for strings.Contains(s, bad+bad) {
		s = strings.ReplaceAll(s, bad+bad, bad)
	}
	return s
}
