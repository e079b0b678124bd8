package house_test

import (
	"flag"
	"os"
	"path"
	"testing"

	"waggle/internal/test/testenv"
)

// TestArchRapid: a package whose tests draw with rapid imports seeded, which gives them the seed of
// the other random tests.
func TestArchRapid(t *testing.T) {
	draws, seeded := map[string]string{}, map[string]bool{}
	eachTest(t, func(f archFile) {
		dir := path.Dir(f.path)
		for _, spec := range f.syntax.Imports {
			switch spec.Path.Value {
			case `"pgregory.net/rapid"`:
				draws[dir] = f.path
			case `"waggle/internal/test/testenv/seeded"`:
				seeded[dir] = true
			}
		}
	})
	if len(draws) == 0 {
		t.Error("no test draws with rapid")
	}
	for dir, file := range draws {
		if !seeded[dir] {
			t.Errorf("%s draws with rapid: import _ \"waggle/internal/test/testenv/seeded\"", file)
		}
	}
}

// TestSeedRapid: properties of rapid have the seed of the other random tests.
func TestSeedRapid(t *testing.T) {
	f := flag.Lookup("rapid.seed")
	if os.Getenv("WAGGLE_SEED") != "" || testenv.Full() {
		t.Skip("the seed is not the usual one")
	}
	if f == nil || f.Value.String() != "1" {
		t.Errorf("-rapid.seed is %v", f)
	}
}
