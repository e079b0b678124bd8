package journal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/journal/journaltest"
)

// TestMendWaits: a broken journal is read again after a quarter of a second, and after each try
// that fails after twice as long, at most four seconds; not a nanosecond earlier.
func TestMendWaits(t *testing.T) {
	now := fixed()
	o := journal.Options{Now: func() time.Time { return now }, Sync: noSync}
	d := newDir(t)
	j := openFold(t, d, &redo{}, o)
	journaltest.Append(t, j, someone, journaltest.Note(1), journaltest.Note(2))
	good := read(t, segment(d, 1))
	bad := flipped(good, 30)
	write(t, segment(d, 1), bad)
	broken := func(what string) {
		t.Helper()
		if err := j.Refresh(t.Context()); !errors.As(err, new(*journal.BrokenError)) {
			t.Fatalf("%s: %v", what, err)
		}
	}
	broken("at first")
	const ms = time.Millisecond
	for _, pause := range []time.Duration{250 * ms, 500 * ms, 1000 * ms, 2000 * ms, 4000 * ms, 4000 * ms} {
		now = now.Add(pause - 1)
		write(t, segment(d, 1), good)
		broken(fmt.Sprint("before ", pause))
		write(t, segment(d, 1), bad)
		now = now.Add(1)
		broken(fmt.Sprint("after ", pause))
	}
	write(t, segment(d, 1), good)
	now = now.Add(4000 * ms)
	refresh(t, j)
	// The next break waits as long as the first.
	write(t, segment(d, 1), bad)
	now = now.Add(ms)
	broken("a second time")
	write(t, segment(d, 1), good)
	now = now.Add(250 * ms)
	refresh(t, j)
}

// TestSegmentRolls: an append goes into a new segment when the last has reached the size, and not
// when a byte is missing.
func TestSegmentRolls(t *testing.T) {
	d, _ := noted(t, 1)
	size := int64(len(read(t, segment(d, 1))))
	for limit, rolls := range map[int64]bool{size + 1: false, size: true, size - 1: true} {
		d := newDir(t)
		o := quick
		o.Segment = limit
		j, _ := open(t, d, o)
		journaltest.Append(t, j, someone, journaltest.Note(1))
		journaltest.Append(t, j, someone, journaltest.Note(2))
		if _, err := os.Stat(segment(d, 2)); (err == nil) != rolls {
			t.Errorf("a segment of %d bytes with room for %d: %v", size, limit, err)
		}
		verified(t, d)
	}
}

// TestSegmentTooLarge: a file that no program of ours can have written is not read.
func TestSegmentTooLarge(t *testing.T) {
	const most = 8<<20 + 256<<20
	for size, why := range map[int64]string{most: "is over the limit of", most + 1: fmt.Sprintf("the segment has %d bytes, which no program of ours writes", most+1)} {
		d, _ := noted(t, 1)
		testenv.Must(t, os.Truncate(segment(d, 1), size)) // zeros that take no room
		_, err := d.Open(journal.Leader, nil, quick)
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestLineLimit: a line of exactly the limit is read, one byte more is a break. The kind's length
// makes the difference.
func TestLineLimit(t *testing.T) {
	const most = journal.MaxInline + 4<<10
	j, _ := open(t, newDir(t), quick)
	empty := len(journal.Line(1, j.Head(), someone, "", "1"))
	for over, ok := range map[int]bool{-1: true, 0: true, 1: false} {
		d := newDir(t)
		j, _ := open(t, d, quick)
		kind := strings.Repeat("k", most-empty+over)
		recs, err := j.Append(t.Context(), someone, func() ([]journal.Draft, error) { return []journal.Draft{{Kind: kind, Body: 1}}, nil })
		if (err == nil) != ok || ok && len(recs) != 1 || !ok && !strings.Contains(err.Error(), "over the limit of 12288 bytes") {
			t.Errorf("a line of %d bytes: %v", most+over, err)
		}
		line := journal.Line(1, journal.Genesis(uid, journal.Leader), someone, kind, "1")
		if len(line) != most+over {
			t.Fatalf("%d bytes, want %d", len(line), most+over)
		}
		testenv.Must(t, os.MkdirAll(d.Path+"/leader", 0o700))
		write(t, segment(d, 1), line)
		forget(t, d)
		_, err = d.Open(journal.Leader, nil, quick)
		if ok {
			testenv.Must(t, err)
			continue
		}
		breakAt(t, err, "00000001.jsonl", 1, 1)
	}
}

// TestBodyLimits: a body of the limit is kept, in a file of its own, and one byte more is refused
// with both numbers.
func TestBodyLimits(t *testing.T) {
	d := newDir(t)
	j, fold := open(t, d, quick)
	for n, inFile := range map[int]bool{journal.MaxInline: false, journal.MaxInline + 1: true} {
		recs := journaltest.Append(t, j, someone, journal.Draft{Kind: "sized", Body: strings.Repeat("x", n-2)})
		if (recs[0].Ref != nil) != inFile || len(recs[0].Body) != n {
			t.Errorf("a body of %d bytes: %+v", n, recs[0].Ref)
		}
	}
	had := len(fold.Records)
	_, err := j.Append(t.Context(), someone, func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: "sized", Body: strings.Repeat("x", journal.MaxBody-1)}}, nil
	})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("body of %d bytes is over the limit of %d", journal.MaxBody+1, journal.MaxBody)) || len(fold.Records) != had {
		t.Errorf("one byte more: %v", err)
	}
	recs := journaltest.Append(t, j, someone, journal.Draft{Kind: "sized", Body: strings.Repeat("x", journal.MaxBody-2)})
	if len(recs[0].Body) != journal.MaxBody {
		t.Errorf("%d bytes", len(recs[0].Body))
	}
	if again, _ := open(t, d, quick); again.Seq() != 3 {
		t.Errorf("read again up to %d", again.Seq())
	}
}

