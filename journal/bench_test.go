package journal_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/journal/journaltest"
)

// decidedBody is as large as the body of a decision with its envelope.
func decidedBody(i int) map[string]any {
	return map[string]any{
		"instance": "0123456789abcdef0123456789abcdef", "kind": "permission_request", "id": fmt.Sprintf("req-%08d", i),
		"digest": strings.Repeat("ab", 32), "decision": "allow", "by": "operator", "channel": "journal", "via": "approve",
		"policy_version": 3, "trust": "cooperative",
		"mail": map[string]any{"to": "tester", "kind": "permission_response", "sha256": strings.Repeat("cd", 32),
			"envelope": map[string]any{"from": "team-lead", "text": strings.Repeat("t", 200), "timestamp": "2026-11-20T18:15:43.000Z",
				"read": false, "msgV": 1, "msg_id": "00000000-0000-4000-8000-000000000000", "type": "message"}},
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, o := range map[string]journal.Options{"sync": {}, "nosync": {Sync: noSync}} {
		b.Run(name, func(b *testing.B) {
			j, err := newDir(b).Open(journal.Leader, nil, o)
			testenv.Must(b, err)
			body := decidedBody(1)
			for b.Loop() {
				journaltest.Append(b, j, someone, journal.Draft{Kind: "decided", Must: true, Body: body})
			}
		})
	}
}

func BenchmarkRefreshNothingNew(b *testing.B) {
	j, err := newDir(b).Open(journal.Leader, nil, quick)
	testenv.Must(b, err)
	journaltest.Append(b, j, someone, journaltest.Note(1))
	b.ReportAllocs()
	for b.Loop() {
		testenv.Must(b, j.Refresh(b.Context()))
	}
}

// big makes a journal of n decisions.
func big(tb testing.TB, n int) journal.Dir {
	d := newDir(tb)
	j, err := d.Open(journal.Leader, nil, quick)
	testenv.Must(tb, err)
	var drafts []journal.Draft
	for i := range n {
		drafts = append(drafts, journal.Draft{Kind: "decided", Must: true, Body: decidedBody(i)})
		if len(drafts) == 1000 || i == n-1 {
			journaltest.Append(tb, j, someone, drafts...)
			drafts = drafts[:0]
		}
	}
	return d
}

// keys is a fold that reads of every body what a list of decisions needs.
type keys struct {
	Decided map[string]journal.Seq
}

func (f *keys) Apply(r journal.Record) error {
	var b struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return err
	}
	f.Decided[b.ID] = r.Seq
	return nil
}

// snapKeys is keys with snapshots.
type snapKeys struct{ keys }

func (f *snapKeys) FoldVersion() string { return "keys" }

func (f *snapKeys) Snapshot() ([]byte, error) {
	var b []byte
	for id, seq := range f.Decided {
		b = fmt.Appendf(b, "%s %d\n", id, seq)
	}
	return b, nil
}

func (f *snapKeys) Restore(b []byte) error {
	f.Decided = make(map[string]journal.Seq, len(b)/20)
	for l := range strings.Lines(string(b)) {
		id, n, _ := strings.Cut(strings.TrimSuffix(l, "\n"), " ")
		var seq journal.Seq
		for _, c := range []byte(n) {
			seq = seq*10 + journal.Seq(c-'0')
		}
		f.Decided[id] = seq
	}
	return nil
}

func BenchmarkFold100k(b *testing.B) {
	d := big(b, 100_000)
	for name, mk := range map[string]func() journal.Fold{
		"chain only": func() journal.Fold { return nil },
		"keys":       func() journal.Fold { return &keys{map[string]journal.Seq{}} },
		"snapshot":   func() journal.Fold { return &snapKeys{keys{map[string]journal.Seq{}}} },
	} {
		b.Run(name, func(b *testing.B) {
			testenv.Must(b, openOnce(d, mk())) // saves a snapshot
			for b.Loop() {
				testenv.Must(b, openOnce(d, mk()))
			}
		})
	}
}

func openOnce(d journal.Dir, fold journal.Fold) error {
	j, err := d.Open(journal.Leader, fold, journal.Options{})
	if err == nil && j.Seq() != 100_000 {
		err = fmt.Errorf("%d records", j.Seq())
	}
	return err
}
