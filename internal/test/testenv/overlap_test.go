package testenv_test

import (
	"flag"
	"os"
	"testing"

	"waggle/internal/test/testenv"
)

// A number that Overlap gets before the flags are read holds.
func TestMain(m *testing.M) {
	testenv.Overlap(5 + (testenv.Slow-1)/19*10) // 5 with the race detector, too
	os.Exit(m.Run())
}

// The number holds from TestMain on; the number of the command line is not replaced.
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
