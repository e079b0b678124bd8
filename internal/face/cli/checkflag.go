package cli

import (
	"errors"
	"strings"

	"waggle/record"
)

// checkFlag is the check of a task, with the limits that a file has which says none.
type checkFlag struct{ to **record.Check }

// Set implements pflag.Value.
func (c checkFlag) Set(command string) error {
	if strings.TrimSpace(command) == "" {
		return errors.New("a command is not empty")
	}
	*c.to = &record.Check{Command: strings.TrimSpace(command), Returns: record.CheckReturns}
	return nil
}

// String implements pflag.Value.
func (c checkFlag) String() string {
	if c.to == nil || *c.to == nil {
		return ""
	}
	return (*c.to).Command
}

// Type implements pflag.Value.
func (c checkFlag) Type() string { return "command" }
