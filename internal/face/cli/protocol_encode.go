package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/json/jsonobj"
	"waggle/internal/json/jsontext"
	"waggle/operator"
	"waggle/protocol"
)

func protocolEncodeCmd(a *app.App) *cobra.Command {
	var dialect string
	cmd := &cobra.Command{
		Use:   "encode [KIND] [FILE | -]",
		Short: "Encode a payload object as one text value, or the output of decode",
		Long: `With KIND, read a payload object (its fields, in any known spelling) and write one text
value, in the spelling of the wire. A payload that another dialect spells whole and that
lacks what the wire needs, such as the sender in the shapes of seed 000, is written in its
own. A key that the kind does not have is refused.

--dialect names another spelling: protocol (seed 001), catalog (000), api (002), tool
(003), early (004), legacy (shutdown_response). One without a place for what the payload
decides is refused.

Without KIND, read the output of waggle protocol decode and write its input again: one
text value, or a mailbox when the entries have envelopes. A payload that was not changed
is written with its original bytes, in whatever dialect; a changed one is encoded anew, in
the dialect that it had.`,
		ValidArgsFunction: completeKinds,
		RunE: func(cmd *cobra.Command, args []string) error {
			want := protocol.Dialect(dialect)
			if !cmd.Flags().Changed("dialect") {
				want = protocol.DialectNone
			}
			if len(args) == 0 || len(args) == 1 && args[0] == "-" {
				return encodeDecoded(a, args, want)
			}
			data, err := input(a, args[1:])
			if err != nil {
				return err
			}
			text, err := encodeInput(protocol.Kind(args[0]), data, want)
			if err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "encode", Err: err, Advice: "waggle protocol schema " + args[0]}
			}
			return textValue(a, text)
		},
	}
	names := protocol.Strings(protocol.Dialects())
	cmd.Flags().StringVar(&dialect, "dialect", string(protocol.DialectWire), strings.Join(names, ", "))
	app.OneOf(cmd, "dialect", names...)
	return cmd
}

func textValue(a *app.App, text string) error {
	return a.Give(map[string]string{"text": text}, nil, func() { fmt.Fprintln(a.Out, text) })
}

// encodeDecoded encodes the output of decode.
func encodeDecoded(a *app.App, args []string, d protocol.Dialect) error {
	data, err := input(a, args)
	if err != nil {
		return err
	}
	fail := func(err error) error {
		return &operator.Error{Kind: operator.Usage, Op: "encode", Err: err,
			Advice: "give what waggle protocol decode prints, or name the kind of a payload: waggle protocol encode KIND"}
	}
	entries, err := readEntries(data)
	if err != nil {
		return fail(err)
	}
	if len(entries) == 1 && entries[0].Envelope == nil {
		text, err := encodeEntry(entries[0], d)
		if err != nil {
			return fail(err)
		}
		return textValue(a, text)
	}
	mails := []json.RawMessage{}
	for i, e := range entries {
		mail, err := encodeMail(e, d)
		if err != nil {
			return fail(fmt.Errorf("entry %d: %w", i, err))
		}
		mails = append(mails, mail)
	}
	return app.WriteJSON(a.Out, jsonobj.AppendArray(nil, mails, 0), nil)
}

// entryKeys are the keys of a decodedEntry.
var entryKeys = []string{"kind", "dialect", "payload", "envelope", "type", "warnings", "text"}

