package team_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/team"
)

// counted counts what is read of a stream that cannot be read twice.
type counted struct {
	r io.Reader
	n int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

// TestRefusedUnread: a backup of many entries and no registry is refused by its names:
// packed or not, nothing of it comes onto the disk, and of a stream a part is read: the
// soak size has more entries than a stream may have before the registry.
func TestRefusedUnread(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	var plain, packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(io.MultiWriter(&plain, z))
	for i := range testenv.Scale(10_000, 60_000) {
		must(t, w.WriteHeader(&tar.Header{Name: fmt.Sprintf("teams/api/inboxes/a%d.json", i), Typeflag: tar.TypeReg, Mode: 0o600}))
	}
	must(t, errors.Join(w.Close(), z.Close()))
	nowhere := filepath.Join(t.TempDir(), "file") // creating a file below this path fails
	must(t, os.WriteFile(nowhere, nil, 0o600))
	for name, in := range map[string]io.Reader{"plain": bytes.NewReader(plain.Bytes()), "packed": bytes.NewReader(packed.Bytes())} {
		_, err := team.Unpack(t.Context(), team.Root{Path: nowhere}, in, time.Now())
		if !errors.As(err, new(*team.BackupError)) || !strings.Contains(err.Error(), "config.json") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !testenv.Soak() {
		return
	}
	pipe := &counted{r: bytes.NewReader(plain.Bytes())}
	root := t.TempDir()
	_, err := team.Unpack(t.Context(), team.Root{Path: root}, pipe, time.Now())
	if !errors.As(err, new(*team.BackupError)) || pipe.n > plain.Len()/2 {
		t.Errorf("a pipe: %d of %d bytes read, %v", pipe.n, plain.Len(), err)
	}
	if left, _ := os.ReadDir(root); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
