package testenv_test

import (
	"flag"
	"os"
	"testing"

	"waggle/internal/testenv"
)

// Asked for before the flags are read it is the number that holds.
func TestMain(m *testing.M) {
	testenv.Overlap(5)
	os.Exit(m.Run())
}

// The number holds from TestMain on; the command line's is not replaced.
func TestOverlap(t *testing.T) {
	f := flag.Lookup("test.parallel")
	said := f.Value.String()
	if explicit := false; said != "5" {
		flag.Visit(func(f *flag.Flag) { explicit = explicit || f.Name == "test.parallel" })
		if !explicit {
			t.Errorf("%s tests may run at once", said)
		}
	}
	if testenv.Overlap(7); f.Value.String() != said {
		t.Errorf("after the flags are read %s became %s", said, f.Value)
	}
}
