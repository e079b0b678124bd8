// Soak runs the tests that have a long size at that size, then the fuzz targets,
// and writes what they report into out/measured.md: the command, the seed, the
// machine, and every line that a test printed after "MEASURED: ".
//
//	go -C internal/repo run ./soak                    // all of it
//	go -C internal/repo run ./soak -fuzz 0 -decode 0 ./mailbox  // the tests of one package
//	go -C internal/repo run ./soak none               // only the fuzzing
//
// A package has long sizes if its tests ask testenv for them. Each package, and the fuzzing, owns a marked section
// of the page; a run replaces the sections of what it ran and no others. When
// something fails its section stays as it was and the exit code is 1.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	slashpath "path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"waggle/internal/repo/docgen/section"
)

const page = "out/measured.md"

const pageHead = `# Measured

What this code did when it was tried at length. Each section is written by
` + "`make soak`" + `: the command that gives the same run again, the machine, and what
the tests reported.
`

func main() {
	seed := flag.Uint64("seed", rand.Uint64(), "seed of the random tests")
	limit := flag.Duration("timeout", 2*time.Hour, "limit for one package")
	fuzz := flag.Duration("fuzz", 10*time.Minute, "time for all fuzz targets together; 0 for none")
	decode := flag.Duration("decode", 5*time.Minute, "time for FuzzDecode, which strangers' bytes meet first, alone; 0 for none")
	kills := flag.Int("kills", 0, "only kill teams, until so many processes of waggle have died")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	f, pkgs := fuzzing{*fuzz, *decode}, flag.Args()
	if *kills > 0 {
		f, pkgs = fuzzing{}, []string{killing}
	}
	if err := soak(ctx, *kills, *seed, *limit, f, pkgs); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// fuzzing is how long all targets share, and how long FuzzDecode has for itself.
type fuzzing struct{ all, decode time.Duration }

func (f fuzzing) jobs() (jobs []job) {
	if s := int(f.all.Seconds()); s > 0 {
		jobs = append(jobs, job{name: "fuzz", argv: []string{".ci/fuzz", strconv.Itoa(s)}})
	}
	if s := int(f.decode.Seconds()); s > 0 {
		jobs = append(jobs, job{name: "fuzz decode", env: []string{"FUZZ_TARGETS=^FuzzDecode$"}, argv: []string{".ci/fuzz", strconv.Itoa(s)}})
	}
	return jobs
}

// killing is the package that kills teams.
const killing = "./internal/test/crashtest"

func soak(ctx context.Context, kills int, seed uint64, limit time.Duration, f fuzzing, pkgs []string) error {
	if err := os.Chdir("../.."); err != nil { // from the directory of this module
		return err
	}
	if slices.Equal(pkgs, []string{"none"}) {
		pkgs = nil
	} else if len(pkgs) == 0 {
		var err error
		if pkgs, err = longTests(os.DirFS(".")); err != nil {
			return err
		}
	}
	var jobs []job
	for _, p := range pkgs {
		j := job{
			name: p,
			env:  []string{"WAGGLE_TEST=soak", fmt.Sprint("WAGGLE_SEED=", seed)},
			argv: []string{"go", "test", "-count=1", "-v", "-timeout", limit.String(), p},
		}
		if kills > 0 {
			j.env = append(j.env, fmt.Sprint("WAGGLE_KILLS=", kills))
			j.argv = append(j.argv, "-run", "TestCrashes")
		}
		jobs = append(jobs, j)
	}
	jobs = append(jobs, f.jobs()...)
	m := machine()
	var failed []error
	for _, j := range jobs {
		fmt.Fprintln(os.Stderr, "soak:", j.command())
		r, err := j.run(ctx)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", j.name, err))
			continue
		}
		if err := section.Keep(page, pageHead, "soak "+j.name, report(j, r, m)); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

// longTests lists the packages whose tests have long sizes, as ./path.
func longTests(fsys fs.FS) ([]string, error) {
	var list []string
	marks := []string{"testenv.Soak(", "testenv.Scale(", "testenv.Sample(", "testenv.Checks("}
	err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || path == "internal/test/testenv" || path == "internal/repo") {
			return fs.SkipDir
		}
		dir := "./" + slashpath.Dir(path)
		if dir == "./." {
			dir = "."
		}
		if !strings.HasSuffix(path, "_test.go") || slices.Contains(list, dir) {
			return nil
		}
		data, err := fs.ReadFile(fsys, path)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(string(data), mark) }) {
			list = append(list, dir)
		}
		return nil
	})
	return list, err
}

// machine names the properties of the machine on which the figures depend, without a date or a name.
func machine() string {
	kernel := runtime.GOOS
	if out, err := exec.Command("uname", "-sr").Output(); err == nil {
		kernel = strings.TrimSpace(string(out))
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		mounts = nil // not Linux
	}
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		temp = os.TempDir()
	}
	return fmt.Sprintf("%d cores, %s, %s, %s", runtime.NumCPU(), kernel, cmp.Or(fileSystem(string(mounts), temp), "unknown file system"), runtime.Version())
}

// fileSystem finds the type of the file system that a path is on, in the format
// of fstab(5).
func fileSystem(mounts, path string) string {
	best, kind := "", ""
	for line := range strings.Lines(mounts) {
		f := strings.Fields(line)
		if len(f) < 3 || len(f[1]) < len(best) {
			continue
		}
		if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(f[1], "/")); ok && (rest == "" || rest[0] == '/') {
			best, kind = f[1], f[2]
		}
	}
	return kind
}
