package tui

import (
	"regexp"
	"strings"

	"waggle/internal/pattern"
	"waggle/operator"
)

// The Markdown that a plan is told apart by. Every character of it is shown, where it is.
var (
	heading = pattern.New(`^ {0,3}#{1,6}( |$)`)
	item    = pattern.New(`^[ \t]*([-*+]|[0-9]{1,9}[.)])( \[[ xX]\])?[ \t]`)
	quote   = pattern.New(`^ {0,3}(> ?)+`)
	fence   = pattern.New("^ {0,3}(```+|~~~+)")
	inline  = pattern.New("`[^`]+`|\\*\\*[^*]+\\*\\*")
)

// planLines lays out a plan: headings, lists and code of its Markdown have styles, and its text is as it is.
func planLines(lines []line, text string, w int) []line {
	open := "" // the fence of the code that the line is in
	for l := range strings.SplitSeq(text, "\n") {
		mark := strings.TrimLeft(fence().FindString(l), " ")
		l = operator.Visible(l)
		switch {
		case open != "":
			lines = blockLine(lines, l, code, nil, w)
			if strings.HasPrefix(mark, open) && strings.TrimSpace(l) == mark {
				open = ""
			}
		case mark != "":
			open = mark
			lines = blockLine(lines, l, code, nil, w)
		case heading().MatchString(l):
			lines = blockLine(lines, l, strong, nil, w)
		default:
			lines = blockLine(lines, l, plain, spansOf(l), w)
		}
	}
	return lines
}

// spansOf are the mark of a list or a quotation, the code and the strong words of a line.
func spansOf(l string) (spans []span) {
	from := 0
	for _, re := range []*regexp.Regexp{item(), quote()} {
		if at := re.FindStringIndex(l); at != nil {
			spans = append(spans, span{0, at[1], strong})
			from = at[1]
			break
		}
	}
	for _, at := range inline().FindAllStringIndex(l[from:], -1) {
		s := strong
		if l[from+at[0]] == '`' {
			s = code
		}
		spans = append(spans, span{from + at[0], from + at[1], s})
	}
	return spans
}
