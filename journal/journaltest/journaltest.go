// Package journaltest is the suite that every implementation of journal.Journal
// passes:
//
//	journaltest.Run(t, func(t *testing.T, name journal.Name, now func() time.Time) journaltest.Handle {
//		m := journal.NewMemory("uid", name, now)
//		return func(fold journal.Fold) journal.Journal { return m.Open(fold) }
//	})
package journaltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/journal"
)

// Make makes a fresh, empty journal for one test.
type Make func(t *testing.T, name journal.Name, now func() time.Time) Handle

// Handle opens the journal once more, with a fold of its own.
type Handle func(fold journal.Fold) journal.Journal

// Recorder is a fold that keeps what it is given. It takes nothing twice, skips
// nothing, and refuses the record with the number of Refuse.
type Recorder struct {
	Records []journal.Record
	Refuse  journal.Seq
	Err     error // what it says then
}

// Apply implements journal.Fold.
func (r *Recorder) Apply(rec journal.Record) error {
	if r.Refuse != 0 && rec.Seq == r.Refuse {
		return r.Err
	}
	if rec.Seq != journal.Seq(len(r.Records)+1) {
		return fmt.Errorf("record %d is folded after %d", rec.Seq, len(r.Records))
	}
	r.Records = append(r.Records, rec)
	return nil
}

// Run checks one implementation.
func Run(t *testing.T, mk Make) {
	for _, tt := range []struct {
		name string
		f    func(*testing.T, Make)
	}{
		{"empty", testEmpty},
		{"what was appended is folded", testAppend},
		{"an append counts as a whole", testBatch},
		{"nothing to append", testNothing},
		{"propose decides on a current fold", testCurrent},
		{"propose refuses", testRefuses},
		{"bodies are kept byte for byte", testBodies},
		{"sizes", testSizes},
		{"what cannot be written leaves no trace", testInvalid},
		{"what the fold says stays", testFoldError},
		{"epochs only rise", testEpochs},
		{"context", testContext},
		{"a prefix and then the rest is the whole", testPrefix},
		{"compare and set", testCompareAndSet},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.f(t, mk) })
	}
}

var (
	start  = time.Date(2026, 11, 20, 18, 15, 43, 987654321, time.FixedZone("east", 3600))
	writer = journal.Writer{Instance: "0123456789abcdef0123456789abcdef", Epoch: 2, PID: 4711}
)

func clock() time.Time { return start }

// Append appends drafts through j and fails the test on an error.
func Append(t testing.TB, j journal.Journal, w journal.Writer, drafts ...journal.Draft) []journal.Record {
	t.Helper()
	return testenv.Value(j.Append(context.Background(), w, func() ([]journal.Draft, error) { return drafts, nil }))(t)
}

// Note is a draft with a small body.
func Note(n int) journal.Draft {
	return journal.Draft{Kind: "note", Body: map[string]int{"n": n}}
}

func refresh(t testing.TB, j journal.Journal) {
	t.Helper()
	testenv.Must(t, j.Refresh(context.Background()))
}

// see opens the journal anew and returns what a fresh fold is given.
func see(t testing.TB, open Handle) []journal.Record {
	t.Helper()
	var r Recorder
	refresh(t, open(&r))
	return r.Records
}

func same(t testing.TB, what string, got, want []journal.Record) {
	t.Helper()
	if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) { // Diff takes its time
		t.Fatalf("%s (-want +got):\n%s", what, cmp.Diff(want, got))
	}
}

func testEmpty(t *testing.T, mk Make) {
	open := mk(t, journal.Leader, clock)
	same(t, "records", see(t, open), nil)
	refresh(t, open(nil))
}

func testAppend(t *testing.T, mk Make) {
	open := mk(t, "worker-1", clock)
	var fold Recorder
	j := open(&fold)
	operator := journal.Writer{Operator: true, PID: 1}
	got := Append(t, j, writer, journal.Draft{Kind: "opened", Must: true, Body: "x"})
	got = append(got, Append(t, j, operator, journal.Draft{Kind: "checkpoint"})...)
	same(t, "the writer's fold", fold.Records, got)
	same(t, "another's fold", see(t, open), got)
	if len(got) != 2 {
		t.Fatalf("%d records", len(got))
	}
	at := time.Date(2026, 11, 20, 17, 15, 43, 987e6, time.UTC)
	same(t, "records", got, []journal.Record{
		{V: journal.Version, Must: true, Journal: "worker-1", Seq: 1, Prev: got[0].Prev, Time: at, Writer: writer, Kind: "opened", Body: []byte(`"x"`)},
		{V: journal.Version, Journal: "worker-1", Seq: 2, Prev: got[1].Prev, Time: at, Writer: operator, Kind: "checkpoint"},
	})
	if len(got[0].Prev) != 64 || len(got[1].Prev) != 64 || got[0].Prev == got[1].Prev {
		t.Errorf("prev: %s, then %s", got[0].Prev, got[1].Prev)
	}
	if again := see(t, mk(t, "worker-1", clock)); again != nil {
		t.Errorf("a journal of its own has %d records", len(again))
	}
}

