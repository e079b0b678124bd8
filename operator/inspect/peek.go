package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"waggle/control"
	"waggle/internal/screen"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/spawn"
	"waggle/spawn/terminal"
	"waggle/task"
)

// Peek is the end of a member's output (`peek`).
type Peek struct {
	Standing
	Log     string    // the file; "" when it has written none
	At      time.Time // when it was written last
	Shown   string    // lines: the last ones; screen: a program that fills its screen, as it looks now
	Where   string    // team, or archive: the team has ended
	Lines   []string  // without escapes
	Earlier bool      // there is more before them

	// Pane is the pane of a session that waggle did not start; nil: its output is in Log.
	Pane *spawn.Pane

	adopted string // the process of an adopted session that runs

	dir string
	end os.FileInfo // of the newest file when it was read
}

// Values of Peek.Shown and Peek.Where.
const (
	ShownLines   = "lines"
	ShownScreen  = "screen"
	WhereTeam    = "team"
	WhereArchive = "archive"
)

// peekBytes is how much of a log is read at most to find its last lines.
const peekBytes = 1 << 20

// Peek returns the last lines of a member's output, at most n, whether it runs or not. It reads
// only the log, and has no effect on the member. It also finds a member that has left, and one of a
// team that has ended (operator.Read).
func (o Operator) Peek(ctx context.Context, of, member string, n int) (*Peek, error) {
	p, err := o.peekAt(ctx, of, member)
	if err != nil {
		return nil, err
	}
	if p.adopted != "" { // waggle does not keep its output
		if own, err := o.PeekSession(ctx, p.adopted, n); err == nil {
			own.Standing = p.Standing
			return own, nil
		}
	}
	out, at, cut, err := tail(p.dir, n)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &operator.Error{Kind: operator.Failed, Op: "peek", Err: err}
	}
	p.end, p.Lines, p.Shown = at, []string{}, ShownLines
	if err != nil {
		p.Log = ""
		return p, nil
	}
	p.At = at.ModTime()
	if recent := out[max(0, len(out)-terminal.Recent):]; screen.Moves(recent) {
		size := terminal.DefaultSize()
		p.Shown, p.Lines = ShownScreen, append(p.Lines, screen.Of(recent, int(size.Cols), int(size.Rows))...)
		cut = cut || len(recent) < len(out)
	} else {
		p.Lines = append(p.Lines, screen.Lines(out)...)
	}
	if over := len(p.Lines) - n; over > 0 {
		p.Lines, cut = p.Lines[over:], true
	}
	p.Earlier = cut
	return p, nil
}

// peekAt finds a member and the directory of its log.
func (o Operator) peekAt(ctx context.Context, of, member string) (*Peek, error) {
	s, live, m, foreign, err := o.sought(ctx, of, member)
	if foreign != "" {
		y, err := o.whyForeign(ctx, foreign, member)
		if err != nil {
			return nil, err
		}
		dir := o.Root.MemberDir(foreign, protocol.MemberName(y.Name))
		return &Peek{Standing: y.Standing, Where: WhereTeam, Log: filepath.Join(dir, task.LogName), dir: dir}, nil
	}
	if err != nil {
		return nil, err
	}
	k, err := o.probe(ctx, s)
	if err != nil {
		return nil, err
	}
	m, ms, _, _, err := k.one(ctx, m)
	if err != nil {
		return nil, err
	}
	p := &Peek{Standing: ms.standing(s.Team, m), Where: WhereTeam, dir: o.Root.MemberDir(s.Team, m.Name)}
	if m.Left == nil {
		p.adopted = adoptedPID(m)
	}
	if !live || s.Lead.Ended != nil {
		if kept, ok := archivedDesk(s.Dir.Archive(), m.Name); ok {
			p.dir, p.Where = kept, WhereArchive
		}
	}
	p.Log = filepath.Join(p.dir, task.LogName)
	return p, nil
}

func leftWhy(m *control.Member) string {
	return "it left: " + m.Left.How + operator.Suffix(m.Left.Detail)
}

// archivedDesk finds the newest directory of a member in the archive of its team.
func archivedDesk(archive string, member protocol.MemberName) (string, bool) {
	entries, err := os.ReadDir(archive)
	if err != nil {
		return "", false
	}
	for _, e := range slices.Backward(entries) { // by name, which begins with the time
		dir := filepath.Join(archive, e.Name(), "tasks", string(member))
		if st, err := os.Lstat(dir); e.IsDir() && mail.IsStamp(e.Name()) && err == nil && st.IsDir() {
			return dir, true
		}
	}
	return "", false
}

