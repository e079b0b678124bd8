package cli

import (
	"fmt"
	"strings"

	"waggle/operator"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
)

// fileText is a team file as it is shown before it is asked about: what it means, and the
// text.
func fileText(f *teamfile.File) string {
	return fmt.Sprintf("found %s (sha256 %.16s). It means:\n\n%s\n\nIts text:\n\n%s", operator.Visible(f.Path), f.SHA256,
		strings.Join(f.Meaning(), "\n"), operator.VisibleLines(string(f.Data)))
}

// fileChangeText is how a team file differs from the accepted one: in what it means, and
// in its text.
func fileChangeText(file string, c supervise.FileChange) string {
	file = operator.Visible(file)
	var s string
	switch {
	case c.Broken != "":
		s = fmt.Sprintf("%s has changed since it was accepted, and is no team file any more:\n%s", file, operator.VisibleLines(c.Broken))
	case c.Meaning == "":
		s = fmt.Sprintf("%s has changed since it was accepted, and means the same.", file)
	default:
		s = fmt.Sprintf("%s has changed since it was accepted. What it means:\n\n%s", file, operator.VisibleLines(c.Meaning))
	}
	if c.Text != "" {
		s += fmt.Sprintf("\nIts text:\n\n%s", operator.VisibleLines(c.Text))
	}
	return s
}
