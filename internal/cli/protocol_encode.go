package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/internal/cli/app"
	"waggle/internal/jsonobj"
	"waggle/operator"
)

func protocolEncodeCmd(a *app.App) *cobra.Command {
	var dialect string
	cmd := &cobra.Command{
		Use:   "encode [KIND] [FILE | -]",
		Short: "Encode a payload object as one text value, or the output of decode",
		Long: `With KIND, read a payload object (its fields, in any known spelling) and write one text
value. A key that the kind does not have is refused.

Without KIND, read the output of waggle protocol decode and write its input again: one
text value, or a mailbox when the entries have envelopes. A payload that was not changed
is written with its original bytes, in whatever dialect; a changed one is encoded anew.`,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: completeKinds,
		RunE: func(cmd *cobra.Command, args []string) error {
			want := waggle.Dialect(dialect)
			if len(args) == 0 || len(args) == 1 && args[0] == "-" {
				if !cmd.Flags().Changed("dialect") {
					want = waggle.DialectNone
				}
				return encodeDecoded(a, args, want)
			}
			data, err := input(a, args[1:])
			if err != nil {
				return err
			}
			text, err := encodeInput(waggle.Kind(args[0]), data, want)
			if err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "encode", Err: err, Advice: "waggle protocol schema " + args[0]}
			}
			return textValue(a, text)
		},
	}
	cmd.Flags().StringVar(&dialect, "dialect", string(waggle.DialectWire), "wire, or catalog (seed shapes)")
	app.Must(cmd.RegisterFlagCompletionFunc("dialect", cobra.FixedCompletions([]string{"wire", "catalog"}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func textValue(a *app.App, text string) error {
	if a.Flags.JSON {
		return a.Document(map[string]string{"text": text})
	}
	fmt.Fprintln(a.Out, text)
	return nil
}

// encodeDecoded encodes the output of decode.
func encodeDecoded(a *app.App, args []string, d waggle.Dialect) error {
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
func encodeMail(e decodedEntry, d waggle.Dialect) (json.RawMessage, error) {
	if e.Kind == waggle.KindInvalid {
		return nil, invalidEntry(e)
	}
	if e.Envelope == nil {
		return nil, errors.New("it has no envelope, and several entries make a mailbox")
	}
	if stands(decodeEnvelope(e.Envelope), e, d) {
		return e.Envelope, nil
	}
	text, err := encodePayload(e, d)
	if err != nil {
		return nil, err
	}
	o, err := jsonobj.Parse(e.Envelope)
	if err != nil {
		return nil, fmt.Errorf("envelope: %w", err)
	}
	key := "text"
	if _, ok := o.Get(key); !ok {
		key = "content"
	}
	o.Set(key, jsonobj.AppendString(nil, text))
	return o.Raw(), nil
}

func encodeEntry(e decodedEntry, d waggle.Dialect) (string, error) {
	if e.Text != "" && stands(textEntry(e.Text), e, d) {
		return e.Text, nil
	}
	return encodePayload(e, d)
}

// stands reports whether an entry's payload still equals its text, in the wanted dialect.
func stands(was, is decodedEntry, want waggle.Dialect) bool {
	return is.Kind != waggle.KindInvalid && was.Kind == is.Kind && sameJSON(was.Payload, is.Payload) &&
		(want == waggle.DialectNone || was.Dialect == waggle.DialectNone || was.Dialect == want)
}

func sameJSON(a, b json.RawMessage) bool {
	read := func(raw json.RawMessage) (v any, err error) {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		err = dec.Decode(&v)
		return v, err
	}
	va, errA := read(a)
	vb, errB := read(b)
	return errA == nil && errB == nil && reflect.DeepEqual(va, vb)
}

// encodePayload encodes an entry from its kind and payload alone. A dialect that can only be read
// becomes the wire's.
func encodePayload(e decodedEntry, d waggle.Dialect) (string, error) {
	if d == waggle.DialectNone {
		d = waggle.DialectWire
		if e.Dialect == waggle.DialectCatalog {
			d = e.Dialect
		}
	}
	switch e.Kind {
	case waggle.KindInvalid:
		return "", invalidEntry(e)
	case waggle.KindText, waggle.KindSystemInit:
		o, err := jsonobj.Parse(e.Payload)
		if err != nil {
			return "", fmt.Errorf("payload: %w", err)
		}
		raw, _ := o.Get("text")
		text, ok := jsonobj.String(raw)
		if !ok || o.Len() != 1 {
			return "", fmt.Errorf("the payload of a %s is an object with the string text alone", e.Kind)
		}
		if e.Kind == waggle.KindText {
			return waggle.Encode(waggle.Text{Text: text}, d)
		}
		return waggle.Encode(waggle.SystemInit{Text: text}, d)
	case waggle.KindUnknown:
		dec, err := decodeObject(e.Kind, e.Payload)
		if err != nil {
			return "", err
		}
		return waggle.Encode(dec.Payload, d)
	}
	return encodeInput(e.Kind, e.Payload, d)
}

func invalidEntry(e decodedEntry) error {
	return fmt.Errorf("it is invalid, there is nothing to encode: %s", strings.Join(e.Warnings, "; "))
}

func encodeInput(kind waggle.Kind, data []byte, d waggle.Dialect) (string, error) {
	if kind == waggle.KindText {
		return waggle.Encode(waggle.Text{Text: strings.TrimSuffix(string(data), "\n")}, d)
	}
	dec, err := decodeObject(kind, data)
	if err != nil {
		return "", err
	}
	if len(dec.Unread) > 0 {
		return "", fmt.Errorf("a %s has no such key: %s", kind, strings.Join(dec.Unread, ", "))
	}
	return waggle.Encode(dec.Payload, d)
}

// decodeObject reads a payload object as a kind. Its own type, if it has one, must be a type of
// that kind.
func decodeObject(kind waggle.Kind, data []byte) (waggle.Decoded, error) {
	o, err := jsonobj.Parse(data)
	if err != nil {
		return waggle.Decoded{}, fmt.Errorf("the payload must be a JSON object: %w", err)
	}
	if twice := o.Duplicates(); len(twice) > 0 {
		return waggle.Decoded{}, fmt.Errorf("key %q occurs twice in the payload", twice[0])
	}
	var b bytes.Buffer
	if err := json.Compact(&b, trimJSON(data)); err != nil {
		return waggle.Decoded{}, fmt.Errorf("the payload must be a JSON object: %w", err)
	}
	text := b.String()
	if _, has := o.Get("type"); !has {
		rest := text[1:]
		if o.Len() > 0 {
			rest = "," + rest
		}
		text = `{"type":` + string(jsonobj.AppendString(nil, string(kind))) + rest
	}
	dec := waggle.DecodeText(text)
	if dec.Kind != kind {
		return dec, fmt.Errorf("this does not make a %s: %s", kind, strings.Join(append([]string{"it reads as " + string(dec.Kind)}, dec.Warnings...), "; "))
	}
	return dec, nil
}

// trimJSON drops a byte order mark and the white space around a document.
func trimJSON(data []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
}
