package protocol

import (
	"encoding/json"
	"fmt"
	"slices"

	"waggle/internal/json/jsontext"
)

// With returns e with a key that Envelope has no field for, such as metadata. The key
// stands before read, and replaces one of its name. Value is JSON and is kept as it
// is written. The keys of the envelope's own fields are refused with an *EntryError.
func (e Envelope) With(key string, value json.RawMessage) (Envelope, error) {
	if slices.Contains(slotKeys[:], key) || key == "content" {
		return Envelope{}, &EntryError{key, "is a field of its own"}
	}
	if !json.Valid(value) {
		return Envelope{}, &EntryError{key, "is not valid JSON"}
	}
	raw, err := e.MarshalJSON()
	if err != nil {
		return Envelope{}, err
	}
	out, err := ParseEnvelope(raw)
	if err != nil {
		return Envelope{}, fmt.Errorf("envelope with %s: %w", key, err)
	}
	members := slices.DeleteFunc(out.members(), func(m keptMember) bool { return m.slot == noSlot && m.Key == key })
	at := slices.IndexFunc(members, func(m keptMember) bool { return m.slot == slotRead })
	if at < 0 {
		at = len(members)
	}
	m := jsontext.Member{Key: key, Lit: string(jsontext.AppendString(nil, key)), Raw: string(value)}
	// What it says now is read back: a key may be another spelling of a field.
	return ParseEnvelope(compact(slices.Insert(members, at, keptMember{m, noSlot})))
}

// WithMessageID returns e with its msg_id also as messageId, by which readers of
// seed 002 find an entry. One without an id is as it was.
func (e Envelope) WithMessageID() (Envelope, error) {
	if e.MsgID == "" {
		return e, nil
	}
	return e.With("messageId", jsontext.AppendString(nil, e.MsgID))
}
