package team

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"waggle/protocol"
)

// Limits of a backup that is read. They count the unpacked bytes, whatever the headers say.
const (
	maxEntry   = 256 << 20 // bytes of one file
	maxList    = 64 << 20  // bytes of the list of sums
	maxTotal   = 4 << 30   // bytes of all
	maxEntries = 200_000
	maxBefore  = 20_000 // entries before the registry, where they cannot be read twice
	maxPath    = 512    // bytes of a name
	maxDeep    = 16     // its parts
)

// BackupError reports a file that is not a valid backup (exit code 6). No part of it was kept.
type BackupError struct {
	Entry string // the entry that is wrong; "" when it is the whole
	Why   string
}

func (e *BackupError) Error() string {
	if e.Entry == "" {
		return "backup: " + e.Why
	}
	return fmt.Sprintf("backup: entry %s: %s", show(e.Entry), e.Why)
}

// Unpacked is a backup that was read, checked and laid out in a directory of its
// own, from which Restore makes a team.
type Unpacked struct {
	Header   Header // only Team is set when the tar was not made by waggle
	Verified bool   // every file has the sum that the backup has for it
	Files    int
	Skipped  []Skipped
	root     Root
	dir      string
	made     []string // directories that were not there before, deepest first
}

// Unpack reads a backup, plain or gzipped, into a new private directory below r/teams; Close
// removes it. It refuses with a *BackupError, and keeps nothing of, a tar with anything but regular
// files and directories, names that are absolute, contain "..", or are not plain, two entries with
// one name, or more than the limits; one without a config.json; and a backup of waggle that was
// changed or cut. It also reads a tar of teams/<team> and tasks/<team> that another program made
// (seed 002), with these directories anywhere in it.
func Unpack(ctx context.Context, r Root, in io.Reader, now time.Time) (*Unpacked, error) {
	twice, err := precheck(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("team: restore: %w", err)
	}
	u := &Unpacked{root: r, made: missing(r.teams(), r.tasks())}
	if err := os.MkdirAll(r.teams(), 0o700); err != nil {
		return nil, fmt.Errorf("team: restore: %w", err)
	}
	sweepDirs(r.teams(), now, func(name string, old bool) bool { return old && strings.HasPrefix(name, unpacking) }) // of killed processes
	if u.dir, err = os.MkdirTemp(r.teams(), unpacking+"*"); err != nil {
		return nil, fmt.Errorf("team: restore: %w", err)
	}
	if err := u.read(ctx, in, twice); err != nil {
		return nil, errors.Join(fmt.Errorf("team: restore: %w", err), u.Close())
	}
	return u, nil
}

// unpacking begins the names of directories into which backups are unpacked.
const unpacking = ".restore-"

// Close removes what was not placed, and the directories that were made for it and have
// stayed empty.
func (u *Unpacked) Close() error {
	err := os.RemoveAll(u.dir)
	for _, dir := range u.made {
		_ = os.Remove(dir)
	}
	return err
}

// missing lists those of the directories, and of those above them, that are not there,
// deepest first.
func missing(dirs ...string) (list []string) {
	for _, dir := range dirs {
		for ; !exists(dir) && dir != filepath.Dir(dir) && !slices.Contains(list, dir); dir = filepath.Dir(dir) {
			list = append(list, dir)
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}

// part is a directory of what was unpacked: team, tasks or state.
func (u *Unpacked) part(name string) string { return filepath.Join(u.dir, name) }

// TeamDir is the directory of the unpacked team.
func (u *Unpacked) TeamDir() string { return u.part("team") }

// read unpacks and checks the whole. twice says that its names were read before.
func (u *Unpacked) read(ctx context.Context, in io.Reader, twice bool) error {
	plain, err := gunzip(in)
	if err != nil {
		return err
	}
	x := &unpacker{u: u, names: map[string]bool{}, dirs: map[string]bool{}, files: map[string]bool{}, sums: map[string]string{}}
	err = eachEntry(ctx, plain, func(h *tar.Header, r io.Reader) error {
		name, err := x.admit(h)
		if err == nil && name != "" {
			err = x.file(name, h.Size, r)
		}
		if err == nil && x.entries >= maxBefore && !x.named && !twice {
			err = &BackupError{Why: fmt.Sprintf("holds no teams/<team>/%s among its first %d entries", configName, maxBefore)}
		}
		return err
	})
	if err != nil {
		return err
	}
	// The checksum of a gzip stream is at its end: read up to it.
	if _, err := io.Copy(io.Discard, io.LimitReader(plain, 1<<20)); err != nil {
		return &BackupError{Why: err.Error()}
	}
	return x.finish()
}

// eachEntry calls each with the entries of a tar, and with what gives their content.
func eachEntry(ctx context.Context, plain io.Reader, each func(*tar.Header, io.Reader) error) error {
	tr := tar.NewReader(plain)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &BackupError{Why: err.Error()}
		}
		if err := each(h, tr); err != nil {
			return err
		}
	}
}

