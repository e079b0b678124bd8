package mailbox

import (
	"io"

	"waggle/internal/fs/atomicfile"
)

// memView shows bytes in memory as a file.
type memView []byte

var _ atomicfile.View = memView(nil)

func (m memView) Size() int64            { return int64(len(m)) }
func (m memView) Exists() bool           { return m != nil }
func (m memView) Bytes() ([]byte, error) { return m, nil }

func (m memView) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= int64(len(m)) {
		return 0, io.EOF
	}
	n := copy(p, m[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// apply returns data with splices made, as atomicfile does it to a file.
func apply(data []byte, splices []atomicfile.Splice) []byte {
	var out []byte
	at := int64(0)
	for _, s := range splices {
		out = append(out, data[at:s.Offset]...)
		out = append(out, s.Insert...)
		at = s.Offset + s.Delete
	}
	return append(out, data[at:]...)
}