// logParts are the files of a log, the newest first.
func logParts(dir string) ([]string, error) {
	files, err := task.Files(dir)
	if err != nil && !errors.Is(err, task.ErrTooMany) {
		return nil, err
	}
	var names []string
	for n := 0; ; n++ {
		name := task.LogName
		if n > 0 {
			name += "." + strconv.Itoa(n)
		}
		if !slices.ContainsFunc(files, func(a task.Artifact) bool { return a.Path == name }) {
			if n > 0 {
				return names, nil
			}
			continue // removed by a rotation that was interrupted: its parts exist
		}
		names = append(names, name)
	}
}

// tail reads the last n lines of a log, over its parts, and at most peekBytes. at is the newest
// file; cut says that there is more before.
func tail(dir string, n int) (out []byte, at os.FileInfo, cut bool, err error) {
	names, err := logParts(dir)
	if err != nil {
		return nil, nil, false, err
	}
	for _, name := range names {
		part, info, whole, err := lastOf(dir, name, int64(peekBytes-len(out)))
		if errors.Is(err, fs.ErrNotExist) && at != nil {
			break // a rotation has removed it meanwhile
		}
		if err != nil {
			return nil, nil, false, err
		}
		if at == nil {
			at = info
		}
		out = append(part, out...)
		if cut = !whole; cut || len(out) >= peekBytes || bytes.Count(out, []byte("\n")) > n {
			break
		}
	}
	if at == nil {
		return nil, nil, false, fmt.Errorf("no output: %w", fs.ErrNotExist)
	}
	return out, at, cut, nil
}

// lastOf reads the last bytes of a file of a directory: no link, and no pipe that would block.
func lastOf(dir, name string, most int64) (out []byte, info os.FileInfo, whole bool, err error) {
	f, err := task.OpenFile(dir, name)
	if err != nil {
		return nil, nil, false, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, nil, false, err
	}
	from := max(0, info.Size()-most)
	out, err = io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	return out, info, from == 0, err
}

// Tail follows a member's log. It is used by one goroutine.
type Tail struct {
	dir  string
	at   int64
	seen os.FileInfo
	rest []byte // the beginning of an incomplete line
}

// Follow returns a Tail that begins at the end of p.
func (p *Peek) Follow() *Tail {
	t := &Tail{dir: p.dir, seen: p.end}
	if p.end != nil {
		t.at = p.end.Size()
	}
	return t
}

// Next returns the new complete lines; no new line is no error. After a rotation it begins with the
// new part. Lines that are written and rotated away between two calls are only in the log's parts.
func (t *Tail) Next() ([]string, error) {
	f, err := task.OpenFile(t.dir, task.LogName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if t.seen != nil && !os.SameFile(t.seen, info) || info.Size() < t.at {
		t.at = 0
	}
	t.seen = info
	out, err := io.ReadAll(io.NewSectionReader(f, t.at, min(peekBytes, info.Size()-t.at)))
	t.at += int64(len(out))
	out = append(t.rest, out...)
	end := bytes.LastIndexByte(out, '\n') + 1
	t.rest = slices.Clone(out[end:])
	return screen.Lines(out[:end]), err
}

// Rest returns the incomplete last line.
func (t *Tail) Rest() []string {
	out := t.rest
	t.rest = nil
	return screen.Lines(out)
}

// Logs hands a member's output to lines, part by part from its beginning, without escapes; with n > 0 only its last n
// lines. The result says where it ends, for Follow; it has no Lines. Like Peek it reads files only, and finds a member that
// has left, and one of a team that has ended.
func (o Operator) Logs(ctx context.Context, of, member string, n int, lines func([]string) error) (*Peek, error) {
	p, err := o.peekAt(ctx, of, member)
	if err != nil {
		return nil, err
	}
	if p.adopted != "" {
		return nil, &operator.Error{Kind: operator.NotFound, Op: "logs", Msg: "waggle keeps no output of a session that it did not start", Next: operator.Next{Step: operator.NextPeek, Member: protocol.MemberName(p.Name)}}
	}
	names, err := logParts(p.dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0 {
		p.Log = ""
		return p, nil
	}
	if err != nil {
		return nil, &operator.Error{Kind: operator.Failed, Op: "logs", Err: err}
	}
	var rest []byte
	var last []string
	for i, name := range slices.Backward(names) { // the oldest first
		out, info, _, err := lastOf(p.dir, name, math.MaxInt64)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a rotation has moved it meanwhile
		}
		if err != nil {
			return nil, &operator.Error{Kind: operator.Failed, Op: "logs", Err: err}
		}
		p.At, p.end = info.ModTime(), info
		out, end := append(rest, out...), len(rest)+len(out)
		if i > 0 { // a line may go on in the next part
			end = bytes.LastIndexByte(out, '\n') + 1
		}
		rest = slices.Clone(out[end:])
		ls := screen.Lines(out[:end])
		if n > 0 {
			last = append(last, ls...)
			last = slices.Clone(last[max(0, len(last)-n):])
		} else if err := lines(ls); err != nil {
			return nil, err
		}
	}
	if n > 0 {
		return p, lines(last)
	}
	return p, nil
}

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
