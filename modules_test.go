package waggle_test

import (
	"os"
	"strings"
	"testing"
)

// TestArchModuleWithoutOpenTelemetry: whoever depends on waggle gets OpenTelemetry only
// with the module otel.
func TestArchModuleWithoutOpenTelemetry(t *testing.T) {
	for _, name := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, "opentelemetry") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
	for _, l := range archList(t, nil, "-deps", "-test", "-json=ImportPath", "./...") {
		if strings.Contains(l.ImportPath, "opentelemetry") {
			t.Errorf("a package of the core imports %s", l.ImportPath)
		}
	}
}
