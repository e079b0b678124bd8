package protocol

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"waggle/internal/json/jsontext"
)

// frame is a payload being read: its keys, and what reading them has brought to
// light. Names are compared byte for byte. Go's own decoder would take
// "Approved" for "approved"; a frame never does.
type frame struct {
	env      Envelope
	typ      string
	fields   []field
	looked   map[string]bool // paths a decoder asked for
	read     map[string]bool // those of them that are there
	warnings []string
	unread   []string // paths that no decoder asked for
	faults   []string // contradictions: an answer denies, another kind is invalid
	failed   string   // why the frame cannot be used at all
	mismatch bool
	label    Dialect // set when the type or a value settles the dialect
}

// field is one value of a frame. Its path is its key, or key.key inside one of
// the containers.
type field struct {
	path string
	raw  string
}

func newFrame(e Envelope, typ, body string) *frame {
	f := &frame{env: e, typ: typ, looked: make(map[string]bool), read: make(map[string]bool)}
	for _, m := range jsontext.Members(body) {
		if m.Key == keyType {
			continue
		}
		if containers[m.Key] && m.Raw[0] == '{' {
			inner := jsontext.Members(m.Raw)
			for _, n := range inner {
				f.fields = append(f.fields, field{m.Key + "." + n.Key, n.Raw})
			}
			if len(inner) > 0 {
				continue
			}
		}
		f.fields = append(f.fields, field{m.Key, m.Raw})
	}
	return f
}

// maxNotes bounds the warnings and the contradictions of one frame: a message
// must not make its reader write a longer one.
const maxNotes = 32

func (f *frame) warn(format string, args ...any) { f.warnings = note(f.warnings, format, args) }

// contradict notes that the frame says two things at once.
func (f *frame) contradict(format string, args ...any) { f.faults = note(f.faults, format, args) }

func note(list []string, format string, args []any) []string {
	switch {
	case len(list) < maxNotes:
		return append(list, fmt.Sprintf(format, args...))
	case len(list) == maxNotes:
		return append(list, "there is more of this kind")
	}
	return list
}

// fail notes that the frame cannot be used; the first reason is kept.
func (f *frame) fail(format string, args ...any) {
	if f.failed == "" {
		f.failed = fmt.Sprintf(format, args...)
	}
}

// all returns the values under the given paths, each also in the other casing
// (planContent, plan_content), a key that occurs twice twice.
func (f *frame) all(paths ...string) []field {
	var found []field
	for _, path := range paths {
		found = f.under(path, found)
		if other := otherCasing(path); other != path && !slices.Contains(paths, other) {
			found = f.under(other, found)
		}
	}
	return found
}

func (f *frame) under(path string, found []field) []field {
	f.looked[path] = true
	for _, fd := range f.fields {
		if fd.path == path {
			f.read[path] = true
			found = append(found, fd)
		}
	}
	return found
}

// otherCasing turns the last key of a path from camelCase to snake_case or back.
func otherCasing(path string) string {
	dot := strings.LastIndexByte(path, '.') + 1
	var b strings.Builder
	b.WriteString(path[:dot])
	up := false
	for _, c := range []byte(path[dot:]) {
		switch {
		case c == '_':
			up = true
			continue
		case c >= 'A' && c <= 'Z':
			b.WriteByte('_')
			c += 'a' - 'A'
		case up && c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		}
		up = false
		b.WriteByte(c)
	}
	return b.String()
}

// find returns the one value under the given paths. Two that differ are a
// contradiction; null is no value.
func (f *frame) find(paths ...string) (string, bool) {
	found := f.all(paths...)
	if len(found) == 0 {
		return "", false
	}
	for _, other := range found[1:] {
		if !sameValue(found[0].raw, other.raw) {
			f.contradict("%s and %s differ", found[0].path, other.path)
		} else if found[0].path != other.path {
			f.warn("%s and %s say the same thing twice", found[0].path, other.path)
		}
	}
	if jsontext.TypeOf(found[0].raw) == "null" {
		f.warn("%s is null: read as absent", found[0].path)
		return "", false
	}
	return found[0].raw, true
}

// sameValue compares two values: strings by their characters, others by their
// bytes, because a number or an object that is written differently may be read
// differently by somebody else.
func sameValue(a, b string) bool {
	if a[0] == '"' && b[0] == '"' {
		return jsontext.Unquote(a) == jsontext.Unquote(b)
	}
	return a == b
}

// text returns a string field, "" when it is absent. A value of another type is
// ignored with a warning.
func (f *frame) text(paths ...string) string {
	raw, ok := f.find(paths...)
	if !ok {
		return ""
	}
	if raw[0] != '"' {
		f.warn("%s is %s, not a string: ignored", paths[0], jsontext.WithArticle(raw))
		return ""
	}
	return str(raw)
}

// id returns a string that names something: one of another type is a
// contradiction, because to ignore it would be to guess what is meant.
func (f *frame) id(paths ...string) string {
	raw, ok := f.find(paths...)
	if !ok {
		return ""
	}
	if raw[0] != '"' {
		f.contradict("%s is %s, not a string", paths[0], jsontext.WithArticle(raw))
		return ""
	}
	return str(raw)
}

