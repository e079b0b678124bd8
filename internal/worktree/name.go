package worktree

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxComponent bounds the length of a name as a directory and as a part of a branch; a longer name
// is cut and gets a hash.
const maxComponent = 120

// component spells a name so that it is one part of a branch and one directory
// everywhere: letters, digits, - and _ are themselves, any other byte is = and two
// hex digits. Different names are spelled differently.
func component(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	s := b.String()
	if len(s) > maxComponent {
		sum := sha256.Sum256([]byte(name))
		s = s[:maxComponent-33] + "=" + hex.EncodeToString(sum[:16])
	}
	return s
}

// numbered is a name of which the first n-1 are taken.
func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, n)
}

// branchName is the branch of a directory of a team.
func branchName(team, dir string) string { return "waggle/" + component(team) + "/" + dir }