// TestProposeFails: Append returns the error of propose as it is, and the repair of a cut line
// before it is on record all the same.
func TestProposeFails(t *testing.T) {
	d, j := noted(t, 1)
	whole := read(t, segment(d, 1))
	write(t, segment(d, 1), append(whole, `{"v":1,"mus`...))
	no := errors.New("no")
	recs, err := j.Append(t.Context(), someone, func() ([]journal.Draft, error) { return []journal.Draft{journaltest.Note(2)}, no })
	if err != no || recs != nil {
		t.Errorf("%v, %v", recs, err)
	}
	if got := verified(t, d); len(got) != 2 || got[1].Kind != journal.KindRepaired {
		t.Errorf("%d records", len(got))
	}
	write(t, segment(d, 1), append(read(t, segment(d, 1)), '{'))
	recs, err = j.Append(t.Context(), someone, func() ([]journal.Draft, error) { return nil, nil })
	if err != nil || recs != nil {
		t.Errorf("nothing proposed: %v, %v", recs, err)
	}
	recs = journaltest.Append(t, j, someone, journaltest.Note(3))
	if got := verified(t, d); len(got) != 4 || got[2].Kind != journal.KindRepaired || len(recs) != 1 || recs[0].Seq != 4 {
		t.Errorf("%d records, the append returned %+v", len(got), recs)
	}
}

