package record_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/record"
)

// TestUsageSums: every count is added to its own, and a sum is reported only when all of it is.
func TestUsageSums(t *testing.T) {
	a := record.Usage{ID: "a", Input: 1, Output: 20, CacheRead: 300, CacheWrite: 4000, CostMicros: 50000, Turns: 3, Source: record.UsageReported}
	b := record.Usage{ID: "b", Input: 5, Output: 60, CacheRead: 700, CacheWrite: 8000, CostMicros: 90000, Turns: 4, Source: record.UsageReported}
	want := record.Usage{ID: "b", Input: 6, Output: 80, CacheRead: 1000, CacheWrite: 12000, CostMicros: 140000, Turns: 7, Source: record.UsageReported}
	if d := cmp.Diff(want, a.Plus(b)); d != "" {
		t.Error(d)
	}
	if n := a.Tokens(); n != 4321 {
		t.Errorf("%d tokens", n)
	}
	const reported, estimated = record.UsageReported, record.UsageEstimated
	for _, c := range [][3]string{{reported, reported, reported}, {estimated, reported, estimated}, {reported, estimated, estimated}, {estimated, estimated, estimated}, {"", reported, reported}, {reported, "", reported}, {estimated, "", estimated}, {"", "", ""}} {
		if got := (record.Usage{Source: c[0]}).Plus(record.Usage{Source: c[1]}); got.Source != c[2] {
			t.Errorf("%q and %q: %q", c[0], c[1], got.Source)
		}
	}
}

// TestUsageValid: no count is below zero, and the source is one that is known. Without a source there are
// only turns.
func TestUsageValid(t *testing.T) {
	for source, ok := range map[string]bool{record.UsageReported: true, record.UsageEstimated: true, "": true, "guessed": false} {
		if got := (record.Usage{Source: source}).Valid(); got != ok {
			t.Errorf("%q: %v", source, got)
		}
		typ := reflect.TypeFor[record.Usage]()
		for i := range typ.NumField() {
			if typ.Field(i).Type.Kind() != reflect.Int64 {
				continue
			}
			u := record.Usage{Source: source}
			field := reflect.ValueOf(&u).Elem().Field(i)
			if field.SetInt(1); u.Valid() != (ok && (source != "" || typ.Field(i).Name == "Turns")) {
				t.Errorf("%s is 1: %v", typ.Field(i).Name, u.Valid())
			}
			if field.SetInt(-1); u.Valid() {
				t.Errorf("%s is below zero", typ.Field(i).Name)
			}
		}
	}
}
