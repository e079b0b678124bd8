// Package otel tells OpenTelemetry of the transitions of a team's machines.
//
//	observe, err := otel.New(tracerProvider, meterProvider)
//	operator.Operator{Observe: observe, …}
//
// It is a module of its own, so that a program that embeds waggle has OpenTelemetry
// only when it asks for it. It uses the API alone: nothing is exported unless the
// program sets up an SDK with an exporter. A message's text is in no span, point or
// attribute.
package otel

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"waggle/machine"
)

// scope names what is measured here.
const scope = "waggle"

// observer holds the instruments and the spans that are open.
type observer struct {
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

// New returns an observer that counts waggle.transitions by team, machine, row, event
// and state; that measures waggle.request.wait, the seconds from a question to its
// decision; and that makes a span of each question, from the record that opened it to
// the one that closed it, and of each turn of a worker. Times are those of the records.
// What was open when the program started has no span. The observer is used by one
// goroutine at a time.
func New(tp trace.TracerProvider, mp metric.MeterProvider) (machine.Observer, error) {
	m := mp.Meter(scope)
	transitions, err := m.Int64Counter("waggle.transitions", metric.WithDescription("Moves of the machines of a team."))
	if err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	waits, err := m.Float64Histogram("waggle.request.wait", metric.WithUnit("s"), metric.WithDescription("From a question to its decision."))
	if err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	t := &observer{tp.Tracer(scope), transitions, waits, map[string]*span{}}
	return t.observe, nil
}

func (t *observer) observe(o machine.Observation) {
	t.transitions.Add(context.Background(), 1, metric.WithAttributes(attribute.String("team", string(o.Team)), attribute.String("machine", o.Machine),
		attribute.String("row", o.Row), attribute.String("event", string(o.On)), attribute.String("to", string(o.To))))
	switch o.Machine {
	case machine.Request:
		t.request(o)
	case machine.Worker:
		t.turn(o)
	}
}

func (t *observer) request(o machine.Observation) {
	key := "request " + string(o.Instance) + " " + o.Request
	if o.From == "" {
		t.begin(key, "request", o)
	}
	s := t.open[key]
	if s == nil {
		return
	}
	s.AddEvent(string(o.On), trace.WithTimestamp(o.Time))
	if o.On == machine.EvDecided {
		t.waits.Record(context.Background(), o.Time.Sub(s.began).Seconds(), metric.WithAttributes(attribute.String("team", string(o.Team))))
	}
	if o.To == machine.RequestClosed {
		t.end(key, o)
	}
}

func (t *observer) turn(o machine.Observation) {
	key := "turn " + string(o.Instance)
	switch o.On {
	case machine.EvTaken, machine.EvTakenPlan:
		t.begin(key, "turn", o)
	case machine.EvTurnEnded, machine.EvTurnFailed:
		if s := t.open[key]; s != nil {
			s.SetAttributes(attribute.Bool("waggle.failed", o.On == machine.EvTurnFailed))
			t.end(key, o)
		}
	}
}

func (t *observer) begin(key, name string, o machine.Observation) {
	_, s := t.tracer.Start(context.Background(), name, trace.WithNewRoot(), trace.WithTimestamp(o.Time), trace.WithAttributes(
		attribute.String("waggle.team", string(o.Team)), attribute.String("waggle.member", o.Member), attribute.String("waggle.instance", string(o.Instance)),
		attribute.String("waggle.request", o.Request), attribute.Int64("waggle.seq", int64(o.Seq))))
	t.open[key] = &span{s, o.Time}
}

func (t *observer) end(key string, o machine.Observation) {
	t.open[key].End(trace.WithTimestamp(o.Time))
	delete(t.open, key)
}
