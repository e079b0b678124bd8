//go:build unix

package cli_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/home"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator/inspect"
	"waggle/policy"
	"waggle/record"
)

// TestVerifyTampered: audit verify finds a decision that the rules did not make, although
// every line of the journal has its sum and the chain is whole, and a snapshot that differs
// from the fold of the journal.
func TestVerifyTampered(t *testing.T) {
	t.Parallel()
	h := newTeam(t, "told", "team: told\npolicy: {allow: [Bash]}\nmembers: [{name: ann, agent: exec}]\n")
	h.must("task", "add", "work", "--owner", "ann", "--instructions", "echo ran >> ran", "--team", "told")
	testenv.Eventually(t, "the task has run", func() bool { b, _ := os.ReadFile(filepath.Join(h.work, "ran")); return len(b) > 0 })
	h.must("down", "told")

	verify := func() (v inspect.Verified, code int) {
		out, said, code := h.waggle("audit", "verify", "told", "--json")
		if err := testenv.Decode([]byte(out), &v); err != nil {
			t.Fatalf("%v\n%s%s", err, out, said)
		}
		return v, code
	}
	known, err := home.Home{Path: filepath.Join(h.dir, "s")}.List()
	if err != nil || len(known) != 1 {
		t.Fatal(known, err)
	}
	d := known[0].Dir.Journals()
	if _, err := d.Open(journal.Leader, control.NewLeader(nil), journal.Options{SnapshotAfter: 1}); err != nil {
		t.Fatal(err)
	}
	if v, code := verify(); code != 0 || !v.OK || v.Recomputed != 1 || v.NotRecomputed != 0 || v.Snapshots != 1 {
		t.Fatalf("as it was written: code %d, %+v", code, v)
	}

	snaps, err := filepath.Glob(filepath.Join(d.Path, "leader", "snapshot-*"))
	if err != nil || len(snaps) != 1 {
		t.Fatal(snaps, err)
	}
	good := readFile(t, snaps[0])
	_, body, _ := bytes.Cut(good, []byte("\n"))
	head, state, _ := bytes.Cut(body, []byte("\n"))
	body = bytes.Join([][]byte{head, bytes.ReplaceAll(state, []byte("ann"), []byte("eve"))}, []byte("\n"))
	sum := sha256.Sum256(body)
	put := func(b []byte) {
		writeFile(t, snaps[0], b)
	}
	put(append([]byte(hex.EncodeToString(sum[:])+"\n"), body...))
	if v, code := verify(); code != 1 || v.OK || len(v.Problems) != 1 || !strings.Contains(v.Problems[0].Why, "is not what the journal folds to") {
		t.Errorf("a snapshot was changed: code %d, %+v", code, v)
	}
	// A leader that opens the journal does not take its members from the changed snapshot.
	l := control.NewLeader(nil)
	if _, err := d.Open(journal.Leader, l, journal.Options{Whole: true}); err != nil || l.Members[0].Name != "ann" {
		t.Errorf("a leader believes the snapshot: %v, %v", l.Members[0].Name, err)
	}
	put(good)

	names, err := d.Names()
	testenv.Must(t, err)
	changed := 0
	for _, n := range names {
		if n != journal.Leader {
			changed += rewrite(t, d, n, record.KindAnswered, `"rule":"allow Bash"`, `"rule":"allow Bash(echo:*)"`)
		}
	}
	if changed != 1 {
		t.Fatalf("%d records were changed\n%s", changed, h.must("log", "told", "--kind", "answered"))
	}
	if v, code := verify(); code != 1 || v.OK || len(v.Problems) != 1 || !strings.Contains(v.Problems[0].Why, "on record is allow (allow Bash(echo:*))") {
		t.Errorf("a decision was changed: code %d, %+v", code, v)
	}
	for _, n := range names {
		if n != journal.Leader {
			rewrite(t, d, n, record.KindAnswered, fmt.Sprintf(`"judge":%d`, policy.JudgeVersion), `"judge":9999`)
		}
	}
	if v, code := verify(); code != 0 || v.Recomputed != 0 || v.NotRecomputed != 1 {
		t.Errorf("another judge: code %d, %+v", code, v)
	}
}

// rewrite makes a journal anew, with a text in records of a kind replaced and every sum
// and hash right, and returns how many were changed.
func rewrite(t *testing.T, d journal.Dir, n journal.Name, kind, old, text string) (changed int) {
	t.Helper()
	var recs []journal.Record
	if _, err := d.Open(n, keepAll{&recs}, journal.Options{}); err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, os.RemoveAll(filepath.Join(d.Path, string(n))))
	var now time.Time
	j, err := d.Open(n, nil, journal.Options{Now: func() time.Time { return now }})
	testenv.Must(t, err)
	for _, r := range recs {
		if r.Kind == kind && bytes.Contains(r.Body, []byte(old)) {
			changed++
			r.Body = bytes.ReplaceAll(r.Body, []byte(old), []byte(text))
		}
		now = r.Time
		if _, err := j.Append(t.Context(), r.Writer, func() ([]journal.Draft, error) {
			return []journal.Draft{{Kind: r.Kind, Must: r.Must, Body: r.Body}}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return changed
}

type keepAll struct{ recs *[]journal.Record }

func (f keepAll) Apply(r journal.Record) error { *f.recs = append(*f.recs, r); return nil }
