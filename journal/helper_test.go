package journal_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/journal/journaltest"
)

const uid = "00112233445566778899aabbccddeeff"

var someone = journal.Writer{Instance: "feed", Epoch: 1, PID: 1}

// TestMain runs the test binary as a child process of a test when the environment asks for it.
func TestMain(m *testing.M) {
	if args := os.Getenv("WAGGLE_JOURNAL_CHILD"); args != "" {
		os.Exit(child(args))
	}
	if err := flag.Set("rapid.checks", strconv.Itoa(testenv.Scale(20, 1200))); err != nil {
		panic(err)
	}
	testenv.Overlap(3)
	os.Exit(m.Run())
}

func noSync(*os.File) error { return nil }

// tester is testing.TB and *rapid.T.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func newDir(t testing.TB) journal.Dir {
	return journal.Dir{Path: filepath.Join(t.TempDir(), "journal"), UID: uid}
}

// fixed is a clock that stands, so that the same appends give the same bytes.
func fixed() time.Time { return time.Date(2026, 11, 20, 18, 15, 43, 0, time.UTC) }

var quick = journal.Options{Now: fixed, Sync: noSync}

func open(t tester, d journal.Dir, o journal.Options) (*journal.File, *journaltest.Recorder) {
	t.Helper()
	fold := &journaltest.Recorder{}
	return openFold(t, d, fold, o), fold
}

func openFold(t tester, d journal.Dir, fold journal.Fold, o journal.Options) *journal.File {
	t.Helper()
	j, err := d.Open(journal.Leader, fold, o)
	testenv.Must(t, err)
	return j
}

// notes appends n notes, each in an append of its own.
func notes(t testing.TB, j journal.Journal, n int) {
	t.Helper()
	for i := range n {
		journaltest.Append(t, j, someone, journaltest.Note(i))
	}
}

func refresh(t tester, j journal.Journal) {
	t.Helper()
	testenv.Must(t, j.Refresh(context.Background()))
}

func segment(d journal.Dir, n int) string {
	return filepath.Join(d.Path, "leader", fmt.Sprintf("%08d.jsonl", n))
}

func read(t tester, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	testenv.Must(t, err)
	return b
}

func write(t tester, path string, b []byte) {
	t.Helper()
	testenv.Must(t, os.WriteFile(path, b, 0o600))
}

// noted is a journal of one note.
func noted(t testing.TB, n int) (journal.Dir, *journal.File) {
	d := newDir(t)
	j, _ := open(t, d, quick)
	journaltest.Append(t, j, someone, journaltest.Note(n))
	return d, j
}

// forget removes certain.json: the journal is as a program left it that wrote none, or wrote less.
func forget(t tester, d journal.Dir) {
	t.Helper()
	testenv.Must(t, os.RemoveAll(filepath.Join(d.Path, "leader", journal.CertainName)))
}

func same(t tester, what string, got, want []journal.Record) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d records, want %d", what, len(got), len(want))
	}
	if len(got) > 0 && !reflect.DeepEqual(got, want) { // compare first: Diff is slow
		t.Fatalf("%s (-want +got):\n%s", what, cmp.Diff(want, got))
	}
}

// verified refolds the journal and checks every line of it by what the package
// comment says, with other code than the package's own.
func verified(t tester, d journal.Dir) []journal.Record {
	t.Helper()
	_, fold := open(t, d, journal.Options{})
	sum := sha256.Sum256([]byte("waggle/journal/1\x00" + d.UID + "\x00leader"))
	prev, n := hex.EncodeToString(sum[:]), 0
	for seg := 1; ; seg++ {
		b, err := os.ReadFile(segment(d, seg))
		if errors.Is(err, os.ErrNotExist) {
			break
		}
		testenv.Must(t, err)
		for line := range bytes.Lines(b) {
			n++
			if n > len(fold.Records) {
				break
			}
			head, tail, ok := bytes.Cut(line, []byte(`,"sum":"`))
			sum := sha256.Sum256(head)
			if !ok || string(tail) != hex.EncodeToString(sum[:8])+"\"}\n" {
				t.Fatalf("line %d does not have its sum: %s", n, line)
			}
			checkLine(t, line, prev, n, fold.Records[n-1])
			sum = sha256.Sum256(line)
			prev = hex.EncodeToString(sum[:])
		}
	}
	if n < len(fold.Records) {
		t.Fatalf("%d records of %d lines", len(fold.Records), n)
	}
	return fold.Records
}

func checkLine(t tester, line []byte, prev string, n int, r journal.Record) {
	t.Helper()
	var got struct {
		V       int
		Must    bool
		Journal string
		Seq     int
		Prev    string
		Time    time.Time
		Writer  journal.Writer
		Kind    string
		Body    json.RawMessage
		Ref     *journal.Ref
	}
	testenv.Must(t, json.Unmarshal(line, &got))
	if got.V != 1 || got.Seq != n || got.Prev != prev || got.Journal != "leader" {
		t.Fatalf("line %d: %s", n, line)
	}
	if got.Ref == nil && !bytes.Equal(got.Body, r.Body) || got.Must != r.Must || got.Kind != r.Kind || got.Writer != r.Writer || !got.Time.Equal(r.Time) {
		t.Fatalf("line %d folded as %+v: %s", n, r, line)
	}
}

// sample is a journal of small appends, one of three records, and one large body.
type sample struct {
	dir   journal.Dir
	bytes []byte // of its one segment
	lines [][]byte
	recs  []journal.Record
	ends  []int // offsets behind each append, 0 first
	after []int // records up to there
}

