package mailbox

import (
	"bytes"
	"errors"
	"io"

	"waggle/internal/fs/atomicfile"
)

// whole removes a byte order mark with any change of the file: programs that parse JSON strictly,
// such as Claude Code, cannot read a file that begins with one.
func (arrayFormat) whole(v atomicfile.View, splices []atomicfile.Splice) ([]atomicfile.Splice, error) {
	mark := int64(len(byteOrderMark))
	if len(splices) == 0 || splices[0].Offset < mark || v.Size() < mark {
		return splices, nil
	}
	head := make([]byte, mark)
	if _, err := v.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !bytes.Equal(head, byteOrderMark) {
		return splices, nil
	}
	return append([]atomicfile.Splice{{Delete: mark}}, splices...), nil
}

// whole keeps byte order marks: each line may have one.
func (lineFormat) whole(_ atomicfile.View, splices []atomicfile.Splice) ([]atomicfile.Splice, error) {
	return splices, nil
}
