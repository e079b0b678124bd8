package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/build"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"waggle/internal/json/jsonobj"
)

// tried is one mutant and its result.
type tried struct {
	place
	group    string // the packages it was drawn from, as they stand in the settings
	survived bool
	by       string // the test that failed
	took     time.Duration
}

// run tries the mutants, package by package in turn, and returns how many survived.
func run(ctx context.Context, s settings) (int, error) {
	queues := make([][]place, len(s.packages))
	for i, group := range s.packages {
		for _, dir := range dirs(group) {
			found, err := places(dir)
			if err != nil {
				return 0, err
			}
			queues[i] = append(queues[i], found...)
		}
		queues[i] = drawn(queues[i], s.seed)
	}
	began := time.Now()
	if !s.list {
		var err error
		if s.limits, err = limitsOf(ctx, s); err != nil {
			return 0, err
		}
	}
	temp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(temp)
	all, err := tryAll(ctx, s, queues, temp)
	if err != nil {
		return 0, err
	}
	return report(s, all, time.Since(began))
}

// limitsOf runs the tests of each group as they are, as many at once as mutants are tried, and
// returns how long those of a mutant may take.
func limitsOf(ctx context.Context, s settings) (map[string]time.Duration, error) {
	var mu sync.Mutex
	var failed error
	limits := map[string]time.Duration{}
	atOnce(s.jobs, slices.Values(s.packages), func(_ int, group string) {
		began := time.Now()
		out, ok := test(ctx, s, group)
		mu.Lock()
		defer mu.Unlock()
		if !ok {
			failed = errors.Join(failed, fmt.Errorf("the tests of %s fail as they are:\n%s", group, out))
		}
		limits[group] = limit(time.Since(began), s.timeout)
	})
	return limits, failed
}

// atOnce does so many jobs at once with what all gives, and tells each which job it is.
func atOnce[T any](jobs int, all iter.Seq[T], do func(job int, one T)) {
	queue := make(chan T)
	var wg sync.WaitGroup
	for job := range jobs {
		wg.Go(func() {
			for one := range queue {
				do(job, one)
			}
		})
	}
	for one := range all {
		queue <- one
	}
	close(queue)
	wg.Wait()
}

// limit is how long the tests of a mutant may take that take so long without it.
func limit(took, most time.Duration) time.Duration {
	return min(most, 5*took+30*time.Second)
}

// tryAll takes from each queue its share. A place that does not compile is no mutant.
func tryAll(ctx context.Context, s settings, queues [][]place, temp string) ([]tried, error) {
	var mu sync.Mutex
	var all []tried
	var failed error
	next := func(q int) (p place, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(queues[q]) == 0 || failed != nil {
			return p, false
		}
		p, queues[q] = queues[q][0], queues[q][1:]
		return p, true
	}
	share := func(yield func(int) bool) {
		for i := range s.n {
			yield(i % len(queues))
		}
	}
	atOnce(s.jobs, share, func(job, q int) {
		for p, more := next(q); more; p, more = next(q) {
			t, ok, err := try(ctx, s, p, s.packages[q], filepath.Join(temp, fmt.Sprint(job)))
			if !ok && err == nil {
				continue
			}
			mu.Lock()
			defer mu.Unlock()
			if failed = cmp.Or(failed, err); err == nil {
				all = append(all, t)
				fmt.Println(t.line(s.list))
			}
			return
		}
	})
	return all, failed
}

// try builds one mutant and runs its group's tests; ok is false when it does not compile.
func try(ctx context.Context, s settings, p place, group, temp string) (t tried, ok bool, err error) {
	if s.list {
		return tried{place: p, group: group}, true, nil
	}
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return t, false, err
	}
	file, overlay := filepath.Join(temp, "mutant.go"), filepath.Join(temp, "overlay.json")
	if err := os.WriteFile(file, []byte(p.text()), 0o600); err != nil {
		return t, false, err
	}
	path, err := filepath.Abs(filepath.FromSlash(p.file))
	if err != nil {
		return t, false, err
	}
	data, err := jsonobj.Marshal(map[string]any{"Replace": map[string]string{path: file}})
	if err != nil {
		return t, false, err
	}
	if err := os.WriteFile(overlay, data, 0o600); err != nil {
		return t, false, err
	}
	began := time.Now()
	tests, ok, err := compile(ctx, group, p.pkg, overlay, temp)
	if !ok || err != nil {
		return t, false, errors.Join(err, ctx.Err())
	}
	limit := s.limits[group]
	out, passed := tests.run(ctx, limit, "-test.short")
	if passed {
		out, passed = tests.run(ctx, limit)
	}
	by := foundBy(out)
	if !passed && strings.HasPrefix(by, "Test") {
		if _, alone := tests.run(ctx, limit, "-test.run", "^"+strings.Split(by, "/")[0]+"$"); alone {
			out, passed = tests.run(ctx, limit)
			by = foundBy(out)
		}
	}
	return tried{p, group, passed, by, time.Since(began)}, true, ctx.Err()
}

