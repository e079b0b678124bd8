package demo

import (
	"context"
	"path/filepath"
	"strings"

	"waggle/internal/claude"
	"waggle/internal/modelserver"
	"waggle/operator"
	"waggle/operator/agentcheck"
	"waggle/operator/teamfile"
	"waggle/protocol"
)

// realClients makes ada and bob the installed Claude Code, with a home of its own and a model in this process
// that says what their scripts do. version is the client's; close ends the model, and may be nil.
func realClients(ctx context.Context, op *operator.Operator, f *teamfile.File, dir string) (version string, close func() error, err error) {
	found, err := claude.Find(ctx, "", op.Environ)
	if err != nil {
		return "", nil, &operator.Error{Kind: operator.NotFound, Op: "demo", Msg: err.Error(), Next: operator.NextInstallAgent.With()}
	}
	said := scripts(f)
	server, err := modelserver.Start(func(r modelserver.Request) modelserver.Turn {
		for task, turns := range said {
			if n := r.Since(task); n >= 0 && n < len(turns) {
				return turns[n]
			}
		}
		return modelserver.Say("nothing is left to do")
	}, nil)
	if err != nil {
		return "", nil, err
	}
	config, env := agentcheck.ClaudeHome(filepath.Join(dir, "client"), server.URL(), op.Environ)
	if err := agentcheck.ClaudeFirstStart(config, []string{f.Dir}); err != nil {
		return "", server.Close, err
	}
	op.Environ = env
	for i, m := range f.Members {
		if m.Name != "cleo" {
			f.Members[i].Agent, f.Members[i].Spec = claude.Kind, nil
		}
	}
	return found.Version.String(), server.Close, nil
}

// scripts are the model's turns by the instructions of the task that they are for: those of the team file's
// steps.
func scripts(f *teamfile.File) map[string][]modelserver.Turn {
	of := map[protocol.MemberName]string{}
	for _, t := range f.Tasks {
		of[t.Owner] = strings.TrimSpace(t.Instructions)
	}
	notes := filepath.Join(f.Dir, "notes.txt")
	return map[string][]modelserver.Turn{
		of["ada"]: {
			modelserver.WritePlan("write notes.txt"), modelserver.ExitPlanMode(),
			modelserver.WritePlan("write notes.txt; to take it back, remove it"), modelserver.ExitPlanMode(),
			modelserver.Write(notes, "hello from ada\n"), modelserver.Say("The notes are written."),
		},
		of["bob"]: {
			modelserver.Bash("echo hello from bob"), modelserver.Bash("rm -rf build"), modelserver.Bash("git push origin main"),
			modelserver.Say("It is built, and not shared."),
		},
	}
}
