package cmdline

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Quote writes words so that every shell reads the same words. A word with a NUL, which no command has, is an error.
func Quote(words []string) (string, error) {
	quoted := make([]string, len(words))
	for i, w := range words {
		if strings.Contains(w, "\x00") {
			return "", fmt.Errorf("command word %d: %w", i+1, errNUL)
		}
		q, err := syntax.Quote(w, syntax.LangPOSIX)
		if err != nil { // a line break, a control: it stands for itself between single quotes
			q = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		quoted[i] = q
	}
	return strings.Join(quoted, " "), nil
}

var errNUL = errors.New("a word of a command has no NUL")
