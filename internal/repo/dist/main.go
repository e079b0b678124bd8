// Dist writes the files of a release: for each system a program, and an archive with
// completions, manual pages and install.sh beside it; and SHA256SUMS of all of them.
//
//	go -C internal/repo run ./dist [-o ../../dist] [-version V] [OS/ARCH…]
//
// Programs are static and stripped. The same sources give the same bytes, wherever they
// lie and whenever they are built.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// targets are the systems of a release.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

func main() {
	out := flag.String("o", "../../dist", "directory to write into; what an earlier run wrote there is removed")
	version := flag.String("version", "", "version (default: what git describe says)")
	flag.Parse()
	if err := run("../..", *out, *version, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// word is what a version may be: it is in names of files and in a linker flag.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)

// run writes the release of the sources at root into out.
func run(root, out, version string, systems []string) error {
	if version == "" {
		b, err := exec.Command("git", "-C", root, "describe", "--tags", "--always", "--dirty").Output()
		if err != nil {
			return fmt.Errorf("git describe: %w; say -version V", err)
		}
		version = strings.TrimSpace(string(b))
	}
	if !word.MatchString(version) {
		return fmt.Errorf("%q cannot be a version: letters, digits and ._+- are", version)
	}
	if len(systems) == 0 {
		systems = targets
	}
	for _, system := range systems {
		if !slices.Contains(targets, system) {
			return fmt.Errorf("%s is none of %s", system, strings.Join(targets, ", "))
		}
	}
	extras, err := extras(root)
	if err != nil {
		return err
	}
	if err := clear(out); err != nil {
		return err
	}
	var names []string
	for _, system := range systems {
		goos, goarch, _ := strings.Cut(system, "/")
		name := "waggle-" + version + "-" + goos + "-" + goarch
		program := filepath.Join(out, name)
		if err := build(root, program, version, goos, goarch); err != nil {
			return err
		}
		b, err := os.ReadFile(program)
		if err == nil {
			err = archive(program+".tar.gz", name, append(slices.Clone(extras), entry{"waggle", 0o755, b}))
		}
		if err != nil {
			return err
		}
		names = append(names, name, name+".tar.gz")
	}
	return sums(out, names)
}

// build makes one program. Nothing of the environment that changes code is taken over.
func build(root, program, version, goos, goarch string) error {
	module, err := exec.Command("go", "-C", root, "list", "-m").Output()
	if err != nil {
		return fmt.Errorf("go list -m: %w", err)
	}
	program, err = filepath.Abs(program)
	if err != nil {
		return err
	}
	ld := "-s -w -buildid= -X " + strings.TrimSpace(string(module)) + "/internal/face/cli.release=" + version
	cmd := exec.Command("go", "-C", root, "build", "-trimpath", "-buildvcs=false", "-ldflags", ld, "-o", program, "./cmd/waggle")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch, "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build for %s/%s: %w\n%s", goos, goarch, err, said)
	}
	return nil
}

// clear makes out, and removes what an earlier run wrote there and nothing else.
func clear(out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(out, "waggle-*-*-*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range append(old, filepath.Join(out, sumsName)) {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

const sumsName = "SHA256SUMS"

// sums writes what sha256sum -c reads.
func sums(out string, names []string) error {
	var text strings.Builder
	slices.Sort(names)
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(b), name)
	}
	return os.WriteFile(filepath.Join(out, sumsName), []byte(text.String()), 0o644)
}
