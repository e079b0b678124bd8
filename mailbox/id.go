package mailbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"waggle/protocol"
)

// ID identifies an entry across rewrites of the file: the hash of its content
// without the read flag, and which one it is among entries of equal content
// (trust §10). Two genuine "ok" messages are two.
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
	if !ok || err != nil || err2 != nil || n < 1 || len(raw) != sha256.Size || hash != hex.EncodeToString(raw) || s != (ID{hash, n}).String() {
		return ID{}, fmt.Errorf("entry id %.80q: want 64 hex digits, #, and a number", s)
	}
	return ID{hash, n}, nil
}

func set(ids []ID) map[ID]bool {
	wanted := make(map[ID]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	return wanted
}

// HashOf is the Hash of an entry's ID: protocol.Envelope.Hash.
func HashOf(e protocol.Envelope) string { return e.Hash() }

// hashRaw replaces HashOf for an entry that cannot be decoded: white space and the read flag do not
// change it.
func hashRaw(raw []byte) string {
	if spans, ok := members(raw); ok {
		raw = cutMembers(raw, spans, "read")
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) == nil {
		raw = b.Bytes()
	}
	sum := sha256.Sum256(append([]byte("waggle/mailbox/unreadable\x00"), raw...))
	return hex.EncodeToString(sum[:])
}
