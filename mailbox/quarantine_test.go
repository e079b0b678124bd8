package mailbox_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/mailbox"
)

// TestQuarantineFails: when the broken bytes cannot be kept, the file stays as it is, the change is an
// error, and no part of a copy is left.
func TestQuarantineFails(t *testing.T) {
	no := errors.New("no")
	for _, op := range []atomicfile.Op{atomicfile.OpCreate, atomicfile.OpWrite, atomicfile.OpSync} {
		const broken = `[{"from":"a","text":"one","timestamp":"2026-11-20T18:15:43.000Z"}, nothing`
		b, reports := boxWith(t, broken, mailbox.Options{})
		undo := atomicfile.FailOps(func(o atomicfile.Op, path string) error {
			if o == op && strings.Contains(path, ".corrupt-") {
				return no
			}
			return nil
		})
		err := b.Append(t.Context(), text("two"))
		undo()
		if !errors.Is(err, no) || !strings.Contains(err.Error(), "quarantine: ") {
			t.Errorf("%s: %v", op, err)
		}
		kept, _ := filepath.Glob(b.Path() + ".corrupt-*")
		if get(t, b.Path()) != broken || len(kept) > 0 || len(*reports) > 0 {
			t.Errorf("%s: the file is %q, kept %v, reports %v", op, get(t, b.Path()), kept, *reports)
		}
		// The next change finds it as it was.
		if err := b.Append(t.Context(), text("two")); err != nil {
			t.Errorf("%s, and then: %v", op, err)
		}
		if got := textsOf(entriesOf(t, b)); len(got) != 2 || got[0] != "one" || got[1] != "two" {
			t.Errorf("%s, and then: %q", op, got)
		}
		if len(*reports) != 1 {
			t.Fatalf("%s: reports %v", op, *reports)
		}
		r := (*reports)[0]
		if get(t, r.Quarantine) != broken || !strings.Contains(r.What, fmt.Sprintf("its 1 readable entries were kept, all %d bytes of it", len(broken))) {
			t.Errorf("%s: %+v", op, r)
		}
	}
}

// TestWideGap: white space before the end of a file, however much, is no reason to lose an entry or
// to write behind the array.
func TestWideGap(t *testing.T) {
	for _, gap := range []int{0, 1, 4000, 4093, 4094, 4095, 4096, 4097, 9000} {
		for _, first := range []string{"[", `[{"from":"a","text":"zero","timestamp":"2026-11-20T18:15:43.000Z"}`} {
			b, reports := boxWith(t, first+strings.Repeat(" ", gap)+"]\n", mailbox.Options{})
			for i := range 3 {
				if err := b.Append(t.Context(), text(fmt.Sprint(i))); err != nil {
					t.Fatalf("%d: %v", gap, err)
				}
			}
			got := strings.Join(textsOf(entriesOf(t, b)), " ")
			if strings.TrimPrefix(got, "zero ") != "0 1 2" || (len(first) > 1) != strings.HasPrefix(got, "zero") || len(*reports) > 0 {
				t.Errorf("a gap of %d behind %.5q: %s, %v", gap, first, got, *reports)
			}
			if raw := get(t, b.Path()); strings.Count(raw, "]") != 1 {
				t.Errorf("a gap of %d: %d ends", gap, strings.Count(raw, "]"))
			}
		}
	}
}

// TestQuarantineNames: a thousand names are tried, and a broken file whose bytes have no
// place is left as it is.
func TestQuarantineNames(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)
	b, _ := boxWith(t, "no mailbox", mailbox.Options{Now: func() time.Time { return now }})
	stamp := b.Path() + ".corrupt-" + now.Format("20060102T150405.000Z")
	put(t, stamp, "older")
	for n := 2; n <= 1000; n++ {
		put(t, fmt.Sprintf("%s-%d", stamp, n), "older")
	}
	if err := b.Append(t.Context(), text("a")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("appended without a place for what was broken: %v", err)
	}
	if got := get(t, b.Path()); got != "no mailbox" {
		t.Errorf("the file became %q", got)
	}
	testenv.Must(t, os.Remove(stamp+"-1000"))
	testenv.Must(t, b.Append(t.Context(), text("a")))
	if got := get(t, stamp+"-1000"); got != "no mailbox" {
		t.Errorf("the last name holds %q", got)
	}
}