var gzipMagic = []byte{0x1f, 0x8b}

// gunzip unpacks a gzipped stream and passes on any other.
func gunzip(in io.Reader) (io.Reader, error) {
	r := bufio.NewReader(in)
	magic, err := r.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !bytes.Equal(magic, gzipMagic) {
		return r, nil
	}
	c := &counter{r: r}
	z, err := gzip.NewReader(bufio.NewReader(c))
	if err != nil {
		return nil, &BackupError{Why: err.Error()}
	}
	return &puffed{z: z, in: c}, nil
}

// unpacker is one tar being read.
type unpacker struct {
	u       *Unpacked
	names   map[string]bool // without regard to case
	dirs    map[string]bool // directories that contain a file
	files   map[string]bool // places of files
	sums    map[string]string
	listed  []byte // SHA256SUMS
	entries int
	total   int64
	named   bool // the registry was among them
}

// checkEntryName says why a name must not become a path.
func checkEntryName(name string) error {
	fault := func(why string) error { return &BackupError{Entry: name, Why: why} }
	switch {
	case name == "" || len(name) > maxPath:
		return fault("the name is empty or too long")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }):
		return fault("the name holds what cannot be shown")
	case strings.HasPrefix(name, "/") || strings.ContainsAny(name, `\:`):
		return fault("the name is not a plain relative path")
	case path.Clean(name) != name:
		return fault("the name climbs, or is not in its shortest form")
	}
	parts := strings.Split(name, "/")
	if len(parts) > maxDeep {
		return fault("the name is too deep")
	}
	for _, part := range parts {
		if part == ".." || len(part) > 255 || strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") {
			return fault("the name climbs, or has a part that is no file name everywhere")
		}
	}
	return nil
}

// admit checks what an entry says of itself, and returns its name; "" for one that is
// no file.
func (x *unpacker) admit(h *tar.Header) (string, error) {
	if x.entries++; x.entries > maxEntries {
		return "", &BackupError{Why: fmt.Sprintf("has more than %d entries", maxEntries)}
	}
	name := h.Name
	switch h.Typeflag {
	case tar.TypeXGlobalHeader:
		return "", nil
	case tar.TypeDir:
		name = strings.TrimSuffix(name, "/")
	case tar.TypeReg:
	default:
		return "", &BackupError{Entry: name, Why: fmt.Sprintf("is of type %q; only files and directories are restored", h.Typeflag)}
	}
	name = strings.TrimPrefix(name, "./")
	if h.Typeflag == tar.TypeDir && (name == "." || name == "") {
		return "", nil
	}
	if err := checkEntryName(name); err != nil {
		return "", err
	}
	if h.Typeflag == tar.TypeDir {
		return "", nil // a directory is made when a file wants it
	}
	key := strings.ToLower(name)
	if x.names[key] {
		return "", &BackupError{Entry: name, Why: "occurs twice, perhaps in another case"}
	}
	x.names[key] = true
	x.named = x.named || isRegistry(name)
	most := int64(maxEntry)
	if name == headerName || name == sumsName {
		most = maxList
	}
	if h.Size < 0 || h.Size > most {
		return "", &BackupError{Entry: name, Why: fmt.Sprintf("has %d bytes, at most %d are restored", h.Size, most)}
	}
	if x.total += h.Size; x.total > maxTotal {
		return "", &BackupError{Why: fmt.Sprintf("has more than %d bytes", int64(maxTotal))}
	}
	return name, nil
}

// file reads one file and writes it to its path, or skips it.
func (x *unpacker) file(name string, size int64, r io.Reader) error {
	hash := sha256.New()
	r = io.TeeReader(io.LimitReader(r, size), hash)
	var err error
	switch to := x.place(name); {
	case name == headerName || name == sumsName:
		var data []byte
		if data, err = io.ReadAll(r); err == nil {
			err = x.own(name, data)
		}
	case to == "":
		_, err = io.Copy(io.Discard, r)
	default:
		if err = x.free(name, to); err == nil {
			err = x.store(to, r)
		}
		x.u.Files++
	}
	if err != nil {
		if errors.As(err, new(*BackupError)) || errors.As(err, new(*os.PathError)) {
			return err
		}
		return &BackupError{Entry: name, Why: err.Error()}
	}
	if name != sumsName {
		x.sums[name] = hex.EncodeToString(hash.Sum(nil))
	}
	return nil
}

