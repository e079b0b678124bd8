package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Version is the line format this package writes.
const Version = 1

// Name names a journal within its team: Leader, or a member instance.
type Name string

// Leader is the leader's journal.
const Leader Name = "leader"

// Seq numbers the records of one journal from 1 without gaps.
type Seq uint64

// Writer identifies the process that appended a record.
type Writer struct {
	Instance string `json:"instance,omitempty"` // the member instance, or
	Operator bool   `json:"operator,omitempty"` // a process of the operator
	Epoch    uint64 `json:"epoch,omitempty"`    // the start of that instance; 0: none, not checked
	PID      int    `json:"pid"`
}

// Record is one line of a journal.
type Record struct {
	V       int       `json:"v"`
	Must    bool      `json:"must"` // a reader that does not understand Kind must stop
	Journal Name      `json:"journal"`
	Seq     Seq       `json:"seq"`
	Prev    string    `json:"prev"` // hex SHA-256 of the previous line's bytes; of the genesis for seq 1
	Time    time.Time `json:"time"`
	Writer  Writer    `json:"writer"`
	Kind    string    `json:"kind"`
	// Body is the record's body as JSON. A body over MaxInline is in a file of its own, which Ref
	// names, and is read before the record is folded. The caller must not change it.
	Body json.RawMessage `json:"body,omitempty"`
	Ref  *Ref            `json:"ref,omitempty"`
}

// Ref names a body file by its content.
type Ref struct {
	SHA256 string `json:"sha256"`
	Size   int    `json:"size"`
}

func refOf(b []byte) Ref { return Ref{SHA256: hexSum(b), Size: len(b)} }

// Draft is a record to append.
type Draft struct {
	Kind string
	Must bool
	Body any // encoded as JSON; nil: no body
}

// Limits and sizes (trust §4).
const (
	MaxInline  = 8 << 10 // bytes of a body in its line
	MaxBody    = 16 << 20
	maxAppend  = 8 << 20 // bytes of all lines of one append
	maxSegment = 8 << 20 // a segment of this size gets a successor
	// segmentSlack is more than what the append that reaches maxSegment can add beyond it.
	segmentSlack = 256 << 20
	maxLine      = MaxInline + 4<<10
)

// Genesis is the prev of the first record: it binds a chain to its team and
// name.
func Genesis(uid string, name Name) string {
	return hexSum([]byte("waggle/journal/1\x00" + uid + "\x00" + string(name)))
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// marshalBody encodes a body, which is bounded.
func marshalBody(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	b, err := marshal(v)
	if err == nil && len(b) > MaxBody {
		return nil, fmt.Errorf("body of %d bytes is over the limit of %d", len(b), MaxBody)
	}
	return b, err
}

// marshal is json.Marshal without HTML escapes.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
