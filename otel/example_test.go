package otel_test

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"waggle/machine"
	"waggle/otel"
)

// A program gives its own providers. With an exporter in place of the recorder the
// spans go to a collector. The observer goes into operator.Operator or leader.Options,
// as Observe.
func Example() {
	spans := tracetest.NewSpanRecorder()
	tracers := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	meters := metric.NewMeterProvider()
	observe, err := otel.New(tracers, meters)
	if err != nil {
		panic(err)
	}

	at := time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)
	turn := machine.Observation{Team: "api", Machine: machine.Worker, Instance: "ada", Member: "ada"}
	turn.On, turn.Time = machine.EvTaken, at
	observe(turn)
	turn.On, turn.Time = machine.EvTurnEnded, at.Add(3*time.Second)
	observe(turn)

	for _, s := range spans.Ended() {
		fmt.Println(s.Name(), s.EndTime().Sub(s.StartTime()))
	}
	_ = tracers.Shutdown(context.Background())
	_ = meters.Shutdown(context.Background())
	// Output: turn 3s
}
