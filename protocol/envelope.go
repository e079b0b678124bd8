package protocol

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle/internal/json/jsontext"
)

// Envelope is one stored entry of a mailbox (protocol §2.1). An envelope that was
// parsed remembers its key order and the keys this package does not know, so
// that writing it again changes nothing that was not changed.
//
// From, Text and Summary may hold bytes that are not valid UTF-8 when the entry
// did; they are written back as they were.
type Envelope struct {
	From      string
	Text      string
	Summary   string // absent when empty
	Timestamp string // ISO 8601 UTC with three millisecond digits; see FormatTime
	Color     string // absent when empty
	MsgV      int    // 1; absent when 0
	MsgID     string // UUID v4; absent when empty
	Type      string // constant "message"; seed 002 puts a frame name here; absent when empty
	Read      bool

	kept string // a parsed entry as it stood: key order and foreign keys; "": it is a new one
}

// origin is what a parsed entry looked like. It is made from its text when somebody asks:
// most entries are never written again, and there are many.
type origin struct {
	members []keptMember
	was     values // the fields as parsed; a field that differs was set since
}

// origin has no members of a new envelope.
func (e Envelope) origin() origin {
	if e.kept == "" {
		return origin{}
	}
	was, members, err := readEnvelope(e.kept)
	if err != nil {
		return origin{} // it was read before
	}
	return origin{members, was.values()}
}

// keptMember is one key of a parsed entry.
type keptMember struct {
	jsontext.Member
	slot slot // noSlot for a foreign key
}

// slot numbers the fields of an envelope in the key order of protocol §2.1.
type slot int

const (
	slotFrom slot = iota
	slotText
	slotSummary
	slotTimestamp
	slotColor
	slotMsgV
	slotMsgID
	slotType
	slotRead
	slots
	noSlot slot = -1
)

// slotKeys are the keys that are written; aliases are the other spellings that
// are read (protocol §9.1 #17, §2.1).
var (
	slotKeys = [slots]string{"from", "text", "summary", "timestamp", "color", "msgV", "msg_id", "type", "read"}
	aliases  = map[string]slot{"content": slotText, "messageId": slotMsgID, "message_id": slotMsgID}
)

// values holds an envelope's fields by slot: a string, an int or a bool each, or where it is.
type values [slots]any

func (e Envelope) values() values {
	return values{e.From, e.Text, e.Summary, e.Timestamp, e.Color, e.MsgV, e.MsgID, e.Type, e.Read}
}

func (e *Envelope) set(s slot, v any) {
	switch at := (values{&e.From, &e.Text, &e.Summary, &e.Timestamp, &e.Color, &e.MsgV, &e.MsgID, &e.Type, &e.Read})[s].(type) {
	case *string:
		*at = v.(string)
	case *int:
		*at = v.(int)
	case *bool:
		*at = v.(bool)
	}
}

// slotOf returns the field a key is a spelling of, the canonical one first.
func slotOf(key string) (s slot, canonical bool) {
	if s := slices.Index(slotKeys[:], key); s >= 0 {
		return slot(s), true
	}
	if s, ok := aliases[key]; ok {
		return s, false
	}
	return noSlot, false
}

// EntryError says why an entry of a mailbox cannot be read. It names the field
// and JSON types, never a value, so that it can be logged.
type EntryError struct {
	Field string // "" when the entry as a whole is meant
	Why   string
}

func (e *EntryError) Error() string {
	if e.Field == "" {
		return "entry " + e.Why
	}
	return "entry: " + e.Field + " " + e.Why
}

// Member returns the raw value of a key that Envelope has no field for, such as
// metadata or lead_sig.
func (e Envelope) Member(key string) (json.RawMessage, bool) {
	for _, m := range e.origin().members {
		if m.slot == noSlot && m.Key == key {
			return json.RawMessage(m.Raw), true
		}
	}
	return nil, false
}

// Equal reports whether two envelopes would be written the same, foreign keys
// and key order included.
func (e Envelope) Equal(o Envelope) bool { return bytes.Equal(e.AppendJSON(nil), o.AppendJSON(nil)) }

