package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"waggle/internal/json/jsontext"
)

// AppendJSON appends the entry as JSON.stringify(x, null, 2) writes it when it
// stands in an array at top level: every line but the first is indented by two
// further spaces. A new envelope has the key order of protocol §2.1; a parsed one
// keeps its own, and what is new in it goes where that order puts it.
func (e Envelope) AppendJSON(dst []byte) []byte {
	return jsontext.AppendIndent(dst, compact(e.members()), 1)
}

// MarshalJSON returns the compact form, keys in the same order.
func (e Envelope) MarshalJSON() ([]byte, error) { return compact(e.members()), nil }

func compact(members []keptMember) []byte {
	dst := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, m.Lit...), ':')
		dst = jsontext.AppendCompact(dst, m.Raw)
	}
	return append(dst, '}')
}

// members returns the entry's keys in order. Values that were not set since the
// entry was parsed keep their bytes; what is new stands behind the last key that
// protocol §2.1 has before it.
func (e Envelope) members() []keptMember {
	from, now := e.origin(), e.values()
	list := make([]keptMember, 0, max(len(from.members), int(slots))+1)
	var have [slots]bool
	for _, m := range from.members {
		if m.slot != noSlot {
			have[m.slot] = true
			if now[m.slot] != from.was[m.slot] {
				if !written(m.slot, now[m.slot]) {
					continue
				}
				m.Raw = string(appendValue(nil, now[m.slot]))
			}
		}
		list = append(list, m)
	}
	for s := range slots {
		if have[s] || now[s] == from.was[s] || !written(s, now[s]) {
			continue
		}
		at := len(list)
		for at > 0 && (list[at-1].slot == noSlot || list[at-1].slot > s) {
			at--
		}
		m := jsontext.Member{Lit: `"` + slotKeys[s] + `"`, Raw: string(appendValue(nil, now[s]))}
		list = slices.Insert(list, at, keptMember{m, s})
	}
	return list
}

// written reports whether a field is there at all with this value.
func written(s slot, v any) bool {
	switch s {
	case slotFrom, slotText, slotTimestamp, slotRead:
		return true
	}
	return v != "" && v != 0
}

func appendValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return jsontext.AppendString(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case bool:
		return strconv.AppendBool(dst, v)
	}
	return dst
}

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
