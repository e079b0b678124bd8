package live

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"unicode/utf8"

	"waggle/internal/fs/realpath"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/protocol"
)

// Matches implements tui.Source.
func (l *Source) Matches(ctx context.Context, q decide.Request, rule string) (decide.Suggestion, error) {
	r, err := policy.ParseRule(rule)
	if err != nil {
		return decide.Suggestion{}, err
	}
	return decide.Of(l.op).Matches(ctx, protocol.TeamName(q.Team), r)
}

// Changed implements tui.Source.
func (l *Source) Changed(ctx context.Context, q decide.Request, input string) (decide.Request, error) {
	other, err := decide.Of(l.op).Changed(ctx, protocol.TeamName(q.Team), q.Handle, input)
	if err != nil {
		return q, err
	}
	return *other, nil
}

// Earlier implements tui.Source.
func (l *Source) Earlier(ctx context.Context, q decide.Request) (string, error) {
	switch {
	case q.EditedPath() != "":
		return inFile(q), nil
	case q.Revision < 2:
		return "", nil
	}
	plans, err := decide.Of(l.op).Plans(ctx, protocol.TeamName(q.Team), true)
	if err != nil {
		return "", err
	}
	var before *decide.Request
	for i := range plans {
		if p := &plans[i]; p.Instance == q.Instance && p.Task == q.Task && p.Revision < q.Revision && (before == nil || p.Revision > before.Revision) {
			before = p
		}
	}
	if before == nil {
		return "", nil
	}
	return decide.DiffPlans(before, &q), nil
}

// Fate implements tui.Source.
func (l *Source) Fate(ctx context.Context, q decide.Request) (decide.Fate, error) {
	return decide.Of(l.op).Fate(ctx, q)
}

// maxFile is the size of the largest file that a change is compared with.
const maxFile = 1 << 20

// inFile is what a call changes in its file as that is now.
func inFile(q decide.Request) string {
	text, err := realpath.ReadFile(q.EditedPath(), maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && q.Tool == "Write":
		return "the file is new"
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case err != nil:
		return "it cannot be compared: " + err.Error()
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return "it cannot be compared: the file is no text"
	}
	return q.InFile(string(text))
}
