package worktree

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What is copied of a member's own objects. Those that it shares with the repository are not among
// them.
const (
	maxObjects     = 200_000
	maxObjectBytes = 4 << 30
	maxLoose       = 1 << 30 // bytes of one loose object, unpacked
)

// taken is what collect found.
type taken struct {
	head, branch string            // of the checkout; head with what was committed for the member (onRecorded)
	heads        map[string]string // by full name, the stash included
}

// tip is where the tree's branch is, "" when the member has deleted it.
func (k taken) tip(t Tree) string { return k.heads[refOf(t.Branch)] }

// collect copies what a member has committed into the mirror: its objects, each checked against its
// name, and where its branches are. Nothing that the member wrote is run or taken as configuration.
func (g Git) collect(ctx context.Context, t Tree) (k taken, err error) {
	r, err := openRefs(t.gitDir())
	if err != nil {
		return k, err
	}
	defer r.close()
	if k.head, k.branch, err = r.head(); err != nil {
		return k, err
	}
	if k.heads, err = r.heads(); err != nil {
		return k, err
	}
	if err := g.objects(ctx, t, r); err != nil {
		return k, err
	}
	recorded, err := g.mirrored(ctx, t, k)
	if err != nil || recorded == "" || k.branch != t.Branch || k.head == "" {
		return k, err
	}
	if k.head, err = g.onRecorded(ctx, t, k.head, recorded); err == nil { // what is changed is changed since then
		_, err = g.bare(t).run(ctx, t.Mirror, "update-ref", "--no-deref", "HEAD", k.head)
	}
	return k, err
}

// mirrored writes into the mirror where the branches are. Its HEAD is that of the checkout. It returns
// the commit at recordedRef, "" for none.
func (g Git) mirrored(ctx context.Context, t Tree, k taken) (recorded string, err error) {
	b := g.bare(t)
	if err := b.dropLost(ctx, t, k.heads); err != nil {
		return "", err
	}
	old, err := b.run(ctx, t.Mirror, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/", "refs/stash", recordedRef)
	if err != nil {
		return "", err
	}
	var in strings.Builder
	for line := range strings.Lines(old) {
		name, at, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case name == recordedRef:
			recorded = at
		case k.heads[name] == "":
			fmt.Fprintf(&in, "delete %s\n", name)
		}
	}
	if b.input = in.String(); b.input != "" { // first: a name may become the beginning of another
		if _, err := b.run(ctx, t.Mirror, "update-ref", "--stdin"); err != nil {
			return "", err
		}
		in.Reset()
	}
	for _, name := range slices.Sorted(maps.Keys(k.heads)) {
		fmt.Fprintf(&in, "update %s %s\n", name, k.heads[name])
	}
	b.input = in.String()
	if _, err := b.run(ctx, t.Mirror, "update-ref", "--stdin"); err != nil {
		return "", err
	}
	b.input = ""
	if k.branch != "" {
		_, err = b.run(ctx, t.Mirror, "symbolic-ref", "HEAD", refOf(k.branch))
	} else {
		_, err = b.run(ctx, t.Mirror, "update-ref", "--no-deref", "HEAD", k.head)
	}
	return recorded, err
}

// dropLost removes the references whose objects do not exist: the member has made a branch of one of the repository's, which
// was deleted and pruned there. They must not keep the tree's own branch from the repository, which stays.
func (g Git) dropLost(ctx context.Context, t Tree, heads map[string]string) error {
	g.input = strings.Join(slices.Collect(maps.Values(heads)), "\n") + "\n"
	out, err := g.run(ctx, t.Mirror, "cat-file", "--batch-check")
	if err != nil {
		return err
	}
	maps.DeleteFunc(heads, func(name, at string) bool {
		return name != refOf(t.Branch) && strings.Contains(out, at+" missing\n")
	})
	return nil
}