// ParseEnvelope reads one entry. It fails when the entry is not an object or
// when from, text or timestamp is missing or is not a string (protocol §2.1); other
// spellings (content, messageId, message_id) are understood. A missing read is
// false. An entry that names a field twice with different values is refused, as
// is one beyond MaxDepth or MaxKeys. Its error is an *EntryError.
func ParseEnvelope(raw []byte) (Envelope, error) {
	text := strings.TrimLeft(string(raw), "\uFEFF \t\r\n")
	facts, ok := scan(text)
	switch {
	case !ok:
		return Envelope{}, &EntryError{Why: "is not valid JSON"}
	case text[0] != '{':
		return Envelope{}, &EntryError{Why: "is " + jsontext.WithArticle(text) + ", not an object"}
	case facts.depth > MaxDepth:
		return Envelope{}, &EntryError{Why: fmt.Sprintf("is nested deeper than %d levels", MaxDepth)}
	case facts.keys > MaxKeys:
		return Envelope{}, &EntryError{Why: fmt.Sprintf("has more than %d keys", MaxKeys)}
	}
	e, _, err := readEnvelope(text)
	if err != nil {
		return Envelope{}, err
	}
	e.kept = text
	return e, nil
}

// readEnvelope reads an object that was scanned, and lists its keys.
func readEnvelope(text string) (e Envelope, list []keptMember, err error) {
	var have [slots]string // the key each field was read from
	all := jsontext.Members(text)
	list = make([]keptMember, 0, len(all))
	for _, m := range all {
		s, canonical := slotOf(m.Key)
		if s != noSlot && !canonical && s == slotMsgID && hasMsgID(all, m.Key) {
			s = noSlot // another writer's own id beside msg_id
		}
		list = append(list, keptMember{m, s})
		if s == noSlot {
			continue
		}
		v, why := slotValue(s, m.Raw)
		if why != "" {
			return Envelope{}, nil, &EntryError{m.Key, why}
		}
		if have[s] != "" && e.values()[s] != v {
			return Envelope{}, nil, &EntryError{m.Key, "contradicts " + have[s]}
		}
		have[s] = m.Key
		e.set(s, v)
	}
	for _, s := range []slot{slotFrom, slotText, slotTimestamp} {
		if have[s] == "" {
			return Envelope{}, nil, &EntryError{slotKeys[s], "is missing"}
		}
	}
	return e, list, nil
}

// hasMsgID reports whether a message id is given under a name that goes before
// key: msg_id, then messageId, then message_id.
func hasMsgID(all []jsontext.Member, key string) bool {
	return slices.ContainsFunc(all, func(m jsontext.Member) bool { return m.Key == "msg_id" || m.Key == "messageId" && key == "message_id" })
}

// slotValue reads the value of a field, or says what is wrong with it.
func slotValue(s slot, raw string) (v any, why string) {
	switch s {
	case slotMsgV:
		n, ok := millis(raw)
		if jsontext.TypeOf(raw) != "number" || !ok || n > 1<<30 {
			return nil, "is " + jsontext.WithArticle(raw) + ", must be a small whole number"
		}
		return int(n), ""
	case slotRead:
		if jsontext.TypeOf(raw) != "boolean" {
			return nil, "is " + jsontext.WithArticle(raw) + ", must be a boolean"
		}
		return raw == "true", ""
	}
	if raw[0] != '"' {
		return nil, "is " + jsontext.WithArticle(raw) + ", must be a string"
	}
	return jsontext.Unquote(raw), ""
}

// UnmarshalJSON is ParseEnvelope.
func (e *Envelope) UnmarshalJSON(raw []byte) error {
	parsed, err := ParseEnvelope(raw)
	if err == nil {
		*e = parsed
	}
	return err
}

// FormatTime writes t the way envelopes and payloads carry time:
// 2026-11-20T18:15:43.000Z.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// ParseTime reads an ISO 8601 time with or without fraction.
func ParseTime(s string) (time.Time, error) { return time.Parse(time.RFC3339Nano, s) }

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
