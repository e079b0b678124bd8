package house_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	_ "waggle/internal/test/testenv/seeded"
)

var update = flag.Bool("update", false, "write the pages that are made from the code anew")

// TestMain runs the tests in the directory of the module, whose paths they name.
func TestMain(m *testing.M) {
	if err := os.Chdir(filepath.Join("..", "..")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