// TestEnded: a context that has ended stops a reading and an append before they change anything.
func TestEnded(t *testing.T) {
	d, j := noted(t, 1)
	reader, fold := open(t, d, quick)
	journaltest.Append(t, j, someone, journaltest.Note(2))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := reader.Refresh(over); !errors.Is(err, context.Canceled) || len(fold.Records) != 1 {
		t.Errorf("%v, %d folded", err, len(fold.Records))
	}
	if _, err := reader.Append(over, someone, func() ([]journal.Draft, error) { t.Error("propose was called"); return nil, nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n := len(verified(t, d)); n != 2 {
		t.Errorf("%d records", n)
	}
}

// resummed replaces a part of a line and gives the line the sum that fits.
func resummed(t *testing.T, line, was, is string) string {
	t.Helper()
	head, _, ok := strings.Cut(line, `,"sum":"`)
	if !ok || !strings.Contains(head, was) {
		t.Fatalf("%s lacks %s", line, was)
	}
	head = strings.Replace(head, was, is, 1)
	return head + `,"sum":"` + journal.LineSum([]byte(head)) + "\"}\n"
}

// TestOneSpelling: a line has one spelling. DecodeLine refuses another one, under a sum that fits
// too, and reads every value that a record may hold.
func TestOneSpelling(t *testing.T) {
	hash := strings.Repeat("0a", 32)
	r := journal.Record{V: 1, Must: true, Journal: "leader", Seq: 10, Prev: hash, Time: time.Unix(9, 5e6).UTC(), Kind: "a-b_c.9",
		Writer: journal.Writer{Instance: "feed", Operator: true, Epoch: 12, PID: 34}, Body: []byte(`{"n":1}`)}
	line := string(journal.EncodeLine(r, true))
	if got, more, err := journal.DecodeLine([]byte(line)); err != nil || !more || string(got.Body) != `{"n":1}` || got.Seq != 10 || got.Writer != r.Writer || !got.Time.Equal(r.Time) || !got.Must || got.Prev != hash {
		t.Fatalf("%+v, %v, %v", got, more, err)
	}
	r.Body, r.Ref = nil, &journal.Ref{SHA256: hash, Size: 77}
	large := string(journal.EncodeLine(r, false))
	if got, more, err := journal.DecodeLine([]byte(large)); err != nil || more || *got.Ref != *r.Ref {
		t.Fatalf("%+v, %v, %v", got, more, err)
	}
	type change struct{ line, was, is string }
	for _, c := range []change{
		{line, `"must":true`, `"must":false`},
		{line, `"instance":"feed",`, ""},
		{line, `"operator":true,`, ""},
		{line, `"epoch":12,`, ""},
		{line, `"epoch":12`, `"epoch":18446744073709551615`},
		{line, `"pid":34`, `"pid":9223372036854775807`},
		{line, `"pid":34`, `"pid":0`},
		{line, `"seq":10`, `"seq":0`},
		{line, `,"body":{"n":1}`, ""},
		{line, `{"n":1}`, `null`},
		{line, `{"n":1}`, `"~"`},
		{line, `,"more":true`, ""},
		{line, `"kind":"a-b_c.9"`, `"kind":"a"`},
		{line, `"journal":"leader"`, `"journal":" ~"`},
		{large, `"size":77`, `"size":0`},
	} {
		if _, _, err := journal.DecodeLine([]byte(resummed(t, c.line, c.was, c.is))); err != nil {
			t.Errorf("%s for %s: %v", c.is, c.was, err)
		}
	}
	for _, c := range []change{
		{line, `"v":1`, `"v":01`},
		{line, `"v":1`, `"v":`},
		{line, `"must":true`, `"must":1`},
		{line, `"must":true`, `"must":True`},
		{line, `"must":true`, `"must": true`},
		{line, `,"must":true,"journal":"leader"`, `,"journal":"leader","must":true`},
		{line, `"journal":"leader"`, `"journal":"lead\u0065r"`},
		{line, `"journal":"leader"`, "\"journal\":\"lead\x7fr\""},
		{line, `"journal":"leader"`, "\"journal\":\"lead\x1fr\""},
		{line, `"journal":"leader"`, `"journal":"leadér"`},
		{line, `"journal"`, `"Journal"`},
		{line, `"seq":10`, `"seq":010`},
		{line, `"seq":10`, `"seq":00`},
		{line, `"seq":10`, `"seq":+10`},
		{line, `"seq":10`, `"seq":-1`},
		{line, `"seq":10`, `"seq":1e1`},
		{line, `"seq":10`, `"seq":18446744073709551616`},
		{line, `"seq":10`, `"seq":`},
		{line, `.005Z`, `.005+00:00`},
		{line, `.005Z`, `.005000Z`},
		{line, `.005Z`, `,005Z`},
		{line, `1970-01-01`, `1970-02-30`},
		{line, `1970-01-01`, `1970-1-01`},
		{line, `"instance":"feed"`, `"instance":""`},
		{line, `"operator":true`, `"operator":false`},
		{line, `"epoch":12`, `"epoch":0`},
		{line, `"epoch":12,`, `"epoch":12`},
		{line, `"pid":34`, `"pid":9223372036854775808`},
		{line, `"pid":34`, `"pid":-1`},
		{line, `"pid":34`, `"pid":34,"host":"x"`},
		{line, `"operator":true,"epoch":12`, `"epoch":12,"operator":true`},
		{line, `"kind":"a-b_c.9"`, `"kind":""`},
		{line, `"kind":"a-b_c.9"`, `"kind":"A"`},
		{line, `"kind":"a-b_c.9"`, `"kind":"a b"`},
		{line, `"kind":"a-b_c.9"`, `"kind":"a/b"`},
		{line, `"body"`, `"Body"`},
		{line, `{"n":1}`, `{"n":1`},
		{line, `{"n":1}`, ``},
		{line, `{"n":1}`, `{"n":1},"x":2`},
		{line, `,"more":true`, `,"more":false`},
		{line, `,"more":true`, `,"more":true,"more":true`},
		{large, `"size":77`, `"size":77,"x":1`},
		{large, `"size":77`, `"size":077`},
		{large, `"size":77`, `"size":9223372036854775808`},
		{large, hash + `","size"`, hash[1:] + `","size"`},
		{large, hash + `","size"`, strings.ToUpper(hash) + `","size"`},
		{large, hash + `","size"`, "g" + hash[1:] + `","size"`},
		{large, `"size":77}`, `"size":77},"body":1`},
	} {
		if r, _, err := journal.DecodeLine([]byte(resummed(t, c.line, c.was, c.is))); err == nil {
			t.Errorf("%s for %s is read as %+v", c.is, c.was, r)
		}
	}
	for what, text := range map[string]string{
		"no newline": strings.TrimSuffix(line, "\n"), "two": line + "\n", "a space": strings.TrimSuffix(line, "\n") + " \n",
		"half a line": line[:len(line)/2], "only its end": line[len(line)-27:], "nothing": "",
		"a sum in capitals": strings.Replace(line, line[len(line)-19:], strings.ToUpper(line[len(line)-19:len(line)-3])+"\"}\n", 1),
	} {
		if r, _, err := journal.DecodeLine([]byte(text)); err == nil {
			t.Errorf("%s is read as %+v", what, r)
		}
	}
}
