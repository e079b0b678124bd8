package worktree

import (
	"context"
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

// prefixes are what a team's branches may begin with, the usual one first. A branch is a file of git's or a
// directory, never both: where a branch waggle or waggle/<team> exists, none can be below it. Above the last one
// there can be none.
func prefixes(team string) []string {
	t := component(team)
	return []string{"waggle/" + t + "/", "waggle-" + t + "/", "waggle-" + t + "-"}
}

// usualBranch is the branch of a member in a repository where nothing has that name or is in its way.
func usualBranch(team, member string) string { return prefixes(team)[0] + component(member) }

// named are branches that begin with waggle: the repository's own by their names, those that it has of a remote
// by their names there, and how each is shown.
type named [][2]string

// branches lists the branches that can be in the way of one of ours. Upper and lower case are one name: git's
// files are, where the file system says so.
func (g Git) branches(ctx context.Context, common string) (named, error) {
	const ours = "[Ww][Aa][Gg][Gg][Ll][Ee]*"
	out, err := g.of(common).run(ctx, common, "for-each-ref", "--format=%(refname)",
		"refs/heads/"+ours, "refs/heads/"+ours+"/**", "refs/remotes/*/"+ours, "refs/remotes/*/"+ours+"/**")
	var bs named
	for ref := range strings.Lines(out) {
		shown, local := strings.CutPrefix(strings.TrimSuffix(ref, "\n"), "refs/heads/")
		name := shown
		if !local {
			shown = strings.TrimPrefix(shown, "refs/remotes/")
			_, name, _ = strings.Cut(shown, "/")
		}
		bs = append(bs, [2]string{strings.ToLower(name), shown})
	}
	return bs, err
}

// above is the branch whose name a branch, or a prefix of branches, has before a slash; "": there is none.
func (bs named) above(branch string) string {
	for _, b := range bs {
		if strings.HasPrefix(strings.ToLower(branch), b[0]+"/") {
			return b[1]
		}
	}
	return ""
}

// taken is the branch that has a name, or has it before a slash; "": there is none.
func (bs named) taken(branch string) string {
	for _, b := range bs {
		if strings.HasPrefix(b[0]+"/", strings.ToLower(branch)+"/") {
			return b[1]
		}
	}
	return ""
}
