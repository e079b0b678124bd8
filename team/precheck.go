package team

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"waggle/protocol"
)

// precheck reads the names and sizes of a backup that can be read twice, packed or not, before it
// is unpacked: a bad backup is refused at once and uses no disk space. A backup that passes is
// checked again as it is unpacked. done is false for a pipe.
func precheck(ctx context.Context, in io.Reader) (done bool, err error) {
	f, ok := in.(io.ReadSeeker)
	if !ok {
		return false, nil
	}
	start, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return false, nil // a pipe
	}
	plain, err := gunzip(f)
	if _, packed := plain.(*puffed); err == nil && !packed { // what the entries hold can be skipped in f
		_, err = f.Seek(start, io.SeekStart)
		plain = f
	}
	if err == nil {
		err = headers(ctx, plain)
	}
	_, serr := f.Seek(start, io.SeekStart)
	return true, errors.Join(err, serr)
}

// headers checks for entries that a backup must have and for entries that it must not have.
func headers(ctx context.Context, plain io.Reader) error {
	x := &unpacker{u: &Unpacked{}, names: map[string]bool{}}
	ours, sums := false, false
	err := eachEntry(ctx, plain, func(h *tar.Header, _ io.Reader) error {
		name, err := x.admit(h)
		ours = ours || name == headerName && x.entries == 1
		sums = sums || name == sumsName
		return err
	})
	switch {
	case err != nil:
		return err
	case !x.named:
		return &BackupError{Why: "holds no teams/<team>/" + configName}
	case ours && !sums:
		return &BackupError{Why: "has no " + sumsName + ": it was cut short"}
	}
	return nil
}

// isRegistry reports the name of a team's registry, wherever in the tar it is.
func isRegistry(name string) bool {
	dir, base := path.Split(name)
	above, team := path.Split(path.Clean(dir))
	_, err := protocol.ParseTeam(team)
	return base == configName && path.Base(above) == "teams" && err == nil
}

// Bounds on the compression ratio of a packed backup: messages and tasks do not compress that far.
const (
	mostRatio = 200
	ratioFrom = 64 << 20
)

// counter counts what is read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// puffed unpacks a stream and ends when it is mostly air.
type puffed struct {
	z   *gzip.Reader
	in  *counter
	out int64
}

func (p *puffed) Read(b []byte) (int, error) {
	n, err := p.z.Read(b)
	p.out += int64(n)
	if p.out > ratioFrom && p.out/mostRatio > p.in.n {
		return n, &BackupError{Why: fmt.Sprintf("unpacks to more than %d times its size", mostRatio)}
	}
	return n, err
}
