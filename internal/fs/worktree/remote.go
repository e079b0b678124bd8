package worktree

import "context"

// Remote is the remote that a branch of the repository is pushed to: that of its settings, else
// origin.
func (g Git) Remote(ctx context.Context, t Tree, branch string) (string, error) {
	for _, key := range []string{"branch." + branch + ".pushRemote", "remote.pushDefault", "branch." + branch + ".remote"} {
		name, err := g.of(t.Common).line(ctx, t.Common, "config", "--get", key)
		if err == nil && name != "" && name != "." {
			return name, nil
		}
		if err != nil && exit(err) != 1 {
			return "", err
		}
	}
	return "origin", nil
}

// Subjects are the subjects of the commits from base, which is not among them, to tip, newest first.
func (g Git) Subjects(ctx context.Context, t Tree, base, tip string) (subjects []string, more bool, err error) {
	var st Status
	if err := g.of(t.Common).log(ctx, t.Common, []string{tip, "--not", base}, &st); err != nil {
		return nil, false, err
	}
	subjects = []string{}
	for _, c := range st.Commits {
		subjects = append(subjects, c.Subject)
	}
	return subjects, st.cutCommits, nil
}
