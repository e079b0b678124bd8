package conformance_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"waggle/internal/repo/conformance"
	"waggle/internal/test/testenv"
)

// fieldTest is the last cell of a row.
var fieldTest = regexp.MustCompile("\\| `([a-z/]+)?\\.?(Test[A-Za-z0-9/]+)` \\|$")

// TestWrittenFields: FORMAT says of each written field who writes it and when, and names
// a test that is in the sources.
func TestWrittenFields(t *testing.T) {
	format, err := os.ReadFile(module + "/FORMAT.md")
	testenv.Must(t, err)
	_, rest, ok := strings.Cut(string(format), "<!-- written fields -->\n")
	table, _, closed := strings.Cut(rest, "<!-- /written fields -->")
	if !ok || !closed {
		t.Fatal("FORMAT.md has no table of written fields")
	}
	var reqs []conformance.Requirement
	for _, row := range strings.Split(strings.TrimSpace(table), "\n")[2:] {
		m := fieldTest.FindStringSubmatch(row)
		if m == nil || strings.Count(row, "|") != 5 || strings.Contains(row, "|  |") {
			t.Errorf("not a field, its writer, when, and its test: %s", row)
			continue
		}
		dir := strings.TrimSuffix(m[1], ".")
		reqs = append(reqs, conformance.Requirement{Writes: conformance.Proof{Package: dir, Test: m[2]}, Reads: conformance.Proof{None: "written only"}})
	}
	missing, err := conformance.Missing(os.DirFS(module), reqs)
	if err != nil || len(missing) > 0 {
		t.Errorf("tests that are not there: %q, %v", missing, err)
	}
	for _, field := range []string{"isActive", "description", "spawnedAt", "schemaVersion", "prompt", "agentType", "metadata", "messageId", "summary", "color",
		"system_init", "paneId", "backendType", "[to NAME]", "planFilePath", "permission_suggestions", "errors", "assignedBy", "revision", "telemetry", "scope"} {
		if !strings.Contains(table, field) {
			t.Errorf("no row for %s", field)
		}
	}
}
