package cli

import (
	"runtime"

	"github.com/spf13/cobra"

	"waggle/internal/cli/app"
)

func versionCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.Flags.JSON {
				return a.Document(map[string]string{"version": a.Version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
			}
			a.Say("waggle %s %s %s/%s", a.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
