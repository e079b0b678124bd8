package record_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"waggle/protocol"
	"waggle/record"
)

var handleStart = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

func handleKey(id string) record.Key {
	return record.Key{Instance: "i1", Kind: protocol.KindPermissionRequest, ID: protocol.RequestID(id)}
}

// sharing finds n requests whose handle codes begin with the same four characters.
func sharing(t *testing.T, n int) []record.Key {
	t.Helper()
	found := map[string][]record.Key{}
	for i := range 1 << 20 {
		k := handleKey(fmt.Sprint("r", i))
		code := record.HandleCode(k, "d")[:4]
		if found[code] = append(found[code], k); len(found[code]) == n {
			return found[code]
		}
	}
	t.Fatal("no codes with the same beginning")
	return nil
}

// TestHandlesKeepTheirMeaning: a second request whose code begins alike gets a longer
// handle, and the first keeps the short one for 24 hours.
func TestHandlesKeepTheirMeaning(t *testing.T) {
	ks := sharing(t, 3)
	var h record.Handles
	first := h.Mint(ks[0], "d", handleStart)
	second := h.Mint(ks[1], "d", handleStart.Add(23*time.Hour))
	if len(first) != 4 || len(second) != 5 || !strings.HasPrefix(second, first) {
		t.Fatalf("handles %q, %q", first, second)
	}
	if again := h.Mint(ks[0], "d", handleStart.Add(23*time.Hour)); again != first {
		t.Fatalf("the same request got %q, then %q", first, again)
	}
	if late := h.Mint(ks[2], "d", handleStart.Add(50*time.Hour)); len(late) != 4 {
		t.Fatalf("after its time a handle is not given out again: %q", late)
	}
}

// TestHandlesDiffer: whatever ids askers choose, no two requests of one day share a handle, and no
// handle has characters that people mix up.
func TestHandlesDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h record.Handles
		seen := map[string]string{}
		at := handleStart
		for _, id := range rapid.SliceOfNDistinct(rapid.StringN(1, 12, 40), 1, 200, rapid.ID[string]).Draw(t, "ids") {
			at = at.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "seconds")) * time.Second)
			got := h.Mint(handleKey(id), record.Digest(rapid.StringMatching(`[0-9a-f]{8}`).Draw(t, "digest")), at)
			if other, taken := seen[got]; taken {
				t.Fatalf("%q and %q share %s", other, id, got)
			}
			if len(got) < 4 || strings.ContainsAny(got, "01OIL") || got != record.CleanHandle(strings.ToLower(got)) {
				t.Fatalf("handle %q", got)
			}
			seen[got] = id
		}
	})
}
