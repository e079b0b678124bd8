package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"waggle/internal/docgen/section"
)

const page = "docs/measured.md"

// reasonsText says of mutants why no test need find them: a key, a tab, a reason.
//
//go:embed reasons.txt
var reasonsText string

// reasons are by key.
func reasons() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(reasonsText) {
		if key, why, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			out[key] = strings.TrimSpace(why)
		}
	}
	return out
}

// report prints the sums and writes the page, and returns how many survived.
func report(s settings, all []tried, took time.Duration) (int, error) {
	if s.list {
		return 0, nil
	}
	why := reasons()
	survived := 0
	var b strings.Builder
	fmt.Fprintf(&b, "## Mutants\n\n`go run ./internal/testenv/mutants -seed %d -n %d %s`, %s.\n\n", s.seed, s.n, strings.Join(s.packages, " "), took.Round(time.Second))
	b.WriteString("| Package | Mutants | Survived |\n|---|---:|---:|\n")
	for _, dir := range s.packages {
		n, left := 0, 0
		for _, t := range all {
			if t.pkg == dir {
				n++
				if t.survived {
					left++
				}
			}
		}
		survived += left
		fmt.Fprintf(&b, "| %s | %d | %d |\n", dir, n, left)
	}
	slices.SortFunc(all, func(a, b tried) int { return strings.Compare(a.key(), b.key()) })
	for _, t := range all {
		if t.survived {
			fmt.Fprintf(&b, "\n- `%s` survives: %s", strings.ReplaceAll(t.key(), "`", "'"), orNone(why[t.key()]))
		}
	}
	fmt.Println("\n" + b.String())
	if !s.write {
		return survived, nil
	}
	return survived, write(b.String())
}

func orNone(reason string) string {
	if reason == "" {
		return "no reason is given, so a test is missing."
	}
	return reason
}

// write puts the section into the page.
func write(body string) error {
	data, err := os.ReadFile(page)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	found := false
	text, err := section.Fill(string(data), func(name, old string) (string, error) {
		if name != "mutants" {
			return old, nil
		}
		found = true
		return body, nil
	})
	if err != nil {
		return err
	}
	if !found {
		text = strings.TrimRight(text, "\n") + "\n\n" + section.Wrap("mutants", body)
	}
	return os.WriteFile(page, []byte(text), 0o644)
}
