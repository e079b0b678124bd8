package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"waggle/internal/test/testenv"
)

// job is one command whose results are kept.
type job struct {
	name string
	env  []string
	argv []string
}

func (j job) command() string {
	return strings.Join(append(j.env[:len(j.env):len(j.env)], j.argv...), " ")
}

// result holds the results in a command's output.
type result struct {
	measured        []measured
	passed, skipped int
	took            time.Duration
}

type measured struct{ test, text string }

// run runs the command; its output goes to stderr too, so that a person sees
// that something happens.
func (j job) run(ctx context.Context) (result, error) {
	cmd := exec.CommandContext(ctx, j.argv[0], j.argv[1:]...)
	cmd.Env = append(os.Environ(), j.env...)
	cmd.WaitDelay = 10 * time.Second
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	done := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		w.Close()
		done <- err
	}()
	res, err := read(io.TeeReader(r, os.Stderr))
	if err != nil {
		r.CloseWithError(err) // the command must not block on us
	}
	if werr := <-done; werr != nil {
		return result{}, werr
	}
	res.took = time.Since(began)
	return res, err
}

// read takes the lines to keep out of the output of go test -v or .ci/fuzz.
func read(r io.Reader) (result, error) {
	var res result
	test := ""
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		text := strings.TrimSpace(line)
		switch f := strings.Fields(text); {
		case len(f) == 3 && f[0] == "===":
			test = f[2]
		case strings.HasPrefix(text, "--- PASS: "):
			res.passed++
		case strings.HasPrefix(text, "--- SKIP: "):
			res.skipped++
		}
		if _, m, ok := strings.Cut(text, testenv.MeasuredPrefix); ok {
			res.measured = append(res.measured, measured{test, m})
		}
		if err == io.EOF {
			return res, nil
		}
		if err != nil {
			return res, err
		}
	}
}

// report is the section of a job.
func report(j job, r result, machine string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n    %s\n\n", j.name, j.command())
	if r.passed > 0 {
		fmt.Fprintf(&b, "%d tests passed, %d were skipped. ", r.passed, r.skipped)
	}
	fmt.Fprintf(&b, "It took %s on %s.\n", r.took.Round(time.Second), machine)
	if len(r.measured) == 0 {
		return b.String()
	}
	b.WriteString("\n| test | result |\n|---|---|\n")
	for _, m := range r.measured {
		fmt.Fprintf(&b, "| %s | %s |\n", cell(m.test), cell(m.text))
	}
	return b.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
