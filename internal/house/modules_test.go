package house_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"waggle/internal/test/testenv"
)

// TestArchModuleWithoutOpenTelemetry: a module that depends on waggle gets OpenTelemetry only with
// the module otel.
func TestArchModuleWithoutOpenTelemetry(t *testing.T) {
	for _, name := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(name)
		testenv.Must(t, err)
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, "opentelemetry") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
	for _, name := range strings.Fields(listedTests(t)) {
		if strings.Contains(name, "opentelemetry") {
			t.Errorf("a package of the core imports %s", name)
		}
	}
}

// listTests lists the packages of the core and of the repository's tools, their tests and all that
// these need, one a line; the line of a program also has the packages that it links.
var listTests = sync.OnceValues(func() (all []byte, err error) {
	for _, dir := range []string{".", "internal/repo"} {
		out, err := exec.Command("go", "-C", dir, "list", "-deps", "-test", "-f", `{{.ImportPath}}{{if eq .Name "main"}} {{join .Deps " "}}{{end}}`, "./...").Output()
		if err != nil {
			return nil, err
		}
		all = append(all, out...)
	}
	return all, nil
})

func listedTests(t *testing.T) string {
	t.Helper()
	out, err := listTests()
	testenv.Must(t, err)
	return string(out)
}

// TestArchBinaryWithoutTesting: the binary does not link the package testing.
func TestArchBinaryWithoutTesting(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./cmd/waggle").Output()
	testenv.Must(t, err)
	for pkg := range strings.Lines(string(out)) {
		if pkg = strings.TrimSpace(pkg); pkg == "testing" || strings.HasPrefix(pkg, "testing/") {
			t.Errorf("cmd/waggle links %s", pkg)
		}
	}
}

// TestArchLockOrder: every test binary that can lock files checks the order of the locks.
func TestArchLockOrder(t *testing.T) {
	const locks, checker = "waggle/internal/fs/atomicfile", "waggle/internal/fs/atomicfile/ordertest"
	seen := 0
	for line := range strings.Lines(listedTests(t)) {
		words := strings.Fields(line)
		if len(words) == 0 || !strings.HasSuffix(words[0], ".test") {
			continue
		}
		if slices.Contains(words, locks) {
			seen++
			if !slices.Contains(words, checker) {
				t.Errorf(`%s: a test file imports _ %q`, words[0], checker)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d test binaries lock files", seen)
	}
}
