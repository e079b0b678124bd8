package session

import (
	"os"
	"strconv"
	"strings"
)

// shell reports whether a process is a shell, as a client starts one for a hook.
func shell(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return err == nil && shells[strings.TrimSpace(string(b))]
}
