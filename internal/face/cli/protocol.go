package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view/page"
	"waggle/internal/json/jsonobj"
	"waggle/operator"
	"waggle/protocol"
)

func protocolCmd(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "protocol", Short: "The message protocol: kinds, schemas, decode, encode"}
	cmd.AddCommand(protocolKindsCmd(a), protocolSchemaCmd(a), protocolDecodeCmd(a), protocolEncodeCmd(a))
	return cmd
}

func protocolKindsCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "kinds",
		Short: "List the kinds of message",
		Long: `List the kinds of message with their direction and meaning. --json: {"kinds":[{"kind",
"from","to","effect","agent_sendable","request","decision","legacy","aliases","meaning",
"wire_section"}]}; effect is true when the kind has a side effect.`,
		RunE: func(*cobra.Command, []string) error {
			t := page.Table{Head: []string{"KIND", "FROM", "TO", "EFFECT", "MEANING"}}
			for _, k := range protocol.Kinds() {
				effect := "-"
				if k.Effect {
					effect = "yes"
				}
				meaning := k.Meaning
				if len(k.Aliases) > 0 {
					meaning += " Also read: " + strings.Join(k.Aliases, ", ") + "."
				}
				t.Rows = append(t.Rows, []string{string(k.Kind), k.From, k.To, effect, meaning})
			}
			return a.Give(map[string]any{"kinds": protocol.Kinds()}, page.Page{{Table: &t}})
		},
	}
}

func completeKinds(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var ks []string
	for _, k := range protocol.Kinds() {
		ks = append(ks, string(k.Kind)+"\t"+k.Meaning)
	}
	return ks, cobra.ShellCompDirectiveNoFileComp
}

// decodedEntry is one object of `protocol decode` (commands §4).
type decodedEntry struct {
	Kind     protocol.Kind    `json:"kind"`
	Dialect  protocol.Dialect `json:"dialect"`
	Payload  json.RawMessage  `json:"payload"`
	Envelope json.RawMessage  `json:"envelope,omitempty"`
	Type     string           `json:"type"`
	Warnings []string         `json:"warnings"`
	// Text is the original text, when there is no envelope.
	Text string `json:"text,omitempty"`
}

func protocolDecodeCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "decode [FILE | -]",
		Short: "Decode a text value, an envelope, or a whole inbox",
		Long: `Decode a text value, an envelope, or a whole inbox from FILE or stdin, and print a JSON
array of {"kind","dialect","payload","envelope","type","warnings"}; kind is a kind of
message, text, unknown or invalid.`,
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := input(a, args)
			if err != nil {
				return err
			}
			entries, err := decodeInput(data)
			if err != nil {
				return &operator.Error{Kind: operator.Failed, Op: "decode", Err: err,
					Advice: "want a JSON array of envelopes, one envelope, a payload object, or a JSON string"}
			}
			return a.Document(entries)
		},
	}
}

// maxInput is the size limit of the input of decode and encode.
const maxInput = 256 << 20

// input reads FILE, or stdin for - and without an argument.
func input(a *app.App, args []string) ([]byte, error) {
	var r io.Reader = a.In
	if len(args) == 1 && args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			kind := operator.Failed
			if errors.Is(err, os.ErrNotExist) {
				kind = operator.NotFound
			}
			return nil, &operator.Error{Kind: kind, Op: "read", Err: err}
		}
		defer f.Close()
		r = f
	}
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(b) > maxInput {
		err = fmt.Errorf("more than %d bytes", maxInput)
	}
	if err != nil {
		return nil, &operator.Error{Kind: operator.Failed, Op: "read", Err: err}
	}
	return b, nil
}

func decodeInput(data []byte) ([]decodedEntry, error) {
	data = trimJSON(data)
	out := []decodedEntry{}
	switch {
	case len(data) > 0 && data[0] == '[':
		var raws []json.RawMessage
		if err := json.Unmarshal(data, &raws); err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		for _, raw := range raws {
			out = append(out, decodeEnvelope(raw))
		}
		return out, nil
	case len(data) > 0 && data[0] == '{':
		if !json.Valid(data) {
			return nil, errors.New("not JSON: an object that does not end well")
		}
		if looksLikeEnvelope(data) {
			return append(out, decodeEnvelope(data)), nil
		}
		return append(out, textEntry(string(data))), nil
	case len(data) > 0 && data[0] == '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		return append(out, textEntry(text)), nil
	case json.Valid(data): // a number, true, null: valid JSON, and no message
		return append(out, decodedEntry{Kind: protocol.KindInvalid, Warnings: []string{"not an envelope, a payload or a text"}}), nil
	}
	return nil, errors.New("not JSON")
}

// looksLikeEnvelope reports an envelope, not a bare payload: it has a text.
func looksLikeEnvelope(obj []byte) bool {
	var m map[string]json.RawMessage
	if json.Unmarshal(obj, &m) != nil {
		return false
	}
	_, text := m["text"]
	_, content := m["content"]
	_, from := m["from"]
	return text || (content && from)
}

func textEntry(text string) decodedEntry {
	e := entryOf(protocol.DecodeText(text))
	e.Text = text
	return e
}

func decodeEnvelope(raw json.RawMessage) decodedEntry {
	env, err := protocol.ParseEnvelope(raw)
	if err != nil {
		return decodedEntry{Kind: protocol.KindInvalid, Envelope: raw, Warnings: []string{err.Error()}}
	}
	e := entryOf(protocol.Decode(env))
	e.Envelope = raw
	return e
}

func entryOf(d protocol.Decoded) decodedEntry {
	e := decodedEntry{Kind: d.Kind, Dialect: d.Dialect, Type: d.Type, Warnings: append([]string{}, d.Warnings...)}
	if d.Payload == nil {
		return e
	}
	var v any = d.Payload
	if u, ok := d.Payload.(protocol.Unknown); ok {
		v = u.Raw
	}
	b, err := jsonobj.Marshal(v)
	if err != nil {
		return decodedEntry{Kind: protocol.KindInvalid, Type: d.Type, Warnings: append(e.Warnings, err.Error())}
	}
	e.Payload = b
	return e
}
