package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
)

func versionCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  `Print the version. --json: {"version","go","os","arch"}.`,
		RunE: func(*cobra.Command, []string) error {
			doc := map[string]string{"version": a.Version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH}
			return a.Give(doc, nil, func() { a.Say("%s", versionLine(a.Version)) })
		},
	}
}

// versionLine is what waggle version and waggle --version print.
func versionLine(version string) string {
	return fmt.Sprintf("waggle %s %s %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
