package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"waggle"
	"waggle/control"
	"waggle/internal/telemetry"
	"waggle/journal"
	"waggle/policy"
)

const (
	uid    = control.TeamUID("0123456789abcdef0123456789abcdef")
	secret = "hunter2"
)

// team is a leader and one member on disk, whose life the test writes.
type team struct {
	t    *testing.T
	dir  journal.Dir
	now  time.Time
	l    *control.Leader
	lj   journal.Journal
	w    *control.Worker
	wj   journal.Journal
	n    int
	want []control.Observation // by the folds that wrote it
}

func newTeam(t *testing.T) *team {
	t.Helper()
	f := &team{t: t, dir: journal.Dir{Path: filepath.Join(t.TempDir(), "journal"), UID: string(uid)}, now: time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)}
	if err := os.MkdirAll(f.dir.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	see := func(o control.Observation) { f.want = append(f.want, o) }
	o := journal.Options{Now: func() time.Time { f.now = f.now.Add(time.Second); return f.now }, SnapshotAfter: -1}
	var err error
	f.l, f.w = control.NewLeader(see), control.NewWorker(see)
	if f.lj, err = f.dir.Open(journal.Leader, f.l, o); err == nil {
		f.wj, err = f.dir.Open("ada", f.w, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *team) mint() control.Mint {
	f.n++
	return control.Mint{Now: f.now, MsgID: fmt.Sprintf("00000000-0000-4000-8000-%012d", f.n), Nonce: fmt.Sprintf("%07d", f.n)}
}

func (f *team) do(j journal.Journal, by journal.Writer, step func() ([]journal.Draft, error)) {
	f.t.Helper()
	if _, err := j.Append(f.t.Context(), by, step); err != nil {
		f.t.Fatal(err)
	}
}

func (f *team) add(j journal.Journal, by journal.Writer, kind string, body any) {
	f.t.Helper()
	f.do(j, by, func() ([]journal.Draft, error) { return []journal.Draft{{Kind: kind, Must: true, Body: body}}, nil })
}

var (
	operator = journal.Writer{Operator: true, PID: 1}
	lead     = journal.Writer{Instance: "lead", Epoch: 1}
	ada      = journal.Writer{Instance: "ada", Epoch: 1}
)

// life is what happens, step by step.
func (f *team) life() []func() {
	var k control.Key
	return []func(){
		func() {
			f.add(f.lj, operator, control.RecOpened, control.Opened{Team: "api", UID: uid, Instance: "lead", Name: waggle.Lead, Epoch: 1})
			f.add(f.lj, operator, control.RecPolicy, control.PolicySet{Policy: policy.Policy{Version: 1}})
		},
		func() {
			f.add(f.lj, operator, control.RecJoined, control.Joined{Instance: "ada", Name: "ada", Trust: control.Cooperative})
		},
		func() {
			f.add(f.wj, ada, control.RecOpened, control.Opened{Team: "api", UID: uid, Instance: "ada", Name: "ada", Epoch: 1})
		},
		func() {
			f.do(f.wj, ada, func() ([]journal.Draft, error) { return f.w.Take(control.Taken{Entries: []string{"chat"}}, f.l) })
		},
		func() {
			f.do(f.wj, ada, func() (ds []journal.Draft, err error) {
				k, ds, err = f.w.Ask(waggle.KindPermissionRequest, control.Ask{Tool: "Bash", Input: `{"command":"echo ` + secret + `"}`, Cwd: "/w", Reason: secret}, f.l, f.mint())
				return ds, err
			})
		},
		func() {
			env, err := f.w.Outbox[0].Mail.Open()
			if err != nil {
				f.t.Fatal(err)
			}
			f.do(f.lj, lead, func() ([]journal.Draft, error) {
				return f.l.See(control.Incoming{Entry: "e", Box: waggle.Lead, Envelope: env, Decoded: waggle.Decode(env)}, f.w), nil
			})
		},
		func() {
			f.now = f.now.Add(time.Minute)
			f.do(f.lj, operator, func() ([]journal.Draft, error) {
				r := f.l.Pending()[0]
				out, err := f.l.Decide(control.Verdict{Key: k, Digest: r.Digest, By: policy.RoleOperator, Channel: policy.ChannelOperator, Reason: secret}, operator, f.mint())
				return out.Drafts, err
			})
		},
		func() {
			env, err := f.l.Outbox()[0].Mail.Open()
			if err != nil {
				f.t.Fatal(err)
			}
			f.do(f.wj, ada, func() ([]journal.Draft, error) {
				return f.w.Receive(control.Incoming{Entry: "a", Box: "ada", Envelope: env, Decoded: waggle.Decode(env)}, f.l), nil
			})
			f.do(f.lj, lead, func() ([]journal.Draft, error) { return f.l.Settle(f.w), nil })
		},
		func() {
			f.do(f.wj, ada, func() ([]journal.Draft, error) {
				return f.w.Say(waggle.IdleNotification{From: "ada", Timestamp: waggle.FormatTime(f.now), IdleReason: "failed", FailureReason: secret}, control.Said{Failed: true, Note: secret}, f.l, f.mint())
			})
		},
		func() { f.add(f.lj, lead, control.RecEnded, control.Ended{How: "down"}) },
	}
}

func (f *team) follower(to control.Observer) *telemetry.Follower {
	f.t.Helper()
	w, err := telemetry.NewFollower(telemetry.Options{Journals: f.dir, Cursor: filepath.Join(f.dir.Path, "..", "told.json"), To: to})
	if err != nil {
		f.t.Fatal(err)
	}
	return w
}

// TestFollower: wherever the program that leads is stopped and another goes on,
// every transition is told once, in the order of the journals.
func TestFollower(t *testing.T) {
	steps := len((&team{}).life())
	for restart := range steps {
		f := newTeam(t)
		var got []control.Observation
		tell := func(o control.Observation) { got = append(got, o) }
		w := f.follower(tell)
		for i, step := range f.life() {
			step()
			if i == restart {
				w = f.follower(tell)
			}
			if i%3 == 1 { // several steps at once, too
				continue
			}
			for range 2 {
				if err := w.Pass(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 2 { // a restart that finds nothing new
			if err := f.follower(tell).Pass(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(f.want, got); d != "" {
			t.Fatalf("restart at %d: %s", restart, d)
		}
		if len(got) < 12 {
			t.Fatalf("%d transitions", len(got))
		}
	}
}

// TestFollowerIsNotFooled: a cursor that cannot be read is an error that says what
// to do, and a member's broken journal does not silence the others.
func TestFollowerIsNotFooled(t *testing.T) {
	f := newTeam(t)
	cursor := filepath.Join(f.dir.Path, "..", "told.json")
	if err := os.WriteFile(cursor, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := telemetry.NewFollower(telemetry.Options{Journals: f.dir, Cursor: cursor}); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("a cursor that is none: %v", err)
	}
	if err := os.Remove(cursor); err != nil {
		t.Fatal(err)
	}
	told := 0
	w := f.follower(func(control.Observation) { told++ })
	for _, step := range f.life() {
		step()
	}
	if err := os.WriteFile(filepath.Join(f.dir.Path, "ada", "00000001.jsonl"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.Pass(t.Context()); err == nil || told == 0 {
		t.Errorf("%d told, %v", told, err)
	}
}

func TestSlog(t *testing.T) {
	f := newTeam(t)
	var out bytes.Buffer
	w := f.follower(telemetry.Slog(slog.New(slog.NewJSONHandler(&out, nil))))
	for _, step := range f.life() {
		step()
	}
	if err := w.Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), secret) {
		t.Error("a message's text is in the log")
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(f.want) {
		t.Fatalf("%d lines, %d transitions", len(lines), len(f.want))
	}
	var first struct {
		Time, Level, Msg, Machine, Member, Instance, Row, From, Event, To string
		Seq                                                               uint64
	}
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
		t.Fatal(err)
	}
	if first.Msg != "transition" || first.Machine != "team" || first.Row != "L14" || first.To != "leading" || first.Seq != 1 ||
		first.Member != "team-lead" || first.Instance != "lead" || first.Event == "" || !strings.HasPrefix(first.Time, "2026-11-20T16:00") {
		t.Errorf("%+v", first)
	}
	quiet := telemetry.Slog(slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})))
	n := out.Len()
	if quiet(f.want[0]); out.Len() != n {
		t.Error("a transition is told at level warn")
	}
}

func TestOTel(t *testing.T) {
	f := newTeam(t)
	spans, reader := tracetest.NewSpanRecorder(), metric.NewManualReader()
	obs, err := telemetry.OTel(trace.NewTracerProvider(trace.WithSpanProcessor(spans)), metric.NewMeterProvider(metric.WithReader(reader)))
	if err != nil {
		t.Fatal(err)
	}
	both := 0
	w := f.follower(telemetry.Each(obs, func(control.Observation) { both++ }))
	for _, step := range f.life() {
		step()
	}
	if err := w.Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range spans.Ended() {
		names = append(names, s.Name())
		if s.Name() == "request" && (len(s.Events()) != 3 || !s.EndTime().After(s.StartTime().Add(time.Minute))) {
			t.Errorf("the question's span: %d events, %s to %s", len(s.Events()), s.StartTime(), s.EndTime())
		}
		for _, a := range s.Attributes() {
			if strings.Contains(a.Value.String(), secret) {
				t.Error("a message's text is in a span")
			}
		}
	}
	if d := cmp.Diff([]string{"request", "turn"}, names); d != "" {
		t.Error(d)
	}
	var data metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &data); err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	waited := 0.0
	for _, m := range data.ScopeMetrics[0].Metrics {
		switch d := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range d.DataPoints {
				total += p.Value
			}
		case metricdata.Histogram[float64]:
			for _, p := range d.DataPoints {
				waited += p.Sum
			}
		}
	}
	if total != int64(len(f.want)) || both != len(f.want) || waited < 60 {
		t.Errorf("%d counted and %d told of %d, waited %v s", total, both, len(f.want), waited)
	}
}
