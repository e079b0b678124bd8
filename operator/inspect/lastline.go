package inspect

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"waggle/internal/screen"
)

// lastBytes is how much of a log is read at most to find its last line.
const lastBytes = 4 << 10

// LastLines reads the last lines of members' logs, each again only when its log has changed.
type LastLines struct {
	mu sync.Mutex
	of map[string]lastLine // by the path of the log
}

type lastLine struct {
	seen os.FileInfo
	text string
}

// Of returns the last line that is not empty of the log of a member, as the status names it; "" when
// there is none, or when the member's program fills its screen. The line may have any character.
func (l *LastLines) Of(log string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, err := os.Lstat(log)
	if log == "" || err != nil {
		return ""
	}
	if was := l.of[log]; was.seen != nil && os.SameFile(was.seen, now) && was.seen.Size() == now.Size() && was.seen.ModTime().Equal(now.ModTime()) {
		return was.text
	}
	if l.of == nil {
		l.of = map[string]lastLine{}
	}
	text := lastText(log)
	l.of[log] = lastLine{now, text}
	return text
}

func lastText(log string) string {
	out, _, _, err := lastOf(filepath.Dir(log), filepath.Base(log), lastBytes)
	if err != nil || screen.Moves(out) {
		return ""
	}
	for _, line := range slices.Backward(screen.Lines(out)) {
		if text := strings.TrimSpace(line); text != "" {
			return text
		}
	}
	return ""
}
