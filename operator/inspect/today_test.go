package inspect_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator/inspect"
	"waggle/record"
)

// TestToday: what members of all teams have used since local midnight is summed, without what they had
// used before; a journal that was not written since midnight is not read.
func TestToday(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	zone := time.FixedZone("east", 5*3600)
	real := time.Now().In(zone)
	now := time.Date(real.Year(), real.Month(), real.Day(), 12, 0, 0, 0, zone)
	midnight := now.Add(-12 * time.Hour)
	at := now
	op.Minter.Now = func() time.Time { return at.UTC() }
	in := inspect.Of(op)
	if u := in.Today(now); u != (record.Usage{}) {
		t.Errorf("no team: %+v", u)
	}
	api := operatortest.Team(t, op, "api", record.PolicySet{})
	web := operatortest.Team(t, op, "web", record.PolicySet{})
	sa, sw := api.State(), web.State()
	ann, bob, cid := api.Enlist(sa, "ann"), api.Enlist(sa, "bob"), web.Enlist(sw, "cid")
	spent := func(i record.Instance, input, micros int64) journal.Draft {
		return journal.Draft{Kind: record.KindSpent, Body: record.Spent{Instance: i, Usage: record.Usage{ID: "r", Input: input, CostMicros: micros, Turns: 1, Source: record.UsageReported}}}
	}
	at = midnight.Add(-time.Hour)
	operatortest.Append(t, op, sa, spent(ann.Instance, 100, 1000), spent(bob.Instance, 7, 0))
	at = midnight.Add(-time.Second)
	operatortest.Append(t, op, sa, spent(ann.Instance, 140, 1400))
	if u := in.Today(now); u != (record.Usage{}) {
		t.Errorf("yesterday: %+v", u)
	}
	at = midnight
	operatortest.Append(t, op, sa, spent(ann.Instance, 150, 1600))
	at = midnight.Add(time.Minute)
	operatortest.Append(t, op, sa, spent(ann.Instance, 200, 2400))
	operatortest.Append(t, op, sw, spent(cid.Instance, 5, 50))
	want := record.Usage{Input: 65, CostMicros: 1050, Turns: 1, Source: record.UsageReported}
	if u := in.Today(now); u != want {
		t.Errorf("%+v, want %+v", u, want)
	}
	files, err := filepath.Glob(filepath.Join(sw.Dir.LeaderJournal(), "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		testenv.Must(t, os.Chtimes(f, midnight.Add(-time.Hour), midnight.Add(-time.Hour)))
	}
	if u := in.Today(now); u.Input != 60 {
		t.Errorf("with a journal of yesterday: %+v", u)
	}
}
