package team

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// near returns the names that resemble query, best first and at most three: equal except for case,
// an alias, equal except for - and _, a prefix, a small edit distance, a part. Equally good names
// are in alphabetical order.
func near(query string, names []string, aliases map[string]string) []string {
	q := strings.ToLower(strings.TrimSpace(query))
	q = strings.TrimPrefix(q, "@")
	q, _, _ = strings.Cut(q, "@")
	if len(q) > 80 {
		q = q[:80]
	}
	type hit struct {
		name  string
		score int
	}
	var hits []hit
	for _, name := range names {
		if score, ok := resemblance(q, strings.ToLower(name), name == aliases[q]); ok {
			hits = append(hits, hit{name, score})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.name, b.name))
	})
	hits = slices.Compact(hits) // several teams may have a member of the name
	var best []string
	for _, h := range hits[:min(3, len(hits))] {
		best = append(best, h.name)
	}
	return best
}

// Near returns those of names that resemble query, best first and at most three: for an
// error that says what was probably meant. All such lists are made here.
func Near(query string, names []string) []string { return near(query, names, nil) }

// resemblance scores a lower-case name against a lower-case query: less is
// nearer.
func resemblance(q, name string, alias bool) (score int, ok bool) {
	const prefix, edits, part = 10, 20, 90
	plain := strings.NewReplacer("-", "", "_", "", " ", "", ".", "")
	p, n := plain.Replace(q), plain.Replace(name)
	distance := distance(q, name)
	switch {
	case q == name:
		return 0, true
	case alias:
		return 1, true
	case p == "":
		return 0, false
	case p == n:
		return 2, true
	case len(p) >= 2 && strings.HasPrefix(n, p), len(n) >= 2 && strings.HasPrefix(p, n):
		return prefix + min(distance, 9), true
	case distance <= max(1, utf8.RuneCountInString(q)/3) && distance < len(name):
		return edits + distance, true
	case len(p) >= 3 && strings.Contains(n, p), len(n) >= 3 && strings.Contains(p, n):
		return part, true
	}
	return 0, false
}

// distance is the number of insertions, deletions, substitutions and swaps of adjacent characters
// that turn a into b.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	rows := [3][]int{make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(s); i++ {
		row, up, two := rows[i%3], rows[(i+2)%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			row[j] = min(up[j]+1, row[j-1]+1, up[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
	}
	return rows[len(s)%3][len(t)]
}
