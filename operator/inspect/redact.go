package inspect

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"waggle/internal/json/jsontext"
	"waggle/internal/pattern"
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

var secretName = pattern.New(`(?i)(token|secret|passw|passphrase|(api|access|account|private|encryption|signing)_?key|credential|authorization)`)

// secretForm is the form of one kind of token: nothing but the token matches. Where a form is short,
// \b keeps it out of longer words (task-… has sk-…).
type secretForm struct{ Name, Pattern string }

// secretForms are the forms of common tokens, masked whole.
var secretForms = []secretForm{
	{"aws", `(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}`},
	{"github", `gh[pousr]_[A-Za-z0-9]{20,}`},
	{"github fine-grained", `github_pat_[A-Za-z0-9_]{20,}`},
	{"gitlab", `gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas|ffct)-[A-Za-z0-9_.-]{16,}`},
	{"openai, anthropic", `\bsk-[A-Za-z0-9_-]{16,}`},
	{"stripe", `\b[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}`},
	{"webhook secret", `\bwhsec_[A-Za-z0-9+/=]{16,}`},
	{"slack", `xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}`},
	{"slack app", `\bxapp-\d-[A-Za-z0-9-]{10,}`},
	{"telegram", `\d{8,10}:AA[A-Za-z0-9_-]{32,}`},
	{"google api key", `AIza[0-9A-Za-z_-]{30,}`},
	{"google oauth", `\bya29\.[0-9A-Za-z_-]{20,}`},
	{"google client secret", `GOCSPX-[0-9A-Za-z_-]{20,}`},
	{"google refresh", `\b1//0[0-9A-Za-z_-]{30,}`},
	{"npm", `npm_[A-Za-z0-9]{30,}`},
	{"pypi", `\bpypi-AgE[A-Za-z0-9_-]{20,}`},
	{"rubygems", `\brubygems_[0-9a-f]{32,}`},
	{"crates.io", `\bcio[A-Za-z0-9]{32}\b`},
	{"docker hub", `dckr_[po]at_[A-Za-z0-9_-]{20,}`},
	{"hugging face", `\bhf_[A-Za-z0-9]{20,}`},
	{"replicate", `\br8_[A-Za-z0-9]{30,}`},
	{"groq", `\bgsk_[A-Za-z0-9]{30,}`},
	{"xai", `\bxai-[A-Za-z0-9]{40,}`},
	{"perplexity", `\bpplx-[A-Za-z0-9]{40,}`},
	{"sendgrid", `\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`},
	{"twilio", `\bSK[0-9a-f]{32}\b`},
	{"mailchimp", `\b[0-9a-f]{32}-us\d{1,2}\b`},
	{"azure client secret", `[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}`},
	{"digitalocean", `\bdo[opr]_v1_[0-9a-f]{40,}`},
	{"shopify", `\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}`},
	{"square", `\bsq0(?:atp|csp)-[A-Za-z0-9_-]{20,}`},
	{"atlassian", `\bATATT3[A-Za-z0-9_=-]{20,}`},
	{"linear", `\blin_(?:api|oauth)_[A-Za-z0-9]{30,}`},
	{"notion", `\b(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}\b)`},
	{"figma", `\bfigd_[A-Za-z0-9_-]{30,}`},
	{"postman", `\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}`},
	{"vault", `\bhv[bsr]\.[A-Za-z0-9_-]{20,}`},
	{"terraform", `[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{40,}`},
	{"pulumi", `\bpul-[0-9a-f]{40}\b`},
	{"grafana", `\bgl(?:sa|c)_[A-Za-z0-9+/=_]{30,}`},
	{"new relic", `\bNRAK-[A-Z0-9]{27}\b`},
	{"sentry", `\bsntry[su]_[A-Za-z0-9+/=_]{30,}`},
	{"databricks", `\bdapi[0-9a-f]{32}(?:-\d)?\b`},
	{"doppler", `\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,}`},
	{"planetscale", `\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{30,}`},
	{"supabase", `\bsb(?:p_[0-9a-f]{40}|_secret_[A-Za-z0-9_-]{20,})`},
	{"fly", `\bfm[12][ar]?_[A-Za-z0-9+/=_,-]{30,}`},
	{"tailscale", `\btskey-[a-z]+-[A-Za-z0-9-]{16,}`},
	{"age", `AGE-(?:SECRET-KEY|PLUGIN-[A-Z0-9]+)-1[A-Z0-9]{20,}`},
	{"jwt", `eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}`},
	{"private key", `-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)`},
}

var anySecretForm = sync.OnceValue(func() *regexp.Regexp {
	all := make([]string, len(secretForms))
	for i, f := range secretForms {
		all[i] = f.Pattern
	}
	return regexp.MustCompile(strings.Join(all, "|"))
})

// secretPlace is a place in a text whose second group is a secret; the other groups stay.
type secretPlace struct {
	Name, Pattern string
	// coded: only a text that looks encoded is a secret there, as ordinary words stand there too.
	coded bool
}

// secretWord is the name of a secret in an assignment; q are quotes, also escaped ones.
const (
	secretWord = `(?:token|secret(?:[_-]?(?:access[_-]?)?key(?:[_-]?base)?)?|passw(?:or)?d|passphrase|mysql_pwd|` +
		`(?:api|access|account|private|encryption|signing)[_-]?key)`
	secretAssign = `(?i)(` + secretWord + `(?:\\*["'])?\s*[=:]\s*`
	q            = `(?:\\*["'])?`
)

