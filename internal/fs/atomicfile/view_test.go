package atomicfile_test

import (
	"errors"
	"io"
	"testing"

	"waggle/internal/fs/atomicfile"
)

// TestViewReadAt: a view reads the same before and after it was loaded as a whole.
func TestViewReadAt(t *testing.T) {
	t.Parallel()
	p := newFile(t, "0123456789")
	must(t, atomicfile.Edit(t.Context(), p, atomicfile.Options{}, func(v atomicfile.View) ([]atomicfile.Splice, error) {
		for _, loaded := range []bool{false, true} {
			if loaded {
				_, err := v.Bytes()
				must(t, err)
			}
			for _, c := range []struct {
				off  int64
				n    int
				want string
				err  error
			}{{0, 10, "0123456789", nil}, {4, 3, "456", nil}, {9, 1, "9", nil}, {8, 4, "89", io.EOF}, {10, 1, "", io.EOF}} {
				b := make([]byte, c.n)
				if n, err := v.ReadAt(b, c.off); string(b[:n]) != c.want || !errors.Is(err, c.err) {
					t.Errorf("loaded %v: %d bytes at %d: %q, %v", loaded, c.n, c.off, b[:n], err)
				}
			}
		}
		return nil, nil
	}))
}
