package mailbox_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/protocol"
)

// sized is an entry of the model, with its size as it is stored.
type sized struct {
	env  protocol.Envelope
	size int64
	read bool
}

// refusal is what the limits say of a batch, read once more: the first limit that it would exceed.
func refusal(l mailbox.Limits, there, batch []sized, control func(protocol.Envelope) bool, since string) string {
	batch = slices.DeleteFunc(slices.Clone(batch), func(s sized) bool { return control(s.env) })
	for _, s := range batch {
		if l.Entry > 0 && s.size > int64(l.Entry) {
			return "Entry of " + s.env.From
		}
	}
	sums := func(from string) (count, bytes, lately int64) {
		for _, s := range batch {
			if from == "" || s.env.From == from {
				count, bytes, lately = count+1, bytes+s.size, lately+1
			}
		}
		for _, s := range there {
			if from != "" && s.env.From != from {
				continue
			}
			if !s.read {
				count, bytes = count+1, bytes+s.size
			}
			if s.env.Timestamp >= since {
				lately++
			}
		}
		return count, bytes, lately
	}
	over := func(n, most int64) bool { return most > 0 && n > most }
	if len(batch) == 0 {
		return ""
	}
	switch count, bytes, _ := sums(""); {
	case over(count, int64(l.Count)):
		return "Count of "
	case over(bytes, l.Bytes):
		return "Bytes of "
	}
	for _, s := range batch {
		switch count, bytes, lately := sums(s.env.From); {
		case over(count, int64(l.SenderCount)):
			return "SenderCount of " + s.env.From
		case over(bytes, l.SenderBytes):
			return "SenderBytes of " + s.env.From
		case over(lately, int64(l.Rate)):
			return "Rate of " + s.env.From
		}
	}
	return ""
}

// TestLimitsProperty: whatever was appended and read before, a batch is refused for the limit that
// a second reading names, and for none when that names none; a refused batch leaves no entry.
func TestLimitsProperty(t *testing.T) {
	now := time.Date(2026, 11, 20, 18, 15, 43, 0, time.UTC)
	since := protocol.FormatTime(now.Add(-mailbox.RateWindow))
	frame := `{"type":"shutdown_request","requestId":"s-1","from":"a","timestamp":"2026-11-20T18:15:43.000Z"}`
	control := func(e protocol.Envelope) bool { return e.Text == frame }
	sizes := map[string]int64{}
	draw := func(t *rapid.T, name string, scratch mailbox.Store) sized {
		e := protocol.Envelope{From: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "from"), Text: rapid.SampledFrom([]string{"", "x", "longer words", frame}).Draw(t, "text"),
			Timestamp: protocol.FormatTime(now.Add(-rapid.SampledFrom([]time.Duration{0, mailbox.RateWindow, mailbox.RateWindow + time.Millisecond, time.Hour}).Draw(t, "age")))}
		if e.Text == frame {
			e.From = "a"
		}
		key := fmt.Sprint(name, e.From, e.Text, e.Timestamp)
		if sizes[key] == 0 {
			testenv.Must(t, scratch.Append(t.Context(), e))
			es, err := scratch.Entries(t.Context())
			testenv.Must(t, err)
			sizes[key] = int64(len(es[len(es)-1].Raw))
		}
		return sized{env: e, size: sizes[key]}
	}
	rounds := map[string]int{"memory": 30, "lines": 2} // of so many cases as a property of the package has
	stores := map[string]func(mailbox.Options) mailbox.Store{
		"memory": mailbox.NewMemory,
		"lines": func(o mailbox.Options) mailbox.Store {
			return openLayout(t, mailbox.JSONL, t.TempDir(), o)
		},
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			scratch := open(mailbox.Options{})
			check := func(t *rapid.T) {
				few, bytes := rapid.IntRange(0, 4), rapid.Int64Range(0, 700)
				l := mailbox.Limits{Entry: rapid.SampledFrom([]int{0, 0, 74, 75, 95, 96, 105}).Draw(t, "Entry"), Count: few.Draw(t, "Count"), Bytes: bytes.Draw(t, "Bytes"),
					SenderCount: few.Draw(t, "SenderCount"), SenderBytes: bytes.Draw(t, "SenderBytes"), Rate: few.Draw(t, "Rate")}
				s := open(mailbox.Options{Limits: l, Now: func() time.Time { return now }})
				var there []sized
				for range rapid.IntRange(1, 6).Draw(t, "steps") {
					batch := []sized{draw(t, name, scratch)}
					if rapid.Bool().Draw(t, "two") {
						batch = append(batch, draw(t, name, scratch))
					}
					var envs []protocol.Envelope
					for _, b := range batch {
						envs = append(envs, b.env)
					}
					want, got := refusal(l, there, batch, control, since), ""
					err := s.Append(t.Context(), envs...)
					if refused, ok := errors.AsType[*mailbox.LimitError](err); ok {
						got = fmt.Sprintf("%s of %s", refused.What, refused.Sender)
					} else if err != nil {
						t.Fatal(err)
					}
					if got != want {
						t.Fatalf("%+v, %d there, %+v: refused by %q, want %q", l, len(there), batch, got, want)
					}
					if want == "" {
						there = append(there, batch...)
					}
					es, err := s.Entries(t.Context())
					if err != nil || len(es) != len(there) {
						t.Fatalf("%d entries, %v; want %d", len(es), err, len(there))
					}
					if len(es) > 0 && rapid.Bool().Draw(t, "read") {
						i := rapid.IntRange(0, len(es)-1).Draw(t, "which")
						testenv.Must(t, s.MarkRead(t.Context(), es[i].ID))
						there[i].read = true
					}
				}
			}
			for range rounds[name] {
				rapid.Check(t, check)
			}
		})
	}
}
