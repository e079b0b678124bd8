package control_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// opened is a leader's journal on disk with two members.
func opened(t *testing.T) journal.Dir {
	t.Helper()
	d := journal.Dir{Path: filepath.Join(t.TempDir(), "journal"), UID: string(uid)}
	raw(t, d, journal.Leader,
		journal.Draft{Kind: record.KindOpened, Must: true, Body: record.Opened{Team: "t", UID: uid, Instance: "lead-instance", Name: "team-lead", Epoch: 1}},
		joined("ada"), joined("bob"))
	return d
}

func joined(name string) journal.Draft {
	return journal.Draft{Kind: record.KindJoined, Must: true, Body: record.Joined{Instance: record.Instance(name + "-1"), Name: protocol.MemberName(name)}}
}

// raw appends records that no fold has looked at.
func raw(t *testing.T, d journal.Dir, n journal.Name, ds ...journal.Draft) {
	t.Helper()
	j, err := d.Open(n, nil, journal.Options{})
	testenv.Must(t, err)
	if _, err := j.Append(context.Background(), operator, func() ([]journal.Draft, error) { return ds, nil }); err != nil {
		t.Fatal(err)
	}
}

// kindsOn lists the records of a journal.
func kindsOn(t *testing.T, d journal.Dir) (ks []string) {
	t.Helper()
	if _, err := d.Open(journal.Leader, each(func(r journal.Record) { ks = append(ks, r.Kind) }), journal.Options{}); err != nil {
		t.Fatal(err)
	}
	return ks
}

type each func(journal.Record)

func (f each) Apply(r journal.Record) error { f(r); return nil }

func TestContradictionIsSetAside(t *testing.T) {
	d := opened(t)
	twice := joined("ada")
	b := twice.Body.(record.Joined)
	b.Instance = "ada-2"
	twice.Body = b
	raw(t, d, journal.Leader, twice, joined("ada"), journal.Draft{Kind: record.KindSent, Must: true, Body: record.Sent{Ref: 99}}, joined("eve"))

	var told []machine.Observation
	l := control.NewLeader(func(o machine.Observation) { told = append(told, o) })
	j, err := d.Open(journal.Leader, l, journal.Options{})
	testenv.Must(t, err)
	if len(l.Members) != 3 || l.Members[0].Instance != "ada-1" || l.Members[2].Name != "eve" {
		t.Fatalf("members: %v", l.Members)
	}
	if len(told) != 4 { // opened and three joined, each once
		t.Errorf("%d transitions were told: %v", len(told), told)
	}
	before := kindsOn(t, d)
	if got := len(before); got != 7 {
		t.Fatalf("reading wrote: %v", before)
	}
	if _, err := j.Append(t.Context(), operator, func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: record.KindNoticed, Body: record.Noticed{}}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"repaired", "repaired", "repaired", "noticed"}, kindsOn(t, d)[7:]); d != "" {
		t.Errorf("what names them: %s", d)
	}
	if _, err := j.Append(t.Context(), operator, func() ([]journal.Draft, error) { return []journal.Draft{joined("fay")}, nil }); err != nil {
		t.Fatal(err)
	}
	if n := len(kindsOn(t, d)); n != 12 {
		t.Errorf("they are named again: %v", kindsOn(t, d))
	}
	fresh := control.NewLeader(nil)
	again, err := d.Open(journal.Leader, fresh, journal.Options{})
	testenv.Must(t, err)
	if diff := cmp.Diff(l, fresh, sameFold); diff != "" {
		t.Errorf("folded anew: %s", diff)
	}
	if a := again.Aside(); len(a) != 3 || a[0].Aside != 4 || a[0].Kind != record.KindJoined || !strings.Contains(a[0].Why, "joined twice") {
		t.Errorf("aside: %v", a)
	}
}

// A fold leaves out a record that a repaired record names, even when it would accept it.
func TestSetAsideByName(t *testing.T) {
	d := opened(t)
	raw(t, d, journal.Leader, journal.Draft{Kind: journal.KindRepaired, Body: journal.Repaired{Aside: 3, Kind: record.KindJoined, Why: "an earlier fold said so"}})
	l := control.NewLeader(nil)
	if _, err := d.Open(journal.Leader, l, journal.Options{}); err != nil {
		t.Fatal(err)
	}
	if len(l.Members) != 1 || l.Members[0].Name != "ada" {
		t.Errorf("members: %v", l.Members)
	}
}

// A record that gives or takes a right is never left out.
func TestNotSetAside(t *testing.T) {
	older := record.PolicySet{}
	for name, ds := range map[string][]journal.Draft{
		"a policy that contradicts": {
			{Kind: record.KindPolicy, Must: true, Body: version(older, 2)}, {Kind: record.KindPolicy, Must: true, Body: version(older, 1)}},
		"a policy that is named": {
			{Kind: record.KindPolicy, Must: true, Body: version(older, 2)}, {Kind: journal.KindRepaired, Body: journal.Repaired{Aside: 4, Kind: record.KindJoined}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := opened(t)
			raw(t, d, journal.Leader, ds...)
			l := control.NewLeader(nil)
			j, err := d.Open(journal.Leader, l, journal.Options{})
			var broken *journal.BrokenError
			if !errors.As(err, &broken) || broken.File == "" || broken.Line == 0 {
				t.Fatalf("%v", err)
			}
			if len(l.Members) != 2 {
				t.Errorf("it is not readable up to there: %v", l.Members)
			}
			if _, err := j.Append(t.Context(), operator, func() ([]journal.Draft, error) { return []journal.Draft{joined("eve")}, nil }); err == nil {
				t.Error("it was written to")
			}
		})
	}
}

func version(p record.PolicySet, n uint64) record.PolicySet {
	p.Policy = policy.Policy{Version: n}
	return p
}

// TestFailedWriteIsNotFolded: records that a full disk refused are in no fold and are not observed,
// and are there once when the disk has room again.
func TestFailedWriteIsNotFolded(t *testing.T) {
	d := opened(t)
	full := false
	o := journal.Options{Write: func(f *os.File, p []byte) (int, error) {
		if full {
			n, _ := f.Write(p[:len(p)/2])
			return n, syscall.ENOSPC
		}
		return f.Write(p)
	}}
	told := 0
	l := control.NewLeader(func(machine.Observation) { told++ })
	j, err := d.Open(journal.Leader, l, o)
	testenv.Must(t, err)
	before := told
	for range 3 {
		full = true
		_, err = j.Append(t.Context(), operator, func() ([]journal.Draft, error) { return []journal.Draft{joined("eve")}, nil })
		if !errors.Is(err, syscall.ENOSPC) || len(l.Members) != 2 || told != before {
			t.Fatalf("%v, members %v, told %d after %d", err, l.Members, told, before)
		}
	}
	full = false
	if _, err = j.Append(t.Context(), operator, func() ([]journal.Draft, error) { return []journal.Draft{joined("eve")}, nil }); err != nil {
		t.Fatal(err)
	}
	if len(l.Members) != 3 || told != before+1 {
		t.Errorf("members %v, told %d after %d", l.Members, told, before)
	}
}
