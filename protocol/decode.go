package protocol

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"waggle/internal/json/jsontext"
)

// Decoded is what an entry says.
type Decoded struct {
	Kind Kind
	// Dialect tells whose spelling it is; DialectNone for text, unknown and
	// invalid.
	Dialect Dialect
	// Spellings are the dialects that spell it so, the likeliest first; of a mixed one the nearest
	// (Speaks). None for text, unknown, invalid and what is superseded.
	Spellings []Dialect
	// Type is the type string as it stood ("shutdown_response" for a legacy
	// answer that decodes to KindShutdownApproved); "" for plain text.
	Type    string
	Payload Payload // nil when Kind is KindInvalid
	// Refused is what could be read of a request that is KindInvalid and whose id is beyond doubt: it can be denied, with
	// the first of Warnings as the reason, and nothing of it may be allowed. nil: there is no such request.
	Refused Payload
	// Warnings says, one sentence each, what was guessed, ignored or refused.
	Warnings []string
	// FromMismatch is set when the payload names another sender than the
	// envelope does, in from or in a member id. Such a frame is somebody
	// speaking for somebody else: reject it (protocol §9.3).
	FromMismatch bool
	// Unread are the paths of keys that the kind does not have, in the order of the
	// text and not more than a few. They have a warning each.
	Unread []string
}

// Limits on what Decode reads. Beyond them an entry is KindInvalid. Text that is
// no frame (not a JSON object with a string type) is held to MaxText only.
const (
	MaxText  = 1 << 20 // bytes of one envelope's text
	MaxDepth = 64      // nesting of a frame
	MaxKeys  = 4096    // keys in a frame, all levels together
)

// Decode reads what an envelope says: its text, and for seed 002's shapes its
// own type and metadata.
//
// A JSON object with a string "type" is a frame; anything else is plain text,
// and a frame whose type is not in the table is KindUnknown (protocol §1.0). Every
// spelling that protocol §1 and §9 list is understood, and names are matched
// exactly. A frame that contradicts itself (a key twice, two spellings of one
// field that differ, bytes that are not Unicode) is KindInvalid, except that an
// answer whose request id is beyond doubt is read as a denial; for a
// shutdown_approved that is KindShutdownRejected. An answer without any decision
// in it is KindInvalid: its request stays open.
//
// What the payload does not say (from, the time, a member's id) is taken from
// the envelope, with a warning.
func Decode(e Envelope) Decoded {
	if len(e.Text) > MaxText {
		return invalid("", fmt.Sprintf("text is longer than %d bytes", MaxText))
	}
	if d, ok := decodeFrame(e); ok {
		return d
	}
	return decodeWords(e)
}

// DecodeText reads one text value without an envelope.
func DecodeText(text string) Decoded { return Decode(Envelope{Text: text}) }

// typeShutdownResponse is the superseded type of both shutdown answers (protocol
// §1.10, §1.17).
const typeShutdownResponse = "shutdown_response"

// tableOf returns what reads a frame of a type; nil for a type that is not known.
func tableOf(typ string) kindTable {
	if typ == typeShutdownResponse {
		return tables[KindShutdownApproved]
	}
	return tables[Kind(typ)]
}

// decodeFrame reads e.Text as a frame; it reports false for plain text.
func decodeFrame(e Envelope) (Decoded, bool) {
	body := strings.TrimRight(strings.TrimLeftFunc(e.Text, isMargin), " \t\r\n")
	if !strings.HasPrefix(body, "{") {
		return Decoded{}, false
	}
	facts, ok := scan(body)
	if !ok || len(facts.types) == 0 {
		return Decoded{}, false
	}
	typ, known := classify(facts.types)
	switch {
	case known > 1:
		return invalid(typ, "the frame has two different types"), true
	case facts.depth > MaxDepth:
		return invalid(typ, fmt.Sprintf("the frame is nested deeper than %d levels", MaxDepth)), true
	case facts.keys > MaxKeys:
		return invalid(typ, fmt.Sprintf("the frame has more than %d keys", MaxKeys)), true
	}
	faults := facts.faults()
	if known == 0 {
		if len(faults) > 0 {
			return invalid(typ, faults...), true
		}
		return Decoded{Kind: KindUnknown, Type: typ, Payload: Unknown{Type: typ, Raw: json.RawMessage(body)}}, true
	}
	f := newFrame(e, typ, body)
	f.faults = faults
	return f.decode(tableOf(typ)), true
}

