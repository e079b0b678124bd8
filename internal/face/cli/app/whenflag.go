package app

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"
)

// WhenVar adds a flag that takes a time in words. An empty one is wrong usage: it means neither the default nor
// that there is no end.
func WhenVar(fs *pflag.FlagSet, to *string, name, usage string) {
	fs.Var((*when)(to), name, usage)
}

type when string

// Set implements pflag.Value.
func (w *when) Set(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("it is empty: give a time, or leave the flag out")
	}
	*w = when(s)
	return nil
}

func (w *when) String() string { return string(*w) }
func (w *when) Type() string   { return "string" }
