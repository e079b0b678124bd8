package record

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
)

// handleAlphabet lacks 0, O, 1, I and L, which people mix up.
const handleAlphabet = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"

// HandleCode is what a request's handle is a prefix of: SHA-256 over instance, kind,
// id and digest, five bits a character. The alphabet has 31 characters, so a group of
// five bits with the value 31 is skipped. The asker chooses the id, not the code
// (trust §2).
func HandleCode(k Key, d Digest) string {
	h := sha256.New()
	for _, p := range []string{string(k.Instance), string(k.Kind), string(k.ID), string(d)} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	var b strings.Builder
	var bits, have uint32
	for _, c := range h.Sum(nil) {
		bits, have = bits<<8|uint32(c), have+8
		for have >= 5 {
			have -= 5
			if v := bits >> have & 31; int(v) < len(handleAlphabet) {
				b.WriteByte(handleAlphabet[v])
			}
		}
	}
	return b.String()
}

// CleanHandle is a handle as it is compared: people type it in any case.
func CleanHandle(s string) string { return strings.ToUpper(strings.TrimSpace(s)) }
