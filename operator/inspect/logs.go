package inspect

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"slices"

	"waggle/internal/screen"
	"waggle/operator"
	"waggle/protocol"
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
