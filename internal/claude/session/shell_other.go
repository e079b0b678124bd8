//go:build !linux

package session

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// shell reports whether a process is a shell, as a client starts one for a hook.
func shell(pid int) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ps", "-o", "comm=", "-p", strconv.Itoa(pid)).Output()
	name := strings.TrimPrefix(filepath.Base(strings.TrimSpace(string(out))), "-")
	return err == nil && shells[name]
}
