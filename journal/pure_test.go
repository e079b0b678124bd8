package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
)

// TestSameBreach: two readings found one break when its file, line, reason and bytes are one.
func TestSameBreach(t *testing.T) {
	a := breach{file: "f", line: 2, seq: 3, why: "w", raw: []byte("r")}
	if b := a; !a.same(&b) {
		t.Error("a copy is another break")
	}
	for what, change := range map[string]func(*breach){
		"file": func(b *breach) { b.file = "g" }, "line": func(b *breach) { b.line = 3 }, "why": func(b *breach) { b.why = "x" },
		"bytes": func(b *breach) { b.raw = []byte("s") }, "no bytes": func(b *breach) { b.raw = nil },
	} {
		b := a
		if change(&b); a.same(&b) || b.same(&a) {
			t.Errorf("another %s is the same break", what)
		}
	}
	if a.Error() != "w" {
		t.Error(a.Error())
	}
}

// TestBrokenErrorNames: the error names the line only where there is one.
func TestBrokenErrorNames(t *testing.T) {
	for line, want := range map[int]string{
		0: "journal ada is broken at seq 4 (ada/f): why; nothing more is decided from it",
		1: "journal ada is broken at seq 4 (ada/f, line 1): why; nothing more is decided from it",
		7: "journal ada is broken at seq 4 (ada/f, line 7): why; nothing more is decided from it",
	} {
		if got := (&BrokenError{Journal: "ada", File: "f", Line: line, Seq: 4, Why: "why"}).Error(); got != want {
			t.Errorf("line %d: %s", line, got)
		}
	}
}

// TestSegmentNames: a segment has eight digits and no other name.
func TestSegmentNames(t *testing.T) {
	for name, want := range map[string]int{"00000001.jsonl": 1, "00000012.jsonl": 12, "12345678.jsonl": 12345678, "123456789.jsonl": 0,
		"1.jsonl": 0, "00000001": 0, "00000001.json": 0, "00000001.jsonlx": 0, "0000000x.jsonl": 0, "lock": 0, "": 0, " 0000001.jsonl": 0, "+0000001.jsonl": 0} {
		n, ok := segmentNumber(name)
		if ok != (want > 0) || ok && n != want || ok && segmentName(n) != name {
			t.Errorf("%q: %d, %v", name, n, ok)
		}
	}
}

// TestMissingSegment: a segment that is missing before, between or in front of others is named; the
// last one may be missing, and other files do not count.
func TestMissingSegment(t *testing.T) {
	for files, missing := range map[string]string{
		"": "", "1": "", "1 2 3": "", "2": "1", "1 3": "2", "1 2 4": "3", "3": "1", "1 2 3 5": "4", "2 3": "1",
	} {
		dir := filepath.Join(t.TempDir(), "j")
		testenv.Must(t, os.Mkdir(dir, 0o700))
		names := []string{"lock", "snapshot-1", "bodies", "0.jsonl", "00000000x.jsonl", "99999999.json"}
		for _, n := range strings.Fields(files) {
			names = append(names, "0000000"+n+".jsonl")
		}
		for _, name := range names {
			testenv.Must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		}
		j := &File{dir: dir, o: Options{}.withDefaults(), at: position{chain: newChain("u", "ada"), seg: 1}}
		err := j.checkDir()
		var broken *BrokenError
		if missing == "" && err != nil || missing != "" && (!errors.As(err, &broken) || broken.File != "0000000"+missing+".jsonl" || broken.Seq != 1 || !strings.Contains(broken.Why, "the segment is missing: there is 0000000")) {
			t.Errorf("%q: %v, want %q missing", files, err, missing)
		}
	}
}

// TestEpochs: the newest epoch of an instance is kept, and a writer without one is of every epoch.
func TestEpochs(t *testing.T) {
	c := newChain("u", "ada")
	c.count(Record{Writer: Writer{Instance: "a", Epoch: 1}})
	c.count(Record{Writer: Writer{Instance: "b"}})
	if len(c.epochs) != 1 || c.epochs["a"] != 1 {
		t.Errorf("%v", c.epochs)
	}
	c.count(Record{Writer: Writer{Instance: "a", Epoch: 3}})
	for epoch, ok := range map[uint64]bool{2: false, 3: true, 4: true} {
		if err := c.stale(Writer{Instance: "a", Epoch: epoch}); (err == nil) != ok {
			t.Errorf("epoch %d: %v", epoch, err)
		}
	}
	if err := c.stale(Writer{Instance: "b", Epoch: 1}); err != nil {
		t.Error(err)
	}
}

