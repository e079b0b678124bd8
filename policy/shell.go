package policy

import (
	"errors"
	"fmt"
	"strings"

	"waggle/internal/cmdline"
)

// compileShell reads the pattern of a Bash rule.
func compileShell(p string) (cmdline.ShellRule, error) {
	if prefix, ok := strings.CutSuffix(p, ":*"); ok {
		words, err := cmdline.PlainCommand(prefix)
		if err != nil {
			return cmdline.ShellRule{}, fmt.Errorf("the words before :* must be plain: %w", err)
		}
		return cmdline.ShellRule{Prefix: true, Words: words}, nil
	}
	words, err := cmdline.PlainCommand(p)
	if err == nil {
		return cmdline.ShellRule{Words: words, Text: p}, nil
	}
	file, err := cmdline.ParseShell(p)
	if err != nil {
		return cmdline.ShellRule{}, fmt.Errorf("not readable as a shell command: %w", err)
	}
	if cmdline.HasStar(file) {
		return cmdline.ShellRule{}, errors.New(`a wildcard is only understood as a final ":*": Bash(git:*); Bash alone is every command; a star that is meant goes into quotes`)
	}
	if len(file.Stmts) == 0 {
		return cmdline.ShellRule{}, errors.New("no command in it")
	}
	return cmdline.ShellRule{Text: p, Printed: cmdline.PrintShell(file)}, nil
}