// textOrNumber is text for fields that some writers fill with a number, such as a
// task's id.
func (f *frame) textOrNumber(paths ...string) string {
	raw, ok := f.find(paths...)
	if !ok {
		return ""
	}
	switch jsontext.TypeOf(raw) {
	case "string":
		return str(raw)
	case "number":
		f.warn("%s is a number: read as the string %s", paths[0], show(raw))
		return raw
	}
	f.warn("%s is %s, not a string: ignored", paths[0], jsontext.WithArticle(raw))
	return ""
}

// str is the value of a string literal as valid UTF-8. Where characters were
// replaced the scan has already found a fault.
func str(lit string) string { return toValid(jsontext.Unquote(lit)) }

// strs reads an array of strings; elements of other types are kept as JSON.
func (f *frame) strs(paths ...string) []string {
	list, path := []string{}, paths[0]
	raw, ok := f.find(paths...)
	if !ok {
		return list
	}
	if raw[0] == '"' {
		f.warn("%s is a string, not an array: read as one element", path)
		return append(list, str(raw))
	}
	if raw[0] != '[' {
		f.warn("%s is %s, not an array: ignored", path, jsontext.WithArticle(raw))
		return list
	}
	for _, item := range jsontext.Items(raw) {
		if item[0] != '"' {
			f.warn("%s holds %s, not a string: kept as JSON", path, jsontext.WithArticle(item))
			list = append(list, item)
			continue
		}
		list = append(list, str(item))
	}
	return list
}

// requestID returns the id that pairs a request with its answer. An id that is
// missing or in doubt makes the frame unusable, a decision too: a denial needs
// to know what it denies.
func (f *frame) requestID(paths ...string) string {
	found := f.all(paths...)
	if len(found) == 0 || f.env.Type == f.typ {
		// Seed 002 keeps the id in the envelope's metadata (protocol §9.1 #1).
		found = append(found, metadataIDs(f.env)...)
	}
	if len(found) == 0 {
		f.fail("the request id is missing")
		return ""
	}
	for _, fd := range found {
		switch {
		case fd.raw[0] != '"':
			f.fail("%s is %s, not a string", fd.path, jsontext.WithArticle(fd.raw))
		case !sameValue(fd.raw, found[0].raw):
			f.fail("%s and %s name different requests", found[0].path, fd.path)
		case jsontext.Unquote(fd.raw) == "":
			f.fail("%s is empty", fd.path)
		case !utf8.ValidString(jsontext.Unquote(fd.raw)):
			f.fail("%s is not valid Unicode", fd.path)
		}
	}
	if f.failed != "" {
		return ""
	}
	if found[0].path == metadataID {
		f.label = DialectAPI
	}
	return str(found[0].raw)
}

const metadataID = keyMetadata + "." + metadataKey

// metadataIDs returns the request ids in an envelope's metadata.
func metadataIDs(e Envelope) []field {
	raw, ok := e.Member(keyMetadata)
	if !ok || raw[0] != '{' {
		return nil
	}
	var found []field
	for _, m := range jsontext.Members(string(raw)) {
		if slices.Contains(idKeys, m.Key) {
			found = append(found, field{metadataID, m.Raw})
		}
	}
	return found
}

// checkFrom compares the payload's sender, in whatever kind, with the
// envelope's. In what a worker sends, seed 000's routing keys name the sender
// too.
func (f *frame) checkFrom() {
	for _, fd := range f.fields {
		switch fd.path {
		case keyAgentID, keyAgentName:
			own := Kind(f.typ) == KindPermissionRequest && fd.path == keyAgentName // its agentId is a field
			if (own || fromWorker[Kind(f.typ)]) && fd.raw[0] == '"' {
				f.checkMember(fd.path, str(fd.raw))
			}
			continue
		case keyFrom:
		default:
			continue
		}
		f.looked[keyFrom] = true
		if jsontext.TypeOf(fd.raw) == "null" {
			continue
		}
		if fd.raw[0] != '"' {
			f.contradict("from is %s, not a string", jsontext.WithArticle(fd.raw))
			continue
		}
		if from := str(fd.raw); f.env.From != "" && from != f.env.From {
			f.mismatch = true
			f.warn("from mismatch: the payload says %s, the envelope %s", show(from), show(f.env.From))
		}
	}
}

// from returns the payload's sender, or the envelope's.
func (f *frame) from(paths ...string) string {
	if from := f.text(paths...); from != "" {
		return from
	}
	return f.fallback(paths[0], f.env.From)
}

// member returns a worker's id that must be the sender's, as a bare name or as
// name@team (protocol §9.1 #25).
func (f *frame) member(paths ...string) string {
	id := f.id(paths...)
	if id == "" {
		return f.fallback(paths[0], f.env.From)
	}
	f.checkMember(paths[0], id)
	return id
}

