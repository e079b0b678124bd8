package claudesessions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonobj"
)

// maxKey is the largest key file that is read; real ones are below 1 KiB.
const maxKey = 16 << 10

// Token reads the token of a session's messaging socket from its key file, "" when it
// has none. A file that is not private to this user is an error.
func (e Entry) Token() (string, error) {
	if e.KeyPath == "" {
		return "", nil
	}
	fi, err := os.Lstat(e.KeyPath)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if uid, foreign := atomicfile.ForeignOwner(fi); foreign || uid < 0 || !fi.Mode().IsRegular() || fi.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s is not a file of this user alone (mode %04o): its token is not used", e.KeyPath, fi.Mode().Perm())
	}
	b, err := atomicfile.ReadFile(e.KeyPath, atomicfile.Options{MaxSize: maxKey})
	if err != nil {
		return "", err
	}
	o, err := jsonobj.Parse(b)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", e.KeyPath, err)
	}
	token := o.Text("peerToken")
	if token == "" {
		return "", fmt.Errorf("read %s: it has no peerToken", e.KeyPath)
	}
	return token, nil
}