func newSample(t testing.TB, appends int) sample {
	s := sample{dir: newDir(t), ends: []int{0}, after: []int{0}}
	j, fold := open(t, s.dir, quick)
	for i := range appends {
		switch {
		case i == appends/2:
			journaltest.Append(t, j, someone, journal.Draft{Kind: "large", Must: true, Body: strings.Repeat("body ", 1700)})
		case i%8 == 3:
			journaltest.Append(t, j, someone, journaltest.Note(i), journaltest.Note(i+1), journal.Draft{Kind: "end"})
		default:
			journaltest.Append(t, j, someone, journaltest.Note(i))
		}
		st, err := os.Stat(segment(s.dir, 1))
		testenv.Must(t, err)
		s.ends, s.after = append(s.ends, int(st.Size())), append(s.after, len(fold.Records))
	}
	s.bytes, s.recs = read(t, segment(s.dir, 1)), fold.Records
	s.lines = slices.Collect(bytes.Lines(s.bytes))
	return s
}

// whole returns how many records are in complete appends before off, and where
// those end.
func (s sample) whole(off int) (recs, end int) {
	i := 0
	for i+1 < len(s.ends) && s.ends[i+1] <= off {
		i++
	}
	return s.after[i], s.ends[i]
}

// lineOf returns the index of the line that holds the byte at off.
func (s sample) lineOf(off int) int { return bytes.Count(s.bytes[:off], []byte("\n")) }

// put replaces the sample's segment by another file, as if no more had been written. To truncate it
// would make some file systems flush.
func (s sample) put(t tester, b []byte) {
	t.Helper()
	forget(t, s.dir)
	testenv.Must(t, os.RemoveAll(segment(s.dir, 1)))
	write(t, segment(s.dir, 1), b)
}

// refused opens the journal, which must fail, and checks that an append fails too. It returns the
// folded records and the error.
func refused(t testing.TB, d journal.Dir) ([]journal.Record, error) {
	t.Helper()
	var fold journaltest.Recorder
	j, err := d.Open(journal.Leader, &fold, quick)
	if err == nil {
		return fold.Records, nil
	}
	folded := len(fold.Records)
	for range 2 {
		_, aerr := j.Append(context.Background(), someone, func() ([]journal.Draft, error) {
			t.Error("propose was called on a journal that is " + err.Error())
			return []journal.Draft{journaltest.Note(0)}, nil
		})
		if aerr == nil || aerr.Error() != err.Error() {
			t.Fatalf("Append = %v after Open = %v", aerr, err)
		}
		if rerr := j.Refresh(context.Background()); rerr == nil || rerr.Error() != err.Error() {
			t.Fatalf("Refresh = %v after Open = %v", rerr, err)
		}
	}
	if len(fold.Records) != folded {
		t.Fatalf("folded on after %v", err)
	}
	return fold.Records, err
}

// breakAt checks that err locates a break.
func breakAt(t tester, err error, file string, line int, seq journal.Seq) {
	t.Helper()
	var b *journal.BrokenError
	if !errors.As(err, &b) {
		t.Fatalf("got %v, want a break at %s line %d, seq %d", err, file, line, seq)
	}
	if b.Journal != journal.Leader || b.File != file || b.Line != line || b.Seq != seq || b.Why == "" {
		t.Fatalf("got %#v, want %s line %d, seq %d", b, file, line, seq)
	}
}

// contest is a process that tries to decide every key and appends a note after each. It prints
// every append that was acknowledged to it.
type contest struct {
	Path string
	Keys int
	As   string
	Seed uint64
}

func child(args string) int {
	var c contest
	if err := json.Unmarshal([]byte(args), &c); err != nil {
		panic(err)
	}
	if err := c.run(); err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("done")
	return 0
}

func (c contest) run() error {
	rnd := rand.New(rand.NewPCG(c.Seed, 7))
	o := journal.Options{Segment: 8000, Deadline: time.Minute}
	o.Write = func(f *os.File, p []byte) (n int, err error) { // leave time to be killed in
		for n < len(p) && err == nil {
			var m int
			m, err = f.Write(p[n:min(len(p), n+1+rnd.IntN(300))])
			n += m
			time.Sleep(time.Duration(rnd.IntN(200)) * time.Microsecond) // real clock: time for another process to kill this one
		}
		return n, err
	}
	o.Sync = func(f *os.File) error { // and before certain.json is written
		err := f.Sync()
		time.Sleep(time.Duration(rnd.IntN(200)) * time.Microsecond) // real clock: time for another process to kill this one
		return err
	}
	fold := &journaltest.Decisions{}
	j, err := journal.Dir{Path: c.Path, UID: uid}.Open(journal.Leader, fold, o)
	if err != nil {
		return err
	}
	w := journal.Writer{Instance: c.As, Epoch: 1, PID: os.Getpid()}
	for _, k := range rnd.Perm(c.Keys) {
		recs, err := fold.Decide(j, w, fmt.Sprint(k), c.As)
		if err != nil {
			return err
		}
		if len(recs) > 0 {
			fmt.Println("won", k)
		}
		if recs, err = j.Append(context.Background(), w, func() ([]journal.Draft, error) { return parts(k, 1+rnd.IntN(3)), nil }); err != nil {
			return err
		}
		fmt.Println("noted", recs[0].Seq)
	}
	return nil
}
