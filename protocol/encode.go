package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"waggle/internal/json/jsontext"
)

// Encode returns the text of p in dialect d: exactly one byte form per dialect,
// compact, keys in canonical order, characters escaped as JSON.stringify does.
// Dialects lists the dialects that it writes.
//
// Text and SystemInit encode to their words, in any dialect; Unknown encodes to
// its raw object. Raw members (input, updated_input, suggestions) keep their
// bytes, because digests are taken over them. Fields that are documented as read
// only are left out, and in a dialect other than the wire's what is only shown, the
// sender and the host of a sandbox answer included, since that form answers a request as a whole.
//
// Encode refuses a payload that Validate refuses, a text beyond the limits of
// Decode, and a dialect that has no form for the kind or for what this payload
// says. Its error is a *PayloadError.
func Encode(p Payload, d Dialect) (string, error) {
	if p = value(p); p != nil {
		d = formOf(p.Kind(), d)
	}
	if err := validate(checked(p, d), d); err != nil {
		return "", err
	}
	switch p := p.(type) {
	case Text:
		return p.Text, nil
	case SystemInit:
		return p.Text, nil
	case Unknown:
		return string(p.Raw), nil
	}
	if !slices.Contains(Dialects(), d) {
		return "", &PayloadError{p.Kind(), []string{"dialect " + show(string(d)) + " is read, not written; use one of " + strings.Join(Strings(Dialects()), ", ")}}
	}
	var o object
	if why := tables[p.Kind()].encode(&o, p, d); why != "" {
		return "", &PayloadError{p.Kind(), []string{why}}
	}
	text := string(o.close())
	if facts, _ := scan(text); len(text) > MaxText || facts.tooBig() {
		why := fmt.Sprintf("is larger than %d bytes, %d levels or %d keys", MaxText, MaxDepth, MaxKeys)
		return "", &PayloadError{p.Kind(), []string{why}}
	}
	return text, nil
}

// Carrying is the envelope with a payload in dialect d as its text. For seed 002's shutdown request
// the envelope's type and metadata say what it is, and the text is prose. Its error is that of Encode.
func (e Envelope) Carrying(p Payload, d Dialect) (Envelope, error) {
	if r, ok := value(p).(ShutdownRequest); ok && d == DialectAPI {
		return e.carryingShutdown(r)
	}
	text, err := Encode(p, d)
	e.Text = text
	return e, err
}

// checked is what validate is to look at. The catalog's question about the network may
// name several hosts, and its answer names none, for it is for the request as a whole; seed 002
// has reasons of its own for an idle notification.
func checked(p Payload, d Dialect) Payload {
	switch p := p.(type) {
	case SandboxPermissionRequest:
		if d == DialectCatalog && len(p.Hosts) > 1 && p.Hosts[0] == p.HostPattern.Host {
			p.Hosts = nil
		}
		return p
	case SandboxPermissionResponse:
		if d == DialectCatalog && p.Host == "" {
			p.Host = "as asked"
		}
		return p
	case IdleNotification:
		if d == DialectAPI && slices.Contains(apiIdleReasons, p.IdleReason) {
			p.IdleReason = idleReasons[0]
		}
		return p
	}
	return p
}

// object writes a JSON object key by key, and objects inside of it. Its zero value is an
// empty object.
type object struct {
	b      []byte
	inside string // the object that keys belong to; "": the object itself
	opened bool   // it has a key
}

// enter makes the next keys those of the object under a key, which is written with the
// first of them.
func (o *object) enter(inside string) {
	if inside == o.inside {
		return
	}
	if o.opened {
		o.b = append(o.b, '}')
	}
	o.inside, o.opened = inside, false
}

func (o *object) key(key string) {
	if o.inside != "" && !o.opened {
		o.comma()
		o.b = append(jsontext.AppendString(o.b, o.inside), ':', '{')
		o.opened = true
	}
	o.comma()
	o.b = append(jsontext.AppendString(o.b, key), ':')
}

// comma writes what goes before a key.
func (o *object) comma() {
	switch n := len(o.b); {
	case n == 0:
		o.b = append(o.b, '{')
	case o.b[n-1] != '{':
		o.b = append(o.b, ',')
	}
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
	o.b = jsontext.AppendString(o.b, toValid(v))
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
		raws[i] = jsontext.AppendString(nil, toValid(s))
	}
	o.raws(key, raws)
}
