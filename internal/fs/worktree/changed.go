package worktree

import (
	"context"
	"slices"
	"strings"
)

// Changed lists the files that a member edited: committed, staged, not staged or untracked, but for
// ignored ones. Changes in commits of the branch that the worktree was made from are not the
// member's. The files are relative to the top level and sorted. At most limit are listed; more says
// that there are others. It takes two calls of git, whatever the size of the history.
func (g Git) Changed(ctx context.Context, t Tree, limit int) (files []string, more bool, err error) {
	at, from := g, ""
	if t.From != "" {
		from = refOf(t.From)
	}
	if t.own() {
		var done func() error
		if at, _, from, done, err = g.ownFiles(ctx, t); err != nil {
			return nil, false, err
		}
		defer done()
	}
	diff := slices.Concat(diffArgs, []string{"--name-only", "-z", at.modulesOf("dirty")})
	var out string
	var cut bool
	if from != "" {
		out, cut, err = at.bounded(ctx, t.Path, 1, outLimit, append(slices.Clone(diff), "--merge-base", from, "--")...)
	}
	if from == "" || exit(err) > 0 { // that branch does not exist any more, or has no common commit
		out, cut, err = at.bounded(ctx, t.Path, 1, outLimit, append(diff, t.Base, "--")...)
	}
	if err != nil {
		return nil, false, err
	}
	files, more = fields(out), cut
	if out, cut, err = at.bounded(ctx, t.Path, 1, outLimit, "ls-files", "-z", "--others", "--exclude-standard"); err != nil {
		return nil, false, err
	}
	files, more = append(files, fields(out)...), more || cut
	slices.Sort(files)
	files = slices.Compact(files)
	if len(files) > limit {
		files, more = files[:limit], true
	}
	return files, more, nil
}

// Overlap is a file that more than one member edited.
type Overlap struct {
	File    string
	Members []string // sorted
}

// Overlaps finds the files that more than one member has changed, in the order of their names.
func Overlaps(files map[string][]string) []Overlap {
	by := map[string][]string{}
	for member, fs := range files {
		for _, f := range fs {
			if !slices.Contains(by[f], member) {
				by[f] = append(by[f], member)
			}
		}
	}
	found := []Overlap{}
	for f, ms := range by {
		if len(ms) > 1 {
			slices.Sort(ms)
			found = append(found, Overlap{f, ms})
		}
	}
	slices.SortFunc(found, func(a, b Overlap) int { return strings.Compare(a.File, b.File) })
	return found
}
