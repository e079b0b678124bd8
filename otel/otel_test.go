package otel_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"waggle/internal/telemetry/telemetrytest"
	"waggle/otel"
)

// TestObserver: every transition is counted, a question and a turn are a span each, and
// no message's text leaves the team.
func TestObserver(t *testing.T) {
	f := telemetrytest.New(t)
	spans, reader := tracetest.NewSpanRecorder(), metric.NewManualReader()
	obs, err := otel.New(trace.NewTracerProvider(trace.WithSpanProcessor(spans)), metric.NewMeterProvider(metric.WithReader(reader)))
	if err != nil {
		t.Fatal(err)
	}
	w := f.Follower(obs)
	for _, step := range f.Life() {
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
			if strings.Contains(a.Value.String(), telemetrytest.Secret) {
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
	if total != int64(len(f.Want)) || waited < 60 {
		t.Errorf("%d counted of %d, waited %v s", total, len(f.Want), waited)
	}
}

// TestRecordsNameTheTeam: every span and every point of a metric says of which team it is.
func TestRecordsNameTheTeam(t *testing.T) {
	f := telemetrytest.New(t)
	spans, reader := tracetest.NewSpanRecorder(), metric.NewManualReader()
	obs, err := otel.New(trace.NewTracerProvider(trace.WithSpanProcessor(spans)), metric.NewMeterProvider(metric.WithReader(reader)))
	if err != nil {
		t.Fatal(err)
	}
	w := f.Follower(obs)
	for _, step := range f.Life() {
		step()
	}
	if err := w.Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range spans.Ended() {
		if !named(attribute.NewSet(s.Attributes()...), "waggle.team") {
			t.Errorf("the span %s names no team", s.Name())
		}
	}
	var data metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &data); err != nil {
		t.Fatal(err)
	}
	points := 0
	for _, m := range data.ScopeMetrics[0].Metrics {
		var sets []attribute.Set
		switch d := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range d.DataPoints {
				sets = append(sets, p.Attributes)
			}
		case metricdata.Histogram[float64]:
			for _, p := range d.DataPoints {
				sets = append(sets, p.Attributes)
			}
		}
		for _, set := range sets {
			if points++; !named(set, "team") {
				t.Errorf("a point of %s names no team", m.Name)
			}
		}
	}
	if points < 2 {
		t.Errorf("%d points", points)
	}
}

func named(set attribute.Set, key attribute.Key) bool {
	v, ok := set.Value(key)
	return ok && v.AsString() == "api"
}
