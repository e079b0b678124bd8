package atomicfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/fs/atomicfile"
)

// TestGiveUpKeepsTheRecord: a writer that gives up behind the lock of another program leaves the
// record of a killed writer as one that was not cleared up, and a clean record clean.
func TestGiveUpKeepsTheRecord(t *testing.T) {
	t.Parallel()
	p := newFile(t, "old\n")
	flk := filepath.Join(filepath.Dir(p), ".a.json.flk")
	var killed string
	must(t, appendLine(p, "one", atomicfile.Options{Hook: func(step string) {
		if step == "published" {
			killed = content(t, flk) // what it would leave if it was killed here
		}
	}}))
	if killed == "" {
		t.Skip("no record is kept here")
	}
	free := content(t, flk)
	must(t, os.Mkdir(p+".lock", 0o755)) // another program's
	defer os.Remove(p + ".lock")
	for _, c := range []struct {
		what, record string
		clean        bool
	}{{"a killed writer's", killed, false}, {"a clean one", free, true}} {
		must(t, os.WriteFile(flk, []byte(c.record), 0o600))
		isLocked(t, appendLine(p, "two", atomicfile.Options{Deadline: 30 * time.Millisecond}))
		if got := strings.Contains(content(t, flk), " free "); got != c.clean {
			t.Errorf("%s record is clean afterwards: %v; %q", c.what, got, strings.TrimSpace(content(t, flk)))
		}
	}
}