func (f *frame) checkMember(what, id string) {
	if f.env.From != "" && !sameMember(id, f.env.From) {
		f.mismatch = true
		f.warn("from mismatch: %s is %s, the envelope's from is %s", what, show(id), show(f.env.From))
	}
}

// fromWorker lists the kinds a worker sends that do not read the routing keys as
// fields of their own.
var fromWorker = map[Kind]bool{
	KindTaskProgress: true, KindTaskCompleted: true, KindIdleNotification: true,
	KindPlanApprovalRequest: true, KindShutdownApproved: true, KindShutdownRejected: true,
	typeShutdownResponse: true,
}

// sameMember compares two member ids, each of them name or name@team.
func sameMember(a, b string) bool {
	if a == b {
		return true
	}
	an, at, _ := strings.Cut(a, "@")
	bn, bt, _ := strings.Cut(b, "@")
	return an == bn && (at == "" || bt == "")
}

// timestamp returns the payload's time, or the envelope's.
func (f *frame) timestamp(paths ...string) string {
	raw, ok := f.find(paths...)
	if !ok {
		return f.fallback(paths[0], f.env.Timestamp)
	}
	switch jsontext.TypeOf(raw) {
	case "string":
		t := str(raw)
		if _, err := ParseTime(t); err != nil {
			f.warn("%s %s is not an ISO 8601 time", paths[0], show(t))
		}
		return t
	case "number":
		if ms, ok := millis(raw); ok {
			f.warn("%s is a number: read as milliseconds since 1970", paths[0])
			return formatMillis(ms)
		}
	}
	f.warn("%s is %s, not a string: ignored", paths[0], jsontext.WithArticle(raw))
	return f.fallback(paths[0], f.env.Timestamp)
}

func (f *frame) fallback(what, value string) string {
	if value == "" {
		f.warn("%s is missing", what)
	} else {
		f.warn("%s is not in the payload: taken from the envelope", what)
	}
	return value
}

// dialect names the dialect and all that spell the frame so, with a warning when there is none.
func (f *frame) dialect() (d Dialect, spellings []Dialect) {
	switch f.label {
	case DialectNone:
	case DialectLegacy:
		return f.label, nil
	default:
		return f.label, []Dialect{f.label}
	}
	if list := dialectsOf(Kind(f.typ), f.read); len(list) > 0 {
		return list[0], list
	}
	f.warn("the spelling mixes dialects")
	return DialectMixed, []Dialect{nearest(Kind(f.typ), f.read)}
}

// maxUnread bounds the warnings about keys that were not read.
const maxUnread = 8

// reportUnread warns about keys that no decoder asked for. A key that is spelled
// almost like one that was asked for is a mistake or an attack, so it is said.
func (f *frame) reportUnread() {
	said := 0
	for _, fd := range f.fields {
		if f.looked[fd.path] || slices.Contains(routing, fd.path) || slices.Contains(f.unread, fd.path) {
			continue
		}
		f.unread = append(f.unread, fd.path)
		if said++; said > maxUnread {
			f.warn("more keys are not known and were ignored")
			return
		}
		if near := f.lookAlike(fd.path); near != "" {
			f.warn("key %s is not %s: ignored", show(fd.path), near)
		} else {
			f.warn("key %s is not known: ignored", show(fd.path))
		}
	}
}

// lookAlike returns the known path that a key differs from in case or
// underscores only.
func (f *frame) lookAlike(path string) string {
	best := ""
	for known := range f.looked {
		if alike(known, path) && known > best {
			best = known
		}
	}
	return best
}

// alike reports whether two keys are equal but for case, as Go's decoder folds
// it, and underscores.
func alike(a, b string) bool {
	return strings.EqualFold(strings.ReplaceAll(a, "_", ""), strings.ReplaceAll(b, "_", ""))
}

// show quotes a value from outside for a message: control characters escaped,
// long values cut.
func show(s string) string {
	const limit = 60
	if len(s) <= limit {
		return strconv.Quote(s)
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.Quote(s[:cut]) + "…"
}

// Routing is what seed 000 lets every payload say of its sender beside the envelope:
// for logs and remote sessions. It proves nothing, and is written in the catalog form
// only.
type Routing struct {
	TeamName  string `json:"teamName,omitempty"`
	AgentID   string `json:"agentId,omitempty"`
	AgentName string `json:"agentName,omitempty"`
}

// routed is a payload with the keys of routing.
type routed interface{ routingKeys() *Routing }

func (r *Routing) routingKeys() *Routing { return r }

// routing reads the routing keys. A value that is no string is left out and said.
func (f *frame) routing() Routing {
	var r Routing
	at := map[string]*string{keyTeamName: &r.TeamName, keyAgentID: &r.AgentID, keyAgentName: &r.AgentName}
	for _, fd := range f.fields {
		switch to := at[fd.path]; {
		case to == nil:
		case fd.raw[0] == '"':
			*to = str(fd.raw)
		default:
			f.warn("%s is %s, not a string: ignored", fd.path, jsontext.WithArticle(fd.raw))
		}
	}
	return r
}
