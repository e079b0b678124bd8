package cli_test

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"waggle/home"
	"waggle/operator"
	"waggle/protocol"
	"waggle/spawn"
	"waggle/team"
)

// cmdPowercut is: powercut TEAM [leader]. It kills every process of the team at once,
// or the one that leads it, and waits until they are gone.
func cmdPowercut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: powercut team [leader]")
	}
	root, err := filepath.EvalSymlinks(ts.Getenv("WAGGLE_ROOT"))
	ts.Check(err)
	op := operator.Operator{Root: team.Root{Path: root}, RootURL: (&url.URL{Scheme: "file", Path: root}).String(), Home: home.Home{Path: ts.Getenv("WAGGLE_STATE")}}
	s, err := op.Open(context.Background(), protocol.TeamName(args[0]), operator.Act)
	ts.Check(err)
	victims := func() (ids []spawn.Identity) {
		if l := s.Lead.Led; l != nil && l.ID.Alive() {
			ids = append(ids, l.ID)
		}
		if len(args) == 2 {
			return ids
		}
		all, err := spawn.AllMarked()
		ts.Check(err)
		for _, m := range all {
			if strings.HasPrefix(m.Owner, filepath.Base(s.Dir.Path)+"/") {
				ids = append(ids, m.ID)
			}
		}
		for _, m := range s.Lead.Live() {
			if m.Process != nil && m.Process.ID.Alive() {
				ids = append(ids, m.Process.ID)
			}
		}
		return ids
	}
	deadline := time.Now().Add(time.Minute)
	for ids := victims(); len(ids) > 0; ids = victims() {
		for _, id := range ids {
			if p, err := os.FindProcess(id.PID); err == nil && id.Alive() {
				_ = p.Kill()
			}
		}
		if time.Now().After(deadline) {
			ts.Fatalf("they do not die: %v", ids)
		}
	}
}

// cmdUnchanged is: unchanged PROGRAM ARG…; it runs the program and fails when anything
// in the wire tree or in a journal is another after it.
func cmdUnchanged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: unchanged program args")
	}
	sums := func() map[string][32]byte {
		all := map[string][32]byte{}
		for _, top := range []string{ts.Getenv("WAGGLE_ROOT"), ts.Getenv("WAGGLE_STATE")} {
			ts.Check(filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
				wire := top == ts.Getenv("WAGGLE_ROOT")
				if err != nil || !d.Type().IsRegular() || !wire && !strings.HasSuffix(path, ".jsonl") {
					return err
				}
				b, err := os.ReadFile(path)
				all[path] = sha256.Sum256(b)
				return err
			}))
		}
		return all
	}
	before := sums()
	ts.Check(ts.Exec(args[0], args[1:]...))
	after := sums()
	for path, sum := range after {
		if was, there := before[path]; !there || was != sum {
			ts.Fatalf("%s is another now", path)
		}
	}
	if len(before) != len(after) {
		ts.Fatalf("there were %d files and are %d", len(before), len(after))
	}
}
