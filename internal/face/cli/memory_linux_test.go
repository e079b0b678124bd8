package cli_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
)

// mail writes a mailbox of about so many bytes, all unread.
func fillMail(t *testing.T, path string, bytes, each int) (entries int) {
	t.Helper()
	f, err := os.Create(path + ".new")
	testenv.Must(t, err)
	w, text := bufio.NewWriter(f), strings.Repeat("x", each)
	fmt.Fprint(w, "[")
	for n := 0; n < bytes; entries++ {
		if entries > 0 {
			fmt.Fprint(w, ",")
		}
		m, _ := fmt.Fprintf(w, "\n  {\"from\":\"bob\",\"text\":\"%d %s\",\"timestamp\":\"2026-01-01T00:%02d:%02d.%03dZ\",\"read\":false}", entries, text, entries/60000, entries/1000%60, entries%1000)
		n += m
	}
	fmt.Fprint(w, "\n]")
	testenv.Must(t, w.Flush())
	f.Close()
	testenv.Must(t, os.Rename(path+".new", path))
	return entries
}

// peak is the most memory that a process has had since the last call, in megabytes.
func peak(t *testing.T, pid int) (mb int) {
	t.Helper()
	b := readFile(t, fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &mb); err == nil {
			break
		}
	}
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o200); err != nil {
		testenv.Missing(t, "clear_refs", err)
	}
	return mb / 1000
}

// TestWorkerMemory: megabytes of unread mail cost a worker a small multiple of that,
// whether it reads them or is busy.
func TestWorkerMemory(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	if testenv.Slow > 1 {
		t.Skip("the race detector takes memory of its own")
	}
	type size struct {
		name               string
		bytes, each, bound int
	}
	sizes := []size{{"1 kB each", 7_000_000, 1000, 90}}
	if testenv.Soak() { // sizes that show quadratic time, and many small messages
		sizes = []size{{"1 kB each", 19_000_000, 1000, 160}, {"100 bytes each", 19_000_000, 100, 200}}
	}
	for _, c := range sizes {
		t.Run(c.name, func(t *testing.T) {
			h := newTeam(t, "mem", "team: mem\npolicy: {allow: [Bash]}\nmembers: [{name: idle, agent: exec}, {name: busy, agent: exec}]\n")
			ids := map[string]int{}
			for _, m := range h.status("mem").Members {
				ids[m.Name] = m.PID
			}
			held := filepath.Join(h.work, "held")
			h.must("task", "add", "hold", "--owner", "busy", "--instructions", "touch "+held+"; until [ -e "+held+".go ]; do sleep 0.1; done", "--team", "mem")
			testenv.Eventually(t, "busy is busy", func() bool { return exists(held) })
			inbox := func(who string) string { return filepath.Join(h.dir, "root", "teams", "mem", "inboxes", who+".json") }
			n := 0
			for _, who := range []string{"busy", "idle"} {
				peak(t, ids[who])
				n = fillMail(t, inbox(who), c.bytes, c.each)
			}
			unread := func() int {
				b := readFile(t, inbox("idle"))
				return strings.Count(string(b), `"read":false`)
			}
			testenv.Eventually(t, "all was read", func() bool {
				time.Sleep(200 * time.Millisecond) // real clock: another process reads, and looking costs this machine too
				return unread() == 0
			})
			busy, idle := peak(t, ids["busy"]), peak(t, ids["idle"])
			if busy > c.bound || idle > c.bound {
				t.Errorf("busy worker %d MB, idle worker %d MB; want at most %d", busy, idle, c.bound)
			}
			testenv.Measured(t, "%d MB of unread mail, %d entries of %s: busy worker %d MB resident at most, idle worker %d MB", c.bytes/1_000_000, n, c.name, busy, idle)
			writeFile(t, held+".go", "")
			h.must("down", "--force", "mem")
		})
	}
}
