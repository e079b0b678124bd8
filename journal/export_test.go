package journal

import (
	"bufio"
	"encoding/json"
	"io"
	"time"
)

// These names give tests lines that the package itself never writes.
var (
	DecodeLine = func(b []byte) (Record, bool, error) {
		l, err := decodeLine(b)
		return l.Record, l.more, err
	}
	EncodeLine = func(r Record, more bool) []byte {
		if r.Ref != nil {
			r.Body = nil
		}
		return appendLine(nil, r, more)
	}
	LineSum = func(b []byte) string { s := lineSum(b); return string(s[:]) }
)

// Line is a line of the leader's journal.
func Line(seq Seq, prev string, w Writer, kind, body string) []byte {
	return appendLine(nil, Record{V: Version, Journal: Leader, Seq: seq, Prev: prev, Time: time.Unix(0, 0),
		Writer: w, Kind: kind, Body: json.RawMessage(body)}, false)
}

// ReadOnce reads new lines of the segment from r; at reads the bytes that are in the segment at
// that moment.
func (j *File) ReadOnce(r io.Reader, at io.ReaderAt) error {
	return j.readLines(bufio.NewReader(r), at)
}
