package spawn

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "waggle/internal/test/testenv/seeded"
)

// The name of a program cannot move the fields behind it.
func TestParseStatAnyName(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ ()\nZ0-9]{0,15}`)).Draw(t, "name")
		state := rapid.SampledFrom([]string{"R", "S", "D", "T", "t", "Z", "X"}).Draw(t, "state")
		n := rapid.IntRange(1, 1<<22)
		want := stat{
			pid: n.Draw(t, "pid"), ppid: n.Draw(t, "ppid"), pgid: n.Draw(t, "pgid"), sid: n.Draw(t, "sid"),
			start: rapid.Uint64().Draw(t, "start"),
		}
		threads := rapid.IntRange(0, 3).Draw(t, "threads")
		want.threads, want.cpu, want.rss = threads, (5+6+7+8)*clockTick, 10*uint64(os.Getpagesize())
		want.zombie = state == "X" || state == "Z" && threads < 2
		want.stopped = state == "T" || state == "t"
		line := fmt.Sprintf("%d (%s) %s %d %d %d 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 %d 0 %d 9 10%s\n",
			want.pid, name, state, want.ppid, want.pgid, want.sid, threads, want.start, strings.Repeat(" 0", 28))
		got, err := parseStat(want.pid, []byte(line))
		if err != nil || got != want {
			t.Fatalf("%q: %+v, %v, want %+v", line, got, err, want)
		}
	})
}

func TestParseStatBroken(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "1", "1 (", "1 (a)", "1 (a) S 1 2 3", "1 (a) S" + strings.Repeat(" x", 40)} {
		if s, err := parseStat(1, []byte(line)); err == nil {
			t.Errorf("%q: %+v", line, s)
		}
	}
}
