package mailbox

import (
	"bytes"

	"waggle/internal/fs/atomicfile"
)

// memView shows bytes in memory as a file.
type memView []byte

var _ atomicfile.View = memView(nil)

func (m memView) Size() int64            { return int64(len(m)) }
func (m memView) Exists() bool           { return m != nil }
func (m memView) Bytes() ([]byte, error) { return m, nil }

func (m memView) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(m).ReadAt(p, off)
}
