//go:build unix

package main

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	out := `=== RUN   TestA
=== PAUSE TestA
=== RUN   TestB/sub
    b_test.go:12: MEASURED: 600 kills, 0 lost
=== NAME  TestA
    a_test.go:3: words
MEASURED: printed | plainly
--- PASS: TestA (0.00s)
    --- SKIP: TestB/sub (0.00s)
--- PASS: TestB (0.00s)
ok  	waggle/x	1.2s`
	got := read(out)
	want := result{passed: 2, skipped: 1, measured: []measured{
		{"TestB/sub", "600 kills, 0 lost"}, {"TestA", "printed | plainly"}}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(result{}, measured{})); d != "" {
		t.Fatal(d)
	}
	got.took = 1500 * time.Millisecond
	text := report(job{name: "./x", env: []string{"WAGGLE_TEST=soak"}, argv: []string{"go", "test", "./x"}}, got, "2 cores")
	if d := cmp.Diff(`## ./x

    WAGGLE_TEST=soak go test ./x

2 tests passed, 1 were skipped. It took 2s on 2 cores.

| test | result |
|---|---|
| TestB/sub | 600 kills, 0 lost |
| TestA | printed \| plainly |
`, text); d != "" {
		t.Error(d)
	}
}

func TestRun(t *testing.T) {
	r, err := job{env: []string{"WORD=kept"}, argv: []string{"sh", "-c", `echo "MEASURED: $WORD"`}}.run(t.Context())
	if err != nil || len(r.measured) != 1 || r.measured[0].text != "kept" {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := (job{argv: []string{"sh", "-c", "exit 3"}}).run(t.Context()); err == nil {
		t.Error("a failure was not noticed")
	}
}

func TestLongTests(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	got, err := longTests(fstest.MapFS{
		"a/a_test.go":                        file("testenv.Scale(1, 2)"),
		"a/b_test.go":                        file("testenv.Soak()"),
		"b/b.go":                             file("testenv.Soak()"),
		"b/b_test.go":                        file("nothing"),
		"c/d/d_test.go":                      file("testenv.Checks(t, 1, 2)"),
		"c/testdata/x_test.go":               file("testenv.Soak()"),
		".git/x_test.go":                     file("testenv.Soak()"),
		"internal/test/testenv/self_test.go": file("testenv.Soak()"),
		"internal/repo/x/x_test.go":          file("testenv.Soak()"),
		"top_test.go":                        file("testenv.Soak()"),
	})
	if d := cmp.Diff([]string{"./a", "./c/d", "."}, got); err != nil || d != "" {
		t.Error(err, d)
	}
}

func TestFileSystem(t *testing.T) {
	mounts := "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\nnone /tmpfiles xfs rw 0 0\n"
	for path, want := range map[string]string{"/tmp/x": "tmpfs", "/tmp": "tmpfs", "/home": "ext4", "/tmpfiles/y": "xfs"} {
		if got := fileSystem(mounts, path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := fileSystem("", "/x"); got != "" {
		t.Errorf("got %q", got)
	}
}
