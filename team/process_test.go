package team_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/protocol"
	"waggle/team"
)

// The test binary is run again as a helper process with these variables set.
const (
	envRole = "WAGGLE_TEAM_TEST_ROLE"
	envRoot = "WAGGLE_TEAM_TEST_ROOT"
	envStep = "WAGGLE_TEAM_TEST_STEP"
)

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(envRole) {
	case "":
		testenv.Overlap(3)
		os.Exit(m.Run())
	case "add":
		err = helperAdd()
	case "die":
		err = helperDie()
	case "migrate":
		err = helperMigrate()
	case "restore":
		err = helperRestore()
	case "delete", "move":
		err = helperDispose(os.Getenv(envRole))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// helper runs the test binary again and returns its standard output.
func helper(ctx context.Context, role, root, step string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), envRole+"="+role, envRoot+"="+root, envStep+"="+step)
	return cmd
}

// helperAdd registers members of the same name and prints the names they got.
func helperAdd() error {
	tm, err := team.Open(team.Root{Path: os.Getenv(envRoot)}, "api", team.Options{Deadline: 30 * time.Second})
	if err != nil {
		return err
	}
	for range 5 {
		m, archived, err := tm.Add(context.Background(), team.Member{Name: "w"}, true)
		if err != nil || archived != "" {
			return fmt.Errorf("%s %w", archived, err)
		}
		fmt.Println(m.Name, m.Color)
	}
	return nil
}

// TestManyProcessesAdd: no entry is lost and no name given twice, beside a writer
// that writes in place under the lock as the real client does.
func TestManyProcessesAdd(t *testing.T) {
	t.Parallel()
	r, tm := newTeam(t)
	const processes = 6
	var running []*exec.Cmd
	var outs [processes]bytes.Buffer
	for i := range processes {
		cmd := helper(t.Context(), "add", r.Path, "")
		cmd.Stdout, cmd.Stderr = &outs[i], os.Stderr
		testenv.Must(t, cmd.Start())
		running = append(running, cmd)
	}
	path := r.ConfigPath("api")
	flips := 0
	for ; flips < 10; flips++ {
		testenv.Eventually(t, "the foreign writer gets the lock", func() bool { return os.Mkdir(path+".lock", 0o777) == nil })
		c := mustParse(t, []byte(read(t, path)))
		c.LeadSessionID = strings.Repeat("f", flips*50)
		err := rewriteInPlace(path, c.AppendJSON(nil), time.Millisecond)
		if err := os.Remove(path + ".lock"); err != nil {
			t.Error(err)
		}
		if err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Millisecond) // real clock: other processes write between the foreign writes
	}
	given := map[string]bool{}
	for i, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(outs[i].String()), "\n") {
			name, _, _ := strings.Cut(line, " ")
			if given[name] {
				t.Errorf("%s was given twice", name)
			}
			given[name] = true
		}
	}
	c := load(t, tm)
	if len(given) != processes*5 || len(c.Members) != processes*5+1 || c.LeadSessionID != strings.Repeat("f", 450) {
		t.Errorf("%d names given, %d members, %d foreign writes, last of %d", len(given), len(c.Members), flips, len(c.LeadSessionID)/50)
	}
	for i, m := range c.Members[1:] {
		if !given[string(m.Name)] || m.Color != team.Palette[i%8] {
			t.Errorf("%d: %s %s", i, m.Name, m.Color)
		}
		if got := read(t, filepath.Join(r.InboxesDir("api"), string(m.Name)+".json")); got != "[]" {
			t.Errorf("%s: %q", m.Name, got)
		}
	}
}

// helperDie kills itself at the n-th step of adding a member.
func helperDie() error {
	step, err := strconv.Atoi(os.Getenv(envStep))
	if err != nil {
		return err
	}
	o := team.Options{Hook: dieAt(step)}
	tm, err := team.Open(team.Root{Path: os.Getenv(envRoot)}, "api", o)
	if err == nil {
		_, _, err = tm.Add(context.Background(), team.Member{Name: "w"}, true)
	}
	return err
}

// dieAt is a hook that kills this process at the n-th step and says which it was.
func dieAt(n int) func(string) {
	return func(name string) {
		if n--; n < 0 {
			fmt.Println(name)
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Signal(syscall.SIGKILL)
			}
			if err != nil {
				panic(err)
			}
			select {}
		}
	}
}

// TestKilledWhileAdding kills a process at every step: the config stays whole,
// old or new, the next add works, and no mail is lost.
func TestKilledWhileAdding(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	const mail = `[{"from":"x","text":"keep me","timestamp":"2026-01-01T00:00:00.000Z"}]`
	steps := 0
	for step := 0; ; step++ {
		r, tm := newTeam(t)
		inbox := filepath.Join(r.InboxesDir("api"), "w.json")
		write(t, inbox, mail)
		cmd := helper(t.Context(), "die", r.Path, strconv.Itoa(step))
		out, err := cmd.Output()
		at := strings.TrimSpace(string(out))
		if err == nil {
			break
		}
		steps++
		if at == "" {
			t.Fatalf("step %d: the helper failed before it: %v", step, err)
		}
		c := load(t, tm)
		if n := len(c.Members); n != 1 && n != 2 {
			t.Errorf("%d %s: %d members", step, at, n)
		}
		m, _, err := tm.Add(t.Context(), team.Member{Name: "w"}, true)
		want := protocol.MemberName("w")
		if len(c.Members) == 2 {
			want = "w-2"
		}
		if err != nil || m.Name != want {
			t.Errorf("%d %s: added %s: %v", step, at, m.Name, err)
		}
		kept := 0
		for _, file := range children(t, filepath.Join(r.TeamDir("api"), "archive")) {
			if !strings.HasPrefix(file, ".") && read(t, filepath.Join(r.TeamDir("api"), "archive", file)) == mail {
				kept++
			}
		}
		if kept != 1 || read(t, inbox) != "[]" {
			t.Errorf("%d %s: %d copies of the mail kept, mailbox %q", step, at, kept, read(t, inbox))
		}
		if got := load(t, tm); len(got.Problems()) > 0 || len(got.Members) != len(c.Members)+1 {
			t.Errorf("%d %s: %q %d", step, at, got.Problems(), len(got.Members))
		}
	}
	if steps < 10 {
		t.Errorf("only %d steps: this test shows little", steps)
	}
	t.Logf("killed at %d steps", steps)
}
