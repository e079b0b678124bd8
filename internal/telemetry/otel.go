package telemetry

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"waggle/control"
)

// scope names what is measured here.
const scope = "waggle"

// otel is an observer with what it has to remember: the spans that are open.
type otel struct {
	tracer      trace.Tracer
	transitions metric.Int64Counter
	waits       metric.Float64Histogram
	open        map[string]*span
}

// span is one that is open, and since when.
type span struct {
	trace.Span
	began time.Time
}

// OTel returns an observer for OpenTelemetry, through the API alone. It counts
// waggle.transitions by team, machine, row, event and state; it measures
// waggle.request.wait, the seconds from a question to its decision; and it makes a
// span of each question, from the record that opened it to the one that closed it,
// and of each turn of a worker. Times are those of the records. What was open when
// the program started has no span. It is used by one goroutine at a time.
func OTel(tp trace.TracerProvider, mp metric.MeterProvider) (control.Observer, error) {
	m := mp.Meter(scope)
	transitions, err := m.Int64Counter("waggle.transitions", metric.WithDescription("Moves of the machines of a team."))
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	waits, err := m.Float64Histogram("waggle.request.wait", metric.WithUnit("s"), metric.WithDescription("From a question to its decision."))
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	t := &otel{tp.Tracer(scope), transitions, waits, map[string]*span{}}
	return t.observe, nil
}

func (t *otel) observe(o control.Observation) {
	t.transitions.Add(context.Background(), 1, metric.WithAttributes(attribute.String("team", string(o.Team)), attribute.String("machine", o.Machine),
		attribute.String("row", o.Row), attribute.String("event", string(o.On)), attribute.String("to", string(o.To))))
	switch o.Machine {
	case control.MachineRequest:
		t.request(o)
	case control.MachineWorker:
		t.turn(o)
	}
}

func (t *otel) request(o control.Observation) {
	key := "request " + string(o.Instance) + " " + o.Request
	if o.From == "" {
		t.begin(key, "request", o)
	}
	s := t.open[key]
	if s == nil {
		return
	}
	s.AddEvent(string(o.On), trace.WithTimestamp(o.Time))
	if o.On == control.EvDecided {
		t.waits.Record(context.Background(), o.Time.Sub(s.began).Seconds(), metric.WithAttributes(attribute.String("team", string(o.Team))))
	}
	if o.To == control.RequestClosed {
		t.end(key, o)
	}
}

func (t *otel) turn(o control.Observation) {
	key := "turn " + string(o.Instance)
	switch o.On {
	case control.EvTaken, control.EvTakenPlan:
		t.begin(key, "turn", o)
	case control.EvTurnEnded, control.EvTurnFailed:
		if s := t.open[key]; s != nil {
			s.SetAttributes(attribute.Bool("waggle.failed", o.On == control.EvTurnFailed))
			t.end(key, o)
		}
	}
}

func (t *otel) begin(key, name string, o control.Observation) {
	_, s := t.tracer.Start(context.Background(), name, trace.WithNewRoot(), trace.WithTimestamp(o.Time), trace.WithAttributes(
		attribute.String("waggle.team", string(o.Team)), attribute.String("waggle.member", o.Member), attribute.String("waggle.instance", string(o.Instance)),
		attribute.String("waggle.request", o.Request), attribute.Int64("waggle.seq", int64(o.Seq))))
	t.open[key] = &span{s, o.Time}
}

func (t *otel) end(key string, o control.Observation) {
	t.open[key].End(trace.WithTimestamp(o.Time))
	delete(t.open, key)
}
