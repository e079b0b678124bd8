package mailbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/protocol"
)

// linesWith returns a mailbox of lines whose file holds content, and where its
// reports go.
func linesWith(t testing.TB, content string, o mailbox.Options) (*mailbox.Box, *[]mailbox.Report) {
	t.Helper()
	var reports []mailbox.Report
	o.Report = func(r mailbox.Report) { reports = append(reports, r) }
	b := openLayout(t, mailbox.JSONL, t.TempDir(), o)
	put(t, b.Path(), content)
	return b, &reports
}

// line is text as a stored line, without the end.
func line(s string) string {
	b, err := text(s).MarshalJSON()
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestLinesOnDisk(t *testing.T) {
	t.Parallel()
	b := openLayout(t, mailbox.JSONL, t.TempDir(), mailbox.Options{Retention: mailbox.Prune})
	if filepath.Base(b.Path()) != "tester.jsonl" {
		t.Errorf("path %s", b.Path())
	}
	testenv.Must(t, b.Append(t.Context(), text("a\nb"), text("c")))
	want := line("a\nb") + "\n" + line("c") + "\n"
	if got := get(t, b.Path()); got != want {
		t.Fatalf("file %q, want %q", got, want)
	}
	for range 3 { // reading is not taking
		wantTexts(t, unreadOf(t, b), "a\nb", "c")
	}
	if got := get(t, b.Path()); got != want {
		t.Fatalf("reading changed the file to %q", got)
	}
	list := entriesOf(t, b)
	testenv.Must(t, b.MarkRead(t.Context(), list[0].ID))
	if got := get(t, b.Path()); got != line("c")+"\n" {
		t.Fatalf("file %q", got)
	}
	testenv.Must(t, b.MarkRead(t.Context(), list[1].ID))
	if info, err := os.Stat(b.Path()); err != nil || info.Size() != 0 {
		t.Fatalf("an emptied mailbox: %v, %v", info, err)
	}
	testenv.Must(t, b.Append(t.Context(), text("d")))
	wantTexts(t, unreadOf(t, b), "d")
}

// Lines of other programs are read, and keep their bytes when lines around them change.
func TestForeignLines(t *testing.T) {
	t.Parallel()
	odd := `  {"lead_sig": "s","from":"f","extra":{"read":false , "n":1.50},"text":"\u0066oreign","timestamp":"t"}  `
	crlf := line("crlf") + "\r"
	bom := "\ufeff" + line("bom")
	content := bom + "\n\n" + odd + "\n" + crlf + "\n \n" + line("end") // no line end
	for _, take := range []string{"bom", "foreign", "crlf", "end"} {
		b, reports := linesWith(t, content, mailbox.Options{Retention: mailbox.Prune})
		wantTexts(t, entriesOf(t, b), "bom", "foreign", "crlf", "end")
		testenv.Must(t, b.Append(t.Context(), text("ours")))
		wantTexts(t, entriesOf(t, b), "bom", "foreign", "crlf", "end", "ours")
		want := content + "\n" + line("ours") + "\n"
		if got := get(t, b.Path()); got != want {
			t.Fatalf("after an append %q, want %q", got, want)
		}
		for _, e := range entriesOf(t, b) {
			if e.Envelope.Text == take {
				testenv.Must(t, b.MarkRead(t.Context(), e.ID))
			}
		}
		taken := map[string]string{"bom": bom + "\n", "foreign": odd + "\n", "crlf": crlf + "\n", "end": line("end") + "\n"}[take]
		if got := get(t, b.Path()); got != strings.Replace(want, taken, "", 1) {
			t.Errorf("after taking %s: %q", take, got)
		}
		if len(*reports) > 0 {
			t.Errorf("reports: %v", *reports)
		}
	}
	// Retention Keep changes the flag and no other byte.
	b, _ := linesWith(t, content, mailbox.Options{})
	testenv.Must(t, b.MarkRead(t.Context(), entriesOf(t, b)[1].ID))
	if got, want := get(t, b.Path()), strings.Replace(content, `"timestamp":"t"}  `, `"timestamp":"t","read":true}  `, 1); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A torn last line stays last, so that its writer can complete it; nothing is appended to it.
func TestTornLine(t *testing.T) {
	t.Parallel()
	whole := line("torn")
	for cut := 1; cut < len(whole); cut++ {
		b, reports := linesWith(t, line("a")+"\n"+whole[:cut], mailbox.Options{Retention: mailbox.Prune})
		wantTexts(t, entriesOf(t, b), "a")
		testenv.Must(t, b.Append(t.Context(), text("b")))
		testenv.Must(t, b.MarkRead(t.Context(), entriesOf(t, b)[0].ID))
		if got := get(t, b.Path()); got != line("b")+"\n"+whole[:cut] {
			t.Fatalf("cut at %d: %q", cut, got)
		}
		testenv.Must(t, b.MarkRead(t.Context(), entriesOf(t, b)[0].ID))
		if got := get(t, b.Path()); got != whole[:cut] {
			t.Fatalf("cut at %d, the rest taken: %q", cut, got)
		}
		// Its writer continues behind the bytes that it wrote.
		f, err := os.OpenFile(b.Path(), os.O_WRONLY|os.O_APPEND, 0)
		testenv.Must(t, err)
		_, err = f.WriteString(whole[cut:] + "\n")
		testenv.Must(t, errors.Join(err, f.Close()))
		wantTexts(t, unreadOf(t, b), "torn")
		if len(*reports) > 0 || len(quarantined(t, b)) > 0 {
			t.Fatalf("reports: %v", *reports)
		}
	}
	// A torn line that stays for long is reported once.
	b, reports := linesWith(t, line("a")+"\n"+whole[:20], mailbox.Options{})
	wantTexts(t, entriesOf(t, b), "a")
	if len(*reports) > 0 {
		t.Errorf("a line that is being written: %v", *reports)
	}
	minute := time.Now().Add(-time.Minute)
	testenv.Must(t, os.Chtimes(b.Path(), minute, minute))
	b = openLayout(t, mailbox.JSONL, filepath.Dir(b.Path()), mailbox.Options{Report: func(r mailbox.Report) { *reports = append(*reports, r) }})
	wantTexts(t, entriesOf(t, b), "a")
	testenv.Must(t, b.Append(t.Context(), text("b")))
	wantTexts(t, entriesOf(t, b), "a", "b")
	if len(*reports) != 1 || !strings.Contains((*reports)[0].What, "last line") {
		t.Errorf("reports: %v", *reports)
	}
}

var garbage = map[string]struct {
	file, bad string
	kept      []string
}{
	"words":            {line("a") + "\nhello\n" + line("b") + "\n", "hello\n", []string{"a", "b"}},
	"joined lines":     {line("a") + line("b") + "\n" + line("c") + "\n", line("a") + line("b") + "\n", []string{"c"}},
	"half and whole":   {line("a")[:10] + line("b") + "\n" + line("c"), line("a")[:10] + line("b") + "\n", []string{"c"}},
	"several":          {"x\n" + line("a") + "\ny\nz\r\n", "x\ny\nz\r\n", []string{"a"}},
	"pretty":           {"{\n  \"from\": \"a\"\n}\n", "{\n  \"from\": \"a\"\n}\n", nil},
	"an array":         {"[\n" + line("a") + "\n]\n", "[\n]\n", []string{"a"}},
	"UTF-16":           {"\xff\xfe{\x00}\x00\n\x00", "\xff\xfe{\x00}\x00\n", nil},
	"zeroes":           {line("a") + "\n\x00\x00\n" + line("b") + "\n", "\x00\x00\n", []string{"a", "b"}},
	"garbage and torn": {"x\n" + line("a") + "\n{\"fr", "x\n", []string{"a"}},
}

// Every operation that meets a line that is not JSON moves it to quarantine, reports it, and
// changes no other line.
func TestGarbageLines(t *testing.T) {
	t.Parallel()
	for name, c := range garbage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, tier := range []atomicfile.Tier{atomicfile.TierAuto, atomicfile.TierRename} {
				b, reports := linesWith(t, c.file, mailbox.Options{Retention: mailbox.Prune}.With(tier, atomicfile.SyncNone))
				wantTexts(t, entriesOf(t, b), c.kept...)
				if d := cmp.Diff([]string{c.bad}, quarantined(t, b)); d != "" {
					t.Errorf("quarantine (-want +got):\n%s", d)
				}
				if len(*reports) != 1 || (*reports)[0].Quarantine == "" {
					t.Errorf("reports: %v", *reports)
				}
				wantTexts(t, entriesOf(t, b), c.kept...)
				testenv.Must(t, b.Append(t.Context(), text("new")))
				wantTexts(t, entriesOf(t, b), append(c.kept[:len(c.kept):len(c.kept)], "new")...)
				if len(quarantined(t, b)) != 1 {
					t.Error("a second quarantine file")
				}
			}
		})
	}
}

