package task

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waggle/internal/fs/logfile"
	"waggle/protocol"
)

// LogName is a member's log in its directory; older parts have .1, .2, … behind
// it, the newest first.
const LogName = "output.log"

// Log is a member's log: a write appends, and the file is rotated when it has grown. A write never
// fails: errors are reported to LogOptions.
type Log struct{ f *logfile.Log }

// LogOptions are the settings of a Log. The zero value works: parts of 8 MiB, three
// of them beside the log.
type LogOptions struct {
	Size int64 // a part begins when the log would grow over it; 0: 8 MiB
	Keep int   // parts kept beside the log; 0: 3
	// Report is told what went wrong: a full disk must not end the work that is logged.
	// May be nil.
	Report func(error)
	// Hook is called between the steps of a rotation, for tests that kill the process there.
	Hook func(step string)
}

// OpenLog opens, or makes (0600), the log in a member's directory. It refuses a path that is not a
// regular file of its own, such as a link.
func OpenLog(dir string, o LogOptions) (*Log, error) {
	l, err := logfile.Open(filepath.Join(dir, LogName), logfile.Options(o))
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	return &Log{l}, nil
}

// Write appends p and never fails.
func (l *Log) Write(p []byte) (int, error) { return l.f.Write(p) }

// Is reports whether f is the log's file.
func (l *Log) Is(f *os.File) bool { return l.f.Is(f) }

// Close closes the file. A later write is reported and lost.
func (l *Log) Close() error { return l.f.Close() }

// ArtifactsName is the directory, in a member's, for the files it makes.
const ArtifactsName = "artifacts"

// Kinds of a member's file.
const (
	KindArtifact = "artifact"
	KindLog      = "log"
	KindStatus   = "status"
)

// Artifact is one file of a member.
type Artifact struct {
	Kind     string
	Path     string // from the member's directory, with slashes: artifacts/report.md
	Size     int64
	Modified time.Time
}

// Limits of a listing: a member may make any number of files, and a listing must end all the same.
const (
	maxArtifacts = 10_000
	maxDepth     = 32
)

// ErrTooMany reports a directory with more files or levels than are listed.
var ErrTooMany = errors.New("more files than are listed")

// Files lists what a member's directory (tasks/<team>/<member>) holds: its log
// and the log's parts, task-status.json, and the regular files in artifacts/, in
// this order and by path. Links are left out. With ErrTooMany the list has the
// first 10,000. No directory is fs.ErrNotExist.
func Files(dir string) ([]Artifact, error) {
	root, err := logfile.OpenDir(dir)
	if err != nil {
		return nil, fmt.Errorf("task: files: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("task: files: %w", err)
	}
	var out []Artifact
	for _, e := range entries {
		kind := KindLog
		switch {
		case e.Name() == stateName:
			kind = KindStatus
		case e.Name() != LogName && !strings.HasPrefix(e.Name(), LogName+".") || e.Name() == LogName+logfile.Copying:
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			out = append(out, Artifact{kind, e.Name(), info.Size(), info.ModTime()})
		}
	}
	slices.SortStableFunc(out, func(a, b Artifact) int { return cmp.Compare(a.Kind, b.Kind) })
	made, err := artifacts(root)
	return append(out, made...), err
}

// artifacts lists the regular files below artifacts/. Files that disappear during the listing are
// left out.
func artifacts(root *os.Root) (out []Artifact, err error) {
	if info, err := root.Lstat(ArtifactsName); err != nil || !info.IsDir() {
		return nil, nil
	}
	err = fs.WalkDir(root.FS(), ArtifactsName, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case d.IsDir() && strings.Count(p, "/") >= maxDepth, len(out) >= maxArtifacts:
			return ErrTooMany
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			out = append(out, Artifact{KindArtifact, p, info.Size(), info.ModTime()})
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("task: files: %w", err)
	}
	return out, err
}

// OpenFile opens one file of a member for reading, by the path that Files gives
// it. A path that leads out of the directory, and what is not a regular file, is
// refused; none there is fs.ErrNotExist.
func OpenFile(dir, name string) (*os.File, error) {
	if name == "" || !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil, fmt.Errorf("task: file %.80q is not a path inside the member's directory", name)
	}
	f, err := logfile.OpenFile(dir, path.Clean(filepath.ToSlash(name)), os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("task: file: %w", err)
	}
	return f, nil
}

// Members lists the members that have a directory beside the list's files, sorted.
func (l *List) Members() ([]protocol.MemberName, error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return nil, fmt.Errorf("task: members: %w", err)
	}
	var names []protocol.MemberName
	for _, e := range entries {
		if name, err := protocol.ParseMember(e.Name()); err == nil && e.IsDir() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// MemberDir is the directory of a member's files. The name comes from ParseMember.
func (l *List) MemberDir(name protocol.MemberName) string { return filepath.Join(l.dir, string(name)) }
