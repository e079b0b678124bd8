package operator

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"waggle/home"
	"waggle/internal/fs/atomicfile"
	"waggle/protocol"
	"waggle/team"
)

// Claim is the lock on a team name of this root. The process that creates a team holds it from
// before it clears leftovers of that name until the team has a leader. Meanwhile no other process
// creates a team of the name or removes the unfinished one as a leftover.
type Claim struct{ release func() }

// Claim takes the lock on the name. The error names the process that holds it. The kernel releases
// the lock when its holder dies.
func (o Operator) Claim(op string, name protocol.TeamName) (*Claim, error) {
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

// Free releases the lock. A second call, or one on nil, has no effect.
func (c *Claim) Free() {
	if c != nil {
		c.release()
	}
}

// Settled releases the Claim: the process that created the team leads it now, or has given up. A
// second call has no effect.
func (s *State) Settled() { s.Claim.Free() }

// Strays removes directories in STATE of a team of this name whose creation stopped before it wrote
// to the wire tree. The caller holds the Claim.
func (o Operator) Strays(name protocol.TeamName) error {
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

// Begun returns an error for a team of this root that is being created and has no record yet. Its
// files in the wire tree do not belong to another program.
func (o Operator) Begun(cfg *team.Config) error {
	if uid := UIDOf(cfg); uid == "" || !o.Making(o.Home.Dir(o.RootURL, cfg.Name, uid)) {
		return nil
	}
	return &Error{Kind: NotFound, Op: "team", Msg: fmt.Sprintf("team %s is being made, or whoever made it was stopped", cfg.Name),
		Next: NextAgainOrUp.With()}
}
