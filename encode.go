package waggle

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Encode returns the text of p in dialect d: exactly one byte form per dialect,
// compact, keys in canonical order, characters escaped as JSON.stringify does.
// It writes DialectWire and DialectCatalog.
//
// Text and SystemInit encode to their words, in any dialect; Unknown encodes to
// its raw object. Raw members (input, updated_input, suggestions) keep their
// bytes, because digests are taken over them. Fields that are documented as read
// only are left out, and in the catalog form what is only shown, the host of a
// sandbox answer included, since that form answers a request as a whole.
//
// Encode refuses a payload that Validate refuses, a text beyond the limits of
// Decode, and a dialect that has no form for the kind or for what this payload
// says. Its error is a *PayloadError.
func Encode(p Payload, d Dialect) (string, error) {
	if err := Validate(checked(p, d)); err != nil {
		return "", err
	}
	p = value(p)
	switch p := p.(type) {
	case Text:
		return p.Text, nil
	case SystemInit:
		return p.Text, nil
	case Unknown:
		return string(p.Raw), nil
	}
	var o object
	o.str("type", string(p.Kind()))
	switch d {
	case DialectWire:
		if u, ok := p.(TeamPermissionUpdate); ok && u.AlsoDeny != nil {
			return "", &PayloadError{p.Kind(), []string{"alsoDeny cannot be written on the wire: send it as an update of its own"}}
		}
		o.wire(p)
	case DialectCatalog:
		if why := o.catalog(p); why != "" {
			return "", &PayloadError{p.Kind(), []string{why}}
		}
		r := routingOf(p)
		o.opt("teamName", r.TeamName)
		o.opt("agentId", r.AgentID)
		o.opt("agentName", r.AgentName)
	default:
		return "", &PayloadError{p.Kind(), []string{"dialect " + show(string(d)) + " is read, not written; use wire or catalog"}}
	}
	text := string(o.close())
	if facts, _ := scan(text); len(text) > MaxText || facts.tooBig() {
		why := fmt.Sprintf("is larger than %d bytes, %d levels or %d keys", MaxText, MaxDepth, MaxKeys)
		return "", &PayloadError{p.Kind(), []string{why}}
	}
	return text, nil
}

// checked is what Validate is to look at. The catalog's question about the network may
// name several hosts, and its answer names none, for it is for the request as a whole.
func checked(p Payload, d Dialect) Payload {
	if d != DialectCatalog {
		return p
	}
	switch p := value(p).(type) {
	case SandboxPermissionRequest:
		if len(p.Hosts) > 1 && p.Hosts[0] == p.HostPattern.Host {
			p.Hosts = nil
		}
		return p
	case SandboxPermissionResponse:
		if p.Host == "" {
			p.Host = "as asked"
		}
		return p
	}
	return p
}

// object writes a JSON object key by key. Its zero value is an empty object.
type object struct{ b []byte }

func (o *object) key(key string) {
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = appendString(o.b, key)
	o.b = append(o.b, ':')
}

func (o *object) close() []byte {
	if len(o.b) == 0 {
		return []byte("{}")
	}
	return append(o.b, '}')
}

// str writes a string. Bytes that are not UTF-8 become U+FFFD: a frame must not
// hold half a surrogate pair, which an envelope may.
func (o *object) str(key, v string) {
	o.key(key)
	o.b = appendString(o.b, toValid(v))
}

// opt writes a string unless it is empty.
func (o *object) opt(key, v string) {
	if v != "" {
		o.str(key, v)
	}
}

func (o *object) bool(key string, v bool) {
	o.key(key)
	o.b = strconv.AppendBool(o.b, v)
}

func (o *object) int(key string, v int64) {
	o.key(key)
	o.b = strconv.AppendInt(o.b, v, 10)
}

func (o *object) raw(key string, v []byte) {
	o.key(key)
	o.b = append(o.b, v...)
}

func (o *object) raws(key string, list []json.RawMessage) {
	o.key(key)
	o.b = append(o.b, '[')
	for i, v := range list {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = append(o.b, v...)
	}
	o.b = append(o.b, ']')
}

func (o *object) strs(key string, list []string) {
	raws := make([]json.RawMessage, len(list))
	for i, s := range list {
		raws[i] = appendString(nil, toValid(s))
	}
	o.raws(key, raws)
}

// nest writes an object that fill fills.
func (o *object) nest(key string, fill func(*object)) {
	var inner object
	fill(&inner)
	o.raw(key, inner.close())
}