// secretPlaces match a word for a secret and its value (password=x, --token x, "api_key": "x", also when quotes
// are escaped), headers, URLs, connection strings, and options of common programs.
var secretPlaces = []secretPlace{
	{Name: "url password", Pattern: `(://[^/\s:@"']*:)([^\s/"']+)(@)`},
	{Name: "assigned in double quotes", Pattern: secretAssign + `\\*")([^"\\]+)`},
	{Name: "assigned in single quotes", Pattern: secretAssign + `\\*')([^'\\]+)`},
	{Name: "assigned", Pattern: secretAssign + q + `)([^\s"'\\,;&|}]+)`},
	{Name: "option", Pattern: `(?i)(--?` + secretWord + `\s+` + q + `)([^\s"'\\-][^\s"'\\]*)`},
	{Name: "connection string", Pattern: `((?:\bPwd|;\s*pwd)\s*=\s*)([^\s"';\\]+)`},
	{Name: "authorization header", Pattern: `(?i)(authorization` + q + `\s*[=:]\s*` + q +
		`(?:basic|bearer|token|digest|negotiate|ntlm|oauth|bot|ssws|splunk|api-?key)\s+)([^\s"'\\]+)`},
	{Name: "authorization without a scheme", Pattern: `(?i)(authorization` + q + `\s*[=:]\s*` + q + `)([a-z0-9._~+/=-]{20,})`, coded: true},
	{Name: "bearer", Pattern: `(?i)(\b(?:bearer|basic)\s+)([a-z0-9._~+/=-]{8,})`, coded: true},
	{Name: "docker auth", Pattern: `(\\*"auth\\*"\s*:\s*\\*")([A-Za-z0-9+/=]{8,})`},
	{Name: "npm auth", Pattern: `(\b_auth\s*=\s*` + q + `)([A-Za-z0-9+/=]{8,})`},
	{Name: "url token", Pattern: `(\bhttps?://)([A-Za-z0-9_-]{20,})(@)`},
	{Name: "url signature", Pattern: `(?i)([?&](?:sig|signature|x-(?:amz|goog)-signature)=)([^\s"'&\\]+)`},
	{Name: "database address", Pattern: `(\b[\w.-]+:)([^\s/"':]+)(@(?:tcp|unix)\()`},
	{Name: "slack webhook", Pattern: `(\bhooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/)([^\s"'<>\\]+)`},
	{Name: "discord webhook", Pattern: `(\bdiscord(?:app)?\.com/api/(?:v\d+/)?webhooks/)([^\s"'<>\\]+)`},
	{Name: "office webhook", Pattern: `(\bwebhook\.office\.com/)([^\s"'<>\\]+)`},
	{Name: "curl user", Pattern: `(\b(?:curl|wget|https?|xh|ab)\b[^\n]*?\s(?:-[a-zA-Z]*u|--user|--auth|-a)[\s=]*` + q + `[^\s"':=/\\]*:)([^\s"'/\\][^\s"'\\]*)`},
	{Name: "curl proxy user", Pattern: `(\bcurl\b[^\n]*?\s(?:-[a-zA-Z]*U|--proxy-user)[\s=]*` + q + `[^\s"':=/\\]*:)([^\s"'/\\][^\s"'\\]*)`},
	{Name: "registry login", Pattern: `(\b(?:docker|podman|nerdctl|buildah|skopeo|oras|helm)\b[^\n]*?\blogin\b[^\n;|&]*?\s-p[\s=]*` + q + `)([^\s"'\\]+)`},
	{Name: "mysql", Pattern: `(\b(?:mysql|mariadb)(?:dump|admin|import)?\b[^\n;|&]*?\s-p` + q + `)([^\s"'\\]+)`},
	{Name: "sshpass", Pattern: `(\bsshpass\s+-p\s*` + q + `)([^\s"'\\]+)`},
	{Name: "netrc", Pattern: `(\blogin\s+\S+\s+password\s+)([^\s"'\\]+)`},
	{Name: "aws configure", Pattern: `(?i)(\baws_(?:secret_access_key|session_token)\s+)([^\s"'\\=]+)`},
}

var compiledPlaces = sync.OnceValue(func() []*regexp.Regexp {
	all := make([]*regexp.Regexp, len(secretPlaces))
	for i, p := range secretPlaces {
		all[i] = regexp.MustCompile(p.Pattern)
	}
	return all
})

// coded reports whether a text looks encoded or made by chance, as no word does: it has a digit, "=", or a capital behind a
// small letter.
func coded(s string) bool {
	for i := range len(s) {
		if '0' <= s[i] && s[i] <= '9' || s[i] == '=' || i > 0 && 'A' <= s[i] && s[i] <= 'Z' && 'a' <= s[i-1] && s[i-1] <= 'z' {
			return true
		}
	}
	return false
}

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
	s = anySecretForm().ReplaceAllString(s, Redacted)
	for i, re := range compiledPlaces() {
		s = re.ReplaceAllStringFunc(s, func(m string) string {
			at := re.FindStringSubmatch(m)
			if secretPlaces[i].coded && !coded(at[2]) || strings.HasPrefix(at[2], Redacted+"@") { // the address after a password
				return m
			}
			return at[1] + Redacted + strings.Join(at[3:], "")
		})
	}
	return s
}

// JSON masks the secrets in every text of a JSON value, and the whole text under a key that names a
// secret. A value that cannot be read is masked whole.
func (r *Redactor) JSON(raw json.RawMessage) json.RawMessage {
	v, err := jsontext.Value(raw)
	if err == nil {
		raw, err = jsontext.Marshal(r.value("", v))
	}
	if err != nil {
		return json.RawMessage(`"` + Redacted + `"`)
	}
	return raw
}

func (r *Redactor) value(key string, v any) any {
	switch x := v.(type) {
	case string:
		if x != "" && (secretName().MatchString(key) || (key == "auth" || key == "_auth") && coded(x)) {
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
