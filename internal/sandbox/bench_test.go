//go:build linux

package sandbox_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/sandbox"
	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// BenchmarkTrue runs a command that does nothing: the cost of a sandbox for each call.
func BenchmarkTrue(b *testing.B) {
	for _, level := range []sandbox.Level{sandbox.Off, sandbox.FilesOnly, sandbox.Enforced} {
		b.Run(string(level), func(b *testing.B) {
			w := newWorld(b)
			w.sb.Level = level
			for b.Loop() {
				if got := w.run(w.sb, nil, "true"); got.Exit.Code != 0 || got.Err != nil {
					b.Fatal(got)
				}
			}
		})
	}
}

// BenchmarkRequest is a request, from this process, past the proxy and through it.
func BenchmarkRequest(b *testing.B) {
	w := newWorld(b)
	w.servers()
	server := httpServer(b)
	w.web = server
	for name, tr := range map[string]*http.Transport{
		"direct":  {DisableKeepAlives: true},
		"proxied": {DisableKeepAlives: true, Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: w.naiveProxy()})},
	} {
		b.Run(name, func(b *testing.B) {
			c := http.Client{Transport: tr}
			for b.Loop() {
				target := "http://" + server + "/"
				resp, err := c.Get(target)
				testenv.Must(b, err)
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
					b.Fatal(resp.Status, err)
				}
				resp.Body.Close()
			}
		})
	}
}

// BenchmarkBuilds is eight members who build a program that has changed, at once, with one build
// cache, as caches: [go] grants it.
func BenchmarkBuilds(b *testing.B) {
	testenv.Require(b, "go")
	const members = 8
	w := newWorld(b)
	cache := filepath.Join(w.Work, "cache")
	testenv.Must(b, os.MkdirAll(cache, 0o755))
	var dirs []string
	for i := range members {
		dir := filepath.Join(w.Work, fmt.Sprint("m", i))
		testenv.Must(b, os.MkdirAll(dir, 0o755))
		testenv.Must(b, os.WriteFile(dir+"/go.mod", []byte("module m\ngo 1.26\n"), 0o644))
		dirs = append(dirs, dir)
	}
	n := 0
	build := func(sb sandbox.Sandbox, dir string) ran {
		var out testenv.Buffer
		exit, err := sb.Run(b.Context(), spawn.Command{Argv: []string{"go", "build", "-o", "x", "."}, Dir: dir, Output: &out,
			Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.Home, "GOCACHE=" + cache, "GOFLAGS=-mod=mod", "CGO_ENABLED=0", "GOTOOLCHAIN=local"}})
		return ran{exit, out.String(), err}
	}
	change := func() {
		for _, dir := range dirs {
			n++
			testenv.Must(b, os.WriteFile(dir+"/main.go", fmt.Appendf(nil, "package main\n\nfunc main() { println(%d) }\n", n), 0o644))
		}
	}
	change()
	off := w.sb
	off.Level = sandbox.Off
	if got := build(off, dirs[0]); got.Exit.Code != 0 || got.Err != nil { // the standard library
		b.Fatal(got)
	}
	for _, level := range []sandbox.Level{sandbox.Off, sandbox.Enforced} {
		b.Run(string(level), func(b *testing.B) {
			sb := w.sb
			sb.Level = level
			for b.Loop() {
				change()
				done := make(chan ran, members)
				for _, dir := range dirs {
					go func() { done <- build(sb, dir) }()
				}
				for range members {
					if got := <-done; got.Exit.Code != 0 || got.Err != nil {
						b.Fatal(got)
					}
				}
			}
		})
	}
}