// testBatch looks from inside the fold: when the first record of an append is
// folded, the last one is on record too.
func testBatch(t *testing.T, mk Make) {
	open := mk(t, journal.Leader, clock)
	var fold Recorder
	j := open(&fold)
	first := Append(t, j, writer, Note(1), Note(2), Note(3))
	second := Append(t, j, writer, Note(4))
	want := append(first, second...)
	if len(first) != 3 || len(second) != 1 {
		t.Fatalf("%d and %d records", len(first), len(second))
	}
	same(t, "the writer's fold", fold.Records, want)
	same(t, "another's fold", see(t, open), want)
}

func testNothing(t *testing.T, mk Make) {
	open := mk(t, journal.Leader, clock)
	j := open(nil)
	if recs := Append(t, j, writer); len(recs) != 0 {
		t.Errorf("no drafts gave %d records", len(recs))
	}
	Append(t, j, writer, Note(1))
	if recs := Append(t, j, writer); len(recs) != 0 {
		t.Errorf("no drafts gave %d records", len(recs))
	}
	if n := len(see(t, open)); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
}

func testCurrent(t *testing.T, mk Make) {
	open := mk(t, journal.Leader, clock)
	var mine Recorder
	j, other := open(&mine), open(nil)
	for n := 1; n <= 5; n++ {
		Append(t, other, journal.Writer{PID: 2}, Note(n))
		seen := 0
		if _, err := j.Append(context.Background(), writer, func() ([]journal.Draft, error) {
			seen = len(mine.Records)
			return []journal.Draft{Note(-n)}, nil
		}); err != nil {
			t.Fatal(err)
		}
		if want := 2*n - 1; seen != want {
			t.Fatalf("propose saw %d records of %d", seen, want)
		}
	}
}

func testRefuses(t *testing.T, mk Make) {
	open := mk(t, journal.Leader, clock)
	no := errors.New("already decided")
	j := open(nil)
	for range 2 {
		recs, err := j.Append(context.Background(), writer, func() ([]journal.Draft, error) { return []journal.Draft{Note(1)}, no })
		if err != no || recs != nil {
			t.Fatalf("Append = %v, %v; want the error of propose as it is", recs, err)
		}
	}
	same(t, "records", see(t, open), nil)
	Append(t, j, writer, Note(1))
}

func testBodies(t *testing.T, mk Make) {
	open := mk(t, journal.Leader, clock)
	j := open(nil)
	bodies := []string{
		`9007199254740993`, `{"b":1,"a":2}`, `{"a":1,"a":2}`, `"<&>"`, "\"\u2028é日\"", `"\u2028\ud83d"`, `null`, `[]`, `""`,
		`"a\nb"`, `{"more":true}`, `",\"more\":true"`, `"\",\"sum\":\"0123456789abcdef\"}"`, `1e400`,
		`"` + strings.Repeat("x", journal.MaxInline) + `"`, `"` + strings.Repeat("\\n", 1<<19) + `"`,
	}
	for _, b := range bodies {
		if recs := Append(t, j, writer, journal.Draft{Kind: "raw", Body: json.RawMessage(b)}); string(recs[0].Body) != b {
			t.Fatalf("returned %.60q for %.60q", recs[0].Body, b)
		}
	}
	for i, r := range see(t, open) {
		if string(r.Body) != bodies[i] {
			t.Fatalf("folded %.60q for %.60q", r.Body, bodies[i])
		}
	}
	spaced := Append(t, j, writer, journal.Draft{Kind: "raw", Body: json.RawMessage("{ \"a\" :\n 1 }")})
	if got := string(spaced[0].Body); got != `{"a":1}` {
		t.Errorf("spaces were kept: %q", got)
	}
}

