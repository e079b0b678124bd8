package transport

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"

	"waggle/internal/json/jsontext"
	"waggle/protocol"
)

// version is the version of the socket protocol, and of the path under which HTTP endpoints take
// messages.
const version = 1

// Code is the reason of a refusal in one word. It is part of the protocols.
type Code string

// Codes.
const (
	CodeDenied   Code = "denied"    // no token, or none of this endpoint's
	CodeVersion  Code = "version"   // another version of the protocol
	CodeInvalid  Code = "invalid"   // not what the protocol says
	CodeNotFound Code = "not_found" // no such team or member
	CodeRefused  Code = "refused"   // the receiver will not have it
	CodeTooLarge Code = "too_large"
	CodeLocked   Code = "locked" // a lock was not free in time; try again
	CodeBusy     Code = "busy"   // too many connections; try again
	CodeFailed   Code = "failed"
)

// Limits of the socket protocol, in bytes of one line.
const (
	maxHello = 4 << 10
	maxFrame = 6*protocol.MaxText + 256<<10 // a text may grow sixfold (\u0000)
)

var errLineTooLong = errors.New("the line is too long")

// readLine reads one line of at most limit bytes, without its end. A last line
// without an end is no line: its writer did not finish it.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, errLineTooLong
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if len(line) > 0 && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

// fields are an object's, by their exact names.
type fields map[string]json.RawMessage

func parseFields(line []byte) (fields, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("not UTF-8")
	}
	var f fields
	if err := json.Unmarshal(line, &f); err != nil || f == nil {
		return nil, errors.New("not a JSON object")
	}
	return f, nil
}

// get reads a field that may be missing.
func (f fields) get(name string, v any) error {
	raw, ok := f[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// parse reads an object into a struct by the exact names of its tags: encoding/json would take another case of them,
// too. With an error it has the fields that could be read.
func parse[T any](line []byte) (v T, err error) {
	f, err := parseFields(line)
	if err != nil {
		return v, err
	}
	var errs []error
	at := reflect.ValueOf(&v).Elem()
	for i := range at.NumField() {
		name, _, _ := strings.Cut(at.Type().Field(i).Tag.Get("json"), ",")
		errs = append(errs, f.get(name, at.Field(i).Addr().Interface()))
	}
	return v, errors.Join(errs...)
}

// request is what a client sends. The first one is the hello.
type request struct {
	Waggle   int             `json:"waggle,omitempty"` // the version
	ID       uint64          `json:"id,omitempty"`
	Op       string          `json:"op"`
	Token    string          `json:"token,omitempty"`
	To       string          `json:"to,omitempty"`
	Of       uint64          `json:"of,omitempty"` // opCancel: the id of the call
	Envelope json.RawMessage `json:"envelope,omitempty"`
	Body     json.RawMessage `json:"body,omitempty"` // of a call
}

// The operations of a client and what a server says.
const (
	opHello = "hello"
	opSend  = "send"
	opWatch = "watch"
	opPing  = "ping"
	// opCancel takes a call back; the operations of calls are those of the Callee.
	opCancel = "cancel"

	opOK      = "ok"
	opError   = "error"
	opChanged = "changed"
)

// reply is what a server sends: an answer with the request's id, or a push
// without one.
type reply struct {
	Waggle  int             `json:"waggle,omitempty"`
	ID      uint64          `json:"id,omitempty"`
	Op      string          `json:"op"`
	Team    string          `json:"team,omitempty"`
	Name    string          `json:"name,omitempty"`
	MsgID   string          `json:"msg_id,omitempty"`
	State   State           `json:"state,omitempty"`
	Ahead   *int            `json:"ahead,omitempty"`
	Code    Code            `json:"code,omitempty"`
	Message string          `json:"message,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
}

// line writes v as one line.
func line(v any) ([]byte, error) {
	b, err := jsontext.Marshal(v)
	return append(b, '\n'), err
}
