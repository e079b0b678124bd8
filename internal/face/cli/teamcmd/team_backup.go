package teamcmd

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/teams"
	"waggle/protocol"
	"waggle/team"
)

func teamBackupCmd(a *app.App) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "backup TEAM -o FILE.tar[.gz]",
		Short: "Write a team's files to a tar",
		Long: `Write a team's registry, mailboxes, tasks, artifacts and journals to a tar.

Registry, mailboxes and tasks are those of one moment; the team may continue meanwhile.
A FILE that ends in .gz or .tgz is compressed; - is stdout. A FILE that exists is
not overwritten. --json: {"bytes","files","path","skipped","team"}.`,
		RunE: a.TeamArg(app.InTeam(a.Team, func(ctx context.Context, op operator.Operator, name protocol.TeamName, _ []string) error {
			rep, err := backup(ctx, a, op, name, out)
			if err != nil {
				return err
			}
			a.Tell(view.SkippedPage(rep.Skipped), name)
			d := view.BackupDocument{Bytes: rep.Bytes, Files: rep.Files, Path: out, Skipped: rep.Skipped, Team: string(name)}
			if a.Flags.JSON && out != "-" {
				return a.Document(d)
			}
			a.Tell(view.BackupPage(d), name)
			return nil
		})),
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "the file to write, or - for stdout")
	app.Must(cmd.MarkFlagRequired("output"))
	return cmd
}

// backup writes a backup to a file that appears whole, or to stdout.
func backup(ctx context.Context, a *app.App, op operator.Operator, name protocol.TeamName, out string) (rep team.BackupReport, err error) {
	if out == "-" {
		if app.Tty(a.Out) {
			return rep, &operator.Error{Kind: operator.Usage, Op: "team backup", Msg: "a tar is not for a terminal", Advice: "-o FILE, or redirect stdout"}
		}
		return teams.Of(op).Backup(ctx, name, a.Out)
	}
	return rep, newFile("team backup", out, func(w io.Writer) error {
		finish := func() error { return nil }
		if strings.HasSuffix(out, ".gz") || strings.HasSuffix(out, ".tgz") {
			z := gzip.NewWriter(w)
			w, finish = z, z.Close
		}
		rep, err = teams.Of(op).Backup(ctx, name, w)
		return errors.Join(err, finish())
	})
}

// newFile writes a private file that appears whole, and never overwrites one.
func newFile(op, path string, write func(io.Writer) error) (err error) {
	exists := func() error {
		if _, err := os.Lstat(path); err != nil {
			return nil
		}
		return &operator.Error{Kind: operator.Refused, Op: op, Msg: path + " exists, and is not overwritten", Advice: "choose another name"}
	}
	if err := exists(); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	if err = errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	// Link, not rename: it never overwrites. On a file system without links, check before the
	// rename.
	if os.Link(f.Name(), path) == nil {
		return os.Remove(f.Name())
	}
	if err := exists(); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), path)
}

func teamRestoreCmd(a *app.App) *cobra.Command {
	var as string
	var plan bool
	var do teams.RestoreOptions
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a team from a backup",
		Long: `Make a team from a backup, or from a tar of teams/TEAM and tasks/TEAM.

A team of that name is not overwritten: --name restores under another name, and --force
moves the present one into the archive and ends its processes.

A file grants no authority. A team that waggle led gets a new journal: no decision, grant
or policy of the backup applies, and its journals are kept to be read. Only when the
journal here is that of the very same team does the team continue it.

--json: {"team","from","files","verified","authority","history","replaced","ended",
"skipped"}; authority is kept, new or none; with --plan {"team","from","files","verified",
"authority","replaces","running","skipped"}.`,
		RunE: a.WithOp(func(ctx context.Context, op operator.Operator, args []string) (err error) {
			if as != "" {
				if do.As, err = team.CheckName(as); err != nil {
					return err
				}
			}
			in := a.In
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if errors.Is(err, os.ErrNotExist) {
					return &operator.Error{Kind: operator.NotFound, Op: "team restore", Msg: "there is no file " + args[0]}
				}
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			if plan {
				return planRestore(ctx, a, op, in, do)
			}
			do.Report = func(r inspect.Running, ends bool) { sayEnding(a, r, ends) }
			rs, err := teams.Of(op).Restore(ctx, in, do)
			if err != nil {
				return err
			}
			return a.Give(rs, view.RestoredPage(rs), func() {
				a.Tell(view.RestoredNotes(rs), "")
				a.Talk("%s", app.Faint("next: waggle team show "+rs.Team))
			})
		}),
	}
	cmd.Flags().StringVar(&as, "name", "", "restore under this name")
	app.PlanFlag(cmd, &plan, "show what would be restored and replaced, and change nothing")
	cmd.Flags().BoolVar(&do.Force, "force", false, "first move a team of that name into the archive, and end its processes")
	return cmd
}

// planRestore shows what a restore would do. What it reads of the backup is in a scratch directory until then.
func planRestore(ctx context.Context, a *app.App, op operator.Operator, in io.Reader, do teams.RestoreOptions) (err error) {
	scratch, err := os.MkdirTemp("", "waggle-restore-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	p, err := teams.Of(op).PlanRestore(ctx, in, do, scratch)
	if err != nil {
		return err
	}
	return a.Give(p, view.RestorePlanPage(p))
}