// own reads the header or the sums of a backup of waggle.
func (x *unpacker) own(name string, data []byte) error {
	if name == sumsName {
		x.listed = data
		return nil
	}
	if x.entries != 1 {
		return &BackupError{Entry: name, Why: "is not the first entry"}
	}
	var h Header
	if err := json.Unmarshal(data, &h); err != nil {
		return &BackupError{Entry: name, Why: err.Error()}
	}
	if h.Format != BackupFormat || h.Version < 1 {
		return &BackupError{Entry: name, Why: "is not that of a waggle backup"}
	}
	if h.Version > BackupVersion {
		return &BackupError{Entry: name, Why: fmt.Sprintf("has version %d, this program reads up to %d", h.Version, BackupVersion)}
	}
	if _, err := protocol.ParseTeam(string(h.Team)); err != nil {
		return &BackupError{Entry: name, Why: err.Error()}
	}
	x.u.Header = h
	return nil
}

// place says where below the unpacked directory a file goes; "" when it is not
// part of the team.
func (x *unpacker) place(name string) string {
	parts := strings.Split(name, "/")
	ours := x.u.Header.Format != ""
	if ours && parts[0] == stateName {
		if lockFile(parts) {
			x.u.Skipped = append(x.u.Skipped, Skipped{name, "is a lock"})
			return ""
		}
		return path.Join(parts...)
	}
	for i := 0; i+2 < len(parts); i++ {
		if parts[i] != "teams" && parts[i] != "tasks" {
			if ours {
				return ""
			}
			continue // /home/somebody/.claude of another program's tar
		}
		team, err := protocol.ParseTeam(parts[i+1])
		if err != nil {
			return ""
		}
		if x.u.Header.Team == "" {
			x.u.Header.Team = team
		}
		kept := "tasks"
		if parts[i] == "teams" {
			kept = "team"
		}
		if lockFile(parts[i:]) {
			x.u.Skipped = append(x.u.Skipped, Skipped{name, "is a lock"})
			return ""
		}
		if team != x.u.Header.Team || hiddenLock(parts[len(parts)-1]) {
			x.u.Skipped = append(x.u.Skipped, Skipped{name, "is not part of team " + string(x.u.Header.Team)})
			return ""
		}
		return path.Join(kept, path.Join(parts[i+2:]...))
	}
	return ""
}

// lockFile reports whether a path is a lock, or is within the directory that is one. A task list's
// .lock is the file that its lock is for, and files that members made are never locks.
func lockFile(parts []string) bool {
	if slices.Contains(parts, "artifacts") {
		return false
	}
	if parts[0] == stateName && len(parts) > 1 && parts[1] == "journal" && parts[len(parts)-1] == "lock" {
		return true
	}
	return slices.ContainsFunc(parts[1:], func(p string) bool { return strings.HasSuffix(p, ".lock") && p != ".lock" })
}

// hiddenLock reports whether a name is one of the dot files beside a locked file; another program's
// tar may have them.
func hiddenLock(base string) bool {
	return strings.HasPrefix(base, ".") && (strings.HasSuffix(base, ".flk") || strings.HasSuffix(base, ".shadow"))
}

// free refuses a file that is also a directory, and two names for one place.
func (x *unpacker) free(name, to string) error {
	key := strings.ToLower(to)
	fault := x.files[key] || x.dirs[key]
	for dir := path.Dir(key); dir != "."; dir = path.Dir(dir) {
		fault = fault || x.files[dir]
		x.dirs[dir] = true
	}
	x.files[key] = true
	if fault {
		return &BackupError{Entry: name, Why: "is a file and a directory, or lies where another entry does"}
	}
	return nil
}

// store writes a file, in directories that it makes.
func (x *unpacker) store(to string, r io.Reader) error {
	home, err := os.OpenRoot(x.u.dir)
	if err != nil {
		return err
	}
	defer home.Close()
	if err := home.MkdirAll(filepath.FromSlash(path.Dir(to)), 0o700); err != nil {
		return err
	}
	f, err := home.OpenFile(filepath.FromSlash(to), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// finish checks the whole.
func (x *unpacker) finish() error {
	if x.u.Header.Team == "" || !isFile(filepath.Join(x.u.part("team"), configName)) {
		return &BackupError{Why: "holds no teams/<team>/" + configName}
	}
	if _, err := x.u.Config(); err != nil {
		return err
	}
	if x.u.Header.Format == "" {
		return nil
	}
	if x.listed == nil {
		return &BackupError{Why: "has no " + sumsName + ": it was cut short"}
	}
	for line := range strings.Lines(string(x.listed)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || x.sums[name] != sum {
			return &BackupError{Entry: name, Why: "does not have the content that " + sumsName + " says"}
		}
		delete(x.sums, name)
	}
	for name := range x.sums {
		return &BackupError{Entry: name, Why: "is not in " + sumsName}
	}
	x.u.Verified = true
	return nil
}

// Config reads the unpacked registry.
func (u *Unpacked) Config() (*Config, error) {
	data, err := os.ReadFile(filepath.Join(u.part("team"), configName))
	if err != nil {
		return nil, err
	}
	c, _, err := ParseConfig(data)
	if bad, ok := errors.AsType[*CorruptError](err); ok {
		return nil, &BackupError{Entry: configName, Why: bad.Error()}
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}
