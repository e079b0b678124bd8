package inspect

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Redactor masks secrets in views: exports, reports, notifications. It never changes what runs or
// what journals hold. It knows the values of environment variables with names such as API_KEY, the
// forms of common tokens, and the text after a word such as password. It cannot know every secret.
type Redactor struct {
	known []string
}

// Redacted replaces a secret.
const Redacted = "[redacted]"

// minSecret is the shortest environment value that is masked: shorter ones occur in other words.
const minSecret = 8

var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(token|secret|passw|api_?key|access_?key|private_?key|credential|authorization)`)
})

// secretForms are the forms of common tokens.
var secretForms = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(strings.Join([]string{
		`(?:AKIA|ASIA)[0-9A-Z]{16}`,
		`gh[pousr]_[A-Za-z0-9]{20,}`,
		`github_pat_[A-Za-z0-9_]{20,}`,
		`glpat-[A-Za-z0-9_-]{16,}`,
		`sk-[A-Za-z0-9_-]{16,}`,
		`xox[abeprs]-[A-Za-z0-9-]{10,}`,
		`AIza[0-9A-Za-z_-]{30,}`,
		`npm_[A-Za-z0-9]{30,}`,
		`eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}`,
		`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|$)`,
	}, "|"))
})

// secretPairs match a word for a secret and its value: password=x, --token x, "api_key": "x", also
// when quotes are escaped, Authorization: Bearer x, and the password in a URL.
var secretPairs = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)((?:token|secret|passw(?:or)?d|api[_-]?key|access[_-]?key)(?:\\*["'])?\s*[=:]\s*\\*")([^"\\]+)`),
		regexp.MustCompile(`(?i)((?:token|secret|passw(?:or)?d|api[_-]?key|access[_-]?key)(?:\\*["'])?\s*[=:]\s*\\*')([^'\\]+)`),
		regexp.MustCompile(`(?i)((?:token|secret|passw(?:or)?d|api[_-]?key|access[_-]?key)(?:\\*["'])?\s*[=:]\s*(?:\\*["'])?)([^\s"'\\,;&|}]+)`),
		regexp.MustCompile(`(?i)(--?(?:token|secret|passw(?:or)?d|api[_-]?key|access[_-]?key)\s+(?:\\*["'])?)([^\s"'\\-][^\s"'\\]*)`),
		regexp.MustCompile(`(?i)((?:bearer|basic)\s+)([A-Za-z0-9._~+/=-]{8,})`),
		regexp.MustCompile(`(://[^/\s:@"']*:)([^/\s@"']+)(@)`),
	}
})

// NewRedactor returns a Redactor that masks the secrets of an environment by value.
func NewRedactor(environ []string) *Redactor {
	r := &Redactor{}
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if ok && len(value) >= minSecret && secretName().MatchString(name) && !slices.Contains(r.known, value) {
			r.known = append(r.known, value)
		}
	}
	// The longer first: one may hold another.
	slices.SortFunc(r.known, func(a, b string) int { return len(b) - len(a) })
	return r
}

// Text masks the secrets in a text.
func (r *Redactor) Text(s string) string {
	for _, k := range r.known {
		s = strings.ReplaceAll(s, k, Redacted)
	}
	s = secretForms().ReplaceAllString(s, Redacted)
	for _, re := range secretPairs() {
		s = re.ReplaceAllString(s, "${1}"+Redacted+"${3}")
	}
	return s
}

// JSON masks the secrets in every text of a JSON value, and the whole text under a key that names a
// secret. A value that cannot be read is masked whole.
func (r *Redactor) JSON(raw json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return json.RawMessage(`"` + Redacted + `"`)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r.value("", v)); err != nil {
		return json.RawMessage(`"` + Redacted + `"`)
	}
	return bytes.TrimSpace(buf.Bytes())
}

func (r *Redactor) value(key string, v any) any {
	switch x := v.(type) {
	case string:
		if x != "" && secretName().MatchString(key) {
			return Redacted
		}
		return r.Text(x)
	case []any:
		for i := range x {
			x[i] = r.value(key, x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = r.value(k, x[k])
		}
	}
	return v
}