// foundBy names the first test that failed, or says that none came to its end.
func foundBy(out string) string {
	if strings.Contains(out, "panic: test timed out") {
		return "the time limit"
	}
	for line := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); ok {
			name, _, _ = strings.Cut(name, " ")
			return name
		}
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return short(line)
		}
	}
	return "the run"
}

// test runs the tests of a group of packages as they are.
func test(ctx context.Context, s settings, group string) (string, bool) {
	args := []string{"test", "-count=1", "-failfast", "-vet=off", "-timeout", s.timeout.String()}
	for _, dir := range dirs(group) {
		args = append(args, "./"+dir)
	}
	return command(ctx, s.timeout, ".", "go", args...)
}

// binary is the compiled tests of a package, and the flags of their own that they get.
type binary struct {
	dir, path string
	flags     []string
}

// flagsOf are the flags with which the tests of a package leave no file in the checkout: a value that
// a property failed for is tried in every later run, which would find other mutants too.
func flagsOf(dir string) ([]string, error) {
	pkg, err := build.ImportDir(filepath.FromSlash(dir), 0)
	if err != nil {
		return nil, err
	}
	if slices.Contains(slices.Concat(pkg.TestImports, pkg.XTestImports), "pgregory.net/rapid") {
		return []string{"-rapid.nofailfile"}, nil
	}
	return nil, nil
}

type binaries []binary

// members are the packages of a group, with the plus before those that have one.
func members(group string) []string { return strings.Split(strings.ReplaceAll(group, "+", ",+"), ",") }

// dirs are the directories of a group's packages.
func dirs(group string) []string {
	all := members(group)
	for i := range all {
		all[i] = strings.TrimPrefix(all[i], "+")
	}
	return all
}

// testsOf are the packages whose tests may find a mutant of pkg: its own, and the group's
// first where a plus stands before pkg.
func testsOf(group, pkg string) []string {
	if all := members(group); slices.Contains(all, "+"+pkg) {
		return []string{pkg, all[0]}
	}
	return []string{pkg}
}

// compile makes the tests that may find a mutant of pkg. They are not vetted: what only vet finds is not found by a test. ok
// is false when the mutant or a test does not compile with it.
func compile(ctx context.Context, group, pkg, overlay, temp string) (tests binaries, ok bool, err error) {
	for _, dir := range testsOf(group, pkg) {
		path, err := filepath.Abs(filepath.Join(temp, filepath.Base(dir)+".test"))
		if err != nil {
			return nil, false, err
		}
		if err := os.RemoveAll(path); err != nil {
			return nil, false, err
		}
		if err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", path, "./"+dir).Run(); err != nil {
			return nil, false, nil
		}
		if _, err := os.Stat(path); err == nil { // else it has no tests
			flags, err := flagsOf(dir)
			if err != nil {
				return nil, false, err
			}
			tests = append(tests, binary{dir, path, flags})
		}
	}
	return tests, true, nil
}

// run runs the tests; those of several packages one after the other, until some fail. Where
// there are none, none fails.
func (b binaries) run(ctx context.Context, limit time.Duration, flags ...string) (out string, passed bool) {
	passed = true
	for _, b := range b {
		flags := append([]string{"-test.failfast", "-test.timeout", limit.String()}, slices.Concat(b.flags, flags)...)
		if out, passed = command(ctx, limit, filepath.FromSlash(b.dir), b.path, flags...); !passed {
			return out, false
		}
	}
	return out, true
}

// command runs a program of the tests, which ends itself at the limit.
func command(ctx context.Context, limit time.Duration, dir, program string, args ...string) (string, bool) {
	ctx, cancel := context.WithTimeout(ctx, limit+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "WAGGLE_SEED=1", "WAGGLE_TEST=full")
	cmd.WaitDelay, cmd.SysProcAttr = 10*time.Second, ownGroup()
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// line is the line that is printed for a mutant.
func (t tried) line(list bool) string {
	where := fmt.Sprintf("%s:%d %s", t.file, t.place.line, strings.TrimPrefix(t.key(), t.file+" "))
	switch {
	case list:
		return where
	case t.survived:
		return fmt.Sprintf("SURVIVED %5.1f s  %s", t.took.Seconds(), where)
	}
	return fmt.Sprintf("found    %5.1f s  %s  by %s", t.took.Seconds(), where, t.by)
}