func testSizes(t *testing.T, mk Make) {
	open := mk(t, journal.Leader, clock)
	var fold Recorder
	j := open(&fold)
	for _, n := range []int{journal.MaxInline - 1, journal.MaxInline, journal.MaxInline + 1, 1 << 20} {
		recs := Append(t, j, writer, journal.Draft{Kind: "sized", Body: strings.Repeat("x", n-2)})
		if len(recs[0].Body) != n {
			t.Fatalf("body of %d bytes came back with %d", n, len(recs[0].Body))
		}
	}
	same(t, "another's fold", see(t, open), fold.Records)
	_, err := j.Append(context.Background(), writer, func() ([]journal.Draft, error) {
		return []journal.Draft{Note(1), {Kind: "sized", Body: strings.Repeat("x", journal.MaxBody)}}, nil
	})
	if err == nil {
		t.Error("a body over the limit was taken")
	}
	same(t, "records", see(t, open), fold.Records)
}

func testInvalid(t *testing.T, mk Make) {
	open := mk(t, journal.Leader, clock)
	var fold Recorder
	j := open(&fold)
	Append(t, j, writer, Note(0))
	for name, tt := range map[string]struct {
		w journal.Writer
		d journal.Draft
	}{
		"no kind":          {writer, journal.Draft{}},
		"kind with space":  {writer, journal.Draft{Kind: "a b"}},
		"kind with quote":  {writer, journal.Draft{Kind: `a"`}},
		"long kind":        {writer, journal.Draft{Kind: strings.Repeat("k", 1<<15)}},
		"instance escapes": {journal.Writer{Instance: "a\nb"}, Note(1)},
		"instance unicode": {journal.Writer{Instance: "é"}, Note(1)},
		"negative pid":     {journal.Writer{PID: -1}, Note(1)},
		"not JSON":         {writer, journal.Draft{Kind: "a", Body: json.RawMessage("{")}},
		"no JSON for it":   {writer, journal.Draft{Kind: "a", Body: make(chan int)}},
	} {
		recs, err := j.Append(context.Background(), tt.w, func() ([]journal.Draft, error) { return []journal.Draft{Note(1), tt.d}, nil })
		if err == nil || recs != nil {
			t.Errorf("%s: Append = %v, %v", name, recs, err)
		}
	}
	many := make([]journal.Draft, 1100)
	for i := range many {
		many[i] = journal.Draft{Kind: "a", Body: strings.Repeat("x", journal.MaxInline-2)}
	}
	if _, err := j.Append(context.Background(), writer, func() ([]journal.Draft, error) { return many, nil }); err == nil {
		t.Error("an append over MaxAppend was taken")
	}
	if n := len(see(t, open)); n != 1 || len(fold.Records) != 1 {
		t.Fatalf("%d records, %d folded; want 1", n, len(fold.Records))
	}
	Append(t, j, writer, Note(1))
	same(t, "another's fold", see(t, open), fold.Records)
}

func testFoldError(t *testing.T, mk Make) {
	for _, refuse := range []journal.Seq{2, 3} { // an append's first record and a later one
		open := mk(t, journal.Leader, clock)
		writing := open(nil)
		Append(t, writing, writer, Note(1))
		fold := Recorder{Refuse: refuse, Err: &journal.FutureError{What: "record kind \"x\""}}
		j := open(&fold)
		refresh(t, j)
		Append(t, writing, writer, journal.Draft{Kind: "x", Must: true}, Note(3))
		for range 3 {
			if err := j.Refresh(context.Background()); !errors.As(err, new(*journal.FutureError)) {
				t.Fatalf("Refresh = %v, want what the fold said", err)
			}
			_, err := j.Append(context.Background(), writer, func() ([]journal.Draft, error) { t.Error("propose was called"); return nil, nil })
			if !errors.As(err, new(*journal.FutureError)) {
				t.Fatalf("Append = %v, want what the fold said", err)
			}
		}
		if len(fold.Records) != int(refuse-1) {
			t.Errorf("%d records folded, want %d", len(fold.Records), refuse-1)
		}
		if n := len(see(t, open)); n != 3 {
			t.Errorf("%d records, want 3", n)
		}
	}
}

