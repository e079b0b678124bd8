package team

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonobj"
	"waggle/protocol"
)

// Header is the first entry of a backup, waggle-backup.json.
type Header struct {
	Format  string            `json:"format"`  // BackupFormat
	Version int               `json:"version"` // BackupVersion
	Team    protocol.TeamName `json:"team"`
	UID     string            `json:"team_uid,omitempty"` // of a team that waggle leads
	Root    string            `json:"root,omitempty"`     // URL of its wire tree
	Led     bool              `json:"led"`                // waggle leads it: state/ has its journals
	Taken   time.Time         `json:"taken"`
}

// The marks of a backup.
const (
	BackupFormat  = "waggle team backup"
	BackupVersion = 1
	headerName    = "waggle-backup.json"
	sumsName      = "SHA256SUMS"
	stateName     = "state"
)

// BackupOptions say what goes into a backup beside the team's files in the wire
// tree.
type BackupOptions struct {
	UID, RootURL string
	State        string   // a team's directory in STATE; "": none
	StateFiles   []string // what of it: paths below it, of files or directories, in the order in which they are read
}

// BackupReport says what is in a backup.
type BackupReport struct {
	Files   int
	Bytes   int64
	Skipped []Skipped
}

// Skipped is something that a backup or a restored team does not have.
type Skipped struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Backup writes the team as a tar: a header, teams/<team>/ and tasks/<team>/ as
// they are in the wire tree, state/, and last the SHA-256 of every entry. Registry,
// tasks and mailboxes are one moment's: members cannot join or leave, and tasks
// cannot be made, claimed or deleted, while they are read, each under its own lock.
// They are read before the journals, so that what is in a mailbox is on record in
// the backup too. Everything else is copied as it is found. Files that are no
// regular ones are left out and listed; locks and what writers leave are left out.
func (t *Team) Backup(ctx context.Context, w io.Writer, o BackupOptions) (BackupReport, error) {
	b := &backup{t: t, w: tar.NewWriter(w), when: t.now().UTC().Truncate(time.Second)}
	err := b.write(ctx, o)
	return b.report, t.failed("back up", err)
}

// backup is one backup in progress.
type backup struct {
	t      *Team
	w      *tar.Writer
	when   time.Time
	sums   strings.Builder
	seen   map[string]bool // the files that are in it, and directories of journals
	report BackupReport
}

func (b *backup) write(ctx context.Context, o BackupOptions) error {
	b.seen = map[string]bool{}
	shared, err := b.t.snapshot(ctx)
	if err != nil {
		return err
	}
	header, err := jsonobj.MarshalIndent(Header{Format: BackupFormat, Version: BackupVersion, Team: b.t.name, UID: o.UID, Root: o.RootURL,
		Led: o.State != "", Taken: b.when})
	if err != nil {
		return err
	}
	if err := b.add(headerName, append(header, '\n')); err != nil {
		return err
	}
	for _, f := range shared {
		if err := b.add(f.name, f.data); err != nil {
			return err
		}
	}
	dirs := []struct{ dir, as string }{
		{b.t.root.TeamDir(b.t.name), "teams/" + string(b.t.name)},
		{b.t.root.TasksDir(b.t.name), "tasks/" + string(b.t.name)},
	}
	for _, name := range o.StateFiles {
		dirs = append(dirs, struct{ dir, as string }{filepath.Join(o.State, filepath.FromSlash(name)), path.Join(stateName, name)})
	}
	for _, d := range dirs {
		if err := b.tree(ctx, d.dir, d.as); err != nil {
			return err
		}
	}
	sums := b.sums.String()
	if err := b.add(sumsName, []byte(sums)); err != nil {
		return err
	}
	return b.w.Close()
}

// add writes one file.
func (b *backup) add(name string, data []byte) error {
	b.seen[name] = true
	sum := sha256.Sum256(data)
	b.sums.WriteString(hex.EncodeToString(sum[:]) + "  " + name + "\n")
	b.report.Files++
	b.report.Bytes += int64(len(data))
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(data)), ModTime: b.when, Format: tar.FormatPAX}
	if err := b.w.WriteHeader(h); err != nil {
		return err
	}
	_, err := b.w.Write(data)
	return err
}

// tree adds the regular files of a directory, or one file, that the backup does not have yet. A
// path that does not exist adds nothing.
func (b *backup) tree(ctx context.Context, dir, as string) error {
	return filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed meanwhile, or never there
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		below, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		name := path.Join(as, filepath.ToSlash(below))
		journal := strings.HasPrefix(as, stateName+"/journal")
		if journal && d.IsDir() && !b.seen[name] {
			b.seen[name] = true
			if last := filepath.Join(at, certainName); isFile(last) {
				if err := b.regular(last, path.Join(name, certainName)); err != nil {
					return err
				}
			}
		}
		switch base := path.Base(name); {
		case transient(d) && !strings.Contains(name, "/artifacts/") || journal && (base == "lock" || base == certainName):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || b.seen[name]:
			return nil
		case !d.Type().IsRegular():
			return b.skip(at, "is not a regular file")
		case b.momentary(name):
			return nil
		}
		return b.regular(at, name)
	})
}

