package machine_test

import (
	"slices"
	"testing"

	"waggle/machine"
	"waggle/protocol"
)

// TestConducts: each kind has one row, and its row says what the table of kinds says: only a kind
// with an effect may have one, an effect comes once, words are words whoever sends them, and a
// message that no journal has never has an effect.
func TestConducts(t *testing.T) {
	rows := map[protocol.Kind]machine.Conduct{}
	for _, c := range machine.Conducts() {
		if _, twice := rows[c.Kind]; twice {
			t.Errorf("%s has two rows", c.Kind)
		}
		rows[c.Kind] = c
		if c.Effect == "" {
			t.Errorf("%s: nothing is said of its effect", c.Kind)
		}
		fates := []machine.Fate{c.First, c.Again, c.Late, c.Forged}
		words := slices.Contains(fates, machine.FateWords)
		if words && slices.ContainsFunc(fates, func(f machine.Fate) bool { return f != machine.FateWords }) {
			t.Errorf("%s is words, and not always: %v", c.Kind, fates)
		}
		if !words && c.Forged != machine.FateUnverified {
			t.Errorf("%s that no journal has: %s", c.Kind, c.Forged)
		}
		if c.Again == machine.FateEffect || c.Late == machine.FateEffect {
			t.Errorf("%s has its effect once more", c.Kind)
		}
		if (c.When != "") != (c.First == machine.FateEffect || c.First == machine.FateNoted) {
			t.Errorf("%s is late when %q", c.Kind, c.When)
		}
	}
	for _, info := range protocol.Kinds() {
		c, ok := rows[info.Kind]
		if !ok {
			t.Errorf("%s has no row", info.Kind)
			continue
		}
		delete(rows, info.Kind)
		// These three change what a journal says and are no control messages on the wire.
		reports := info.Kind == protocol.KindIdleNotification || info.Kind == protocol.KindTaskAssignment || info.Kind == protocol.KindTaskCompleted
		if acts := c.First == machine.FateEffect; acts != (info.Effect || reports) || acts && info.Legacy {
			t.Errorf("%s has an effect: %v; the table of kinds: %+v", info.Kind, acts, info)
		}
		question := info.Request && info.Kind != protocol.KindShutdownRequest
		if (c.Again == machine.FateAgain) != question || (c.Late == machine.FateAbandoned) != question {
			t.Errorf("%s, a question: %v: again %s, late %s", info.Kind, question, c.Again, c.Late)
		}
	}
	for _, k := range []protocol.Kind{protocol.KindText, protocol.KindUnknown, protocol.KindInvalid} {
		if _, ok := rows[k]; !ok {
			t.Errorf("%s has no row", k)
		}
		delete(rows, k)
	}
	if len(rows) > 0 {
		t.Errorf("rows of no kind: %v", rows)
	}
	machine.Conducts()[0].Kind = "changed"
	if machine.Conducts()[0].Kind == "changed" {
		t.Error("Conducts gives its own table away")
	}
}
