// Mutants breaks one place of the code after the other and runs the tests of its
// package: a mutant that no test fails survives, and shows a line that nothing holds.
//
//	go -C internal/repo run ./mutants                       // the forty of make mutants
//	go -C internal/repo run ./mutants -n 12 -seed 7 journal // others, of one package
//	go -C internal/repo run ./mutants -list                 // only which ones
//
// Packages with a comma between them count as one: their places are drawn together. A
// mutant is tried with the tests of its own package only. With a plus before a package
// the tests of the first one find its mutants too.
//
// A mutant is a condition negated or made false, a comparison or && and || swapped, a
// number one more or one less (also in constants), a statement, an assignment or a defer
// dropped, a call whose error is checked left out, or a returned error replaced by nil.
//
// The places are drawn with a seed: the same code gives the same mutants, and a change of
// the code moves only its own. The checkout is not touched: a mutant is an overlay of go
// build. One that does not compile is drawn again; one whose tests reach the time limit
// is found: five times what the tests take without it, and half a minute, but at most
// -timeout. The short tests run first, and all of them when those pass. A test that fails
// runs again by itself; when it passes then, a second run of all decides, so that a busy
// machine finds no mutant.
//
// With -write the table goes into out/measured.md, each survivor with its reason from
// reasons.txt. The exit code is 1 when more survive than -most allows; a survivor that is
// equivalent counts too.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// packages are those whose tests must hold every line by themselves. What control folds is
// in six packages. The corpora of policy are the tests of internal/cmdline, which reads the
// commands for it.
var packages = []string{"control,record,machine,message,internal/budget,internal/snapshot", "policy+internal/cmdline", "journal", "mailbox", "internal/fs/atomicfile", "spawn"}

// settings are the flags.
type settings struct {
	n, most, jobs int
	seed          uint64
	timeout       time.Duration
	list, write   bool
	as            string
	packages      []string
	limits        map[string]time.Duration // of the tests of a mutant, by group
}

func main() {
	var s settings
	flag.IntVar(&s.n, "n", 40, "how many mutants")
	flag.IntVar(&s.most, "most", 2, "how many may survive")
	flag.IntVar(&s.jobs, "jobs", 2, "how many are tried at once")
	flag.Uint64Var(&s.seed, "seed", 1, "which mutants")
	flag.DurationVar(&s.timeout, "timeout", 3*time.Minute, "most time for the tests of one package, once")
	flag.BoolVar(&s.list, "list", false, "print the places and try nothing")
	flag.BoolVar(&s.write, "write", false, "write the table into out/measured.md")
	flag.StringVar(&s.as, "as", "mutants", "the section's name in out/measured.md")
	flag.Parse()
	if s.packages = flag.Args(); len(s.packages) == 0 {
		s.packages = packages
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := os.Chdir("../..") // from the directory of this module
	survived := 0
	if err == nil {
		survived, err = run(ctx, s)
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	case survived > s.most:
		fmt.Fprintf(os.Stderr, "mutants: %d survived, at most %d may\n", survived, s.most)
		os.Exit(1)
	}
}
