package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/bench"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/view/page"
	"waggle/operator"
)

// maxBench bounds the memory that the compared implementation takes.
const maxBench = 500_000

func benchCmd(a *app.App) *cobra.Command {
	var entries []int
	var dir string
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Compare mailboxes with programs that read, parse and rewrite the whole file",
		Long: `Measure the cost of a message in an inbox of 10, 1,000, 10,000 and 100,000 entries: to
append one, to check for new ones when there are none, to read one new message, and to
mark it read. Each operation alternates with the algorithm of other programs on the same
files: lock, read all, parse, change, write all, rename. The command prints the median
times and their ratio, and checks every file afterwards.

It takes one to two minutes, most of it for the largest inbox; with --entries 10,1000 it
takes seconds. It writes to a scratch directory only.

--json: {"os","arch","cpus","scratch","rows":[{"op","entries","waggle_us","peers_us",
"ratio","samples"}]}.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, n := range entries {
				if n < 0 || n > maxBench {
					return &operator.Error{Kind: operator.Usage, Op: "bench", Msg: fmt.Sprintf("an inbox of %d entries: want 0 to %s", n, thousands(maxBench))}
				}
			}
			scratch, err := os.MkdirTemp(dir, "waggle-bench")
			if err != nil {
				return err
			}
			defer os.RemoveAll(scratch)
			o := bench.Options{Dir: scratch, Now: time.Now, Shuffle: rand.Shuffle, Sizes: entries}
			o.Done = func(n int) { a.Talk("%s entries: done", thousands(n)) }
			rows, err := bench.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			return sayBench(a, rows, scratch)
		},
	}
	cmd.Flags().IntSliceVar(&entries, "entries", bench.Sizes, "how many entries the inboxes have")
	cmd.Flags().StringVar(&dir, "dir", "", "make the scratch directory here, on the disk of interest (default: the system's)")
	return cmd
}

func sayBench(a *app.App, rows []bench.Row, scratch string) error {
	t := page.Table{Head: []string{"OPERATION", "ENTRIES", "WAGGLE", "READ-PARSE-REWRITE", "RATIO", "SAMPLES"}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{r.Op, thousands(r.Entries), micros(r.Waggle), micros(r.Peers), ratio(r.Ratio), strconv.Itoa(r.Samples)})
	}
	doc := map[string]any{"os": runtime.GOOS, "arch": runtime.GOARCH, "cpus": runtime.NumCPU(), "scratch": scratch, "rows": rows}
	return a.Give(doc, page.Page{{Table: &t}})
}

// thousands writes 10000 as 10,000.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// micros writes microseconds in the unit that fits.
func micros(us float64) string {
	d := time.Duration(us * 1000)
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Nanosecond).String()
}

func ratio(r float64) string {
	if r < 10 {
		return fmt.Sprintf("%.1f x", r)
	}
	return thousands(int(r)) + " x"
}
