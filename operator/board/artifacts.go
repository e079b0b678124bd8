package board

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"waggle/operator"
	"waggle/protocol"
	"waggle/task"
	"waggle/team"
)

// ArtifactRow is one file that a member left in its directory.
type ArtifactRow struct {
	Member   protocol.MemberName `json:"member"`
	Kind     string              `json:"kind"` // artifact, log, status
	Path     string              `json:"path"` // relative to the member's directory
	Size     int64               `json:"size"`
	Modified time.Time           `json:"modified"`
}

// Artifacts lists the files of a member, or of all when member is "": its log, its status and its
// artifacts. problems has the directories that could not be listed whole.
func (o Operator) Artifacts(ctx context.Context, name protocol.TeamName, member protocol.MemberName) (rows []ArtifactRow, problems []string, err error) {
	b, names, err := o.desks(ctx, name, member)
	if err != nil {
		return nil, nil, err
	}
	rows = []ArtifactRow{}
	for _, n := range names {
		files, err := task.Files(b.list.MemberDir(n))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, fmt.Sprintf("%s: %v", n, err))
		}
		for _, f := range files {
			rows = append(rows, ArtifactRow{Member: n, Kind: f.Kind, Path: f.Path, Size: f.Size, Modified: f.Modified})
		}
	}
	return rows, problems, nil
}

// desks opens a team's list, and returns the members that have a directory: the named one, or all.
func (o Operator) desks(ctx context.Context, name protocol.TeamName, member protocol.MemberName) (*board, []protocol.MemberName, error) {
	b, err := o.board(ctx, "task artifacts", name, false)
	if err != nil {
		return nil, nil, err
	}
	var all []protocol.MemberName
	if b.list != nil {
		if all, err = b.list.Members(); err != nil {
			return nil, nil, err
		}
	}
	if member == "" {
		return b, all, nil
	}
	i := slices.IndexFunc(all, func(n protocol.MemberName) bool { return protocol.SameName(n, member) })
	if i < 0 {
		missing := &team.NotFoundError{What: "member", Name: string(member)}
		if b.list != nil && b.cfg != nil {
			missing.Near = b.cfg.Near(string(member))
		}
		return nil, nil, missing
	}
	return b, all[i : i+1], nil
}

// OpenArtifact opens one file of a member by the path that Artifacts gives it.
func (o Operator) OpenArtifact(ctx context.Context, name protocol.TeamName, member protocol.MemberName, path string) (*os.File, error) {
	b, names, err := o.desks(ctx, name, member)
	if err != nil {
		return nil, err
	}
	f, err := task.OpenFile(b.list.MemberDir(names[0]), path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &operator.Error{Kind: operator.NotFound, Op: b.op, Msg: fmt.Sprintf("%s has no file %s", names[0], clean(path)), Next: operator.Next{Step: operator.NextArtifacts, Member: names[0]}, Err: err}
	case err != nil:
		return nil, &operator.Error{Kind: operator.Refused, Op: b.op, Err: err, Next: operator.Next{Step: operator.NextReadableArtifacts, Member: names[0]}}
	}
	return f, nil
}
