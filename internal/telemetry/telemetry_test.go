package telemetry_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/telemetry"
	"waggle/internal/telemetry/telemetrytest"
	"waggle/internal/test/testenv"
	"waggle/machine"
)

// TestFollower: wherever the program that leads is stopped and another goes on, every transition is
// reported once, in the order of the journals.
func TestFollower(t *testing.T) {
	steps := len((&telemetrytest.Team{}).Life())
	for restart := range steps {
		f := telemetrytest.New(t)
		var got []machine.Observation
		tell := func(o machine.Observation) { got = append(got, o) }
		w := f.Follower(tell)
		for i, step := range f.Life() {
			step()
			if i == restart {
				w = f.Follower(tell)
			}
			if i%3 == 1 { // several steps at once, too
				continue
			}
			for range 2 {
				testenv.Must(t, w.Pass(t.Context()))
			}
		}
		for range 2 { // a restart that finds nothing new
			testenv.Must(t, f.Follower(tell).Pass(t.Context()))
		}
		if d := cmp.Diff(f.Want, got); d != "" {
			t.Fatalf("restart at %d: %s", restart, d)
		}
		if len(got) < 12 {
			t.Fatalf("%d transitions", len(got))
		}
	}
}

// TestFollowerIsNotFooled: a cursor that cannot be read is an error with the next step, and a member's
// broken journal does not suppress the transitions of the others.
func TestFollowerIsNotFooled(t *testing.T) {
	f := telemetrytest.New(t)
	cursor := filepath.Join(f.Dir.Path, "..", "told.json")
	testenv.Must(t, os.WriteFile(cursor, []byte("[]"), 0o600))
	if _, err := telemetry.NewFollower(f.Dir, cursor, nil); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("a cursor that is none: %v", err)
	}
	testenv.Must(t, os.Remove(cursor))
	told := 0
	w := f.Follower(func(machine.Observation) { told++ })
	for _, step := range f.Life() {
		step()
	}
	testenv.Must(t, os.WriteFile(filepath.Join(f.Dir.Path, "ada", "00000001.jsonl"), []byte("{}\n"), 0o600))
	if err := w.Pass(t.Context()); err == nil || told == 0 {
		t.Errorf("%d told, %v", told, err)
	}
}

func TestSlog(t *testing.T) {
	f := telemetrytest.New(t)
	var out bytes.Buffer
	w := f.Follower(telemetry.Slog(slog.New(slog.NewJSONHandler(&out, nil))))
	for _, step := range f.Life() {
		step()
	}
	testenv.Must(t, w.Pass(t.Context()))
	if strings.Contains(out.String(), telemetrytest.Secret) {
		t.Error("a message's text is in the log")
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(f.Want) {
		t.Fatalf("%d lines, %d transitions", len(lines), len(f.Want))
	}
	var first struct {
		Time, Level, Msg, Machine, Member, Instance, Row, From, Event, To string
		Seq                                                               uint64
	}
	testenv.Must(t, json.Unmarshal([]byte(lines[0]), &first))
	if first.Msg != "transition" || first.Machine != "team" || first.Row != "L14" || first.To != "leading" || first.Seq != 1 ||
		first.Member != "team-lead" || first.Instance != "lead" || first.Event == "" || !strings.HasPrefix(first.Time, "2026-11-20T16:00") {
		t.Errorf("%+v", first)
	}
	quiet := telemetry.Slog(slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})))
	n := out.Len()
	if quiet(f.Want[0]); out.Len() != n {
		t.Error("a transition is told at level warn")
	}
}
