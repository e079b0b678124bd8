package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// timeForm is RFC 3339 UTC with milliseconds.
const timeForm = "2006-01-02T15:04:05.000Z"

const (
	sumDigits = 16
	sumOpen   = `,"sum":"`
	sumClose  = "\"}\n"
	sumLen    = len(sumOpen) + sumDigits + len(sumClose)
	moreMark  = `,"more":true`
)

// sum is the sum of a line, in hex digits.
type sum [sumDigits]byte

// line is a record with the bytes and the hash of its line in a segment.
type line struct {
	Record
	more bool   // the next line belongs to the same append
	hash string // prev of the next line
	sum  sum
	size int // in bytes
}

// appendLine writes a record in the one form that decodeLine reads. The caller
// makes sure that its strings need no escapes: decodeLine tells.
func appendLine(b []byte, r Record, more bool) []byte {
	start := len(b)
	b = append(b, `{"v":`...)
	b = strconv.AppendInt(b, int64(r.V), 10)
	b = append(b, `,"must":`...)
	b = strconv.AppendBool(b, r.Must)
	b = appendString(append(b, `,"journal":`...), string(r.Journal))
	b = append(b, `,"seq":`...)
	b = strconv.AppendUint(b, uint64(r.Seq), 10)
	b = appendString(append(b, `,"prev":`...), r.Prev)
	b = appendString(append(b, `,"time":`...), r.Time.UTC().Format(timeForm))
	b = append(b, `,"writer":{`...)
	if r.Writer.Instance != "" {
		b = append(appendString(append(b, `"instance":`...), r.Writer.Instance), ',')
	}
	if r.Writer.Operator {
		b = append(b, `"operator":true,`...)
	}
	if r.Writer.Epoch != 0 {
		b = append(strconv.AppendUint(append(b, `"epoch":`...), r.Writer.Epoch, 10), ',')
	}
	b = strconv.AppendInt(append(b, `"pid":`...), int64(r.Writer.PID), 10)
	b = appendString(append(b, `},"kind":`...), r.Kind)
	switch {
	case r.Ref != nil:
		b = appendString(append(b, `,"ref":{"sha256":`...), r.Ref.SHA256)
		b = append(strconv.AppendInt(append(b, `,"size":`...), int64(r.Ref.Size), 10), '}')
	case r.Body != nil:
		b = append(append(b, `,"body":`...), r.Body...)
	}
	if more {
		b = append(b, moreMark...)
	}
	sum := lineSum(b[start:])
	b = append(b, sumOpen...)
	b = append(b, sum[:]...)
	return append(b, sumClose...)
}

func appendString(b []byte, s string) []byte { return append(append(append(b, '"'), s...), '"') }

func lineSum(b []byte) (digits sum) {
	all := sha256.Sum256(b)
	hex.Encode(digits[:], all[:sumDigits/2])
	return digits
}

// decodeLine decodes a line with its newline. Only this package writes journals, so a line has one
// spelling: any other spelling is a break, not an extension.
func decodeLine(b []byte) (line, error) {
	p := parser{rest: string(b)}
	p.want(`{"v":`)
	v := p.number()
	if p.err == nil && v != Version {
		return line{}, &FutureError{What: fmt.Sprintf("line format %d", v)}
	}
	if len(b) < sumLen || string(b[len(b)-sumLen:][:len(sumOpen)]) != sumOpen || !bytes.HasSuffix(b, []byte(sumClose)) {
		return line{}, errors.New("not a record: it does not end as one")
	}
	end := len(b) - sumLen
	sum := lineSum(b[:end])
	if string(sum[:]) != string(b[end+len(sumOpen):][:sumDigits]) {
		return line{}, errors.New("the line does not have its sum: it was changed")
	}
	p.rest = p.rest[:len(p.rest)-sumLen]
	l := p.record()
	if p.err != nil {
		return line{}, fmt.Errorf("not a record: %w", p.err)
	}
	l.V, l.hash, l.sum, l.size = Version, hexSum(b), sum, len(b)
	return l, nil
}

// parser decodes a line from left to right. It keeps the first error.
type parser struct {
	rest string
	err  error
}

// record reads what is between the version and the sum.
func (p *parser) record() (l line) {
	p.want(`,"must":`)
	if l.Must = p.has("true"); !l.Must {
		p.want("false")
	}
	p.want(`,"journal":`)
	l.Journal = Name(p.string())
	p.want(`,"seq":`)
	l.Seq = Seq(p.number())
	p.want(`,"prev":`)
	l.Prev = p.string()
	p.want(`,"time":`)
	l.Time = p.time()
	p.want(`,"writer":{`)
	l.Writer = p.writer()
	p.want(`},"kind":`)
	l.Kind = p.string()
	if l.Kind == "" || strings.Trim(l.Kind, "abcdefghijklmnopqrstuvwxyz0123456789_-.") != "" {
		p.fail("kind %q", l.Kind)
	}
	p.rest, l.more = strings.CutSuffix(p.rest, moreMark)
	switch {
	case p.has(`,"ref":{"sha256":`):
		l.Ref = p.ref()
	case p.has(`,"body":`):
		l.Body = json.RawMessage(p.rest)
		if !json.Valid(l.Body) {
			p.fail("body is not JSON")
		}
	case p.rest != "":
		p.fail("unknown key at %.20q", p.rest)
	}
	return l
}

func (p *parser) writer() (w Writer) {
	if p.has(`"instance":`) {
		if w.Instance = p.string(); w.Instance == "" {
			p.fail("instance is empty")
		}
		p.want(",")
	}
	w.Operator = p.has(`"operator":true,`)
	if p.has(`"epoch":`) {
		if w.Epoch = p.number(); w.Epoch == 0 {
			p.fail("epoch is 0")
		}
		p.want(",")
	}
	p.want(`"pid":`)
	w.PID = p.int()
	return w
}

func (p *parser) ref() *Ref {
	ref := Ref{SHA256: p.string()}
	p.want(`,"size":`)
	ref.Size = p.int()
	p.want("}")
	if p.rest != "" || !isHash(ref.SHA256) {
		p.fail("ref is not a hash and a size")
	}
	return &ref
}

func isHash(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

func (p *parser) has(lit string) bool {
	rest, ok := strings.CutPrefix(p.rest, lit)
	p.rest = rest
	return ok
}

func (p *parser) want(lit string) {
	if !p.has(lit) {
		p.fail("%s expected at %.20q", lit, p.rest)
	}
}

// string reads a string of printable ASCII without escapes.
func (p *parser) string() string {
	p.want(`"`)
	for i := 0; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '"':
			s := p.rest[:i]
			p.rest = p.rest[i+1:]
			return s
		case c < ' ' || c > '~' || c == '\\':
			p.fail("string with byte %#x", c)
			return ""
		}
	}
	p.fail("string without end")
	return ""
}

func (p *parser) number() uint64 {
	i := 0
	for i < len(p.rest) && '0' <= p.rest[i] && p.rest[i] <= '9' {
		i++
	}
	n, err := strconv.ParseUint(p.rest[:i], 10, 64)
	if err != nil || i > 1 && p.rest[0] == '0' {
		p.fail("number expected at %.20q", p.rest)
	}
	p.rest = p.rest[i:]
	return n
}

func (p *parser) int() int {
	n := p.number()
	if int(n) < 0 || uint64(int(n)) != n {
		p.fail("number %d is too large", n)
	}
	return int(n)
}

func (p *parser) time() time.Time {
	s := p.string()
	t, err := time.Parse(timeForm, s)
	if err != nil || t.Format(timeForm) != s {
		p.fail("time %q", s)
	}
	return t
}
