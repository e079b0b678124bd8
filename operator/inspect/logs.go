package inspect

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"

	"waggle/internal/screen"
	"waggle/operator"
	"waggle/protocol"
	"waggle/task"
)

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
		out, err := p.part(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a rotation has moved it meanwhile
		}
		if err != nil {
			return nil, &operator.Error{Kind: operator.Failed, Op: "logs", Err: err}
		}
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

// part reads a part of a log, and notes that it is where the log ends.
func (p *Peek) part(name string) ([]byte, error) {
	f, err := task.OpenFile(p.dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	p.At, p.end = info.ModTime(), info
	return io.ReadAll(io.NewSectionReader(f, 0, info.Size()))
}
