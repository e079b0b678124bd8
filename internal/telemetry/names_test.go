package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"waggle/internal/telemetry"
)

// TestRecordsNameTheTeam: every line, span and point of a metric says of which team it is.
func TestRecordsNameTheTeam(t *testing.T) {
	f := newTeam(t)
	var out bytes.Buffer
	spans, reader := tracetest.NewSpanRecorder(), metric.NewManualReader()
	obs, err := telemetry.OTel(trace.NewTracerProvider(trace.WithSpanProcessor(spans)), metric.NewMeterProvider(metric.WithReader(reader)))
	if err != nil {
		t.Fatal(err)
	}
	w := f.follower(telemetry.Each(obs, telemetry.Slog(slog.New(slog.NewJSONHandler(&out, nil)))))
	for _, step := range f.life() {
		step()
	}
	if err := w.Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		var r struct{ Team string }
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Team != "api" {
			t.Errorf("%s is of team %q, %v", line, r.Team, err)
		}
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
