package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"waggle/home"
	"waggle/internal/claude/claudesettings"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/cli/decidecmd"
	"waggle/internal/install"
	"waggle/operator"
)

// uninstallFlags are those of uninstall.
type uninstallFlags struct {
	prefix     string
	yes, force bool
}

func uninstallCmd(a *app.App) *cobra.Command {
	var f uninstallFlags
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove what install.sh has installed: the program, completions, manual pages",
		Long: `Remove the program, its completions and its manual pages by the record that install.sh
left (PREFIX/share/waggle/installed), after showing them and asking. A file that has
changed since it was installed stays. Teams, journals, settings and worktrees stay, and
the command prints where they are. Without a terminal --yes is needed; exit 3 without it.

While processes of your teams run (exit 6, they are listed), or hooks in settings of
a client name this program (waggle hooks uninstall removes them), nothing is removed;
--force removes all the same. Exit 9 when install.sh has not installed this program.

--json: {"prefix","version","record","files":[{"path","state"}],"removed":[],"kept":[],
"data":[],"changed"}; state is same, changed or missing.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return uninstall(cmd.Context(), a, f) },
	}
	cmd.Flags().StringVar(&f.prefix, "prefix", "", "prefix of the installation (default: the directory of this program)")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&f.force, "force", false, "also while teams run or hooks name the program")
	return cmd
}

// uninstallDocument is what uninstall prints with --json.
type uninstallDocument struct {
	Prefix  string         `json:"prefix"`
	Version string         `json:"version"`
	Record  string         `json:"record"`
	Files   []install.File `json:"files"`
	Removed []string       `json:"removed"`
	Kept    []string       `json:"kept"` // installed files that have changed
	Data    []string       `json:"data"` // the user's data that stays
	Changed bool           `json:"changed"`
}

func uninstall(ctx context.Context, a *app.App, f uninstallFlags) error {
	i, err := installation(f.prefix)
	if err != nil {
		return err
	}
	if !f.force {
		if err := uninstallable(a, i); err != nil {
			return err
		}
	}
	doc, err := uninstallReport(a, i)
	if err != nil {
		return err
	}
	if err := askUninstall(ctx, a, f, doc); err != nil {
		return err
	}
	removed, err := i.Remove()
	if err != nil {
		return &operator.Error{Kind: operator.Failed, Op: "uninstall", Err: err, Advice: fmt.Sprintf("%d files are removed; repair that and give the command again", len(removed))}
	}
	doc.Removed, doc.Changed = append(doc.Removed, removed...), true
	return a.Give(doc, nil, func() {
		a.Talk("%d files are removed from %s", len(removed), operator.Visible(doc.Prefix))
		for _, path := range doc.Kept {
			a.Talk("kept, it has changed since the install: %s", operator.Visible(path))
		}
		for _, path := range doc.Data {
			a.Talk("yours, not touched: %s", operator.Visible(path))
		}
	})
}

// installation returns the installation at prefix, or the one that contains this program.
func installation(prefix string) (*install.Installation, error) {
	var i *install.Installation
	self, err := os.Executable()
	switch {
	case prefix != "":
		if prefix, err = filepath.Abs(prefix); err == nil {
			i, err = install.Open(prefix)
		}
	case err == nil:
		i, err = install.Find(self)
	}
	if errors.Is(err, install.ErrNone) {
		return nil, &operator.Error{Kind: operator.NotFound, Op: "uninstall", Err: err,
			Advice: "install.sh leaves one; a program that go install or make build has made is removed with rm " + self + "; --prefix DIR names another place"}
	}
	return i, err
}

// uninstallable refuses while a team or a hook needs the program.
func uninstallable(a *app.App, i *install.Installation) error {
	state, err := a.StatePath()
	if err != nil {
		return err
	}
	running, err := home.Home{Path: state}.Running()
	if err != nil {
		return err
	}
	if len(running) > 0 {
		var who []string
		for _, p := range running {
			who = append(who, fmt.Sprintf("%s of team %s (process %d)", p.Name, p.Team, p.ID.PID))
		}
		return &operator.Error{Kind: operator.Refused, Op: "uninstall", Msg: "teams of yours run: " + strings.Join(who, ", "),
			Advice: "waggle down --team " + string(running[0].Team) + "; or --force: what runs goes on without the program"}
	}
	store, err := decidecmd.HookStore(a, claudesettings.Claude)
	if err != nil {
		return err
	}
	hooks, err := store.Installs(i.Program())
	if err != nil {
		return err
	}
	if len(hooks) > 0 {
		return &operator.Error{Kind: operator.Refused, Op: "uninstall", Msg: "hooks name this program: " + strings.Join(hooks, ", "),
			Advice: "waggle hooks uninstall (with --for codex or gemini for theirs, with --project in a repository); or --force: the hooks stay and do nothing"}
	}
	return nil
}

// uninstallReport lists what will be removed and what stays.
func uninstallReport(a *app.App, i *install.Installation) (uninstallDocument, error) {
	doc := uninstallDocument{Prefix: i.Prefix, Version: i.Version, Record: i.Record(), Files: append([]install.File{}, i.Files...), Removed: []string{}, Kept: []string{}, Data: []string{}}
	for _, f := range i.Files {
		if f.State == install.Changed {
			doc.Kept = append(doc.Kept, f.Path)
		}
	}
	root, rootErr := a.RootPath()
	state, stateErr := a.StatePath()
	config, _, configErr := a.ConfigPath()
	trees, treesErr := a.WorktreesPath()
	if err := cmp.Or(rootErr, stateErr, configErr, treesErr); err != nil {
		return doc, err
	}
	for _, path := range []string{filepath.Join(root, "teams"), filepath.Join(root, "tasks"), state, config, trees} {
		if _, err := os.Lstat(path); err == nil {
			doc.Data = append(doc.Data, path)
		}
	}
	return doc, nil
}

// askUninstall shows what will be removed and asks.
func askUninstall(ctx context.Context, a *app.App, f uninstallFlags, doc uninstallDocument) error {
	var lines []string
	for _, file := range doc.Files {
		if file.State == install.Same {
			lines = append(lines, operator.Visible(file.Path))
		}
	}
	return a.Consents(ctx, f.yes, app.Consent{Op: "uninstall", Text: strings.Join(lines, "\n"), Question: "remove these files?", Doc: doc, Else: "nothing was removed", Advice: "waggle uninstall --yes"})
}
