// Write writes docs/conformance.md, or checks what go test -json said of the tests in it:
//
//	go run ./internal/conformance/write docs/conformance.md
//	go run ./internal/conformance/write -unrun <tests.json   # "PACKAGE PATTERN" for go test -run
//	go run ./internal/conformance/write -results <tests.json
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"waggle/internal/conformance"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: write FILE | -unrun | -results")
	}
	reqs, err := conformance.Requirements()
	if err != nil {
		return err
	}
	if args[0] != "-results" && args[0] != "-unrun" {
		return os.WriteFile(args[0], []byte(conformance.Document(reqs)), 0o666)
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("the program does not know its module")
	}
	if args[0] == "-unrun" {
		runs, err := conformance.Unrun(os.Stdin, build.Main.Path, reqs)
		for _, r := range runs {
			fmt.Println("./"+r.Package, r.Tests)
		}
		return err
	}
	failed, err := conformance.Failed(os.Stdin, build.Main.Path, reqs)
	if err != nil {
		return err
	}
	return conformance.Error("tests of docs/conformance.md that did not pass", failed)
}
