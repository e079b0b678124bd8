package team

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"waggle"
)

// precheck reads the names and sizes of a backup that can be read twice and is not
// packed, before anything is unpacked: one that will be refused is refused at once, and
// costs no disk. What it passes is checked again as it is unpacked.
func precheck(ctx context.Context, in io.Reader) error {
	f, ok := in.(io.ReadSeeker)
	if !ok {
		return nil
	}
	start, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil // a pipe
	}
	var magic [2]byte
	if n, err := io.ReadFull(f, magic[:]); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	} else if n == len(magic) && bytes.Equal(magic[:], []byte{0x1f, 0x8b}) {
		_, err := f.Seek(start, io.SeekStart)
		return err
	}
	if _, err := f.Seek(start, io.SeekStart); err != nil {
		return err
	}
	err = headers(ctx, tar.NewReader(f))
	_, serr := f.Seek(start, io.SeekStart)
	return errors.Join(err, serr)
}

// headers looks for what a backup needs and what none may have.
func headers(ctx context.Context, tr *tar.Reader) error {
	x := &unpacker{u: &Unpacked{}, names: map[string]bool{}}
	registry, ours, sums := false, false, false
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return &BackupError{Why: err.Error()}
		}
		name, err := x.admit(h)
		if err != nil {
			return err
		}
		ours = ours || name == headerName && x.entries == 1
		sums = sums || name == sumsName
		registry = registry || isRegistry(name)
	}
	switch {
	case !registry:
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
	_, err := waggle.ParseTeam(team)
	return base == configName && path.Base(above) == "teams" && err == nil
}

// How much of a packed backup may be nothing: what says so many times more than it has
// is not made of messages and tasks.
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