// isMargin reports what may stand before a frame: white space as JavaScript
// trims it, the byte order mark included.
func isMargin(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' }

// classify picks the type a frame is read as among the values of its "type"
// keys: a known one wins over others, so that a second key cannot pass a frame
// off as chat. known counts the different known types.
func classify(types []string) (typ string, known int) {
	typ = types[len(types)-1]
	distinct := make(map[string]bool)
	for _, t := range types {
		if tableOf(t) != nil {
			typ = t
			distinct[t] = true
		}
	}
	return typ, len(distinct)
}

// faults lists what makes a frame a contradiction whatever its kind (trust §2).
func (f *facts) faults() []string {
	var list []string
	if f.twice != nil {
		list = append(list, "key "+show(*f.twice)+" occurs twice in one object")
	}
	if f.badUTF8 {
		list = append(list, "the text is not valid UTF-8")
	}
	if f.surrogate {
		list = append(list, "a string holds half of a surrogate pair")
	}
	return list
}

// decode runs the kind's decoder and applies the rules that hold for all kinds.
func (f *frame) decode(t kindTable) Decoded {
	if tableOf(f.env.Type) != nil && f.env.Type != f.typ {
		f.warn("the envelope's type %s is ignored: the payload has its own", show(f.env.Type))
	}
	f.checkFrom()
	p := t.decode(f)
	if f.failed != "" {
		return f.invalid(p, append(f.faults, f.failed))
	}
	if len(f.faults) > 0 {
		request := p
		if p = denial(p); p == nil {
			return f.invalid(request, f.faults)
		}
		for _, fault := range f.faults {
			f.warn("%s: read as a denial", fault)
		}
	}
	dialect, spellings := f.dialect()
	if dialect != DialectProtocol { // there agentId is a field of its own
		p = tables[p.Kind()].withRouting(p, f.routing())
	}
	f.reportUnread()
	return Decoded{
		Kind: p.Kind(), Dialect: dialect, Spellings: spellings, Type: f.typ, Payload: p,
		Warnings: f.warnings, FromMismatch: f.mismatch, Unread: f.unread,
	}
}

// invalid says first why the frame is invalid, then what else was seen.
func (f *frame) invalid(p Payload, why []string) Decoded {
	f.reportUnread()
	d := Decoded{
		Kind: KindInvalid, Type: f.typ, Refused: f.refused(p),
		Warnings: append(why, f.warnings...), FromMismatch: f.mismatch, Unread: f.unread,
	}
	if d.Refused != nil {
		_, d.Spellings = f.dialect()
	}
	return d
}

// refused is a request with its id, where that is beyond doubt; else nil.
func (f *frame) refused(p Payload) Payload {
	doubt := &frame{env: f.env, typ: f.typ, fields: f.fields, looked: map[string]bool{}, read: map[string]bool{}}
	id := doubt.requestID(idKeys...)
	if id == "" {
		return nil
	}
	switch p := p.(type) {
	case PermissionRequest:
		p.RequestID = id
		return p
	case SandboxPermissionRequest:
		p.RequestID = id
		return p
	case PlanApprovalRequest:
		p.RequestID = id
		return p
	}
	return nil
}

// decodeWords reads an entry whose text is no frame: plain text, or one of seed
// 002's shapes that carry a type in the envelope (protocol §9.1 #16).
func decodeWords(e Envelope) Decoded {
	switch {
	case e.Type == string(KindSystemInit):
		return Decoded{Kind: KindSystemInit, Dialect: DialectAPI, Type: e.Type, Payload: SystemInit{Text: e.Text}}
	case e.Type == string(KindShutdownRequest):
		return decodeShutdownProse(e)
	}
	if d, ok := decodeShutdownAnswerProse(e); ok {
		return d
	}
	d := Decoded{Kind: KindText, Payload: Text{Text: e.Text}}
	if tableOf(e.Type) != nil {
		d.Warnings = []string{"the envelope's type " + show(e.Type) + " has no effect: only the text of a frame has"}
	}
	return d
}

func invalid(typ string, why ...string) Decoded {
	return Decoded{Kind: KindInvalid, Type: typ, Warnings: why}
}

// MarshalJSON returns what "waggle protocol decode" prints: an object with kind,
// dialect, type, payload and warnings. The payload has docs/protocol.md's canonical field
// names, without its type; it is the whole object for an unknown kind and null
// for an invalid one. The warnings are never null.
func (d Decoded) MarshalJSON() ([]byte, error) {
	payload := value(d.Payload)
	var out any = payload
	if u, ok := payload.(Unknown); ok {
		out = u.Raw
	}
	warnings := d.Warnings
	if warnings == nil {
		warnings = []string{}
	}
	return jsontext.Marshal(struct {
		Kind     Kind     `json:"kind"`
		Dialect  Dialect  `json:"dialect"`
		Type     string   `json:"type"`
		Payload  any      `json:"payload"`
		Warnings []string `json:"warnings"`
	}{d.Kind, d.Dialect, d.Type, out, warnings})
}
