package cli

import "strings"

// exporters are the variables that tell programs with OpenTelemetry to export.
var exporters = []string{
	"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
	"OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER",
}

// examineTelemetry notes that this build has no exporter where the environment asks
// for one.
func (a *App) examineTelemetry() []finding {
	if strings.EqualFold(a.env("OTEL_SDK_DISABLED"), "true") {
		return nil
	}
	for _, name := range exporters {
		if v := a.env(name); v != "" && v != "none" {
			return []finding{{"opentelemetry", "note", name + " is set, and this build exports nothing: the module waggle/otel is for programs that embed waggle",
				"WAGGLE_TRANSITIONS=FILE waggle up writes every transition as a JSON line, which a collector can read"}}
		}
	}
	return nil
}
