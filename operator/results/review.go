package results

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Comment is what a person wrote below a line of a diff.
type Comment struct {
	File    string `json:"file"`    // "": above the first file
	Line    int    `json:"line"`    // in the file as the member has it, of a deleted line as it was; 0: of no line
	Deleted bool   `json:"deleted"` // the line is one that the member deleted
	Quoted  string `json:"quoted"`  // the line of the diff
	Text    string `json:"text"`
}

// Comments finds what a person wrote between the lines of a diff. shown is the text that was given
// to an editor, edited what came back. A line that is not of shown, at its place or further down, is
// a part of a comment on the line above it. Lines of shown may be missing. Neighbouring lines are
// one comment.
func Comments(shown, edited string) []Comment {
	lines := places(shown)
	next := 0 // the first line of shown that may follow
	cs := []Comment{}
	open := false
	for _, l := range strings.Split(strings.ReplaceAll(edited, "\r\n", "\n"), "\n") {
		if at := follows(lines, next, l); at >= 0 {
			next, open = at+1, false
			continue
		}
		if strings.TrimSpace(l) == "" && !open {
			continue
		}
		if open {
			cs[len(cs)-1].Text += "\n" + l
			continue
		}
		cs, open = append(cs, commentAt(lines, next-1, l)), true
	}
	for i := range cs {
		cs[i].Text = strings.TrimSpace(cs[i].Text)
	}
	return cs
}

// CommentsAt are comments on lines of a diff, by the number of the line, from 0. A number that is no
// line of the diff is a comment on all of it.
func CommentsAt(shown string, texts map[int]string) []Comment {
	lines := places(shown)
	cs := []Comment{}
	for _, at := range slices.Sorted(maps.Keys(texts)) {
		if text := strings.TrimSpace(texts[at]); text != "" {
			cs = append(cs, commentAt(lines, at, text))
		}
	}
	return cs
}

// commentAt is a comment on a line of a diff, by its number.
func commentAt(lines []Comment, at int, text string) (c Comment) {
	if at >= 0 && at < len(lines) {
		c = lines[at]
	}
	if c.Line == 0 {
		c.Quoted = ""
	}
	c.Text = text
	return c
}

// CommentsOf are comments that name their place: FILE:LINE: text, with -LINE for a deleted line, or FILE: text
// for all of a file. shown is the diff, which has to have the place; else the error is a *PlaceError.
func CommentsOf(shown string, texts []string) ([]Comment, error) {
	lines, at := places(shown), map[int]string{}
	for _, text := range texts {
		i, said := placeOf(lines, text)
		if i < 0 || said == "" {
			return nil, &PlaceError{Text: text, Files: filesOf(lines)}
		}
		if at[i] != "" {
			said = at[i] + "\n" + said
		}
		at[i] = said
	}
	return CommentsAt(shown, at), nil
}

// PlaceError: a comment names no line of the diff.
type PlaceError struct {
	Text  string
	Files []string // those of the diff
}

func (e *PlaceError) Error() string {
	return strconv.Quote(e.Text) + " names no line of the diff: write FILE:LINE: text, -LINE for a deleted line, or FILE: text; its files are " + Some(e.Files)
}

func filesOf(lines []Comment) (files []string) {
	for _, p := range lines {
		if p.File != "" && !slices.Contains(files, p.File) {
			files = append(files, p.File)
		}
	}
	return files
}

// placeOf finds the line that a comment names, -1 when there is none, and what it says. A name of a file may
// have colons, so the longest one that fits is meant.
func placeOf(lines []Comment, text string) (at int, said string) {
	file := ""
	for _, f := range filesOf(lines) {
		if strings.HasPrefix(text, f+":") && len(f) > len(file) {
			file = f
		}
	}
	if file == "" {
		return -1, ""
	}
	rest := strings.TrimPrefix(text, file+":")
	number, said, has := strings.Cut(rest, ":")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if err != nil || !has {
		return slices.IndexFunc(lines, func(p Comment) bool { return p.File == file }), strings.TrimSpace(rest)
	}
	return slices.IndexFunc(lines, func(p Comment) bool {
		return p.File == file && p.Line > 0 && (n > 0 && p.Line == n && !p.Deleted || n < 0 && p.Line == -n && p.Deleted)
	}), strings.TrimSpace(said)
}

