package board_test

import (
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/board"
)

// TestMovedDirectories: a task is not added where the records of its team, or its list, were moved away, and nothing is made
// in their place.
func TestMovedDirectories(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	for _, at := range []string{tm.State().Dir.Path, op.Root.TasksDir("api")} {
		away := filepath.Join(t.TempDir(), "away")
		testenv.Must(t, os.Rename(at, away))
		if _, err := board.Of(op).AddTask(t.Context(), "api", board.NewTask{Subject: "one"}); operator.KindOf(err) != operator.NotFound {
			t.Errorf("%s: %v", at, err)
		}
		if _, err := os.Lstat(at); !os.IsNotExist(err) {
			t.Errorf("%s was made: %v", at, err)
		}
		testenv.Must(t, os.Rename(away, at))
	}
}
