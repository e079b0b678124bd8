package cli_test

import (
	"regexp"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// utcTime is a time as documents have it.
var utcTime = regexp.MustCompile(`\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// Reading commands and errors print local times. Documents, --raw and the records of audit show have
// UTC.
func TestPeopleSeeLocalTimes(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	c := waitingCrowd(t)
	if out, code := c.reads("deny REQUEST"); code != 0 {
		t.Fatal(out)
	}
	out, code := c.reads("approve REQUEST")
	if code != 6 || !strings.Contains(out, "already decided") {
		t.Fatalf("code %d\n%s", code, out)
	}
	local(t, "approve REQUEST", out)
	for _, line := range testenv.Rows(t, reading, 30) {
		if strings.Contains(line, "--json") || strings.HasPrefix(line, "audit export") {
			continue
		}
		out, _ := c.reads(line)
		local(t, line, out)
	}
	for _, line := range []string{"show REQUEST", "recap"} {
		if out, _ := c.reads(line + " --utc"); !utcTime.MatchString(out) {
			t.Errorf("waggle %s --utc has no whole time:\n%s", line, out)
		}
	}
}

func local(t *testing.T, line, out string) {
	t.Helper()
	for l := range strings.Lines(out) {
		if record := strings.HasPrefix(strings.TrimSpace(l), "{"); !record && utcTime.MatchString(l) {
			t.Errorf("waggle %s: %s", line, l)
		}
	}
}
