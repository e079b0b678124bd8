package main

import (
	"bytes"
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
	var out bytes.Buffer
	both := io.MultiWriter(&out, os.Stderr)
	cmd.Stdout, cmd.Stderr = both, both
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return result{}, err
	}
	res := read(out.String())
	res.took = time.Since(began)
	return res, nil
}

// read takes the lines to keep out of the output of go test -v or .ci/fuzz.
func read(output string) (res result) {
	test := ""
	for line := range strings.Lines(output) {
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
	}
	return res
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
