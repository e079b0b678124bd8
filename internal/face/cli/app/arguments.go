package app

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"waggle/internal/face/view/page"
	"waggle/internal/pattern"
	"waggle/operator"
)

// UsageArgs makes the errors about the arguments of a command usage errors. A command that has no check of its own takes
// the arguments of its use line.
func UsageArgs(cmd *cobra.Command) {
	check := cmd.Args
	if check == nil && cmd.Runnable() {
		check = func(cmd *cobra.Command, args []string) error { return Arguments(arity(cmd.Use))(cmd, args) }
	}
	if check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return &operator.Error{Kind: operator.Usage, Op: cmd.CommandPath(), Err: err, Advice: "usage: " + cmd.UseLine()}
			}
			return nil
		}
	}
}

// Many is as many arguments as anybody gives.
const Many = math.MaxInt

// Arguments refuses fewer arguments than least and more than most.
func Arguments(least, most int) cobra.PositionalArgs {
	want := fmt.Sprintf("%d to %d arguments", least, most)
	switch {
	case most == 0:
		return cobra.NoArgs
	case most == least:
		want = page.Count(least, "argument")
	case most == Many:
		want = "at least " + page.Count(least, "argument")
	case least == 0:
		want = "at most " + page.Count(most, "argument")
	}
	return func(_ *cobra.Command, args []string) error {
		if n := len(args); n < least || n > most {
			return fmt.Errorf("it takes %s, and has %d", want, n)
		}
		return nil
	}
}

// What of a use line is no argument, a flag with its value, and what may be left out.
var (
	flagWords = pattern.New(`\[--?\w[^\]]*\]|--?\w[\w-]*( [^-\[|\s]\S*)?`)
	optional  = pattern.New(`\[[^\]]*\]`)
)

// arity is how many arguments a use line has, at least and at most. " | " parts the ways to use a command; a word in
// brackets may be left out, and dots behind a word stand for more of it.
func arity(use string) (least, most int) {
	name, _, _ := strings.Cut(use, " ")
	use = flagWords().ReplaceAllString(use, "")
	use = optional().ReplaceAllStringFunc(use, func(s string) string { return strings.ReplaceAll(s, " | ", "|") })
	least = Many
	for way := range strings.SplitSeq(use, " | ") {
		must, can := 0, 0
		for word := range strings.FieldsSeq(way) {
			switch {
			case word == name || strings.Trim(word, "[") == "--":
				continue
			case strings.Contains(word, "...") || strings.Contains(word, "…"):
				can = Many
			case can < Many:
				can++
			}
			if !strings.ContainsAny(word, "[]") {
				must++
			}
		}
		least, most = min(least, must), max(most, can)
	}
	return least, most
}
