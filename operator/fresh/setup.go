package fresh

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/record"
)

// fileName is the name of a team file that is found.
const fileName = "waggle.yaml"

// Found is a team file that was found and that says what worktrees of members get.
type Found struct {
	File     *teamfile.File
	Included []string // the files that .worktreeinclude names
	// Changed: the team has members whose worktrees were prepared by another text of this file.
	Changed bool
}

// preparation is what the worktrees of new members get: by a team file that the operator named, by
// the one that the team was brought up from, or by one that is found and accepted. nil leaves it to
// the team's. included are the files that .worktreeinclude names, as they were shown.
func (o Operator) preparation(ctx context.Context, top string, opt Options) (p *record.Preparation, check *record.Check, included []string, err error) {
	if included, err = process.Of(o.Operator).Included(ctx, opt.Dir); err != nil {
		return nil, nil, nil, err
	}
	included = append([]string{}, included...)
	if opt.NoSetup {
		return &record.Preparation{}, nil, included, nil
	}
	name, err := o.team(ctx, top, opt.Team)
	if err != nil {
		return nil, nil, nil, err
	}
	s, own, err := o.ownFile(ctx, name)
	if err != nil {
		return nil, nil, nil, err
	}
	if own != nil && opt.File == "" {
		if now, err := teamfile.ReadFile(own.Path); err == nil && !own.Prepare.Equal(now.Prepare) {
			opt.Note(operator.Note{What: "note:", Text: "the team file has changed since the team was brought up: worktrees get what it said then"})
		}
		return nil, nil, included, nil
	}
	f, err := o.fileOf(opt, top)
	switch {
	case err != nil:
		return nil, nil, nil, err
	case f == nil || f.Prepare == nil && f.Check == nil && opt.File == "":
		return nil, nil, included, nil
	case f.Prepare == nil && f.Check == nil:
		return nil, nil, nil, usage("%s has neither worktree: nor check: at its top level", f.Path)
	case opt.File == "":
		if err := accepted(ctx, s, Found{File: f, Included: included}, opt); err != nil {
			return nil, nil, nil, err
		}
	}
	var made record.Preparation
	if f.Prepare != nil {
		made = *f.Prepare
	}
	made.Path, made.File = f.Path, f.SHA256
	if f.Check != nil {
		made.Check = f.Check.Command
	}
	return &made, f.Check, included, nil
}

// ownFile is the team file that a team that is up was brought up from, nil for none.
func (o Operator) ownFile(ctx context.Context, name protocol.TeamName) (s *operator.State, own *teamfile.File, err error) {
	if name == "" {
		return nil, nil, nil
	}
	if s, err = o.Open(ctx, name, operator.Act); err != nil {
		return nil, nil, err
	}
	if _, err := os.Lstat(s.Dir.TeamFile()); errors.Is(err, fs.ErrNotExist) {
		return s, nil, nil
	}
	own, err = supervise.Of(o.Operator).Accepted(s)
	if err != nil || filepath.Base(own.Path) == NoFile {
		return s, nil, err
	}
	return s, own, nil
}

// fileOf reads the team file that is named, or the waggle.yaml in the directory or its nearest parent
// in the checkout; nil when there is none.
func (o Operator) fileOf(opt Options, top string) (*teamfile.File, error) {
	if opt.File != "" {
		return teamfile.ReadSettings(opt.File)
	}
	dir := opt.Dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for ; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, fileName))
		if err == nil {
			f, err := teamfile.ReadSettings(filepath.Join(dir, fileName))
			var e *operator.Error
			if errors.As(err, &e) && e.Next.Step == "" {
				e.Next = operator.NextNoSetup.With()
			}
			return f, err
		}
		if dir == top || dir == filepath.Dir(dir) {
			return nil, nil
		}
	}
}

// accepted asks the operator about a file that was found, once for a team and a text of the file: the
// record of each member has the hash of the file that its worktree was prepared by.
func accepted(ctx context.Context, s *operator.State, found Found, opt Options) error {
	if s != nil {
		for _, m := range s.Lead.Members {
			if m.Prepare == nil || m.Prepare.Path != found.File.Path {
				continue
			}
			if m.Prepare.File == found.File.SHA256 {
				return nil
			}
			found.Changed = true
		}
	}
	if opt.Accept != nil {
		return opt.Accept(ctx, found)
	}
	return &UnacceptedError{found}
}

// UnacceptedError: worktree: or check: of a team file that was found is not accepted. Nothing was made.
type UnacceptedError struct{ Found Found }

// Error implements error.
func (e *UnacceptedError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the error of a question that nobody has answered.
func (e *UnacceptedError) Unwrap() error {
	return &operator.Error{Kind: operator.Question, Op: "new", Msg: "worktree: or check: of " + filepath.Base(e.Found.File.Path) + " is not accepted", Next: operator.NextAcceptSetup.With()}
}

// AcceptShown is an Options.Accept that accepts what was shown before, whole. Another text of the
// file, and other files of .worktreeinclude, are an *UnacceptedError. nil: nothing was shown.
func AcceptShown(shown *Found) func(context.Context, Found) error {
	return func(_ context.Context, found Found) error {
		if shown != nil && shown.File.Path == found.File.Path && shown.File.SHA256 == found.File.SHA256 && slices.Equal(shown.Included, found.Included) {
			return nil
		}
		return &UnacceptedError{found}
	}
}
