package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"waggle/internal/repo/docgen/section"
)

const page = "out/measured.md"

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
	survived, equivalent := 0, 0
	why := reasons()
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n    go -C internal/repo run ./mutants -seed %d -n %d %s\n\n%s on %s, with the tests as they are before it.\nThe tests of a mutant end after %s.\n\n",
		heading(s.as), s.seed, s.n, strings.Join(s.packages, " "), took.Round(time.Second), machine(), s.span())
	b.WriteString("| package | mutants | survived | of them equivalent |\n|---|---:|---:|---:|\n")
	for _, group := range s.packages {
		n, left, same := 0, 0, 0
		for _, t := range all {
			if t.group != group {
				continue
			}
			n++
			if t.survived {
				left++
				if strings.HasPrefix(why[t.key()], "equivalent") {
					same++
				}
			}
		}
		survived, equivalent = survived+left, equivalent+same
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", strings.Join(dirs(group), ", "), n, left, same)
	}
	fmt.Fprintf(&b, "| together | %d | %d | %d |\n\n", len(all), survived, equivalent)
	b.WriteString("| mutant | found by |\n|---|---|\n")
	slices.SortFunc(all, func(a, b tried) int { return strings.Compare(a.key(), b.key()) })
	for _, t := range all {
		by := "`" + t.by + "`"
		if t.survived {
			by = "**survived**: " + cmp.Or(why[t.key()], "no reason is given, so a test is missing")
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.NewReplacer("`", "'", "|", `\|`).Replace(t.key()), by)
	}
	fmt.Println("\n" + b.String())
	if !s.write {
		return survived, nil
	}
	return survived, section.Keep(page, "", s.as, b.String())
}

// span is how long the tests of a mutant may take: from the shortest limit of a group to the longest.
func (s settings) span() string {
	all := slices.Sorted(maps.Values(s.limits))
	shortest, longest := all[0].Round(time.Second), all[len(all)-1].Round(time.Second)
	if shortest == longest {
		return shortest.String()
	}
	return shortest.String() + " to " + longest.String()
}

// heading is a section's name as people write it.
func heading(name string) string {
	if name == "" {
		return "Mutants"
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// machine names the properties of the machine on which the time depends.
func machine() string {
	return fmt.Sprintf("%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}
