package testenv

import (
	"os"
	"path/filepath"
	"strings"
)

// DropGroups removes the control groups that teams below a STATE directory have on
// record. A test that kills what it started is the last to know of them. One with a
// process in it stays.
func DropGroups(state string) {
	records, _ := filepath.Glob(filepath.Join(state, "teams", "*", "cgroups", "*")) // the pattern is well-formed
	for _, path := range records {
		b, err := os.ReadFile(path)
		if lines := strings.Split(string(b), "\n"); err == nil && len(lines) > 2 && strings.HasPrefix(filepath.Base(lines[2]), "waggle-") {
			_ = os.Remove(lines[2]) // an empty directory of a control group, or nothing
		}
	}
}