func testEpochs(t *testing.T, mk Make) {
	open := mk(t, journal.Leader, clock)
	a, b := open(nil), open(nil)
	epoch := func(n uint64) journal.Writer { return journal.Writer{Instance: "a", Epoch: n} }
	Append(t, a, epoch(0), Note(0))
	Append(t, a, epoch(1), Note(1))
	Append(t, b, epoch(3), Note(2))
	for _, j := range []journal.Journal{a, b, open(nil)} {
		for _, old := range []uint64{1, 2} {
			_, err := j.Append(context.Background(), epoch(old), func() ([]journal.Draft, error) { t.Error("propose was called"); return nil, nil })
			var stale *journal.StaleError
			if !errors.As(err, &stale) {
				t.Fatalf("epoch %d after 3: %v", old, err)
			}
			want := &journal.StaleError{Journal: journal.Leader, Instance: "a", Epoch: old, Current: 3}
			if d := cmp.Diff(want, stale); d != "" {
				t.Error(d)
			}
		}
	}
	Append(t, a, epoch(3), Note(3))
	Append(t, a, epoch(0), Note(4)) // a writer without an epoch is not checked against one
	Append(t, a, journal.Writer{Instance: "b", Epoch: 1}, Note(5))
	Append(t, a, journal.Writer{Operator: true}, Note(6))
	Append(t, b, epoch(4), Note(7))
	if n := len(see(t, open)); n != 8 {
		t.Errorf("%d records, want 8", n)
	}
}

func testContext(t *testing.T, mk Make) {
	open := mk(t, journal.Leader, clock)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	j := open(nil)
	if err := j.Refresh(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Refresh = %v", err)
	}
	_, err := j.Append(ctx, writer, func() ([]journal.Draft, error) { return []journal.Draft{Note(1)}, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Append = %v", err)
	}
	same(t, "records", see(t, open), nil)
	Append(t, j, writer, Note(1))
}

func testPrefix(t *testing.T, mk Make) {
	open := mk(t, journal.Leader, clock)
	folds := make([]Recorder, 20)
	handles := make([]journal.Journal, len(folds))
	w := open(nil)
	for i := range folds {
		handles[i] = open(&folds[i])
		refresh(t, handles[i])
		Append(t, w, writer, Note(i), Note(-i))
		if i%3 == 0 {
			refresh(t, handles[i/2])
		}
	}
	whole := see(t, open)
	for i := range folds {
		refresh(t, handles[i])
		refresh(t, handles[i])
		same(t, fmt.Sprint("handle ", i), folds[i].Records, whole)
	}
}

// testCompareAndSet lets several handles decide the same keys, with unrelated
// appends in between.
func testCompareAndSet(t *testing.T, mk Make) {
	const keys, deciders = 40, 4
	open := mk(t, journal.Leader, time.Now)
	var wg sync.WaitGroup
	wins := make([]int, deciders)
	for d := range deciders {
		f := &Decisions{}
		j := open(f)
		wg.Go(func() {
			for k := range keys {
				recs, err := f.Decide(j, journal.Writer{PID: d}, fmt.Sprint(k), fmt.Sprint(d))
				if err != nil {
					t.Error(err)
					return
				}
				wins[d] += len(recs)
				if _, err := j.Append(context.Background(), writer, func() ([]journal.Draft, error) { return []journal.Draft{Note(k)}, nil }); err != nil {
					t.Error("unrelated:", err)
				}
			}
		})
	}
	wg.Wait()
	f := &Decisions{}
	refresh(t, open(f))
	sum := 0
	for _, n := range wins {
		sum += n
	}
	if sum != keys || len(f.By) != keys || f.Doubled != 0 || f.Other != keys*deciders {
		t.Errorf("%d decided, %d keys, %d doubled, %d notes", sum, len(f.By), f.Doubled, f.Other)
	}
}

// Decisions is a fold of keys, each of which is decided once.
type Decisions struct {
	By      map[string]string
	Doubled int // decisions of a key that was decided
	Other   int // other records
}

type decision struct {
	Key string `json:"key"`
	By  string `json:"by"`
}

// Apply implements journal.Fold.
func (f *Decisions) Apply(r journal.Record) error {
	if r.Kind != "decided" {
		f.Other++
		return nil
	}
	var d decision
	if err := json.Unmarshal(r.Body, &d); err != nil {
		return err
	}
	if f.By == nil {
		f.By = map[string]string{}
	}
	if _, ok := f.By[d.Key]; ok {
		f.Doubled++
		return nil
	}
	f.By[d.Key] = d.By
	return nil
}

// Decide decides a key unless that was done; then it appends nothing.
func (f *Decisions) Decide(j journal.Journal, w journal.Writer, key, by string) ([]journal.Record, error) {
	return j.Append(context.Background(), w, func() ([]journal.Draft, error) {
		if _, ok := f.By[key]; ok {
			return nil, nil
		}
		return []journal.Draft{{Kind: "decided", Must: true, Body: decision{key, by}}}, nil
	})
}