// TestDrawRefuses: a draft that no line can hold is refused with its kind, before anything is kept.
func TestDrawRefuses(t *testing.T) {
	kept := 0
	keep := func(b []byte) (Ref, error) { kept++; return refOf(b), nil }
	full := errors.New("no room")
	for what, c := range map[string]struct {
		d    Draft
		keep func([]byte) (Ref, error)
		why  string
	}{
		"no JSON":        {Draft{Kind: "k", Body: func() {}}, keep, "journal ada: append k: "},
		"a kind":         {Draft{Kind: "k\n", Body: 1}, keep, "it cannot be written"},
		"a later writer": {Draft{Kind: "k", Body: 1}, keep, ""},
		"no room":        {Draft{Kind: "k", Body: strings.Repeat("x", MaxInline)}, func([]byte) (Ref, error) { return Ref{}, full }, "no room"},
	} {
		ch := newChain("u", "ada")
		lines, raw, err := ch.draw(time.Unix(0, 0), Writer{Operator: true, PID: 1}, []Draft{{Kind: "first", Body: 0}, c.d}, c.keep)
		if c.why == "" && (err != nil || len(lines) != 2 || len(raw) != lines[0].size+lines[1].size || !lines[0].more || lines[1].more) {
			t.Errorf("%s: %d lines, %v", what, len(lines), err)
		}
		if c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why) || lines != nil || raw != nil) {
			t.Errorf("%s: %d lines, %v, want %q", what, len(lines), err, c.why)
		}
	}
	if kept != 0 {
		t.Errorf("%d bodies are kept", kept)
	}
	ch := newChain("u", "ada")
	ch.count(Record{Writer: Writer{Instance: "a", Epoch: 2}})
	if lines, _, err := ch.draw(time.Unix(0, 0), Writer{Instance: "a", Epoch: 1, PID: 1}, []Draft{{Kind: "k", Body: 1}}, keep); lines != nil || err == nil {
		t.Errorf("an older epoch writes: %v", err)
	}
	// The string of the body has two quotes around it.
	for n, bodies := range map[int]int{MaxInline - 2: 0, MaxInline - 1: 1} {
		kept = 0
		lines, _, err := newChain("u", "ada").draw(time.Unix(0, 0), Writer{Operator: true, PID: 1}, []Draft{{Kind: "k", Body: strings.Repeat("x", n)}}, keep)
		if err != nil || kept != bodies || (lines[0].Ref != nil) != (bodies > 0) || len(lines[0].Body) != n+2 {
			t.Errorf("a body of %d bytes: %d kept, %v", n+2, kept, err)
		}
	}
}

// TestNumbersOfLines: a number has decimal digits without leading zeros, and fits.
func TestNumbersOfLines(t *testing.T) {
	good := Record{V: Version, Journal: "ada", Seq: 1, Prev: strings.Repeat("0", 64), Time: time.Unix(0, 0), Writer: Writer{Operator: true, PID: 7}, Kind: "k", Body: json.RawMessage("1")}
	line := string(appendLine(nil, good, false))
	sealed := func(s string) []byte {
		head := s[:len(s)-sumLen]
		sum := lineSum([]byte(head))
		return []byte(head + sumOpen + string(sum[:]) + sumClose)
	}
	if _, err := decodeLine(sealed(line)); err != nil {
		t.Fatal(err)
	}
	for was, is := range map[string][]string{
		`"pid":7`: {`"pid":07`, `"pid":`, `"pid":-7`, `"pid":+7`, `"pid":7.0`, `"pid":18446744073709551615`, `"pid":9223372036854775808`, `"pid":18446744073709551616`, `"pid":x`},
		`"seq":1`: {`"seq":01`, `"seq":`, `"seq":0x1`, `"seq":18446744073709551616`},
		`"k"`:     {"\"k\x1f\"", "\"k\x7f\"", `"k\"`, "\"ké\"", `"k`},
	} {
		for _, bad := range is {
			if l, err := decodeLine(sealed(strings.Replace(line, was, bad, 1))); err == nil {
				t.Errorf("%s: %+v", bad, l.Record)
			}
		}
	}
	for was, is := range map[string][]string{`"pid":7`: {`"pid":0`, fmt.Sprintf(`"pid":%d`, math.MaxInt)}, `"seq":1`: {`"seq":10`, `"seq":18446744073709551615`}} {
		for _, ok := range is {
			if _, err := decodeLine(sealed(strings.Replace(line, was, ok, 1))); err != nil {
				t.Errorf("%s: %v", ok, err)
			}
		}
	}
}
