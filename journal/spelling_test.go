package journal_test

import (
	"strings"
	"testing"
	"time"

	"waggle/journal"
)

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
