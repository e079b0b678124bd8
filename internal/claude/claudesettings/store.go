package claudesettings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonc"
	"waggle/internal/json/jsonfile"
)

// Store remembers what an install found and wrote. Dir is private (STATE/hooks).
type Store struct {
	Dir    string
	Now    func() time.Time
	Client Client // whose settings it changes; "": Claude
	// Project says that the files lie in repositories: none is followed out of one, so neither a file nor its directory may
	// be a link, which a repository brings along.
	Project bool
}

// Record is what the store keeps of one settings file.
type Record struct {
	V           int       `json:"v"`
	Client      Client    `json:"client,omitempty"` // "": Claude
	Path        string    `json:"path"`             // of the file itself, behind all links
	Program     string    `json:"program"`
	InstalledAt time.Time `json:"installed_at"` // when the hook of PermissionRequest came into the file
	Existed     bool      `json:"existed"`      // there was a file
	MadeDir     bool      `json:"made_dir"`     // its directory was made by the install
	Original    []byte    `json:"original"`     // base64; the file without our entries
	Written     []byte    `json:"written"`      // base64; the file as the install left it
}

// before is the program that the record names, and the file before its install; nil: neither is known.
func (r *Record) before() (program string, original []byte) {
	if r == nil {
		return "", nil
	}
	return r.Program, r.Original
}

// maxRecord bounds a record: two files in base64 and the rest.
const maxRecord = 3*jsonc.MaxSize + 64<<10

// name is the path of what the store keeps of a file.
func (s Store) name(real, suffix string) string {
	sum := sha256.Sum256([]byte(real))
	return filepath.Join(s.Dir, hex.EncodeToString(sum[:])+suffix)
}

// record is what an install of this file left, nil without one. real is behind all links.
func (s Store) record(real string) (*Record, error) {
	path := s.name(real, ".json")
	r, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if r.V != 1 || r.Path != real {
		return nil, fmt.Errorf("read %s: it is no record of version 1 of %s", path, real)
	}
	return &r, nil
}

// read reads the record at a path.
func read(path string) (r Record, err error) {
	err = jsonfile.Read(path, &r, maxRecord)
	if bad, ok := errors.AsType[*atomicfile.RecordError](err); ok {
		err = fmt.Errorf("read %w", bad)
	}
	return r, err
}

// keep writes a record, and removes it when it is nil.
func (s Store) keep(real string, r *Record) error {
	path := s.name(real, ".json")
	if r == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return jsonfile.WriteLine(path, r, atomicfile.Options{Sync: atomicfile.SyncFull, MaxSize: maxRecord})
}

// lock keeps other installs of the same file out.
func (s Store) lock(ctx context.Context, real string) (release func() error, err error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	path := s.name(real, ".edit")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	f.Close()
	return atomicfile.Lock(ctx, path, atomicfile.Options{})
}