// Lines that are JSON but no messages are entries that cannot be read: they do not stop a receiver,
// and a receiver that never marks them never loses them.
func TestLinesThatAreNoEntries(t *testing.T) {
	t.Parallel()
	b, reports := linesWith(t, "null\n12\n\"x\"\n[]\n{}\n{\"from\":1}\n"+line("a")+"\n", mailbox.Options{Retention: mailbox.Prune})
	wantTexts(t, unreadOf(t, b), "!", "!", "!", "!", "!", "!", "a")
	testenv.Must(t, b.MarkRead(t.Context(), unreadOf(t, b)[6].ID))
	wantTexts(t, unreadOf(t, b), "!", "!", "!", "!", "!", "!")
	if got := get(t, b.Path()); got != "null\n12\n\"x\"\n[]\n{}\n{\"from\":1}\n" || len(*reports) > 0 {
		t.Errorf("file %q, reports %v", got, *reports)
	}
}

// For any content of a file of lines: a repair removes only garbage, an append adds only its line,
// and taking removes exactly the taken lines.
func FuzzLines(f *testing.F) {
	for _, c := range garbage {
		f.Add([]byte(c.file), uint16(0xffff))
	}
	f.Add([]byte("\ufeff"+line("a")+"\r\n\n{}\nnull\n{\"read\":tr"), uint16(5))
	f.Fuzz(func(t *testing.T, data []byte, mask uint16) {
		if len(data) > 10_000 {
			return
		}
		mended, bad := mailbox.LineMend(data)
		if len(mended)+len(bad) != len(data) {
			t.Fatalf("%d bytes became %d and %d of garbage", len(data), len(mended), len(bad))
		}
		before := mailbox.LineScan(t, nil, mended)
		for i, raw := range before {
			if !json.Valid(raw) && bytes.Count(raw, []byte("["))+bytes.Count(raw, []byte("{")) < 9000 {
				t.Fatalf("entry %d is not JSON: %q", i, raw)
			}
		}
		added := mailbox.LineAppend(mended, text("ours"))
		after := mailbox.LineScan(t, mended, added)
		if len(after) != len(before)+1 || string(after[len(before)]) != line("ours") {
			t.Fatalf("appended to %q: %q", mended, added)
		}
		var at []int
		var stay [][]byte
		for i, raw := range after {
			if mask>>(i%16)&1 == 1 {
				at = append(at, i)
			} else {
				stay = append(stay, raw)
			}
		}
		left := mailbox.LineTake(added, at...)
		got := mailbox.LineScan(t, added, left)
		if len(got) != len(stay) {
			t.Fatalf("%d entries stay, want %d", len(got), len(stay))
		}
		for i := range got {
			if !bytes.Equal(got[i], stay[i]) {
				t.Fatalf("entry %d: %q, want %q", i, got[i], stay[i])
			}
		}
	})
}

// One program fills a mailbox and another empties it: no operation tears a line, and no message
// arrives twice.
func TestLinesTakenWhileWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const n = 200
	done := make(chan error, 1)
	go func() {
		w := openLayout(t, mailbox.JSONL, dir, mailbox.Options{})
		for i := range n {
			if err := w.Append(t.Context(), protocol.Envelope{From: "w", Text: strings.Repeat("x", i), Timestamp: "t"}); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	r := openLayout(t, mailbox.JSONL, dir, mailbox.Options{Retention: mailbox.Prune})
	for got := 0; got < n; {
		for _, e := range unreadOf(t, r) {
			if len(e.Envelope.Text) != got {
				t.Fatalf("message %d came where %d should", len(e.Envelope.Text), got)
			}
			got++
			testenv.Must(t, r.MarkRead(t.Context(), e.ID))
		}
		select {
		case err := <-done:
			testenv.Must(t, err)
			done <- nil
		default:
		}
	}
	if get(t, r.Path()) != "" {
		t.Error("something is left")
	}
}
