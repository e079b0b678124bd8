package testenv_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// whereVar makes a test program print its temporary directory; "disk": after OnDisk.
const whereVar = "WAGGLE_TEST_WHERE"

// where returns the temporary directory of a test program with these variables and arguments.
func where(t *testing.T, args, env []string) string {
	t.Helper()
	self, err := os.Executable()
	testenv.Must(t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool {
		return strings.HasPrefix(e, "TMPDIR=") || strings.HasPrefix(e, "WAGGLE_")
	}), env...)
	out, err := cmd.Output()
	testenv.Must(t, err)
	return string(out)
}

// Tests have their files in memory, but not where files are the subject, where TMPDIR is set
// otherwise, or in a program that is not run as tests.
func TestInMemory(t *testing.T) {
	tests := []string{"-test.run=^$"}
	if got := where(t, tests, []string{whereVar + "=1"}); got != "/dev/shm" {
		t.Skipf("the files of tests are in %s: /dev/shm is not there, is small or does not run programs", got)
	}
	for _, tc := range []struct {
		args, env []string
		want      string
	}{
		{tests, []string{whereVar + "=disk"}, "/tmp"},
		{tests, []string{whereVar + "=1", "WAGGLE_TEST=soak"}, "/tmp"},
		{tests, []string{whereVar + "=1", "WAGGLE_TEST=full"}, "/tmp"},
		{tests, []string{whereVar + "=1", "TMPDIR=/var/tmp"}, "/var/tmp"},
		{tests, []string{whereVar + "=disk", "TMPDIR=/var/tmp"}, "/var/tmp"},
		{nil, []string{whereVar + "=1"}, "/tmp"},
	} {
		if got := where(t, tc.args, tc.env); got != tc.want {
			t.Errorf("%q with %q: %s, not %s", tc.args, tc.env, got, tc.want)
		}
	}
}

func init() {
	how := os.Getenv(whereVar)
	if how == "" {
		return
	}
	if how == "disk" {
		testenv.OnDisk()
	}
	_, _ = os.Stdout.WriteString(os.TempDir())
	os.Exit(0)
}

// environVar makes a test program print its environment.
const environVar = "WAGGLE_TEST_ENVIRON"

// Tests drop what tells a program in whose terminal, repository or agent it runs; the test programs that
// a test starts keep what it gives them.
func TestCleanEnvironment(t *testing.T) {
	tests := []string{"-test.run=^$"}
	theirs := []string{"TMUX=/tmp/x,1,0", "TMUX_PANE=%1", "GIT_DIR=/x", "CLAUDE_CONFIG_DIR=/x", "CLAUDECODE=1", "WAGGLE_MEMBER=x", "XDG_STATE_HOME=/x", "HOME=/x"}
	for _, given := range []bool{false, true} {
		env := append([]string{environVar + "=1", "OTHER=kept", "GOCACHE="}, theirs...)
		if given {
			env = append(env, "WAGGLE_TEST_CLEAN=1")
		}
		got := strings.Split(where(t, tests, env), "\n")
		for _, kv := range theirs {
			if slices.Contains(got, kv) != given {
				t.Errorf("given by a test: %v: %s in the environment: %v", given, kv, !given)
			}
		}
		if !slices.Contains(got, "OTHER=kept") {
			t.Errorf("OTHER is not in %q", got)
		}
		if !given && (!slices.Contains(got, "GOCACHE=/x/.cache/go-build") || !slices.Contains(got, "WAGGLE_TEST_HOME=/x")) {
			t.Errorf("the go command's cache and the home directory are not kept: %q", got)
		}
	}
}

func init() {
	if os.Getenv(environVar) != "" {
		_, _ = os.Stdout.WriteString(strings.Join(os.Environ(), "\n") + "\n")
	}
}