// readEntries reads the output of decode: an array of entries, or one of them.
func readEntries(data []byte) ([]decodedEntry, error) {
	data = trimJSON(data)
	if !json.Valid(data) {
		return nil, errors.New("not JSON")
	}
	raws, ok := jsonobj.Elements(data)
	if !ok {
		raws = []json.RawMessage{data}
	}
	entries := []decodedEntry{}
	for i, raw := range raws {
		o, err := jsonobj.Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		for _, key := range o.Keys() {
			if !slices.Contains(entryKeys, key) {
				return nil, fmt.Errorf("entry %d: key %q is none that decode prints", i, key)
			}
		}
		if twice := o.Duplicates(); len(twice) > 0 {
			return nil, fmt.Errorf("entry %d: key %q occurs twice", i, twice[0])
		}
		var e decodedEntry
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		if e.Kind == "" {
			return nil, fmt.Errorf("entry %d has no kind", i)
		}
		if isNull(e.Envelope) {
			e.Envelope = nil
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// encodeMail returns the envelope of an entry with its present payload.
func encodeMail(e decodedEntry, d protocol.Dialect) (json.RawMessage, error) {
	if e.Kind == protocol.KindInvalid {
		return nil, invalidEntry(e)
	}
	if e.Envelope == nil {
		return nil, errors.New("it has no envelope, and several entries make a mailbox")
	}
	if stands(decodeEnvelope(e.Envelope), e, d) {
		return e.Envelope, nil
	}
	p, d, err := payloadOf(e, d)
	if err != nil {
		return nil, err
	}
	env, err := protocol.ParseEnvelope(e.Envelope)
	if err != nil {
		return nil, fmt.Errorf("envelope: %w", err)
	}
	if env, err = env.Carrying(p, d); err != nil {
		return nil, err
	}
	return env.MarshalJSON()
}

func encodeEntry(e decodedEntry, d protocol.Dialect) (string, error) {
	if e.Text != "" && stands(textEntry(e.Text), e, d) {
		return e.Text, nil
	}
	p, d, err := payloadOf(e, d)
	if err != nil {
		return "", err
	}
	return protocol.Encode(p, d)
}

// stands reports whether an entry's payload still equals its text, in the wanted dialect.
func stands(was, is decodedEntry, want protocol.Dialect) bool {
	return is.Kind != protocol.KindInvalid && was.Kind == is.Kind && jsontext.Same(was.Payload, is.Payload) &&
		(want == protocol.DialectNone || was.Dialect == protocol.DialectNone || was.Dialect == want)
}

// payloadOf reads the payload of an entry from its kind and payload alone, with the dialect to write
// it in: d, or the one that the entry had, where that is written.
func payloadOf(e decodedEntry, d protocol.Dialect) (protocol.Payload, protocol.Dialect, error) {
	if d == protocol.DialectNone {
		d = e.Dialect.For(e.Kind)
	}
	switch e.Kind {
	case protocol.KindInvalid:
		return nil, d, invalidEntry(e)
	case protocol.KindText, protocol.KindSystemInit:
		o, err := jsonobj.Parse(e.Payload)
		if err != nil {
			return nil, d, fmt.Errorf("payload: %w", err)
		}
		raw, _ := o.Get("text")
		text, ok := jsonobj.String(raw)
		if !ok || o.Len() != 1 {
			return nil, d, fmt.Errorf("the payload of a %s is an object with the string text alone", e.Kind)
		}
		if e.Kind == protocol.KindText {
			return protocol.Text{Text: text}, d, nil
		}
		return protocol.SystemInit{Text: text}, d, nil
	case protocol.KindUnknown:
		dec, err := decodeObject(e.Kind, e.Payload)
		return dec.Payload, d, err
	}
	dec, err := decodeKnown(e.Kind, e.Payload)
	return dec.Payload, d, err
}

func invalidEntry(e decodedEntry) error {
	return fmt.Errorf("it is invalid, there is nothing to encode: %s", strings.Join(e.Warnings, "; "))
}

// encodeInput encodes a payload object; d is none for the wire's form, or its own where it lacks
// what the wire needs.
func encodeInput(kind protocol.Kind, data []byte, d protocol.Dialect) (string, error) {
	if kind == protocol.KindText {
		return protocol.Encode(protocol.Text{Text: strings.TrimSuffix(string(data), "\n")}, protocol.DialectWire)
	}
	dec, err := decodeKnown(kind, data)
	if err != nil {
		return "", err
	}
	if d != protocol.DialectNone {
		return protocol.Encode(dec.Payload, d)
	}
	text, err := protocol.Encode(dec.Payload, protocol.DialectWire)
	if own := dec.Dialect.For(kind); err != nil && own != protocol.DialectWire {
		return protocol.Encode(dec.Payload, own)
	}
	return text, err
}

// decodeKnown is decodeObject for a payload whose every key is of its kind.
func decodeKnown(kind protocol.Kind, data []byte) (protocol.Decoded, error) {
	dec, err := decodeObject(kind, data)
	if err == nil && len(dec.Unread) > 0 {
		err = fmt.Errorf("a %s has no such key: %s", kind, strings.Join(dec.Unread, ", "))
	}
	return dec, err
}

// decodeObject reads a payload object as a kind. Its own type, if it has one, must be a type of
// that kind.
func decodeObject(kind protocol.Kind, data []byte) (protocol.Decoded, error) {
	o, err := jsonobj.Parse(data)
	if err != nil {
		return protocol.Decoded{}, fmt.Errorf("the payload must be a JSON object: %w", err)
	}
	if twice := o.Duplicates(); len(twice) > 0 {
		return protocol.Decoded{}, fmt.Errorf("key %q occurs twice in the payload", twice[0])
	}
	text := string(o.Compact())
	if _, has := o.Get("type"); !has {
		rest := text[1:]
		if o.Len() > 0 {
			rest = "," + rest
		}
		text = `{"type":` + string(jsonobj.AppendString(nil, string(kind))) + rest
	}
	dec := protocol.DecodeText(text)
	if dec.Kind != kind {
		return dec, fmt.Errorf("this does not make a %s: %s", kind, strings.Join(append([]string{"it reads as " + string(dec.Kind)}, dec.Warnings...), "; "))
	}
	return dec, nil
}

// trimJSON drops a byte order mark and the white space around a document.
func trimJSON(data []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
}
