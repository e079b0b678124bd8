package teamcmd

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/internal/json/jsonobj"
	"waggle/operator"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/protocol"
	"waggle/worker"
)

func teamTokenCmd(a *app.App) *cobra.Command {
	var life time.Duration
	var cwd, color string
	var plan bool
	cmd := &cobra.Command{
		Use:   "token NAME [-- COMMAND...]",
		Short: "Make a token with which one process joins a team, once",
		Long: `Print a token. A program that runs 'waggle join' with it, in a terminal or a process that
waggle did not start, becomes the member NAME: a worker with its own journal, whose calls
are gated like those of every other. It can ask; it approves nothing. The token works
once, and only until it expires. --json: {"team","member","token","expires"}.`,
		RunE: app.InTeam(a.Team, func(ctx context.Context, op operator.Operator, name protocol.TeamName, args []string) (err error) {
			if cwd, err = filepath.Abs(cwd); err != nil {
				return err
			}
			if life <= 0 {
				return &operator.Error{Kind: operator.Usage, Op: "token", Msg: "--until is longer than 0"}
			}
			m := teamfile.FileMember{Name: protocol.MemberName(args[0]), Agent: "exec", Backend: "join", Color: color, Cwd: cwd, PlanRequired: plan}
			if len(args) > 1 {
				if m.Spec, err = jsonobj.Marshal(map[string]any{"command": args[1:]}); err != nil {
					return err
				}
			}
			t, err := teams.Of(op).MintToken(ctx, name, m, life)
			if err != nil {
				return err
			}
			return a.Give(t, view.TokenPage(t), func() {
				a.Talk("for one 'waggle join' as %s until %s; give it in WAGGLE_JOIN, never as an argument", t.Member, page.Clock(t.Expires, a.Clock()))
			})
		}),
	}
	f := cmd.Flags()
	f.DurationVar(&life, "until", teams.DefaultTokenLife, "how long the token is valid, at most 24h")
	f.StringVar(&cwd, "cwd", ".", "directory in which its commands run")
	f.StringVar(&color, "color", "", "the member's colour")
	cmd.Flags().BoolVar(&plan, "require-plan", false, "it needs an approved plan before it writes")
	return cmd
}

// maxToken is a size above that of a token.
const maxToken = 4 << 10

func Join(a *app.App) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "join",
		Short: "Become a member of a team, with a token of its operator",
		Long: `Run a member in this process until its leader ends it, or you interrupt it. The token is
in WAGGLE_JOIN, or in --token-file ('-' is stdin); 'waggle team token' makes it. It is no
argument, because other users can read arguments.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			token, err := joinToken(a, file)
			if err != nil {
				return err
			}
			op, err := a.Op()
			if err != nil {
				return err
			}
			team, _, _ := strings.Cut(strings.TrimSpace(token), ":")
			return interrupted(teams.Of(op).Work(cmd.Context(), token, worker.Options{Environ: a.MemberEnviron(), Output: a.Out, Log: slog.New(slog.NewTextHandler(a.Err, nil)),
				Begun: func(name protocol.MemberName) { a.Talk("joined %s as %s; Ctrl-C leaves", team, name) }}))
		},
	}
	cmd.Flags().StringVar(&file, "token-file", "", "read the token from a file, '-' for stdin (default $WAGGLE_JOIN)")
	return cmd
}

func joinToken(a *app.App, file string) (string, error) {
	if file == "" {
		if t := a.Env("WAGGLE_JOIN"); t != "" {
			return t, nil
		}
		return "", &operator.Error{Kind: operator.Usage, Op: "join", Msg: "there is no token", Advice: "set WAGGLE_JOIN, or give --token-file"}
	}
	in := a.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", &operator.Error{Kind: operator.Usage, Op: "join", Err: err}
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxToken))
	return string(b), err
}
