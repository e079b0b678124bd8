package jsonc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

var bom = []byte("\xef\xbb\xbf")

// Parse reads a text of at most one value. Every failure is an *Error. data must not be
// changed afterwards.
func Parse(data []byte) (*Document, error) {
	if len(data) > MaxSize {
		return nil, &Error{1, 1, fmt.Sprintf("the text has %d bytes, more than %d", len(data), MaxSize)}
	}
	p := parser{data: data, d: &Document{data: data, ends: map[int]bool{}}}
	if !utf8.Valid(data) {
		for p.at < len(data) {
			r, n := utf8.DecodeRune(data[p.at:])
			if r == utf8.RuneError && n == 1 {
				return nil, p.fail("this is not UTF-8")
			}
			p.at += n
		}
	}
	if bytes.HasPrefix(data, bom) {
		p.at = len(bom)
	}
	err := p.document()
	if err != nil {
		return nil, err
	}
	return p.d, nil
}

type parser struct {
	data []byte
	at   int
	d    *Document
}

// fail is an error at the current place.
func (p *parser) fail(format string, args ...any) error {
	before := p.data[:min(p.at, len(p.data))]
	return &Error{1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n'), fmt.Sprintf(format, args...)}
}

func (p *parser) document() error {
	if _, err := p.trivia(); err != nil {
		return err
	}
	if p.at == len(p.data) {
		return nil
	}
	root, err := p.value(0)
	if err != nil {
		return err
	}
	p.d.Root = root
	if _, err := p.trivia(); err != nil {
		return err
	}
	if p.at < len(p.data) {
		return p.fail("something stands behind the value: %s", p.found())
	}
	return nil
}

// trivia is space and comments between two tokens.
type trivia struct {
	last     int // end of the last comment, else where the trivia begin
	lines    bool
	comments bool
}

func (p *parser) trivia() (trivia, error) {
	t := trivia{last: p.at}
	for p.at < len(p.data) {
		switch c := p.data[p.at]; {
		case c == '\n' || c == '\r':
			t.lines = true
			p.at++
		case c == ' ' || c == '\t':
			p.at++
		case c == '/' && bytes.HasPrefix(p.data[p.at:], []byte("//")):
			n := bytes.IndexAny(p.data[p.at:], "\r\n")
			if n < 0 {
				n = len(p.data) - p.at
			}
			p.at += n
			p.d.ends[p.at] = true
			t.last, t.comments = p.at, true
		case c == '/' && bytes.HasPrefix(p.data[p.at:], []byte("/*")):
			n := bytes.Index(p.data[p.at+2:], []byte("*/"))
			if n < 0 {
				return t, p.fail("this comment does not end")
			}
			t.lines = t.lines || bytes.ContainsAny(p.data[p.at:p.at+2+n], "\r\n")
			p.at += n + 4
			t.last, t.comments = p.at, true
		default:
			return t, nil
		}
	}
	return t, nil
}

// found names what stands at the current place.
func (p *parser) found() string {
	if p.at >= len(p.data) {
		return "the end of the text"
	}
	r, _ := utf8.DecodeRune(p.data[p.at:])
	return fmt.Sprintf("%q", r)
}

func (p *parser) value(depth int) (*Value, error) {
	if depth > maxDepth {
		return nil, p.fail("nested deeper than %d", maxDepth)
	}
	v := &Value{Start: p.at}
	var err error
	switch c := p.peek(); {
	case c == '{':
		v.Kind = Object
		err = p.container(v, '}', depth)
	case c == '[':
		v.Kind = Array
		err = p.container(v, ']', depth)
	case c == '"':
		v.Kind = String
		_, err = p.text()
	case c == '-' || c >= '0' && c <= '9':
		v.Kind = Number
		err = p.scalar()
	case c == 't' || c == 'f':
		v.Kind = Bool
		err = p.scalar()
	case c == 'n':
		v.Kind = Null
		err = p.scalar()
	default:
		return nil, p.fail("a value is expected, this is %s", p.found())
	}
	v.End = p.at
	return v, err
}

func (p *parser) peek() byte {
	if p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

// scalar reads a number, true, false or null.
func (p *parser) scalar() error {
	start := p.at
	for p.at < len(p.data) && (p.data[p.at] >= 'a' && p.data[p.at] <= 'z' || p.data[p.at] >= 'A' && p.data[p.at] <= 'Z' ||
		p.data[p.at] >= '0' && p.data[p.at] <= '9' || p.data[p.at] == '-' || p.data[p.at] == '+' || p.data[p.at] == '.') {
		p.at++
	}
	if word := p.data[start:p.at]; !json.Valid(word) {
		p.at = start
		return p.fail("%.40q is no value of JSON", word)
	}
	return nil
}

// text reads a string and returns what it says.
func (p *parser) text() (string, error) {
	start := p.at
	for p.at++; ; p.at++ {
		switch c := p.peek(); {
		case p.at >= len(p.data) || c < ' ':
			p.at = start
			return "", p.fail("this string does not end on its line")
		case c == '\\':
			p.at++
			continue
		case c != '"':
			continue
		}
		p.at++
		var s string
		if err := json.Unmarshal(p.data[start:p.at], &s); err != nil {
			p.at = start
			return "", p.fail("this string is not one of JSON: %v", err)
		}
		return s, nil
	}
}

// container reads an object or an array from its opening bracket on.
func (p *parser) container(v *Value, closing byte, depth int) error {
	p.at++
	keys := map[string]bool{}
	for {
		before := p.at
		t, err := p.trivia()
		if err != nil {
			return err
		}
		v.tail = t.last
		v.lines, v.comments = v.lines || t.lines, v.comments || t.comments
		if p.peek() == closing {
			p.at++
			return nil
		}
		if n := len(v.Items); n > 0 && v.Items[n-1].comma < 0 {
			return p.fail("a comma or %q is expected, this is %s", closing, p.found())
		}
		it := Item{Start: p.at, before: max(before, t.last), comma: -1}
		if v.Kind == Object {
			if it.Key, err = p.key(); err != nil {
				return err
			}
			if keys[it.Key] {
				p.at = it.Start
				return p.fail("the key %q occurs more than once, and programs differ in which one counts", it.Key)
			}
			keys[it.Key] = true
		}
		if it.Value, err = p.value(depth + 1); err != nil {
			return err
		}
		if err := p.comma(v, &it); err != nil {
			return err
		}
		v.Items = append(v.Items, it)
	}
}

// key reads the key of a member and its colon.
func (p *parser) key() (string, error) {
	if p.peek() != '"' {
		return "", p.fail("a key in double quotes is expected, this is %s", p.found())
	}
	key, err := p.text()
	if err != nil {
		return "", err
	}
	if _, err := p.trivia(); err != nil {
		return "", err
	}
	if p.peek() != ':' {
		return "", p.fail("a colon is expected, this is %s", p.found())
	}
	p.at++
	_, err = p.trivia()
	return key, err
}

// comma reads the comma behind an item, when there is one. Without one the place stays
// behind the item, so that the caller reads the space and the comments again.
func (p *parser) comma(v *Value, it *Item) error {
	end := p.at
	t, err := p.trivia()
	if err != nil {
		return err
	}
	if p.peek() != ',' {
		p.at = end
		return nil
	}
	v.lines, v.comments = v.lines || t.lines, v.comments || t.comments
	it.comma = p.at
	p.at++
	return nil
}
