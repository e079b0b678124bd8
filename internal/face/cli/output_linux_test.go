package cli_test

import (
	"bytes"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/face/cli"
	"waggle/internal/face/cli/app"
	"waggle/internal/test/testenv"
)

// TestFullOutput: a command whose output cannot be written fails. Every command that
// has something to say is asked, for its help and, where it needs no argument, itself.
func TestFullOutput(t *testing.T) {
	t.Parallel()
	h := newTeam(t, "full", crew("full", "process", 1))
	h.must("send", "lead", "words", "--team", "full", "--as", "m0")
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	asProgram := map[string]bool{}
	app := func(out, said io.Writer) *app.App {
		return &app.App{In: strings.NewReader(""), Out: out, Err: said, Environ: h.command().Env, Now: time.Now, Rand: rand.Reader, Version: "test"}
	}
	run := func(out *os.File, args ...string) (code int, said string) {
		var e bytes.Buffer
		if len(args) > 0 && args[len(args)-1] == "--help" && !asProgram[strings.Join(args, " ")] {
			a := app(out, &e)
			return cli.Run(t.Context(), a, args), e.String()
		}
		cmd := h.command(args...)
		cmd.Stdout, cmd.Stderr = out, &e
		_ = cmd.Run() // its state says it
		return cmd.ProcessState.ExitCode(), e.String()
	}
	tried := 0
	var helps [][]string
	a := app(io.Discard, io.Discard)
	for _, cmd := range cli.Shown(cli.Root(a)) {
		helps = append(helps, append(strings.Fields(cmd.CommandPath())[1:], "--help"))
	}
	// A sample of these starts a program, the others run here.
	for _, args := range testenv.Rows(t, helps, 4) {
		asProgram[strings.Join(args, " ")] = true
	}
	for _, args := range helps {
		if code, said := run(full, args...); code == 0 {
			t.Errorf("waggle %v: code 0: %s", args, said)
		}
		tried++
	}
	for _, args := range testenv.Rows(t, [][]string{{"status"}, {"status", "--all"}, {"inbox"}, {"inbox", "m0"}, {"log"}, {"team", "list"}, {"team", "show"}, {"team", "validate"},
		{"why", "m0"}, {"version"}, {"doctor"}, {"policy", "show"}, {"msg", "list"}, {"send", "m0", "hi"}, {"team", "export"}, {"audit", "verify"}, {"config", "show"},
		{"recap"}, {"protocol", "kinds"}, {"completion", "bash"}, {"init", "--stdout"}, {"peek", "m0"}, {"task", "list"}, {"pending"}, {"gc"}, {"mode"}, {"plan", "m0"}}, 8) {
		spare, err := os.Create(filepath.Join(t.TempDir(), "out"))
		testenv.Must(t, err)
		if code, _ := run(spare, args...); code != 0 {
			spare.Close()
			continue // it has no answer here
		}
		at, err := spare.Seek(0, 1)
		if spare.Close(); err != nil || at == 0 {
			continue // it has nothing to say
		}
		tried++
		if code, said := run(full, args...); code == 0 || !strings.Contains(said, "no space left") {
			t.Errorf("waggle %v: code %d: %s", args, code, said)
		}
	}
	if tried < 60 {
		t.Errorf("only %d were tried", tried)
	}
}
