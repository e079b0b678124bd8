package mailbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"waggle"
)

// ID identifies an entry across rewrites of the file: the hash of its content
// without the read flag, and which one it is among entries of equal content
// (DESIGN, "Delivery"). Two genuine "ok" messages are two.
type ID struct {
	Hash       string // hex SHA-256 over length-prefixed from, text, timestamp, msg_id
	Occurrence int    // 1 for the first in file order
}

// String is hash#occurrence.
func (id ID) String() string { return id.Hash + "#" + strconv.Itoa(id.Occurrence) }

// ParseID reads what String writes.
func ParseID(s string) (ID, error) {
	hash, number, ok := strings.Cut(s, "#")
	n, err := strconv.Atoi(number)
	raw, err2 := hex.DecodeString(hash)
	if !ok || err != nil || err2 != nil || n < 1 || len(raw) != sha256.Size || s != (ID{hash, n}).String() {
		return ID{}, fmt.Errorf("entry id %.80q: want 64 hex digits, #, and a number", s)
	}
	return ID{hash, n}, nil
}

// HashOf is the Hash of an entry's ID: hex SHA-256 over from, text, timestamp and
// msg_id, each preceded by its length in bytes as 8 bytes, big endian. Whatever in
// them is not Unicode counts as one U+FFFD a run: other programs put that in its
// place, some one for each byte, when they rewrite the file.
func HashOf(e waggle.Envelope) string {
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

// hashRaw stands in for HashOf where an entry cannot be read: white space and a
// read flag do not change it.
func hashRaw(raw []byte) string {
	var s scanner
	if spans, ok := s.members(raw); ok {
		raw = cutMembers(raw, spans, "read")
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) == nil {
		raw = b.Bytes()
	}
	sum := sha256.Sum256(append([]byte("waggle/mailbox/unreadable\x00"), raw...))
	return hex.EncodeToString(sum[:])
}
