package telemetry_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/telemetry"
	"waggle/internal/telemetry/telemetrytest"
	"waggle/internal/test/testenv"
	"waggle/machine"
)

// TestRecordsNameTheTeam: every line names its team. The spans and points of OpenTelemetry have the
// test of this name in the module otel.
func TestRecordsNameTheTeam(t *testing.T) {
	f := telemetrytest.New(t)
	var out bytes.Buffer
	var told []machine.Observation
	log := telemetry.Slog(slog.New(slog.NewJSONHandler(&out, nil)))
	w := f.Follower(func(o machine.Observation) {
		told = append(told, o)
		log(o)
	})
	for _, step := range f.Life() {
		step()
	}
	testenv.Must(t, w.Pass(t.Context()))
	for line := range strings.Lines(out.String()) {
		var r struct{ Team string }
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Team != "api" {
			t.Errorf("%s is of team %q, %v", line, r.Team, err)
		}
	}
	if d := cmp.Diff(f.Want, told); d != "" {
		t.Error(d)
	}
}
