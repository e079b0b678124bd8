package app

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/fs/atomicfile"
	"waggle/operator"
	"waggle/operator/teamfile"
)

// maxConfig is the size limit of the user's own file.
const maxConfig = 1 << 20

// ConfigPath returns the path of the user's own file: --config, WAGGLE_CONFIG,
// $XDG_CONFIG_HOME/waggle/config.yaml, ~/.config/waggle/config.yaml. named: the flag or variable
// gave it, so it must exist.
func (a *App) ConfigPath() (path string, named bool, err error) {
	said := cmp.Or(a.Flags.Config, a.Env("WAGGLE_CONFIG"))
	path, err = a.pathOf(said, "XDG_CONFIG_HOME", ".config", "waggle/config.yaml")
	if operator.KindOf(err) == operator.Usage {
		return "", false, nil // without a home directory there is no such file
	}
	return path, said != "", err
}

// config reads the user's own file; nil when there is none. A file that cannot be read stops every
// command, because it may bound a team.
func (a *App) config() (*teamfile.Config, error) {
	path, named, err := a.ConfigPath()
	if err != nil || path == "" {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(path)                               // the file may be a symbolic link
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // a HOME such as /dev/null has none
		if _, lerr := os.Lstat(path); lerr == nil || named {
			return nil, &operator.Error{Kind: operator.NotFound, Op: "config", Msg: "there is no " + path, Advice: "it is named by --config, WAGGLE_CONFIG or a link"}
		}
		return nil, nil
	}
	var data []byte
	if err == nil {
		data, err = atomicfile.ReadFile(real, atomicfile.Options{MaxSize: maxConfig})
	}
	if err != nil {
		kind := operator.Failed
		if errors.Is(err, atomicfile.ErrTooLarge) {
			kind = operator.Usage
		}
		return nil, &operator.Error{Kind: kind, Op: "config", Err: fmt.Errorf("your settings in %s: %w", path, err)}
	}
	return teamfile.ParseConfig(path, data)
}

// Keys returns the keys of the full screen in the user's file, by the name of their command, and the
// path of the file.
func (a *App) Keys() (keys map[string][]string, path string, err error) {
	c, err := a.config()
	if err != nil || c == nil {
		return nil, "", err
	}
	return c.Keys, c.Ceiling.File, nil
}

// GraceFlag adds --grace to a command: the grace of the user's file applies when the flag is not given.
func (a *App) GraceFlag(cmd *cobra.Command, grace *time.Duration, usage string) {
	cmd.Flags().DurationVar(grace, "grace", 10*time.Second, usage)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *grace < 0 {
			return &operator.Error{Kind: operator.Usage, Op: cmd.Name(), Msg: fmt.Sprintf("a grace of %s: it is a time to wait", *grace)}
		}
		if !cmd.Flags().Changed("grace") {
			c, err := a.config()
			if err != nil {
				return err
			}
			if c != nil && c.Grace > 0 {
				*grace = c.Grace
			}
		}
		return run(cmd, args)
	}
}

// PlanFlag adds --plan, with which a command shows what it would do and changes nothing.
func PlanFlag(cmd *cobra.Command, plan *bool, usage string) {
	cmd.Flags().BoolVar(plan, "plan", false, usage)
}