// objects copies the objects that the mirror lacks.
func (g Git) objects(ctx context.Context, t Tree, r *refs) error {
	count, size := 0, int64(0)
	room := func(n int64) error {
		if count, size = count+1, size+n; count > maxObjects || size > maxObjectBytes {
			return &HostileError{t.gitDir() + "/objects", fmt.Sprintf("has more than %d new objects or %d bytes", maxObjects, int64(maxObjectBytes))}
		}
		return ctx.Err()
	}
	dirs, err := r.list("objects", 1024)
	if err != nil {
		return err
	}
	for _, d := range dirs {
		if len(d.Name()) != 2 || strings.Trim(d.Name(), "0123456789abcdef") != "" {
			continue
		}
		files, err := r.list("objects/"+d.Name(), maxObjects)
		if err != nil {
			return err
		}
		for _, f := range files {
			if !isHash(d.Name() + f.Name()) {
				continue
			}
			if err := takeLoose(t, r, d.Name(), f.Name(), room); err != nil {
				return err
			}
		}
	}
	packs, err := r.list("objects/pack", maxObjects)
	if err != nil {
		return err
	}
	for _, p := range packs {
		sum, ok := strings.CutPrefix(strings.TrimSuffix(p.Name(), ".pack"), "pack-")
		if !ok || !strings.HasSuffix(p.Name(), ".pack") || !isHash(sum) {
			continue
		}
		if err := g.takePack(ctx, t, r, p.Name(), room); err != nil {
			return err
		}
	}
	return nil
}

// fresh opens a file of the member's that the mirror lacks, nil when the mirror has it.
func fresh(t Tree, r *refs, name string, room func(int64) error) (f *os.File, to string, err error) {
	to = filepath.Join(t.Mirror, filepath.FromSlash(name))
	if _, err := os.Lstat(to); err == nil {
		return nil, to, nil
	}
	f, info, err := r.open(name, maxObjectBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, to, nil // git has packed it meanwhile
	}
	if err == nil {
		err = errors.Join(room(info.Size()), os.MkdirAll(filepath.Dir(to), 0o700))
	}
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, to, err
	}
	return f, to, nil
}

// takeLoose copies one loose object whose content has the hash that its name says.
func takeLoose(t Tree, r *refs, dir, file string, room func(int64) error) error {
	name := "objects/" + dir + "/" + file
	f, to, err := fresh(t, r, name, room)
	if err != nil || f == nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxLoose))
	if err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	if !hashesTo(b, dir+file) {
		return &HostileError{filepath.Join(r.dir, filepath.FromSlash(name)), "is not the object of its name"}
	}
	return place(to, func(w io.Writer) error { _, err := w.Write(b); return err })
}

// hashesTo reports whether a loose object has a hash.
func hashesTo(deflated []byte, want string) bool {
	z, err := zlib.NewReader(bytes.NewReader(deflated))
	if err != nil {
		return false
	}
	var sum hash.Hash = sha1.New()
	if len(want) == 64 {
		sum = sha256.New()
	}
	n, err := io.Copy(sum, io.LimitReader(z, maxLoose+1))
	return err == nil && n <= maxLoose && hex.EncodeToString(sum.Sum(nil)) == want
}

// takePack copies a pack and makes its index anew, which reads every object in it.
func (g Git) takePack(ctx context.Context, t Tree, r *refs, name string, room func(int64) error) error {
	f, to, err := fresh(t, r, "objects/pack/"+name, room)
	if err != nil || f == nil {
		return err
	}
	defer f.Close()
	tmp := filepath.Join(t.Mirror, "incoming.pack")
	if err := place(tmp, func(w io.Writer) error { _, err := io.Copy(w, io.LimitReader(f, maxObjectBytes)); return err }); err != nil {
		return err
	}
	idx := strings.TrimSuffix(to, ".pack") + ".idx"
	if err := g.bare(t).act(ctx, t.Mirror, "index-pack", "-o", idx, tmp); err != nil {
		return errors.Join(&HostileError{filepath.Join(r.dir, "objects", "pack", name), "is no pack: " + err.Error()}, os.Remove(tmp))
	}
	return wrapped(os.Rename(tmp, to))
}

// place writes a file beside its place and renames it.
func place(to string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(to), ".new-*")
	if err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	err = errors.Join(write(f), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), to)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return wrapped(err)
}
