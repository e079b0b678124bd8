package operator

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"waggle"
	"waggle/home"
	"waggle/internal/atomicfile"
	"waggle/team"
)

// Claim is a name of this root, held by whoever clears it and makes a team of it,
// until somebody leads that team: nobody else makes one meanwhile, or takes the half
// that is there for a leftover.
type Claim struct{ release func() }

// Claim takes the name, or says who has it. The kernel gives it back when its holder
// dies.
func (o Operator) Claim(op string, name waggle.TeamName) (*Claim, error) {
	path := o.Home.NameLease(o.RootURL, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	release, held, err := atomicfile.TryFlock(path, atomicfile.Options{Rank: atomicfile.RankLease, Aside: filepath.Dir(path)})
	if err != nil {
		return nil, fmt.Errorf("name of team %s: %w", name, err)
	}
	if !held {
		holder := "another process"
		if pid := atomicfile.Holder(path); pid > 0 {
			holder = fmt.Sprintf("process %d", pid)
		}
		return nil, &Error{Kind: Locked, Op: op, Msg: fmt.Sprintf("%s makes a team %s at this moment", holder, name),
			Next: Next{Step: NextStatusLater, Team: name}}
	}
	return &Claim{sync.OnceFunc(func() { _ = release() })}, nil
}

// Free gives the name back; again, or of nil, does nothing.
func (c *Claim) Free() {
	if c != nil {
		c.release()
	}
}

// Settled says that whoever raised this team leads it now, or will not: its name may be
// asked for by others again. Calling it again does nothing.
func (s *State) Settled() { s.Claim.Free() }

// Strays removes what was made in STATE for a team of this name that was never
// begun: its maker was stopped before anything of it was in the wire tree. The caller
// holds the name.
func (o Operator) Strays(name waggle.TeamName) error {
	dirs, err := filepath.Glob(filepath.Join(o.Home.Path, "teams", string(name)+"-????????"))
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	for _, path := range dirs {
		d := home.Dir{Path: path}
		if !o.Making(d) {
			continue
		}
		if _, err := os.Lstat(d.LeaderJournal()); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("state: %w", err)
		}
	}
	return nil
}

// Making reports a directory of a team of this root whose files in the wire tree are
// being made, or were when their maker was stopped.
func (o Operator) Making(d home.Dir) bool {
	root, err := atomicfile.ReadFile(d.Making(), atomicfile.Options{MaxSize: MaxYAML})
	return err == nil && bytes.Equal(root, []byte(o.RootURL+"\n"))
}

// Begun refuses what is to become a team of this root and has no record yet: what is in
// the wire tree is no other program's.
func (o Operator) Begun(cfg *team.Config) error {
	if uid := UIDOf(cfg); uid == "" || !o.Making(o.Home.Dir(o.RootURL, cfg.Name, uid)) {
		return nil
	}
	return &Error{Kind: NotFound, Op: "team", Msg: fmt.Sprintf("team %s is being made, or whoever made it was stopped", cfg.Name),
		Next: NextAgainOrUp.With()}
}
