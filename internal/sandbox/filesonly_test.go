//go:build linux

package sandbox_test

import (
	"os"
	"strings"
	"testing"

	"waggle/internal/sandbox"
	"waggle/internal/sandbox/relay"
)

// Without namespaces Landlock holds the files.
func TestFilesOnly(t *testing.T) {
	if relay.LandlockABI() == 0 {
		t.Skip("this kernel has no Landlock")
	}
	w := newWorld(t)
	w.sb.Level = sandbox.FilesOnly
	for _, tc := range []struct {
		name, script string
		ok           bool
	}{
		{"write in the checkout", "echo hi > new && cat new", true},
		{"write an artifact", "echo hi > " + w.Task + "/artifacts/a", true},
		{"write to TMPDIR", "echo hi > $TMPDIR/a && cat $TMPDIR/a", true},
		{"read elsewhere", "cat " + w.Home + "/notes.txt", true},
		{"rename across directories", "mkdir a b && echo q > a/f && mv a/f b/f", true},
		{"write outside", "echo no > " + w.Home + "/new", false},
		{"write over a file outside", "echo no > " + w.Home + "/notes.txt", false},
		{"truncate a file outside", ": > " + w.Home + "/notes.txt", false},
		{"remove a file outside", "rm " + w.Home + "/notes.txt", false},
		{"write by a link", "ln -s " + w.Home + " l && echo no > l/new", false},
		{"read a secret", "cat " + w.Home + "/.ssh/id_ed25519", false},
		{"read a secret by a link", "ln -s " + w.Home + "/.ssh k && cat k/id_ed25519", false},
		{"read a journal", "cat " + w.State + "/teams/x/journal.jsonl", false},
		{"write the log", "echo no >> " + w.Task + "/output.log", false},
		{"a hard link to a secret", "ln " + w.Home + "/.ssh/id_ed25519 h && cat h", false},
	} {
		got := w.inside("sh", "-c", tc.script)
		if (got.Exit.Code == 0) != tc.ok || got.Err != nil {
			t.Errorf("%s: %v", tc.name, got)
		}
		if !tc.ok && !said.MatchString(got.Out) {
			t.Errorf("%s: no clear message: %v", tc.name, got)
		}
	}
	if data, err := os.ReadFile(w.Home + "/notes.txt"); string(data) != "notes\n" {
		t.Errorf("notes.txt is %q %v", data, err)
	}
}

// A command cannot signal the relay by the number of its process.
func TestFilesOnlyRelay(t *testing.T) {
	if relay.LandlockABI() < 6 {
		t.Skip("this kernel's Landlock does not hold signals")
	}
	w := newWorld(t)
	w.sb.Level = sandbox.FilesOnly
	for range 10 {
		if got := w.inside("sh", "-c", "kill -9 $PPID || exit 9"); got.Err != nil || got.Exit.Code != 9 {
			t.Fatalf("%v", got)
		}
	}
}

// A secret inside a directory that was granted for reading stays one.
func TestFilesOnlySecretInReadable(t *testing.T) {
	if relay.LandlockABI() == 0 {
		t.Skip("this kernel has no Landlock")
	}
	w := newWorld(t)
	w.sb.Level = sandbox.FilesOnly
	w.sb.Profile.Readable = append(w.sb.Profile.Readable, w.Home)
	if got := w.inside("cat", w.Home+"/.ssh/id_ed25519"); got.Exit.Code == 0 {
		t.Errorf("%v", got)
	}
	if got := w.inside("cat", w.Home+"/notes.txt"); got.Exit.Code != 0 {
		t.Errorf("%v", got)
	}
}

func TestFilesOnlySaysWhatItLacks(t *testing.T) {
	if gaps := strings.Join(sandbox.FilesOnly.Gaps(), "\n"); !strings.Contains(gaps, "network is open") {
		t.Error(gaps)
	}
	if sandbox.Enforced.Gaps() != nil || sandbox.Off.Gaps() == nil {
		t.Error("the other levels")
	}
}
