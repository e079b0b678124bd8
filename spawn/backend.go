package spawn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Backend is a place to run a member's process: process, tmux, iTerm2,
// in-process. Its methods may be called from several goroutines. Package
// spawntest holds the tests that every backend passes.
type Backend interface {
	// Name is the backend's name in the team file and in the records.
	Name() string
	// Start runs spec.Argv directly, never through a shell, in a process group
	// of its own, and returns once the process exists (InProcess calls a func
	// instead). ctx ends the starting, not the process.
	Start(ctx context.Context, spec Spec) (*Process, error)
}

// NewBackend returns a backend of a name whose Start is start; where says in an error of it where processes were to be
// started (" in tmux").
func NewBackend(name, where string, start func(context.Context, Spec) (*Process, error)) Backend {
	return backend{name, where, start}
}

type backend struct {
	name, where string
	start       func(context.Context, Spec) (*Process, error)
}

func (b backend) Name() string { return b.name }

func (b backend) Start(ctx context.Context, spec Spec) (*Process, error) {
	p, err := b.start(ctx, spec)
	return p, failed(err, "start%s", b.where)
}

// failed gives an error what was asked of the package; nil stays nil.
func failed(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("spawn: %s: %w", fmt.Sprintf(format, args...), err)
}

// Spec is what to start.
type Spec struct {
	// Argv is the program and its arguments. Argv[0] is an absolute path;
	// LookPath finds one for a bare name.
	Argv []string
	// Dir is the working directory, which must exist; "" is ours.
	Dir string
	// Env is the whole environment, nothing is inherited; of two entries with the same name the
	// last one counts. (Windows adds SYSTEMROOT.)
	Env []string
	// Log is the file that gets stdout and stderr, appended; the process keeps
	// writing to it when we die. Required. It is made with mode 0600 and set to
	// it; a link or anything but a regular file is refused. Its directory must
	// exist.
	Log string
	// Title is a name for people: a pane's title. The process backend has no
	// use for it.
	Title string
	// Color is a colour that the terminal supports by name, for a pane's border; "" is the
	// multiplexer's own. The process backend ignores it.
	Color string
}

// Check says what is wrong with a spec before anything is started.
func (s Spec) Check() error {
	switch {
	case len(s.Argv) == 0 || s.Argv[0] == "":
		return errors.New("no program named")
	case !filepath.IsAbs(s.Argv[0]):
		return fmt.Errorf("program %q is not an absolute path", s.Argv[0])
	case s.Log == "":
		return errNoLog
	}
	return checkDir(s.Dir)
}

func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	if !fi.IsDir() {
		return fmt.Errorf("working directory %s is not a directory", dir)
	}
	return nil
}

// LookPath finds the program that a bare name means to a process with this
// environment: the first executable in the absolute directories of env's PATH. A
// name with a slash comes back as it is. The error matches fs.ErrNotExist when
// there is none. The PATH of this program plays no part.
func LookPath(name string, env []string) (string, error) {
	if name == "" || filepath.Base(name) != name {
		return name, nil
	}
	for _, dir := range filepath.SplitList(Getenv(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("spawn: program %q in the PATH of the new process: %w", name, fs.ErrNotExist)
}

// Getenv returns the last value of a name in an environment.
func Getenv(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		k, v, ok := strings.Cut(kv, "=")
		if ok && (k == name || runtime.GOOS == "windows" && strings.EqualFold(k, name)) {
			return v
		}
	}
	return ""
}