// certainName is the file that names the last certain line of a journal. A backup reads it before the
// lines, which may be written meanwhile: it must not name one that the backup lacks.
const certainName = "certain.json"

// regular adds one regular file that the backup does not have yet.
func (b *backup) regular(at, name string) error {
	if err := checkEntryName(name); err != nil {
		return b.skip(at, err.Error())
	}
	data, err := atomicfile.ReadFile(at, atomicfile.Options{MaxSize: maxEntry, Now: b.t.o.Now})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, atomicfile.ErrTooLarge):
		return b.skip(at, fmt.Sprintf("is larger than %d bytes", int64(maxEntry)))
	case err != nil:
		return err
	}
	return b.add(name, data)
}

// momentary reports whether a name belongs to the files of the snapshot: a file of these that the
// snapshot lacks was made after it.
func (b *backup) momentary(name string) bool {
	for _, box := range boxes {
		if path.Dir(name) == path.Join("teams", string(b.t.name), box.dir) && path.Ext(name) == box.extension {
			return true
		}
	}
	return path.Dir(name) == path.Join("tasks", string(b.t.name)) && taskNumber(path.Base(name)) > 0
}

func (b *backup) skip(at, why string) error {
	b.report.Skipped = append(b.report.Skipped, Skipped{at, why})
	return nil
}

// transient reports locks, files that a writer has not published, and what one has
// displaced.
func transient(d fs.DirEntry) bool {
	name := d.Name()
	if d.IsDir() {
		return strings.HasSuffix(name, ".lock")
	}
	beside := []string{".flk", ".tmp", ".new", ".shadow"}
	return strings.HasPrefix(name, ".") && slices.Contains(beside, filepath.Ext(name)) || strings.Contains(name, ".json.tmp.")
}

// file is a file of a snapshot.
type file struct {
	name string // in the backup
	data []byte
}

// snapshot reads registry, tasks and mailboxes under their locks.
func (t *Team) snapshot(ctx context.Context) (files []file, err error) {
	tasks := t.root.TasksDir(t.name)
	held := func(at string, rank atomicfile.Rank) (func() error, error) {
		o := t.o
		o.Rank = rank
		return atomicfile.Lock(ctx, at, o)
	}
	read := func(at, as string) error {
		data, err := atomicfile.ReadFile(at, atomicfile.Options{MaxSize: maxEntry, Now: t.o.Now})
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		files = append(files, file{as, data})
		return err
	}
	if isFile(filepath.Join(tasks, ".lock")) {
		release, err := held(filepath.Join(tasks, ".lock"), atomicfile.RankTasks)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	each := func(dir, as string, names []string, rank atomicfile.Rank) error {
		for _, name := range names {
			at := filepath.Join(dir, name)
			release, err := held(at, rank)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			if err := errors.Join(read(at, path.Join(as, name)), release()); err != nil {
				return err
			}
		}
		return nil
	}
	if err := each(tasks, "tasks/"+string(t.name), taskFiles(tasks), atomicfile.RankTask); err != nil {
		return nil, err
	}
	release, err := held(t.path(), atomicfile.RankConfig)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	as := "teams/" + string(t.name)
	if err := read(t.path(), path.Join(as, configName)); err != nil {
		return nil, err
	}
	for _, b := range boxes {
		dir := filepath.Join(t.root.TeamDir(t.name), b.dir)
		if b.dir == inboxesName {
			dir = t.InboxesDir()
		}
		if err := each(dir, path.Join(as, b.dir), filesWith(dir, b.extension), atomicfile.RankInbox); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// taskFiles lists the task files of a directory in order of id.
func taskFiles(dir string) []string {
	names := slices.DeleteFunc(filesWith(dir, ".json"), func(name string) bool { return taskNumber(name) <= 0 })
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(taskNumber(a), taskNumber(b)) })
	return names
}

// taskNumber is the id in a task file's name; 0 when it is none.
func taskNumber(name string) int {
	stem, ok := strings.CutSuffix(name, ".json")
	n, err := strconv.Atoi(stem)
	if !ok || err != nil {
		return 0
	}
	return n
}

// filesWith lists the regular files of a directory with this ending, sorted.
func filesWith(dir, extension string) []string {
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), extension) && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}
