//go:build !unix

package teamcmd

import (
	"os"

	"waggle/spawn/terminal"
)

// sizes reports nothing: this system has no signal for it.
func sizes(*os.File) (resized <-chan terminal.Size, stop func()) { return nil, func() {} }
