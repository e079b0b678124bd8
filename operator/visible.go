package operator

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible makes text from agents safe to show: what a person reads is what is
// there, in the order in which it is there. Written out are
//
//   - control characters, escape sequences, direction controls and every other
//     character that is Hidden;
//   - bytes that are not UTF-8, as \x{NN};
//   - a combining mark that does not stand on a letter or a digit, a fifth one on the
//     same letter, and one that is drawn through or around it;
//   - what a terminal that reorders right-to-left text would move: a digit behind a
//     right-to-left letter, and the first character without a direction between two
//     runs of such letters. The letters themselves are shown. This holds for a
//     terminal whose lines run left to right, as they do unless it is told otherwise.
//
// A backslash of the text stays as it is. `show` prints the input as JSON, too, in
// which a backslash of the text is two.
func Visible(s string) string {
	if printable(s) {
		return s
	}
	var w visibleWriter
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			w.out(fmt.Sprintf(`\x{%02x}`, s[i]))
		} else {
			w.rune(r)
		}
		i += n
	}
	w.settle(false)
	return w.b.String()
}

// VisibleLines is Visible for text of several lines.
func VisibleLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = Visible(l)
	}
	return strings.Join(lines, "\n")
}

// VisibleOutput is VisibleLines for what a program writes and for source text: a tab is four spaces.
func VisibleOutput(s string) string { return VisibleLines(strings.ReplaceAll(s, "\t", "    ")) }

// Hidden reports whether a character cannot be seen, looks like a space, or changes
// what is around it: whatever unicode.IsGraphic does not have (controls, formats,
// direction controls, tags, private use, what is not assigned), every space but
// U+0020, fillers and other characters that are ignored by default, variation
// selectors, symbols that are drawn blank, and U+FFFD, which stands for something
// else.
func Hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return !unicode.IsGraphic(r) || unicode.Is(unicode.Zs, r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, blank)
}

// blank has graphic characters that show nothing, or that stand for something else.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // braille without a dot
		{Lo: 0xfffc, Hi: 0xfffd, Stride: 1}, // object replacement, replacement
	},
	R32: []unicode.Range32{
		{Lo: 0x13441, Hi: 0x13442, Stride: 1}, // Egyptian full and half blank
		{Lo: 0x16fe4, Hi: 0x16fe4, Stride: 1}, // Khitan filler
		{Lo: 0x1d159, Hi: 0x1d159, Stride: 1}, // musical null notehead
	},
}

// rightToLeft are the blocks whose characters run right to left, assigned or not.
var rightToLeft = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x0590, Hi: 0x08ff, Stride: 1}, {Lo: 0xfb1d, Hi: 0xfdff, Stride: 1}, {Lo: 0xfe70, Hi: 0xfeff, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x10800, Hi: 0x10fff, Stride: 1}, {Lo: 0x1e800, Hi: 0x1efff, Stride: 1}},
}

// maxMarks is how many combining marks a letter may carry: Vietnamese has two,
// Hebrew three.
const maxMarks = 4

// overlays are marks that are drawn through a letter or around it: strokes, rings, keys.
// No language's spelling has them.
var overlays = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0334, Hi: 0x0338, Stride: 1}, {Lo: 0x0488, Hi: 0x0489, Stride: 1}, {Lo: 0x1abe, Hi: 0x1abe, Stride: 1},
		{Lo: 0x20d0, Hi: 0x20f0, Stride: 1}, {Lo: 0xa670, Hi: 0xa672, Stride: 1},
	},
}

// jamo reports the vowels and finals of Hangul that take no room of their own and
// stand on what is before them.
func jamo(r rune) bool { return r >= 0x1160 && r <= 0x11ff || r >= 0xd7b0 && r <= 0xd7fb }

// leading reports the characters that a jamo may stand on.
func leading(r rune) bool { return r >= 0x1100 && r <= 0x115e || r >= 0xa960 && r <= 0xa97c || jamo(r) }

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

type visibleWriter struct {
	b     strings.Builder
	last  rune // what was shown last, 0 when it was written out
	base  bool // a letter or a digit, with or without marks, was shown last
	marks int  // on it
	// rtl: the last character with a direction runs right to left; loose holds the characters
	// without a direction since then.
	rtl   bool
	loose []rune
}

func (w *visibleWriter) rune(r rune) {
	mark := unicode.Is(unicode.M, r)
	switch {
	case Hidden(r),
		mark && (!w.base || w.marks == maxMarks || unicode.Is(overlays, r)),
		jamo(r) && !leading(w.last):
		w.out(escape(r))
	case mark:
		w.marks++
		w.b.WriteRune(r)
	case unicode.Is(rightToLeft, r):
		w.settle(true)
		w.rtl = true
		w.show(r)
	case !w.rtl:
		w.show(r)
	case unicode.IsNumber(r):
		w.out(escape(r))
	case unicode.IsLetter(r):
		w.settle(false)
		w.rtl = false
		w.show(r)
	default:
		w.loose = append(w.loose, r)
		w.last, w.base, w.marks = r, false, 0
	}
}

func (w *visibleWriter) show(r rune) {
	w.b.WriteRune(r)
	w.last, w.base, w.marks = r, unicode.In(r, unicode.L, unicode.N), 0
}

// out writes a replacement text. It contains a left-to-right letter.
func (w *visibleWriter) out(text string) {
	w.settle(false)
	w.b.WriteString(text)
	w.last, w.base, w.marks, w.rtl = 0, false, 0, false
}

// settle writes the characters without a direction that wait. Between two right-to-left runs it
// writes the first of them as its code: the digits of that code have a direction, and keep the
// others in their place.
func (w *visibleWriter) settle(between bool) {
	for i, r := range w.loose {
		if between && i == 0 {
			w.b.WriteString(escape(r))
			continue
		}
		w.b.WriteRune(r)
	}
	w.loose = w.loose[:0]
}

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	}
	return fmt.Sprintf(`\u{%04x}`, r)
}

// VisibleStyled is the last filter before a screen. It passes line ends, tabs and colours, and
// writes every other Hidden character as its code. It does not replace Visible, because it cannot
// tell an agent's colours from the program's.
func VisibleStyled(s string) string {
	if printable(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if n := styleLen(s[i:]); n > 0 {
			b.WriteString(s[i : i+n])
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x{%02x}`, s[i])
		case r == '\n', r == '\t', r == '\r' && strings.HasPrefix(s[i+n:], "\n"):
			b.WriteRune(r)
		case Hidden(r):
			b.WriteString(escape(r))
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// styleLen is the length of the colour or style sequence that s begins with, else 0.
func styleLen(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case c == 'm':
			return i + 1
		case (c < '0' || c > '9') && c != ';' && c != ':':
			return 0
		}
	}
	return 0
}
