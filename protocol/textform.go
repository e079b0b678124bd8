package protocol

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// Mail is one message as an agent is shown it.
type Mail struct {
	From    string
	Color   string
	Summary string
	Text    string
	// Unverified marks mail in the lead's name that nothing vouches for.
	Unverified bool
}

// TextForm returns the text form of messages for an agent's session (protocol §6.3):
// one teammate-message block each, joined by a blank line. Attribute values are
// escaped, and anything in a text that looks like the block's own tag has its <
// written as &lt;, so that one mail is one block whatever it says. Color and
// summary are left out when they are empty.
func TextForm(mails ...Mail) string {
	var b strings.Builder
	for i, m := range mails {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(`<teammate-message teammate_id="` + attribute(m.From) + `"`)
		if m.Color != "" {
			b.WriteString(` color="` + attribute(m.Color) + `"`)
		}
		if m.Summary != "" {
			b.WriteString(` summary="` + attribute(m.Summary) + `"`)
		}
		if m.Unverified {
			b.WriteString(` verified="false"`)
		}
		b.WriteString(">\n" + neutralise(m.Text) + "\n</teammate-message>")
	}
	return b.String()
}

// attribute escapes what could end an attribute, a tag or a line, and what a
// reader cannot see (control and format characters, line separators).
func attribute(s string) string {
	var b strings.Builder
	for _, r := range toValid(s) {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&quot;")
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// ownTag matches an opening or closing tag of the block, in any case and with
// white space or invisible characters anywhere in it, and the same tag already
// neutralised any number of times.
var ownTag = sync.OnceValue(func() *regexp.Regexp {
	const gap = `[\s\p{C}\p{Z}]*`
	pattern := `(?i)(?:<|&(?:amp;)*lt;)[/\s\p{C}\p{Z}]*`
	for _, c := range "teammate-message" {
		letter := string(c)
		if c == '-' {
			letter = `[_\p{Pd}]`
		}
		pattern += letter + gap
	}
	return regexp.MustCompile(strings.TrimSuffix(pattern, gap))
})

// neutralise makes text of the block's own tags. It can be undone, since a text
// that held &lt; before gets &amp;lt;.
func neutralise(text string) string {
	if !strings.ContainsRune(text, '<') && !strings.Contains(text, "&") {
		return toValid(text)
	}
	return ownTag().ReplaceAllStringFunc(toValid(text), func(tag string) string {
		if tag[0] == '<' {
			return "&lt;" + tag[1:]
		}
		return "&amp;" + tag[1:]
	})
}

func toValid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
