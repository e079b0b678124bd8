package team

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"waggle/internal/fs/atomicfile"
	"waggle/layout"
	"waggle/protocol"
)

// KeepIn returns the same team with dir as the archive for old mail instead of
// teams/<team>/archive: a directory that outlives the team's own, such as STATE's (FORMAT, "The
// tree"). It is made when it is needed; its parent must exist.
func (t *Team) KeepIn(dir string) *Team {
	u := *t
	u.kept = dir
	return &u
}

// box is where a member's mailbox is in one of the two layouts (protocol §2.2).
type box struct{ dir, extension, empty string }

var boxes = [...]box{
	layout.Array: {inboxesName, layout.Array.Extension(), "[]"},
	layout.JSONL: {mailboxName, layout.JSONL.Extension(), ""},
}

// maxBox is the largest mailbox that is put away.
const maxBox = atomicfile.DefaultMaxSize

// freshInbox makes an empty mailbox. It moves the content of an existing one of that name to the
// archive first. The caller holds the config's lock.
func (t *Team) freshInbox(ctx context.Context, name protocol.MemberName) (archived string, err error) {
	home, err := os.OpenRoot(filepath.Dir(t.InboxesDir()))
	if err != nil {
		return "", err
	}
	defer home.Close()
	has := false
	for _, b := range boxes {
		file := filepath.Join(b.dir, string(name)+b.extension)
		info, err := home.Lstat(file)
		if errors.Is(err, fs.ErrNotExist) {
			if _, err := t.nameCopy(name, b); err != nil { // the copy of a mailbox that was removed since
				return archived, err
			}
			continue
		}
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("mailbox %s is not a regular file", filepath.Join(home.Name(), file))
		}
		if err != nil {
			return archived, err
		}
		place, err := t.putAway(ctx, filepath.Join(home.Name(), file), name, b)
		archived = cmp.Or(place, archived)
		if err != nil {
			return archived, err
		}
		has = true
	}
	if has {
		return archived, nil
	}
	as, err := layout.Dirs{Team: t.root.TeamDir(t.name), Inboxes: t.InboxesDir()}.Default()
	if err != nil {
		return archived, err
	}
	err = createInbox(home, boxes[as], name)
	if errors.Is(err, fs.ErrExist) {
		err = nil // in this moment
	}
	return archived, err
}

// putAway moves a mailbox's content into the archive: it copies it to a file of a fixed name,
// empties the mailbox, and then renames the copy. After a kill there is either a copy of what is
// still in the mailbox, which is made anew, or the only copy, which is finished (pending).
func (t *Team) putAway(ctx context.Context, path string, name protocol.MemberName, b box) (archived string, err error) {
	o := t.o
	o.Rank, o.MaxSize = atomicfile.RankInbox, maxBox
	err = atomicfile.Edit(ctx, path, o, func(v atomicfile.View) ([]atomicfile.Splice, error) {
		data, err := v.Bytes()
		if err != nil {
			return nil, err
		}
		mail := bytes.TrimSpace(data)
		if len(mail) == 0 || string(mail) == b.empty {
			return nil, nil
		}
		// A copy that is already there is of this content, or of mail that is in the
		// mailbox no more.
		if old, err := t.pendingCopy(name, b); err != nil {
			return nil, err
		} else if old != nil && !bytes.Equal(old, data) {
			if _, err := t.nameCopy(name, b); err != nil {
				return nil, err
			}
		}
		if err := t.writeCopy(name, b, data); err != nil {
			return nil, err
		}
		return []atomicfile.Splice{{Delete: v.Size(), Insert: []byte(b.empty)}}, nil
	})
	if err != nil {
		return "", err
	}
	t.step("emptied")
	return t.nameCopy(name, b)
}

// archive is where old mail goes.
func (t *Team) archive() string {
	return cmp.Or(t.kept, filepath.Join(t.root.TeamDir(t.name), archiveName))
}

// archiveStem begins the name of what a member leaves in the archive now.
func (t *Team) archiveStem(name protocol.MemberName) string {
	return filepath.Join(t.archive(), fmt.Sprintf("%s-%s", name, t.now().UTC().Format("20060102T150405.000Z")))
}

// pending is the copy of mail that may not have been removed from its mailbox yet.
func (t *Team) pending(name protocol.MemberName, b box) string {
	return filepath.Join(t.archive(), "."+string(name)+b.extension+".pending")
}

func (t *Team) pendingCopy(name protocol.MemberName, b box) ([]byte, error) {
	data, err := atomicfile.ReadFile(t.pending(name, b), atomicfile.Options{MaxSize: maxBox, Now: t.o.Now})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

func (t *Team) writeCopy(name protocol.MemberName, b box, data []byte) error {
	dir := t.archive()
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err == nil {
		err = owned(dir, info)
	}
	if err != nil {
		return err
	}
	o := t.o
	o.MaxSize, o.Perm = maxBox, 0o600
	o.Sync = atomicfile.SyncData // it is about to be the only one
	return atomicfile.WriteFile(t.pending(name, b), data, o)
}

// nameCopy gives the pending copy its name, <name>-<UTC time>, and returns where
// it is; "" when there is none. The time is when it is done: mail put away earlier
// sorts before.
func (t *Team) nameCopy(name protocol.MemberName, b box) (place string, err error) {
	from := t.pending(name, b)
	if !isFile(from) {
		return "", nil
	}
	place = freePath(t.archiveStem(name), b.extension)
	if err := os.Rename(from, place); err != nil {
		return "", err
	}
	return place, nil
}

// createInbox makes a mailbox without messages exclusively, and its directory when
// that is missing.
func createInbox(home *os.Root, b box, name protocol.MemberName) error {
	if err := home.Mkdir(b.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := home.OpenFile(filepath.Join(b.dir, string(name)+b.extension), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(b.empty)
	return errors.Join(err, f.Close())
}

// PutFilesAway archives the files of an earlier member: it moves the log, the status and the
// artifacts in the member's directory below tasks/ to the archive, and returns the archive's path,
// "" when there are none. The next member of that name then starts with an empty directory. No
// member may use the name.
func (t *Team) PutFilesAway(name protocol.MemberName) (place string, err error) {
	place, err = t.putFilesAway(name)
	return place, t.failed("put files away", err)
}

func (t *Team) putFilesAway(name protocol.MemberName) (string, error) {
	dir := t.root.MemberDir(t.name, name)
	left, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && left.IsDir() && !holdsFiles(dir) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(t.archive(), 0o700); err != nil {
		return "", err
	}
	place := freePath(t.archiveStem(name), "")
	if err := moveDir(filepath.Dir(dir), string(name), place); err != nil {
		return "", err
	}
	return place, nil
}

// holdsFiles reports a directory that has more in it than empty directories.
func holdsFiles(dir string) bool {
	found := errors.New("there is one")
	return fs.WalkDir(os.DirFS(dir), ".", func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return found
		}
		return nil
	}) != nil
}
