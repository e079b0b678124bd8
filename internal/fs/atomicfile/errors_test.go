package atomicfile_test

import (
	"strings"
	"testing"
	"time"

	"waggle/internal/fs/atomicfile"
)

// TestLockedErrorTimes: times are shown to the millisecond below a second, else to a tenth.
func TestLockedErrorTimes(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		999*time.Millisecond + 400*time.Microsecond: "999ms", 1234 * time.Millisecond: "1.2s", 1260 * time.Millisecond: "1.3s",
		12*time.Second + 960*time.Millisecond: "13s", time.Second: "1s",
	} {
		e := &atomicfile.LockedError{Path: "p", Holder: "h", Age: d, Waited: d}
		if text := e.Error(); !strings.Contains(text, "for "+want+" ") || !strings.Contains(text, "waited "+want+")") {
			t.Errorf("%v: %q", d, text)
		}
	}
}
