package cmdline

import (
	"strings"
	"unicode"
)

// Invisible finds a character that a person does not see as what it is: control
// characters other than those allowed, format characters such as bidi overrides
// and zero-width ones, and Unicode's own line breaks.
func Invisible(s string, allowed string) (rune, bool) {
	for _, r := range s {
		if ' ' <= r && r <= '~' || strings.ContainsRune(allowed, r) {
			continue
		}
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return r, true
		}
	}
	return 0, false
}