// Numbered is a diff with the number of each line in its file before it; that of a deleted line is negative.
func Numbered(diff string) string {
	var b strings.Builder
	for _, p := range places(diff) {
		number := ""
		if p.Line > 0 {
			if number = strconv.Itoa(p.Line); p.Deleted {
				number = "-" + number
			}
		}
		b.WriteString(strings.Repeat(" ", max(0, 6-len(number))) + number + " " + p.Quoted + "\n")
	}
	return b.String()
}

// follows finds a line of shown from next on, -1 when there is none. An empty line is only the very
// next one: editors add empty lines, and strip the space of an empty line of a diff.
func follows(lines []Comment, next int, l string) int {
	l = strings.TrimRight(l, " \t")
	for i := next; i < len(lines); i++ {
		if strings.TrimRight(lines[i].Quoted, " \t") == l {
			return i
		}
		if l == "" {
			return -1
		}
	}
	return -1
}

// places are the lines of a unified diff, each as a comment on it that says nothing. Lines before the first file are of
// no file.
func places(diff string) []Comment {
	var out []Comment
	var file string
	var old, now int // of the next line in a hunk
	var left [2]int  // lines of the hunk that are still to come: old, new
	for _, l := range strings.Split(strings.TrimSuffix(diff, "\n"), "\n") {
		p := Comment{Quoted: l}
		inside := left[0] > 0 || left[1] > 0
		switch {
		case inside && strings.HasPrefix(l, "+"):
			p.Line = now
			now, left[1] = now+1, left[1]-1
		case inside && strings.HasPrefix(l, "-"):
			p.Line, p.Deleted = old, true
			old, left[0] = old+1, left[0]-1
		case inside && !strings.HasPrefix(l, `\`):
			p.Line = now
			old, now, left[0], left[1] = old+1, now+1, left[0]-1, left[1]-1
		case strings.HasPrefix(l, "@@ "):
			old, left[0], now, left[1] = hunk(l)
		case strings.HasPrefix(l, "diff --git "):
			file = fileOf(l)
		case strings.HasPrefix(l, "+++ ") && !strings.HasSuffix(l, "/dev/null"):
			file = unquoted(strings.TrimPrefix(l, "+++ "))
		}
		p.File = file
		out = append(out, p)
	}
	return out
}

// hunk reads "@@ -1,2 +3,4 @@".
func hunk(l string) (old, olds, now, nows int) {
	parts := strings.Fields(l)
	if len(parts) < 3 {
		return 0, 0, 0, 0
	}
	old, olds = span(parts[1])
	now, nows = span(parts[2])
	return old, olds, now, nows
}

func span(s string) (from, n int) {
	a, b, many := strings.Cut(strings.TrimLeft(s, "-+"), ",")
	from, _ = strconv.Atoi(a)
	if n = 1; many {
		n, _ = strconv.Atoi(b)
	}
	return from, n
}

// fileOf is the file of a line "diff --git a/F b/F", whose two names are the same.
func fileOf(l string) string {
	rest := strings.TrimPrefix(l, "diff --git ")
	if i := len(rest) / 2; len(rest)%2 == 1 && rest[i] == ' ' {
		return unquoted(rest[i+1:])
	}
	return unquoted(rest)
}

// unquoted is a name as git writes it, without the b/ before it.
func unquoted(s string) string {
	s = strings.TrimRight(s, "\t")
	if strings.HasPrefix(s, `"`) {
		if u, err := strconv.Unquote(s); err == nil {
			s = u
		}
	}
	return strings.TrimPrefix(s, "b/")
}
