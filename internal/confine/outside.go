package confine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"waggle/agent"
	"waggle/internal/cut"
	"waggle/internal/sandbox"
	"waggle/spawn"
)

// outside reports whether the program of a resident agent runs outside: each of its shell commands
// runs inside then.
func (m *Member) outside() bool { return m.c.Needs != nil && m.c.Outside != "" }

// outsider tries whether the agent's program starts inside. A program that does not, and starts
// outside, runs outside; the profile becomes that of its shell commands.
func (m *Member) outsider(ctx context.Context) bool {
	if m.c.Needs == nil || m.outside() || len(m.c.Needs.Start) == 0 {
		return false
	}
	if _, err := m.program(); err != nil {
		return false // there is none, which its first turn says
	}
	why := m.starts(ctx, m.box.Run)
	if why == "" || ctx.Err() != nil || m.untouched() != nil {
		return false
	}
	if m.starts(ctx, func(ctx context.Context, c spawn.Command) (spawn.Exit, error) { return c.Run(ctx) }) != "" {
		return false // it starts nowhere
	}
	m.log.Warn("the agent's program runs outside of the sandbox, and its shell commands inside", "why", why)
	whole := m.c.Outside
	m.c.Outside = "it does not start inside (" + why + ")"
	if err := m.shape(); err != nil {
		m.log.Warn("no sandbox for the shell commands alone", "err", err)
		m.c.Outside = whole
	}
	return m.outside()
}

// startTime is how long a program may take to show that it starts.
const startTime = time.Minute

// starts runs the command that shows whether the program starts, and returns why it does not.
func (m *Member) starts(ctx context.Context, run func(context.Context, spawn.Command) (spawn.Exit, error)) string {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	out := &cut.Tail{Max: hintTail}
	exit, err := run(ctx, spawn.Command{Argv: m.c.Needs.Start, Dir: m.c.Tree, Env: m.c.Environ, Output: out, Reap: true})
	words := strings.Join(strings.Fields(strings.ToValidUTF8(string(out.Kept), "")), " ")
	if r := []rune(words); len(r) > startWords {
		words = "…" + string(r[len(r)-startWords:])
	}
	if words != "" {
		words = ": " + words
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Sprintf("it took more than %s", startTime) + words
	case err != nil:
		return err.Error() + words
	case exit.Signal != "", exit.Code != 0:
		return exit.How() + words
	}
	return ""
}

// startWords bounds what is kept of the output of a program that did not start.
const startWords = 300

// program is the file of the agent's program.
func (m *Member) program() (string, error) {
	if len(m.c.Needs.Start) == 0 {
		return "", errors.New("the agent names no program")
	}
	return spawn.LookPath(m.c.Needs.Start[0], m.c.Environ)
}

// untouched returns an error when the member's commands could have written the program that is to
// run outside.
func (m *Member) untouched() error {
	path, err := m.program()
	if err != nil {
		return nil // there is none, which its first turn says
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for _, p := range []string{path, real} {
		if !filepath.IsAbs(p) {
			p = filepath.Join(m.c.Tree, p)
		}
		if m.Writable(p) == nil {
			return fmt.Errorf("the agent's program %s would run outside of the sandbox, and the member's commands can change it: name a program elsewhere", p)
		}
	}
	return nil
}

// guardable makes a directory in a member's tree that its commands will not change. A link, which they
// could have left there, is refused.
func guardable(tree, dir string) error {
	rest, err := filepath.Rel(tree, dir)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Mkdir(rest, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the directory of an agent's settings: %w", err)
	}
	if info, err := root.Lstat(rest); err != nil || !info.IsDir() {
		return fmt.Errorf("%w: %s is not a directory of its own, and decides what the agent's program runs: remove it", sandbox.ErrTree, dir)
	}
	return nil
}

// Shell implements worker.Confinement.
func (m *Member) Shell() *agent.Shell {
	if !m.outside() || m.box.Level == sandbox.Off {
		return nil
	}
	return &agent.Shell{Tmp: m.tmp(), Settings: m.c.Needs.Settings, Prepare: m.prepare}
}

// tmp is the directory of temporary files of the member's commands, as they name it.
func (m *Member) tmp() string {
	if m.box.Kit.Bwrap != "" && m.box.Level == sandbox.Enforced {
		return "/tmp"
	}
	return m.box.Profile.Tmp
}

// prepare prepares a shell command of a program that runs outside.
func (m *Member) prepare(c spawn.Command, guarded []string) (agent.Prepared, error) {
	box, missed, err := m.noting(c)
	if err != nil {
		return agent.Prepared{}, err
	}
	box.Profile.ReadOnly = slices.Concat(box.Profile.ReadOnly, guarded)
	r, err := box.Prepare(c)
	if err != nil {
		return agent.Prepared{}, err
	}
	return agent.Prepared{Argv: r.Argv, Env: r.Env, End: func() error { return r.Signal(syscall.SIGTERM) }, Close: r.Close,
		Note: missed.note}, nil
}
