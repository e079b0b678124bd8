// Write writes docs/conformance.md when the tests in it exist, or checks what go test -json said of them:
//
//	go -C internal/repo run ./conformance/write                        # go generate . calls it
//	go -C internal/repo run ./conformance/write -unrun <tests.json     # "PACKAGE PATTERN" for go test -run
//	go -C internal/repo run ./conformance/write -results <tests.json
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"waggle/internal/repo/conformance"
)

// top is the top of the repository, from the directory of this module.
const top = "../.."

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	reqs, err := conformance.Requirements()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return write(reqs)
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("the program does not know its module")
	}
	module := strings.TrimSuffix(build.Main.Path, "/internal/repo") // the core's, whose tests are meant
	switch args[0] {
	case "-unrun":
		runs, err := conformance.Unrun(os.Stdin, module, reqs)
		for _, r := range runs {
			fmt.Println("./"+r.Package, r.Tests)
		}
		return err
	case "-results":
		failed, err := conformance.Failed(os.Stdin, module, reqs)
		if err != nil {
			return err
		}
		return conformance.Error("tests of docs/conformance.md that did not pass", failed)
	}
	return errors.New("usage: write [-unrun | -results]")
}

// write writes the page, unless a test that it names is not in the sources.
func write(reqs []conformance.Requirement) error {
	missing, err := conformance.Missing(os.DirFS(top), reqs)
	if err == nil {
		err = conformance.Error("tests of requirements.txt that are not there", missing)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(top+"/docs/conformance.md", []byte(conformance.Document(reqs)), 0o666)
}
